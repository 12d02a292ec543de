"""cross_validate_path: the exact cross-validation error as a function of C."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_array

from ..estimators.quadratic_loss_svc import QuadraticLossSVC, warn_ended
from ..estimators.registry import as_own, on_device
from ..kernels.samples import check_sparse
from ..paths.path import Path
from ..paths.path_or_grid import most_iterations, prefers_path
from ..paths.quadratic.follow import follow
from ..paths.quadratic.path import PathEnd
from ..paths.validation_curve import ValidationCurve, average_curves, make_curve
from ..paths.walker import ENTRY_TOL
from ..paths.weights import ScoredRows, ScoredWalk, check_range, follow_c_scored
from ..problem.box_problem import FloatArray, Problem
from ..problem.limits import Limits
from ..problem.steps import Steps
from ..solvers.sequence.along_c import solve_chain
from ..solvers.sequence.sequence import solve_sequence
from .folds.dual import FoldModels
from .folds.protocol import Split
from .folds.training_sets import make_splits

#: The KKT violation at which a solve on the grid stops.
GRID_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class PathValidation:
    """The score of every fold and their mean, over all C.

    Parameters
    ----------
    curve : ValidationCurve
        The mean over the folds: error rate (classifiers) or mean squared error.
    fold_curves : tuple of ValidationCurve
    paths : tuple of Path
        Empty unless requested, and also when a grid was solved instead.
    seconds : float
    is_exact : bool
        Whether the curve is exact for every C. After a grid, it repeats the nearest value solved.
    n_events : int
        Number of changes of the margin sets on all paths.
    """

    curve: ValidationCurve
    fold_curves: tuple[ValidationCurve, ...]
    paths: tuple[Path, ...]
    seconds: float
    is_exact: bool = True
    n_events: int = 0

    def __repr__(self) -> str:
        kind = "every C" if self.is_exact else "a grid of C"
        return (
            f"PathValidation({self.curve.metric} {self.best_score:.4g} at C={self.best_C:.4g}, "
            f"best of {kind} from {self.curve.starts[0]:.4g} to {self.curve.end:.4g}, "
            f"{len(self.fold_curves)} folds)"
        )

    @property
    def best_C(self) -> float:
        """The minimiser of the mean curve."""
        return self.curve.best_t

    @property
    def best_score(self) -> float:
        """The mean curve's minimum."""
        return self.curve.best_value


def cross_validate_path(
    estimator: Any,
    X: Any,
    y: Any,
    cv: Any = None,
    *,
    C_min: float = 2.0**-5,
    C_max: float = 2.0**15,
    lam_to: float = 1e-5,
    method: Literal["path", "auto"] = "path",
    groups: Any = None,
    sample_weight: Any = None,
    return_paths: bool = False,
) -> Any:
    """Compute the exact cross-validation error for all C in [C_min, C_max] and its minimiser.

    For a QuadraticLossSVC, the parameter is lambda, followed down to `lam_to`.

    The solution of each fold is followed along C. Held-out rows are part of the kernel, so their
    decision values are followed too. As in scikit-learn, gamma="scale" and class_weight="balanced"
    are derived from the training rows of each fold; with gamma="scale", each fold then has its own
    kernel, so a numeric gamma is faster.

    Parameters
    ----------
    estimator : SVC (of two classes) or SVR
        From this library or scikit-learn; or a QuadraticLossSVC.
    X, y, groups, sample_weight
        As in `cross_validate`. Validation counts every held-out row once.
    cv : int, splitter or iterable of (train, test), default=None
    method : {"path", "auto"}, default="path"
        "auto" solves a grid of C, each value warm-started from the previous one, where this is
        likely to be cheaper than the whole path (above all for narrow kernels); `is_exact` of the
        result is then false.
    return_paths : bool, default=False
        Whether to keep the path of every fold, which takes memory and some time.

    Returns
    -------
    PathValidation
        A LambdaCVResult for a QuadraticLossSVC.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import cross_validate_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = cross_validate_path(
    ...     SVC(gamma=0.01), (X - X.mean(0)) / X.std(0), y, cv=3, C_min=0.1, C_max=10.0)
    >>> round(result.best_score, 3)
    0.021
    """
    if isinstance(estimator, QuadraticLossSVC):
        folds = 5 if cv is None else cv
        return cross_validate_lambda_path(
            estimator, X, y, cv=folds, groups=groups, sample_weight=sample_weight, lam_to=lam_to
        )
    begin = time.perf_counter()
    check_range(C_min, C_max)
    model: Any = on_device(as_own(estimator), "cpu")
    if "path" not in model._declaration.abilities:
        raise TypeError(f"{type(model).__name__} has no C to follow; pass an SVC or an SVR.")
    check_sparse(X)
    X, y, groups = indexable(X, y, groups)
    splitter = check_cv(cv, y, classifier=is_classifier(model))
    splits = make_splits(splitter, X, y, {"groups": groups})
    folds = FoldModels(model, X, y, sample_weight, splits, precision="float64")
    if folds.parts.n_problems != 1:
        raise ValueError(
            f"y has more than two classes, which makes {folds.parts.n_problems} problems; a path "
            f"follows one: pass the rows of two classes."
        )
    for h, error in folds.errors.items():
        raise ValueError(f"Fold {h} has no path: {error}") from error
    units = np.stack([folds.training_set(h).weights for h in range(len(splits))]) / model.C
    metric = "error" if is_classifier(model) else "squared"
    if method == "auto":
        grid = _make_grid(C_min, C_max)
        values = _try_grid(folds, grid, units)
        if values is not None:
            targets = folds.problem(0).targets
            return _average(_grid_curves(values, grid, targets, splits, metric), [], begin)
    walks = []
    for problem, numbers in _share_kernels(folds):
        for h, start in zip(numbers, _solve_first(problem, units[numbers], C_min), strict=True):
            scored = ScoredRows(splits[h][1].astype(np.int64), metric, return_paths)
            last = problem.with_weights(C_max * units[h])
            walks.append(follow_c_scored(last, units[h], (C_min, C_max), scored, start))
    return _average([walk.curve for walk in walks], walks, begin)


