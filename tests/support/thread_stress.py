"""Threads that share kernels, rows and solvers, to be run with the thread sanitizer.

Every answer must be the one of a single thread, bit for bit. Prints one line per part.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import parallel_config

from alphapath import SVC, LinearSVC, SmoothSVC
from alphapath.kernels import KernelStore, Rbf
from alphapath.model_selection import SVMSearchCV, cross_validate, leave_one_out
from alphapath.paths import c_path
from alphapath.problem import Problem
from alphapath.solvers import smo

N_THREADS = 4
rng = np.random.default_rng(0)
X = rng.normal(size=(160, 4))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=160) > 0, 1.0, -1.0)
classes = np.digitize(X[:, 0], [-0.8, 0.0, 0.8])


def solve_on_one_cache(n_threads: int) -> Any:
    """Problems that share a kernel of which a few rows fit in memory."""
    view = KernelStore(X, memory_limit=30_000).view(Rbf(0.5))
    assert not view.gram.is_full

    def solve(C: float) -> Any:
        return smo.solve(Problem.classification(view, y, np.full(len(y), C)), tol=1e-4).beta

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(solve, [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]))


def search_dual(n_threads: int) -> Any:
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 0.5, 2.0]}
    with parallel_config("threading"):
        search = SVMSearchCV(SVC(), grid, cv=3, n_jobs=n_threads, memory_limit="1MB")
        return search.fit(X, y).cv_results_["mean_test_score"]


def search_linear(n_threads: int) -> Any:
    with parallel_config("threading"):
        search = SVMSearchCV(LinearSVC(), {"C": [0.1, 1.0, 10.0]}, cv=3, n_jobs=n_threads)
        return search.fit(X, y).cv_results_["mean_test_score"]


def validate_folds(n_threads: int) -> Any:
    found = cross_validate(SVC(), X, classes, cv=5, n_jobs=n_threads, return_estimator=True)
    return [model.decision_function(X) for model in found["estimator"]]


def models_side_by_side(n_threads: int) -> Any:
    """What users do in threads of their own, on rows that they share."""
    work: list[Callable[[], Any]] = [
        lambda: SVC().fit(X, classes).decision_function(X),
        lambda: leave_one_out(SVC(), X, y).decision_function_,
        lambda: c_path(SVC(gamma=0.5), X, y, 0.1, 10.0).breakpoints_,
        lambda: SVC().partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:]).intercept_,
        lambda: SmoothSVC().fit(X, y).decision_function(X),
    ]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(lambda call: call(), 2 * work))


def main() -> int:
    parts = (solve_on_one_cache, search_dual, search_linear, validate_folds, models_side_by_side)
    for part in parts:
        alone, together = part(1), part(N_THREADS)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one, other)
        print(f"same bits: {part.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
