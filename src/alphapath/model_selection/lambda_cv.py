"""Cross-validation along whole paths over lambda: the exact error curve and its exact minimiser."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array

from ..estimators.quadratic_loss_svc import QuadraticLossSVC, warn_ended
from ..paths.quadratic.follow import follow
from ..paths.quadratic.path import PathEnd
from ..paths.validation_curve import ValidationCurve, average_curves


@dataclass(frozen=True, eq=False)
class LambdaCVResult:
    """The error of every fold and their mean, over all lambda.

    Parameters
    ----------
    curve : ValidationCurve
        The mean over the folds of the share of wrong labels, over the lambda that all of them know.
    fold_curves : tuple of ValidationCurve
    n_events : tuple of int
        Set changes of each fold's path.
    seconds : float
    is_exact : bool
        Whether every path went all the way, and without gaps.
    """

    curve: ValidationCurve
    fold_curves: tuple[ValidationCurve, ...]
    n_events: tuple[int, ...]
    seconds: float
    is_exact: bool = True

    @property
    def best_lam(self) -> float:
        """The lambda of the least error; the middle of the longest such interval."""
        return self.curve.best_t

    @property
    def best_score(self) -> float:
        """The least error that any lambda of the range has."""
        return self.curve.best_value


def cross_validate_path(
    estimator: QuadraticLossSVC,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    lam_to: float = 1e-5,
) -> LambdaCVResult:
    """Follow one path a fold, each validated on the rows held out.

    Parameters
    ----------
    estimator : QuadraticLossSVC
        Its `lam` plays no part.
    X, y : as for its `fit`
    cv : int, splitter or iterable of (train, test)
    groups : array of shape (n,) or None
        For the splitter.
    sample_weight : array of shape (n,) or None
        Weights of the losses while training; every held-out row counts once.
    lam_to : float
        The least lambda; the largest is one beyond which no set changes in any fold.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from alphapath import QuadraticLossSVC
    >>> from alphapath.model_selection import cross_validate_path
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> result = cross_validate_path(QuadraticLossSVC(gamma=1.0), X, y, cv=3)
    >>> best = QuadraticLossSVC(gamma=1.0, lam=result.best_lam).fit(X, y)
    >>> bool(best.score(X, y) > 0.8)
    True
    """
    begin = time.perf_counter()
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    labels = np.asarray(y)
    splits = list(check_cv(cv, labels, classifier=True).split(X, labels, groups))
    is_matrix = estimator.kernel == "precomputed"
    models = []
    for train, _ in splits:
        rows = X[np.ix_(train, train)] if is_matrix else _safe_indexing(X, train)
        weights = None if sample_weight is None else np.asarray(sample_weight)[train]
        models.append(estimator._path_model(rows, labels[train], weights))
    start = max(model.start_lambda for model in models)
    curves: list[Any] = []
    n_events = []
    is_exact = True
    for (train, test), model in zip(splits, models, strict=True):
        path = follow(model, np.unique(labels[train]), (start, lam_to))
        if path.info_.status is PathEnd.INTERRUPTED:
            raise KeyboardInterrupt
        warn_ended(path)
        is_exact &= path.info_.status is PathEnd.FINISHED and not path.gaps_
        held_out = X[np.ix_(test, train)] if is_matrix else _safe_indexing(X, test)
        curves.append(path.validate(held_out, labels[test]))
        n_events.append(path.info_.n_events)
    mean = average_curves(curves, np.full(len(curves), 1.0 / len(curves)))
    seconds = time.perf_counter() - begin
    return LambdaCVResult(mean, tuple(curves), tuple(n_events), seconds, is_exact)
