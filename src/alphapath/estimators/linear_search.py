"""The C of a LinearSVC by cross-validation over a whole grid, for little more than a fit.

One reading of the data serves all folds, classes and C. A fold is a mask; its second moments are
those of all rows less those held out; and each C begins from the solution, the segments and the
moments of the last. The stopping rule does not depend on the start, and the duality gap of every
solution is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ..margin_problem import MarginProblem
from ..problem import FloatArray
from ..solution import Status
from ..solvers.lapack import single_threaded
from ..solvers.margin_newton import MAX_TOGETHER, JointPaths, NewtonPath, keeps_gram
from ..solvers.margin_rows import read_rows
from .linear import LinearSVC

#: The last C of a grid that is not given, as in LIBLINEAR's search.
LAST_C = 1024.0

Metric = Callable[[Any, Any], float]


@dataclass(frozen=True)
class LinearSearchResult:
    """Scores and quality of every fold at every C.

    Parameters
    ----------
    C : array of shape (n_C,)
        Increasing.
    test_scores : array of shape (n_C, n_folds)
    objective, duality_gap : arrays of shape (n_C, n_folds, n_columns)
        Of each solution; one column for two classes, else one a class.
    n_iter : array of shape (n_C, n_folds, n_columns)
        Systems solved.
    best_estimator : LinearSVC or None
        Fitted on all rows with the best C; None without refit.
    """

    C: FloatArray
    test_scores: FloatArray
    objective: FloatArray
    duality_gap: FloatArray
    n_iter: NDArray[np.int64]
    best_estimator: LinearSVC | None

    @property
    def mean_scores(self) -> FloatArray:
        """One score for each C."""
        return np.asarray(self.test_scores.mean(axis=1))

    @property
    def best_index(self) -> int:
        """Of the smallest C with the best mean score."""
        return int(np.argmax(self.mean_scores))

    @property
    def best_C(self) -> float:
        return float(self.C[self.best_index])

    @property
    def best_score(self) -> float:
        return float(self.mean_scores[self.best_index])


@dataclass(frozen=True)
class _Fold:
    """One fold: its paths, one a column, and where its answers go."""

    problems: list[MarginProblem]
    train: NDArray[np.bool_]
    test: NDArray[np.int32]
    gram: FloatArray | None


@dataclass(frozen=True)
class _Walk:
    """What a fold gave along C: decision values of its test rows, and the quality of each solve."""

    values: FloatArray  # n_C, n_test, n_columns
    objective: FloatArray
    duality_gap: FloatArray
    n_iter: NDArray[np.int64]

    @staticmethod
    def empty(n_C: int, n_test: int, n_columns: int) -> _Walk:
        shape = (n_C, n_columns)
        counts = np.zeros(shape, dtype=np.int64)
        return _Walk(np.empty((n_C, n_test, n_columns)), np.empty(shape), np.empty(shape), counts)

    def record(self, at: tuple[int, int], quality: tuple[float, float, int], values: Any) -> None:
        """The solve of one C and column."""
        self.objective[at], self.duality_gap[at], self.n_iter[at] = quality
        self.values[at[0], :, at[1]] = values

    def shaped_values(self) -> FloatArray:
        """Decision values as `decision_function` returns them, for each C."""
        return self.values[:, :, 0] if self.values.shape[2] == 1 else self.values


def accuracy(y: Any, predicted: Any) -> float:
    """The share of right labels."""
    return float(np.mean(np.asarray(y) == predicted))


def linear_c_search(
    estimator: LinearSVC,
    X: Any,
    y: Any,
    *,
    C: ArrayLike | None = None,
    cv: Any = 5,
    metric: Metric = accuracy,
    refit: bool = True,
    n_jobs: int | None = None,
) -> LinearSearchResult:
    """Cross-validate a LinearSVC over many C, and fit it with the best.

    Parameters
    ----------
    estimator : LinearSVC
        With solver "auto" or "newton"; its C and lam are replaced.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    C : array-like or None
        None: powers of 2 from the C below which nothing is learned to 2^10.
    cv : int, splitter or iterable of (train, test)
    metric : callable(y_true, y_predicted) -> float
        Greater is better.
    refit : bool
        Whether to fit on all rows with the best C.
    n_jobs : int or None
        Threads, over the folds. The results do not depend on it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from alphapath import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> linear_c_search(LinearSVC(), X / X.max(axis=0), y).best_score > 0.95
    True
    """
    if estimator.solver not in ("auto", "newton"):
        raise ValueError(
            f"The solver is {estimator.solver!r}; a search over C needs 'auto' or 'newton'."
        )
    model = clone(estimator).set_params(C=1.0, lam=None)
    model._validate_params()
    problems = model._make_problems(X, y, None)
    X, y = problems[0].X, np.asarray(y)
    rows = read_rows(X)
    grid = choose_grid(rows.norms) if C is None else np.unique(np.asarray(C, dtype=np.float64))
    if grid.size == 0 or not (grid[0] > 0.0 and np.isfinite(grid[-1])):
        raise ValueError(f"C is {C!r}; it must hold positive, finite values.")
    folds = _make_folds(problems, rows, check_cv(cv, y, classifier=True).split(X, y))
    # Folds side by side read the data once; on several threads each walks by itself.
    goes_together = n_jobs in (None, 1) and _can_go_together(folds)

    def walk(group: list[_Fold]) -> list[_Walk]:
        if goes_together:
            return _walk_together(group, rows, grid, model)
        return [_walk_fold(fold, rows, grid, model) for fold in group]

    size = MAX_TOGETHER if goes_together else 1
    groups = [folds[k : k + size] for k in range(0, len(folds), size)]
    with single_threaded():
        found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(walk)(g) for g in groups)
    walks = [walk for group in found for walk in group]
    scores = np.array(
        [
            [metric(y[fold.test], model._predictions_of(v)) for v in walk.shaped_values()]
            for fold, walk in zip(folds, walks, strict=True)
        ]
    ).T
    objective, gap, n_iter = (
        np.stack([getattr(walk, name) for walk in walks], axis=1)
        for name in ("objective", "duality_gap", "n_iter")
    )
    best = float(grid[int(np.argmax(scores.mean(axis=1)))])
    chosen = clone(estimator).set_params(C=best, lam=None).fit(X, y) if refit else None
    return LinearSearchResult(grid, scores, objective, gap, n_iter, chosen)


def choose_grid(norms: FloatArray) -> FloatArray:
    """Powers of 2 from 1 / (2 n max |x|^2), where every margin is still far below 1, to LAST_C."""
    smallest = 1.0 / (2.0 * norms.size * max(float(norms.max()) ** 2, 1e-300))
    first = int(np.floor(np.log2(smallest)))
    return np.exp2(np.arange(min(first, int(np.log2(LAST_C))), np.log2(LAST_C) + 1.0))


def _make_folds(problems: list[MarginProblem], rows: Any, splits: Any) -> list[_Fold]:
    first = problems[0]
    pieces = []
    for train, test in splits:
        is_train = np.zeros(first.n, dtype=np.bool_)
        is_train[train] = True
        pieces.append((is_train, np.asarray(test, dtype=np.int32)))
    # From theta = 0 the squared hinge needs the moments of all rows: take them once, and from
    # each fold what it holds out.
    shares = keeps_gram(first) and first.loss == "squared_hinge"
    has_bias = first.offset != "none"
    left_out = [~train for train, _ in pieces]
    blocks = [
        rows.gram(np.where(mask, first.weights, 0.0), has_bias) for mask in left_out if shares
    ]
    whole: Any = None
    if shares:
        is_partition = np.array_equal(np.sum(left_out, axis=0), np.ones(first.n))
        whole = sum(blocks) if is_partition else rows.gram(first.weights, has_bias)
    return [
        _Fold(problems, train, test, whole - blocks[k] if shares else None)
        for k, (train, test) in enumerate(pieces)
    ]


def _can_go_together(folds: list[_Fold]) -> bool:
    """Whether the folds can share their passes: matrices kept, and no row held out twice."""
    first = folds[0].problems[0]
    n_held = np.sum([~fold.train for fold in folds], axis=0)
    tests = np.concatenate([fold.test for fold in folds])
    is_held = all(not fold.train[fold.test].any() for fold in folds)
    is_disjoint = bool(n_held.max() <= 1) and np.unique(tests).size == tests.size and is_held
    return keeps_gram(first) and first.loss == "squared_hinge" and is_disjoint


def _walk_together(
    folds: list[_Fold], rows: Any, grid: FloatArray, model: LinearSVC
) -> list[_Walk]:
    """Several folds along C, side by side."""
    n_columns = len(folds[0].problems)
    walks = [_Walk.empty(grid.size, fold.test.size, n_columns) for fold in folds]
    for column in range(n_columns):
        paths = JointPaths(
            [_masked(fold, column) for fold in folds],
            model._limits,
            rows=rows,
            grams=[fold.gram for fold in folds if fold.gram is not None],
        )
        for k, value in enumerate(grid):
            results, values = paths.step(float(value))
            for fold, walk, result in zip(folds, walks, results, strict=True):
                quality = (result.objective, result.gap, result.n_iter)
                walk.record((k, column), quality, values[fold.test])
    return walks


def _walk_fold(fold: _Fold, rows: Any, grid: FloatArray, model: LinearSVC) -> _Walk:
    """One fold along C."""
    walk = _Walk.empty(grid.size, fold.test.size, len(fold.problems))
    for column in range(len(fold.problems)):
        path = NewtonPath(_masked(fold, column), model._limits, rows=rows, gram=fold.gram)
        for k, value in enumerate(grid):
            info, coef, bias = path.step(float(value))
            if info.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            quality = (info.objective, info.duality_gap, info.n_iter)
            walk.record((k, column), quality, rows.dots(coef, fold.test) + bias)
    return walk


def _masked(fold: _Fold, column: int) -> MarginProblem:
    problem = fold.problems[column]
    return replace(problem, weights=np.where(fold.train, problem.weights, 0.0))
