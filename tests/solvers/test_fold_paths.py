"""Folds side by side: the same answers as one path a fold, certified, and LIBLINEAR's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC as SklearnLinearSVC

from alphapath import LinearSVC
from alphapath.errors import SolverMismatch
from alphapath.model_selection import linear_c_search
from alphapath.problem import MarginProblem, certify_margin
from alphapath.solvers.primal.newton import MAX_GRAM, JointPaths, NewtonLimits, NewtonPath
from alphapath.solvers.primal.rows import read_rows

LIMITS = NewtonLimits(1e-9, 500)
N_FOLDS = 4


def make_rows(n: int, d: int, dtype: str = "float64", *, is_sparse: bool = True) -> Any:
    """Rows of which some are equal and some empty, and labels that a plane does not separate."""
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < min(1.0, 30.0 / d))
    X[n // 2 : n // 2 + 5] = X[0]
    X[n // 3] = 0.0
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.5, 1.0, -1.0)
    X = np.ascontiguousarray(X, dtype=dtype)
    return (sp.csr_matrix(X) if is_sparse else X), y


def make_problems(X: Any, y: Any, offset: str) -> list[MarginProblem]:
    rng = np.random.default_rng(0)
    weights = rng.choice([0.5, 1.0, 2.0], size=len(y))
    whole = MarginProblem(X, y, weights, "squared_hinge", 0.0, offset)
    fold = rng.integers(N_FOLDS + 1, size=len(y))  # the last part is held out by nobody
    return [replace(whole, weights=np.where(fold == k, 0.0, weights)) for k in range(N_FOLDS)]


@pytest.mark.parametrize("offset", ["none", "penalised", "free"])
@pytest.mark.parametrize(
    ("n", "d", "dtype", "is_sparse"),
    [
        (900, 12, "float64", False),
        (900, 12, "float32", True),
        (400, MAX_GRAM + 30, "float64", True),
        (300, MAX_GRAM + 30, "float32", False),
    ],
)
def test_side_by_side_as_alone(n: int, d: int, dtype: str, is_sparse: bool, offset: str) -> None:
    X, y = make_rows(n, d, dtype, is_sparse=is_sparse)
    problems = make_problems(X, y, offset)
    rows = read_rows(X)
    if offset == "free" and d > MAX_GRAM:
        with pytest.raises(SolverMismatch, match="one NewtonPath a fold"):
            JointPaths(problems, LIMITS, rows=rows, grams=[])
        return
    joint = JointPaths(problems, LIMITS, rows=rows, grams=[])
    alone = [NewtonPath(problem, LIMITS, rows=rows) for problem in problems]
    for C in (1e-3, 0.1, 3.0, 100.0):
        results, values = joint.step(C)
        for k, (problem, path) in enumerate(zip(problems, alone, strict=True)):
            solution = path.solve(C)
            assert results[k].objective == pytest.approx(solution.info.objective, rel=1e-8)
            theta = np.append(joint._native.theta(k), [0.0] * (offset == "none"))
            at_C = problem.with_weights(C * problem.weights)
            coef, bias = theta[:-1], float(theta[-1])
            decision = np.asarray(X @ coef) + bias
            certified = certify_margin(at_C, coef, bias)
            assert results[k].objective == pytest.approx(certified.objective, rel=1e-9)
            held = problem.weights == 0.0
            np.testing.assert_allclose(values[held], decision[held], atol=1e-5)


def test_signs_of_held_out_rows() -> None:
    X, y = make_rows(2000, 8)
    problems = make_problems(X, y, "penalised")
    rows = read_rows(X)
    exact, signs = (
        JointPaths(problems, LIMITS, rows=rows, grams=[], signs_only=only) for only in (False, True)
    )
    for C in np.exp2(np.arange(-12.0, 6.0)):
        ours, values = signs.step(float(C))
        theirs, expected = exact.step(float(C))
        assert [r.objective for r in ours] == [r.objective for r in theirs]
        np.testing.assert_array_equal(values > 0.0, expected > 0.0)


def test_common_crossings_are_summed_once() -> None:
    """Dense rows cross the kink in all folds at once; the moments stay those of the rows."""
    X, y = make_rows(3000, 6, is_sparse=False)
    problems = make_problems(X, y, "none")
    joint = JointPaths(problems, NewtonLimits(1e-12, 500), rows=read_rows(X), grams=[])
    for C in np.exp2(np.arange(-14.0, 8.0)):
        results, _ = joint.step(float(C))
    for k, problem in enumerate(problems):
        w = joint._native.theta(k)
        left = np.maximum(1.0 - y * (X @ w), 0.0)
        gradient = w - 2.0 * C * X.T @ (problem.weights * y * left)
        objective = 0.5 * w @ w + C * problem.weights @ left**2
        assert results[k].objective == pytest.approx(objective, rel=1e-12)
        assert 0.5 * gradient @ gradient <= 1e-9 * objective


@pytest.mark.parametrize("C", [1e5, 1e8])
def test_lanes_at_huge_C(C: float) -> None:
    """What single precision can not solve is solved in double, or said not to be."""
    X, y = make_rows(200, MAX_GRAM + 10)
    problems = make_problems(X, y, "none")
    results, _ = JointPaths(problems, NewtonLimits(1e-6), rows=read_rows(X), grams=[]).step(C)
    for result in results:
        assert (result.gap <= 1e-6 * result.objective) == (result.status == 0)


@pytest.mark.parametrize("d", [20, MAX_GRAM + 20])
def test_search_against_liblinear(d: int) -> None:
    X, y = make_rows(500, d)
    grid = np.exp2(np.arange(-8.0, 4.0, 2.0))
    found = linear_c_search(LinearSVC(tol=1e-8), X, y, C=grid, cv=4, refit=False)
    threads = linear_c_search(LinearSVC(tol=1e-8), X, y, C=grid, cv=4, refit=False, n_jobs=2)
    np.testing.assert_allclose(found.objective, threads.objective, rtol=1e-7)
    np.testing.assert_array_equal(found.test_scores, threads.test_scores)
    train = np.flatnonzero(np.arange(500) % 3 > 0)
    test = np.flatnonzero(np.arange(500) % 3 == 0)
    one = linear_c_search(
        LinearSVC(tol=1e-8), X, y, C=grid, cv=[(train, test), (test, train)], refit=False
    )
    for k, C in enumerate(grid):
        peer = SklearnLinearSVC(C=C, dual=False, tol=1e-9, max_iter=10**5).fit(X[train], y[train])
        left = np.maximum(1.0 - y[train] * peer.decision_function(X[train]), 0.0)
        theta = np.append(peer.coef_[0], peer.intercept_)
        objective = 0.5 * theta @ theta + C * left @ left
        assert one.objective[k, 0, 0] <= objective * (1.0 + 1e-9)
        assert one.test_scores[k, 0] == pytest.approx(peer.score(X[test], y[test]), abs=0.01)


@pytest.mark.parametrize(("n", "d"), [(600, 20), (2000, 20), (600, MAX_GRAM + 20)])
def test_no_C_is_further_from_the_optimum_than_liblinears(n: int, d: int) -> None:
    """At the default tolerances, on every fold; scikit-learn's primal solver is LIBLINEAR's."""
    X, y = make_rows(n, d)
    folds = [(np.flatnonzero(np.arange(n) % 3 != h), np.arange(h, n, 3)) for h in range(3)]
    grid = np.exp2(np.arange(-18.0, 6.0))
    found = linear_c_search(LinearSVC(fit_intercept=False), X, y, C=grid, cv=folds, refit=False)
    peer = SklearnLinearSVC(fit_intercept=False, dual=False, tol=0.01)
    for h, (train, _) in enumerate(folds):
        for k, C in enumerate(grid):
            w = peer.set_params(C=C).fit(X[train], y[train]).coef_[0]
            left = np.maximum(1.0 - y[train] * (X[train] @ w), 0.0)
            theirs = 0.5 * w @ w + C * left @ left
            assert found.objective[k, h, 0] <= theirs * (1.0 + 1e-13)  # rounding


@pytest.mark.parametrize(("d", "tol"), [(20, 1e-5), (MAX_GRAM + 20, 1e-4)])
def test_the_stop_rule_is_the_same_for_every_start(d: int, tol: float) -> None:
    """Gap rule G and share rule q as docs/linear.md states them; q^2 / G where q is the smaller."""
    X, y = make_rows(500, d)
    grid = np.exp2(np.arange(-16.0, 2.0))
    even, odd = np.arange(0, 500, 2), np.arange(1, 500, 2)
    folds = [(odd, even), (even, odd)]
    model = LinearSVC(fit_intercept=False)
    path = linear_c_search(model, X, y, C=grid, cv=folds, refit=False)
    is_share_smaller = np.zeros((len(grid), 2), dtype=bool)
    n_iter_alone = 0
    for k, C in enumerate(grid):
        alone = linear_c_search(model, X, y, C=[C], cv=folds, refit=False)
        n_iter_alone += alone.n_iter.sum()
        for h, (train, _) in enumerate(folds):
            at_zero = 2.0 * C * np.linalg.norm(X[train].T @ y[train])
            q = 5e-4 * at_zero * min(np.mean(y[train] > 0.0), np.mean(y[train] < 0.0))
            for found, i in ((path, k), (alone, 0)):
                F = found.objective[i, h, 0]
                G = np.sqrt(2.0 * tol * F)
                largest = max(q * q / G, np.sqrt(2e-15 * F)) if q < G else G
                is_share_smaller[k, h] = q < G
                assert found.duality_gap[i, h, 0] <= 0.5001 * largest**2
    assert is_share_smaller[0].all()
    assert not is_share_smaller[-1].any()
    # Reuse: one solution with second moments, the span of three without.
    assert path.n_iter.sum() < (0.8 if d <= MAX_GRAM else 0.6) * n_iter_alone
