"""smooth_newton: the certificate's optimum for every strategy, move and degenerate data set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath import SmoothSVR
from alphapath.errors import InfeasibleStart, SolverMismatch
from alphapath.model_selection import leave_one_out
from alphapath.problem import MarginProblem, Status, certify_margin
from alphapath.solvers.smooth import instance_hessian as smooth_instance
from alphapath.solvers.smooth import newton as smooth_newton
from alphapath.solvers.smooth.strategy import STRATEGIES
from datasets import CLASSIFICATION, REGRESSION
from rank_r_inverse import update_feature_inverse, update_instance_inverse


def make(name="breast_cancer", c=1.0, **changes):
    X, y = CLASSIFICATION[name]()
    signs = np.where(y == y[0], 1.0, -1.0)
    return MarginProblem(np.ascontiguousarray(X), signs, np.full(len(y), c / 2.0), **changes)


def make_wide(seed=0, n=60, d=150):
    """More features than instances, a good part of which have no loss."""
    rng = np.random.default_rng(seed)
    X = 0.2 * rng.normal(size=(n, d))
    X[:, 0] *= 20.0
    signs = np.sign(X[:, 0] + rng.normal(size=n))
    return MarginProblem(X, signs, np.full(n, 0.5))


def check_optimal(solution, tol=1e-8):
    assert solution.info.status is Status.SOLVED
    certificate = certify_margin(solution.problem, solution.coef, solution.bias)
    scale = max(1.0, float(np.linalg.norm(solution.coef)))
    assert certificate.gradient_norm <= tol * scale
    assert solution.info.objective == pytest.approx(certificate.objective, rel=1e-9)
    assert solution.info.kkt_violation == pytest.approx(certificate.gradient_norm, abs=tol * scale)
    np.testing.assert_allclose(
        solution.decision_values,
        solution.problem.decision_values(solution.coef, solution.bias),
        atol=1e-8 * scale,
    )


def check_equal(one, other, tol=1e-8):
    """Within `tol` of each other, relative to the other's theta."""
    theirs = np.append(other.coef, other.bias)
    assert np.linalg.norm(np.append(one.coef, one.bias) - theirs) <= tol * max(
        np.linalg.norm(theirs), 1e-12
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", sorted(CLASSIFICATION))
def test_every_strategy_finds_the_optimum(name, strategy):
    check_optimal(smooth_newton.solve(make(name), strategy=strategy))


@pytest.mark.parametrize("strategy", ["feature", "instance", "auto"])
@pytest.mark.parametrize("order", ["mixed", "every fourth", "held out"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_a_cold_start_by_way_of_a_quarter(order, strategy, convert, monkeypatch):
    problem = make_wide(n=200, d=90)
    whole = smooth_newton.solve(problem, strategy="none")
    monkeypatch.setattr(smooth_newton, "SMALL", 16)
    X, signs, weights = problem.X, problem.targets, problem.weights.copy()
    if order == "every fourth":  # rows 0, 4, 8, ... are all of one class
        rows = np.argsort(-signs, kind="stable").reshape(4, 50).T.ravel()
        X, signs = np.ascontiguousarray(X[rows]), signs[rows]
    if order == "held out":
        weights[::4] = 0.0
    problem = MarginProblem(convert(X), signs, weights)
    found = smooth_newton.solve(problem, strategy=strategy)
    check_optimal(found)
    if order != "held out":
        check_equal(found, whole)


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("offset", ["penalised", "none"])
def test_offset_and_c(c, offset):
    check_optimal(smooth_newton.solve(make("generated", c, offset=offset)), tol=1e-7)


@pytest.mark.parametrize("strategy", ["feature", "instance", "auto"])
@pytest.mark.parametrize("problem", [make("breast_cancer"), make_wide()], ids=["tall", "wide"])
def test_a_fold_from_the_full_model_is_the_cold_fold(problem, strategy):
    full = smooth_newton.solve(problem, strategy=strategy)
    n_cold = n_warm = 0
    for h in range(5):
        fold = problem.with_held_out(np.arange(problem.n) % 5 == h)
        cold = smooth_newton.solve(fold, strategy="none")
        warm = smooth_newton.solve(fold, full, strategy=strategy)
        check_optimal(warm)
        check_equal(warm, cold)
        n_cold, n_warm = n_cold + cold.info.n_iter, n_warm + warm.info.n_iter
    assert n_warm < n_cold


@pytest.mark.parametrize("strategy", ["feature", "instance", "auto"])
def test_a_chain_of_moves_stays_exact(strategy):
    """Weights, folds and c change in turn, each from the last solution."""
    problem = make("generated", 2.0)
    rng = np.random.default_rng(3)
    solution = smooth_newton.solve(problem, strategy=strategy)
    for step in range(12):
        weights = problem.weights * 1.1**step
        weights = np.where(rng.random(problem.n) < 0.1, 0.0, weights)
        if step % 4 == 3:
            weights = weights * rng.uniform(0.5, 2.0, size=problem.n)
        moved = problem.with_weights(weights)
        solution = smooth_newton.solve(moved, solution, strategy=strategy)
        check_optimal(solution)
        check_equal(solution, smooth_newton.solve(moved, strategy="none"))


@pytest.mark.parametrize("strategy", ["feature", "instance", "auto"])
def test_the_own_optimum_as_the_start_costs_one_step(strategy):
    problem = make("breast_cancer")
    full = smooth_newton.solve(problem, strategy=strategy)
    again = smooth_newton.solve(problem, full, strategy=strategy)
    assert again.info.n_iter == 1
    check_equal(again, full, 1e-10)


def test_products_that_were_forgotten_are_computed_again(monkeypatch):
    monkeypatch.setattr(smooth_instance, "LARGE", 4)
    problem = make("breast_cancer", 10.0)
    full = smooth_newton.solve(problem, strategy="instance")
    for h in range(4):
        fold = problem.with_held_out(np.arange(problem.n) % 4 == h)
        warm = smooth_newton.solve(fold, full, strategy="instance")
        check_optimal(warm)
        check_equal(warm, smooth_newton.solve(fold, strategy="none"))
        moved = smooth_newton.solve(
            problem.with_weights(3.0 * fold.weights), warm, strategy="instance"
        )
        check_optimal(moved)


def test_the_parent_is_not_changed_by_its_children():
    problem = make("generated")
    full = smooth_newton.solve(problem)
    fold = problem.with_held_out(np.arange(problem.n) < 50)
    first = smooth_newton.solve(fold, full)
    smooth_newton.solve(problem.with_weights(3.0 * problem.weights), full)
    again = smooth_newton.solve(fold, full)
    assert (first.coef == again.coef).all()


@pytest.mark.parametrize("strategy", ["feature", "instance", "auto", "none"])
def test_dropped_features_leave_the_model(strategy):
    problem = make_wide(1, n=60, d=60)
    full = smooth_newton.solve(problem, strategy=strategy)
    mask = np.arange(60) < 7
    fold = problem.with_held_out(mask, mask)
    warm = smooth_newton.solve(fold, full, strategy=strategy)
    check_optimal(warm)
    assert not warm.coef[mask].any()
    kept = np.ascontiguousarray(problem.X[:, ~mask])
    apart = smooth_newton.solve(MarginProblem(kept, problem.targets, fold.weights), strategy="none")
    np.testing.assert_allclose(warm.coef[~mask], apart.coef, atol=1e-10)


def test_side_by_side_is_one_by_one():
    problem = make("breast_cancer")
    full = smooth_newton.solve(problem)
    folds = [problem.with_held_out(np.arange(problem.n) % 4 == h) for h in range(4)]
    for found, fold in zip(smooth_newton.solve_side_by_side(folds, full), folds, strict=True):
        check_optimal(found)
        check_equal(found, smooth_newton.solve(fold, full), 1e-10)


@pytest.mark.parametrize("drops", [False, True])
def test_a_grid_of_c_is_its_cold_fits(drops):
    problem = make_wide(2, n=60, d=60) if drops else make("generated")
    masks = [np.arange(problem.n) % 3 == h for h in range(3)]
    n_warm = n_cold = 0
    full = None
    for factor in (0.5, 1.0, 1.5, 10.0):
        scaled = problem.with_weights(factor * problem.weights)
        full = smooth_newton.solve(scaled, full)
        folds = [scaled.with_held_out(mask, mask if drops else None) for mask in masks]
        for found in (full, *smooth_newton.solve_side_by_side(folds, full)):
            check_optimal(found)
            cold = smooth_newton.solve(found.problem, strategy="none")
            check_equal(found, cold)
            n_warm, n_cold = n_warm + found.info.n_iter, n_cold + cold.info.n_iter
    assert n_warm < n_cold


@pytest.mark.parametrize("strategy", ["feature", "instance", "auto"])
def test_sparse_rows_give_the_dense_model(strategy):
    problem = make("digits")
    sparse = MarginProblem(sp.csr_array(problem.X), problem.targets, problem.weights)
    check_equal(smooth_newton.solve(sparse, strategy=strategy), smooth_newton.solve(problem), 1e-9)
    mask = np.arange(problem.n) % 6 == 0
    dropped = np.arange(problem.d) % 5 == 0
    warm = smooth_newton.solve(
        sparse.with_held_out(mask, dropped),
        smooth_newton.solve(sparse, strategy=strategy),
        strategy=strategy,
    )
    check_optimal(warm)
    check_equal(warm, smooth_newton.solve(problem.with_held_out(mask, dropped)))


@pytest.mark.parametrize("name", sorted(REGRESSION))
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 20.0])
def test_regression(name, epsilon):
    X, y = REGRESSION[name]()
    problem = MarginProblem(
        np.ascontiguousarray(X), y, np.full(len(y), 0.5), "squared_epsilon_insensitive", epsilon
    )
    solution = smooth_newton.solve(problem)
    check_optimal(solution)
    fold = problem.with_held_out(np.arange(len(y)) % 3 == 0)
    warm = smooth_newton.solve(fold, solution)
    check_optimal(warm)
    check_equal(warm, smooth_newton.solve(fold, strategy="none"))


def degenerate():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=60))
    cases = {
        "rank deficient": X @ rng.normal(size=(4, 12)),
        "duplicated columns": np.hstack([X, X, X]),
        "constant columns": np.hstack([X, np.full((60, 2), 3.0), np.zeros((60, 2))]),
        "duplicated rows": np.repeat(X[:20], 3, axis=0),
        "equal rows": np.ones((60, 3)),
        "zeros": np.zeros((60, 3)),
        "far apart scales": X * np.array([1e-6, 1.0, 1e3, 1e6]),
    }
    return [(name, np.ascontiguousarray(values), y) for name, values in cases.items()]


