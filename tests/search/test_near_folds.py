"""Folds that iterate first on what is near their parent's solution end at the same optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold

from alphapath import SVC, SVR, OneClassSVM, Problem, _core, certify
from alphapath.search import solve_folds

N = 1200

ESTIMATORS = [
    SVC(C=10.0, gamma=0.05),
    SVC(C=0.1, gamma=0.05),
    SVR(C=10.0, gamma=0.05, epsilon=0.5),
    OneClassSVM(nu=0.05, gamma=0.05),
]


def make_problem(estimator: Any) -> Problem:
    """Of two classes well apart; some rows are equal, a few of them with the other label."""
    X, y = make_classification(N, 8, n_informative=6, class_sep=2.0, random_state=0)
    X[::17] = X[1::17][: len(X[::17])]
    y[::170] = 1 - y[::170]
    problem = estimator.to_problem(X, 2.0 * y - 1.0)
    assert isinstance(problem, Problem)
    return problem


def make_masks(k: int, n: int = N) -> list[NDArray[np.bool_]]:
    folds = KFold(k, shuffle=True, random_state=1)
    return [np.isin(np.arange(n), test) for _, test in folds.split(np.zeros(n))]


def count_free(solution: Any) -> int:
    box = solution.problem.weights
    size = np.abs(solution.beta)
    return int(np.count_nonzero((size > 0.0) & (size < box)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("k", [5, 10])
def test_the_optimum_is_that_of_a_cold_start(estimator: Any, k: int) -> None:
    problem = make_problem(estimator)
    masks = make_masks(k)
    cold = solve_folds(problem, masks, seeding="none", tol=1e-8)
    near = solve_folds(problem, masks, seeding="greedy", tol=1e-8)
    for a, b in zip(near.solutions, cold.solutions, strict=True):
        assert a is not None
        assert b is not None
        assert _core.near_size(count_free(a), N) > 0  # else this would test nothing
        assert certify(a.problem, a.beta, a.bias).is_optimal(1e-7)
        np.testing.assert_allclose(a.decision_values, b.decision_values, atol=1e-5)


def test_workers_do_not_change_a_bit() -> None:
    problem = make_problem(ESTIMATORS[0])
    masks = make_masks(10)
    one, two = (solve_folds(problem, masks, seeding="greedy", n_jobs=n) for n in (1, 2))
    for a, b in zip(one.solutions, two.solutions, strict=True):
        assert a is not None
        assert b is not None
        np.testing.assert_array_equal(a.beta, b.beta)
        np.testing.assert_array_equal(a.gradient, b.gradient)


def test_a_pair_of_classes_has_near_ones_of_its_own() -> None:
    """What the folds are not about is not near, wherever it lies."""
    problem = make_problem(ESTIMATORS[1])
    is_in = np.arange(N) % 4 > 0
    pair = problem.with_weights(np.where(is_in, problem.weights, 0.0))
    masks = make_masks(10)
    for solution, mask in zip(
        solve_folds(pair, masks, seeding="greedy").solutions, masks, strict=True
    ):
        assert solution is not None
        assert _core.near_size(count_free(solution), int(is_in.sum())) > 0
        assert not solution.beta[mask | ~is_in].any()
        assert certify(solution.problem, solution.beta, solution.bias).is_optimal(1e-3)


def test_those_far_away_are_found() -> None:
    """A cluster that one row alone kept where it is: without that row it matters, near or not."""
    rng = np.random.default_rng(0)
    far = rng.normal(scale=0.01, size=(300, 2)) + np.array([8.0, 0.0])
    X = np.vstack([rng.normal(size=(900, 2)), far, [[8.0, 0.0]]])
    y = np.append(np.where(X[:900, 0] > 0.0, 1.0, -1.0), np.full(301, -1.0))
    y[-1] = 1.0
    problem = SVC(C=100.0, gamma=1.0).to_problem(X, y)
    assert isinstance(problem, Problem)
    mask = np.arange(len(y)) == len(y) - 1
    fold = solve_folds(problem, [mask], seeding="greedy", tol=1e-6).solutions[0]
    cold = solve_folds(problem, [mask], seeding="none", tol=1e-6).solutions[0]
    assert fold is not None
    assert cold is not None
    assert certify(fold.problem, fold.beta, fold.bias).is_optimal(1e-5)
    np.testing.assert_allclose(fold.decision_values, cold.decision_values, atol=1e-4)


@pytest.mark.parametrize(
    ("n_free", "n", "size"), [(0, 590, 0), (0, 591, 384), (300, 1000, 0), (300, 2000, 984)]
)
def test_how_many_are_near(n_free: int, n: int, size: int) -> None:
    assert _core.near_size(n_free, n) == size


def test_memory_handed_from_fold_to_fold_changes_no_bit() -> None:
    # From 8,192 movable instances on, rows of those that can be selected are copied together.
    n = 9300
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    signs = np.sign(X[:, 0] + X[:, 1] ** 2 - 1.0 + 0.3 * random.normal(size=n))
    problem = SVC(C=100.0, gamma=2.0).to_problem(X, signs)
    masks = [np.arange(n) % 10 == h for h in range(3)]
    together = solve_folds(problem, masks, seeding="none").solutions
    assert len({np.count_nonzero(fold.beta) for fold in together if fold is not None}) > 1
    for mask, fold in zip(masks, together, strict=True):
        alone = solve_folds(problem, [mask], seeding="none").solutions[0]
        assert fold is not None
        assert alone is not None
        assert fold.info.n_iter > 1.1 * n  # after about n the rows of a fifth are copied
        np.testing.assert_array_equal(fold.beta, alone.beta)
        np.testing.assert_array_equal(fold.gradient, alone.gradient)
