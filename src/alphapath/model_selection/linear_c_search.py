"""The C of a LinearSVC by cross-validation over a grid, at little more than the cost of a fit.

This is LIBLINEAR's search (`-C`), with its grid by default, and the score of each C. The folds are
those of linear_folds.py. The stopping rule does not depend on the start, and the duality gap of
every solution is reported. `SVMSearchCV` also searches other parameters, and behind preprocessing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.svm import LinearSVC as PeerSVC

from ..estimators.linear_svc import LinearSVC
from ..interrupt import Stop
from ..kernels.samples import check_sparse
from ..problem.box_problem import FloatArray
from ..solvers.native import single_threaded
from .folds.linear import LinearFolds
from .folds.protocol import Wanted

#: The last C of a grid that is not given, as in LIBLINEAR's search.
LAST_C = 1024.0

Metric = Callable[[Any, Any], float]


@dataclass(frozen=True)
class LinearSearchResult:
    """Scores and solution quality of every fold at every C.

    Parameters
    ----------
    C : array of shape (n_C,)
        In increasing order.
    test_scores : array of shape (n_C, n_folds)
    objective, duality_gap : arrays of shape (n_C, n_folds, n_columns)
        Quality of each solution; one column for two classes, otherwise one per class.
    n_iter : array of shape (n_C, n_folds, n_columns)
        Number of linear systems solved.
    best_estimator : LinearSVC or None
        The model fitted on all rows with the best C; None without refit.
    """

    C: FloatArray
    test_scores: FloatArray
    objective: FloatArray
    duality_gap: FloatArray
    n_iter: NDArray[np.int64]
    best_estimator: LinearSVC | None

    @property
    def mean_scores(self) -> FloatArray:
        """The mean score of each C."""
        return np.asarray(self.test_scores.mean(axis=1))

    @property
    def best_index(self) -> int:
        """The index of the smallest C with the best mean score."""
        return int(np.argmax(self.mean_scores))

    @property
    def best_C(self) -> float:
        return float(self.C[self.best_index])

    @property
    def best_score(self) -> float:
        return float(self.mean_scores[self.best_index])

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Results in scikit-learn's format, for displays and the one-standard-error rule."""
        n_folds = self.test_scores.shape[1]
        results: dict[str, Any] = {"params": [{"C": float(C)} for C in self.C]}
        results["param_C"] = np.ma.masked_array(self.C)
        results |= {f"split{k}_test_score": self.test_scores[:, k] for k in range(n_folds)}
        results["mean_test_score"] = self.mean_scores
        results["std_test_score"] = self.test_scores.std(axis=1)
        results["n_iter"] = self.n_iter.sum(axis=(1, 2))
        return results


def accuracy(y: Any, predicted: Any) -> float:
    """The share of right labels."""
    is_right = np.asarray(y) == predicted
    return float(np.divide(np.count_nonzero(is_right), is_right.size))


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
    """Cross-validate a LinearSVC over many values of C, and refit it with the best.

    Parameters
    ----------
    estimator : LinearSVC
        From this library, with solver "auto" or "newton", or from scikit-learn. Its C and lam are
        replaced.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    C : array-like or None
        Grid of C. None stands for powers of 2, from the C below which nothing is learned, to 2^10.
    cv : int, splitter or iterable of (train, test)
    metric : callable(y_true, y_predicted) -> float
        Score of a fold; greater is better.
    refit : bool
        Whether to refit on all rows with the best C.
    n_jobs : int or None
        Number of threads for folds that are not solved side by side. The results do not depend on
        it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from alphapath import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> linear_c_search(LinearSVC(), X / X.max(axis=0), y).best_score > 0.95
    True
    """
    given = estimator
    if isinstance(given, PeerSVC):
        estimator = LinearSVC.from_sklearn(clone(given))
    if not isinstance(estimator, LinearSVC):
        raise TypeError(
            f"linear_c_search takes a LinearSVC, of this library or of scikit-learn, not a "
            f"{type(estimator).__name__}; use SVMSearchCV for a Pipeline and for other SVMs."
        )
    if estimator.solver not in ("auto", "newton"):
        raise ValueError(
            f"The solver is {estimator.solver!r}; a search over C needs 'auto' or 'newton'."
        )
    y = np.asarray(y)
    check_sparse(X)
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    folds = LinearFolds(clone(estimator).set_params(lam=None), X, y, None, splits)
    for error in folds.errors.values():
        raise error
    norms = folds.rows.norms
    grid = choose_grid(norms) if C is None else np.unique(np.asarray(C, dtype=np.float64))
    if grid.size == 0 or not (grid[0] > 0.0 and np.isfinite(grid[-1])):
        raise ValueError(f"C is {C!r}; it must hold positive, finite values.")
    shape = (grid.size, len(splits))
    n_columns = len(folds.problems)
    scores, n_iter = np.empty(shape), np.zeros((*shape, n_columns), dtype=np.int64)
    objective, gap = np.empty((2, *shape, n_columns))
    truth = [y[test] for _, test in splits]

    def walk(group: list[int]) -> None:
        wanted = Wanted(is_sign_enough=True, has_coef=False)
        for k, h, fits in folds.walk_group(group, grid.tolist(), wanted):
            at = k, h
            own = len(fits)  # fewer where a class is missing
            objective[at][:own] = [fit.info.objective for fit in fits]
            gap[at][:own] = [fit.info.duality_gap for fit in fits]
            n_iter[at][:own] = [fit.info.n_iter for fit in fits]
            values = fits[0].test_values
            if own > 1:
                values = np.stack([fit.test_values for fit in fits], axis=1)
            scores[at] = metric(truth[h], folds.models[h]._predictions_of(values))

    stop = Stop()
    try:
        with single_threaded():
            Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(stop.run)(walk, group) for group in folds.groups()
            )
    finally:
        stop.set()
    best = float(grid[int(np.argmax(scores.mean(axis=1)))])
    chosen = clone(estimator).set_params(C=best, lam=None).fit(X, y) if refit else None
    if chosen is not None and given is not estimator:
        chosen = chosen.as_sklearn().set_params(**{**given.get_params(), "C": best})
    return LinearSearchResult(grid, scores, objective, gap, n_iter, chosen)


def choose_grid(norms: FloatArray) -> FloatArray:
    """Powers of 2 from 1 / (2 n max |x|^2), where every margin is still far below 1, to LAST_C."""
    smallest = 1.0 / (2.0 * norms.size * max(float(norms.max()) ** 2, 1e-300))
    first = int(np.floor(np.log2(smallest)))
    return np.exp2(np.arange(min(first, int(np.log2(LAST_C))), np.log2(LAST_C) + 1.0))