@pytest.mark.parametrize("strategy", ["feature", "instance", "auto"])
@pytest.mark.parametrize(("name", "X", "y"), degenerate(), ids=[case[0] for case in degenerate()])
def test_degenerate_data(name, X, y, strategy):
    problem = MarginProblem(X, y, np.full(60, 5.0))
    full = smooth_newton.solve(problem, strategy=strategy)
    check_optimal(full, tol=1e-6)
    fold = problem.with_held_out(np.arange(60) % 10 == 0)
    warm = smooth_newton.solve(fold, full, strategy=strategy)
    check_optimal(warm, tol=1e-6)
    check_equal(warm, smooth_newton.solve(fold, strategy="none"), 1e-7)


def test_a_fold_without_support_vectors_is_the_full_model():
    problem = make("breast_cancer", 100.0)
    full = smooth_newton.solve(problem)
    is_free = problem.targets * full.decision_values > 1.0
    mask = is_free & (np.cumsum(is_free) <= 50)
    fold = smooth_newton.solve(problem.with_held_out(mask), full)
    assert fold.info.n_iter == 1
    check_equal(fold, full, 1e-10)


def test_nearly_separable_data_at_a_huge_c_do_not_cycle():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 5))
    y = np.sign(X @ rng.normal(size=5))
    problem = MarginProblem(X, y, np.full(200, 1e7))
    solution = smooth_newton.solve(problem)
    assert solution.info.status is Status.SOLVED
    certificate = certify_margin(problem, solution.coef, solution.bias)
    # A duality gap that is nothing beside the objective.
    assert certificate.duality_gap <= 1e-6 * certificate.objective


