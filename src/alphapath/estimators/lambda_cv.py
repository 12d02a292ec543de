"""Cross-validation along whole paths over lambda: the exact error curve and its exact minimiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array

from ..paths.quadratic_path import follow
from ..paths.quadratic_validation import StepCurve, pool_errors
from .quadratic_loss import QuadraticLossSVC


@dataclass(frozen=True, eq=False)
class LambdaCVResult:
    """Error over all folds as a function of lambda.

    Parameters
    ----------
    curve_ : StepCurve
        Wrong labels over all held-out rows, divided by their number.
    fold_curves_ : list of StepCurve
    n_events_ : list of int
        Set changes of each fold's path.
    """

    curve_: StepCurve
    fold_curves_: list[StepCurve]
    n_events_: list[int]

    @property
    def best_lambda_(self) -> float:
        """The lambda of the least error; the middle of the longest such interval."""
        return self.curve_.best_lambda_

    @property
    def best_error_(self) -> float:
        """The least error that any lambda of the range has."""
        return self.curve_.best_


def cross_validate_path(
    estimator: QuadraticLossSVC,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    lam_to: float = 1e-5,
) -> LambdaCVResult:
    """Follow one path a fold and add up their errors on the rows held out.

    Parameters
    ----------
    estimator : QuadraticLossSVC
        Its `lam` plays no part.
    X, y : as for its `fit`
    cv : int, splitter or iterable of (train, test)
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
    >>> best = QuadraticLossSVC(gamma=1.0, lam=result.best_lambda_).fit(X, y)
    >>> bool(best.score(X, y) > 0.8)
    True
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    labels = np.asarray(y)
    splits = list(check_cv(cv, labels, classifier=True).split(X, labels))
    is_matrix = estimator.kernel == "precomputed"
    models = []
    for train, _ in splits:
        rows = X[np.ix_(train, train)] if is_matrix else _safe_indexing(X, train)
        weights = None if sample_weight is None else np.asarray(sample_weight)[train]
        models.append(estimator._path_model(rows, labels[train], weights))
    start = max(model.start_lambda for model, _ in models)
    curves, n_events, sizes = [], [], []
    for (train, test), (model, rows) in zip(splits, models, strict=True):
        path = follow(model, rows, np.unique(labels[train]), start, lam_to)
        held_out = X[np.ix_(test, train)] if is_matrix else _safe_indexing(X, test)
        curves.append(path.validate(held_out, labels[test]))
        n_events.append(path.info_.n_events)
        sizes.append(len(test))
    return LambdaCVResult(pool_errors(curves, sizes), curves, n_events)