def _share_kernels(folds: FoldModels) -> Iterator[tuple[Problem, list[int]]]:
    """A problem and the folds on its kernel: all of them, or each alone, one after the other."""
    numbers = list(range(len(folds.splits)))
    if not folds.has_own_kernels:
        yield folds.problem(0), numbers
        return
    for h in numbers:
        yield folds.problem_of(0, h), [h]


def _average(
    curves: list[ValidationCurve], walks: list[ScoredWalk], begin: float
) -> PathValidation:
    mean = average_curves(curves, np.full(len(curves), 1.0 / len(curves)))
    return PathValidation(
        mean,
        tuple(curves),
        tuple(walk.path for walk in walks if walk.path is not None),
        time.perf_counter() - begin,
        is_exact=bool(walks) and not any(walk.has_gaps for walk in walks),
        n_events=sum(walk.n_events for walk in walks),
    )


def _solve_first(full: Problem, units: FloatArray, C: float) -> FloatArray:
    """A beta per fold near its solution at C, each fold warm-started from the previous one."""
    n_folds = len(units)
    numbers = np.arange(n_folds)
    steps = Steps(numbers, np.full(n_folds, C), numbers - 1, ["cold"] + ["greedy"] * (n_folds - 1))
    found = solve_sequence(full, units, steps, limits=Limits(tol=ENTRY_TOL))
    if found.is_interrupted:
        raise KeyboardInterrupt
    return np.asarray(found.beta)


def _make_grid(C_min: float, C_max: float) -> FloatArray:
    """C_min, 4 C_min, ..., C_max, about."""
    n_points = max(2, round(np.log(C_max / C_min) / np.log(4.0)) + 1)
    return np.geomspace(C_min, C_max, n_points)


def _try_grid(folds: FoldModels, grid: FloatArray, units: FloatArray) -> FloatArray | None:
    """Decision values of every fold at every C, or None where the path is likely to be cheaper.

    The first fold decides, and its solutions are kept.
    """
    n_rows = int(np.count_nonzero(units[0]))
    values: list[FloatArray] = []
    for problem, numbers in _share_kernels(folds):
        for some in (numbers,) if values else (numbers[:1], numbers[1:]):
            if not some:
                continue
            max_iter = -1 if values else most_iterations(n_rows)
            chain = solve_chain(problem, grid, weights=units[some], tol=GRID_TOL, max_iter=max_iter)
            if chain.is_interrupted:
                raise KeyboardInterrupt
            if not values and prefers_path(chain):
                return None
            values.append(chain.decision_values)
    return np.concatenate(values)


def _grid_curves(
    values: FloatArray, grid: FloatArray, targets: FloatArray, splits: list[Split], metric: str
) -> list[ValidationCurve]:
    """The scores at the points of the grid only, each held for what is nearest to it."""
    starts = np.concatenate([grid[:1], np.sqrt(grid[1:] * grid[:-1])])
    ends = np.append(starts[1:], grid[-1])
    curves = []
    for fold, (_, test) in enumerate(splits):
        residual = values[fold * grid.size : (fold + 1) * grid.size, test] - targets[test]
        rest = np.zeros_like(residual)
        curves.append(make_curve(starts, ends, residual, rest, targets[test], metric, None, "C"))
    return curves


@dataclass(frozen=True, eq=False)
class LambdaCVResult:
    """The error of every fold and their mean, over all lambda.

    Parameters
    ----------
    curve : ValidationCurve
        The mean over the folds of the error rate, over the range of lambda common to all folds.
    fold_curves : tuple of ValidationCurve
    n_events : tuple of int
        Number of set changes on the path of each fold.
    seconds : float
    is_exact : bool
        Whether every path was completed without gaps.
    """

    curve: ValidationCurve
    fold_curves: tuple[ValidationCurve, ...]
    n_events: tuple[int, ...]
    seconds: float
    is_exact: bool = True

    @property
    def best_lam(self) -> float:
        """The lambda of the smallest error: the middle of the longest such interval."""
        return self.curve.best_t

    @property
    def best_score(self) -> float:
        """The smallest error over the range of lambda."""
        return self.curve.best_value


def cross_validate_lambda_path(
    estimator: QuadraticLossSVC,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    lam_to: float = 1e-5,
) -> LambdaCVResult:
    """Follow one path per fold, each validated on its held-out rows.

    Parameters
    ----------
    estimator : QuadraticLossSVC
        Its `lam` is not used.
    X, y : as for its `fit`
    cv : int, splitter or iterable of (train, test)
    groups : array of shape (n,) or None
        Groups for the splitter.
    sample_weight : array of shape (n,) or None
        Weights of the losses during training; every held-out row counts once.
    lam_to : float
        The smallest lambda. The largest is one beyond which no set changes in any fold.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from alphapath import QuadraticLossSVC
    >>> from alphapath.model_selection import cross_validate_lambda_path
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> result = cross_validate_lambda_path(QuadraticLossSVC(gamma=1.0), X, y, cv=3)
    >>> best = QuadraticLossSVC(gamma=1.0, lam=result.best_lam).fit(X, y)
    >>> bool(best.score(X, y) > 0.8)
    True
    """
    begin = time.perf_counter()
    check_sparse(X)
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