def test_limits_are_honest():
    problem = make("breast_cancer")
    stopped = smooth_newton.solve(problem, max_iter=2)
    assert stopped.info.status is Status.ITERATION_LIMIT
    certificate = certify_margin(problem, stopped.coef, stopped.bias)
    assert stopped.info.kkt_violation == pytest.approx(certificate.gradient_norm, rel=1e-6)
    assert smooth_newton.solve(problem, time_limit=1e-9).info.status is Status.TIME_LIMIT


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda p: smooth_newton.solve(p, strategy="fast"), ValueError, "strategy is 'fast'"),
        (lambda p: smooth_newton.solve(p, tol=0.0), ValueError, "tol is 0.0; it must be positive"),
        (
            lambda p: smooth_newton.solve(make("generated", loss="hinge")),
            SolverMismatch,
            "this one is hinge",
        ),
        (
            lambda p: smooth_newton.solve(make("generated", offset="free")),
            SolverMismatch,
            "this one is free",
        ),
        (
            lambda p: smooth_newton.solve(p, smooth_newton.solve(make("generated"))),
            InfeasibleStart,
            "on another X",
        ),
    ],
)
def test_refusals(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(make("generated"))


def test_the_inverse_forms_of_the_paper():
    """Rank-r updates of both inverses against fresh ones: remove, then add."""
    rng = np.random.default_rng(0)
    A, c = rng.normal(size=(30, 6)), 2.0
    kept, out, new = np.arange(0, 20), np.arange(20, 24), np.arange(24, 30)

    def fresh(rows):
        return np.linalg.inv(np.eye(6) + c * A[rows].T @ A[rows])

    before = np.concatenate([kept, out])
    found = update_feature_inverse(fresh(before), A[out], A[new], c)
    np.testing.assert_allclose(found, fresh(np.concatenate([kept, new])), atol=1e-12)

    def fresh_dual(rows):
        return np.linalg.inv(np.eye(rows.size) + c * A[rows] @ A[rows].T)

    stays = np.arange(before.size) < kept.size
    found = update_instance_inverse(fresh_dual(before), stays, A[kept], A[new], c)
    np.testing.assert_allclose(found, fresh_dual(np.concatenate([kept, new])), atol=1e-12)


def test_leave_one_out_where_nobody_has_a_loss_prints_nothing(capfd):
    X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0]])
    model = SmoothSVR(kernel="rbf", epsilon=100.0, strategy="instance").fit(X, [1.0, 2.0, 3.0])
    assert leave_one_out(model, X, [1.0, 2.0, 3.0]).decision_function_.tolist() == [0.0] * 3
    assert capfd.readouterr() == ("", "")
