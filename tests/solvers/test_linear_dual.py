"""Dual coordinate descent for the hinge: LIBLINEAR, certificates, and bounds that change no bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as PeerSVC

from alphapath import LinearSVC
from alphapath.errors import InfeasibleStart, SolverMismatch
from alphapath.problem import MarginProblem, MarginSolution, Status, certify_margin
from alphapath.solvers.primal import auto as margin_auto
from alphapath.solvers.primal import dual_descent as margin_dual
from alphapath.solvers.primal import newton as margin_newton
from alphapath.solvers.primal.dual_descent import DualLimits

LAYOUTS = ["dense", "csr"]
DTYPES = [np.float64, np.float32]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X / X.max(axis=0), y


def make_problem(
    layout: str = "csr", dtype: type = np.float64, C: float = 1.0, offset: str = "penalised"
) -> MarginProblem:
    """Empty, equal and held-out rows, a constant feature, noisy labels."""
    rng = np.random.default_rng(3)
    n, d = 500, 12
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    X[:5] = 0.0
    X[5:40] = X[40:75]
    X[:, 3] = 0.5
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    weights = C * rng.choice([0.0, 1.0, 3.0], size=n)
    X = X.astype(dtype)
    return MarginProblem(
        sp.csr_array(X) if layout == "csr" else X, y, weights, "hinge", 0.0, offset
    )


def certified(solution: MarginSolution, tol: float) -> None:
    """Objective and gap from raw data are those reported, and the gap is within tol."""
    alpha = solution.workspace.alpha
    found = certify_margin(solution.problem, solution.coef, solution.bias, alpha)
    info = solution.info
    assert info.status is Status.SOLVED
    assert found.objective == pytest.approx(info.objective, rel=1e-11)
    assert found.duality_gap == pytest.approx(info.duality_gap, abs=1e-11 * found.objective)
    assert -1e-11 * found.objective <= found.duality_gap <= (tol + 1e-11) * found.objective
    assert found.gradient_norm <= 1e-9 * (1.0 + np.linalg.norm(solution.coef))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", ["penalised", "none"])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_every_layout_is_certified(layout: str, dtype: type, offset: str, C: float) -> None:
    problem = make_problem(layout, dtype, C, offset)
    found = margin_dual.solve(problem, limits=DualLimits(tol=1e-8))
    certified(found, 1e-8)
    newton = margin_newton.solve(problem, limits=margin_newton.NewtonLimits(tol=1e-7))
    assert found.info.objective == pytest.approx(newton.info.objective, rel=1.1e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_bounds_change_no_bit(layout: str, C: float) -> None:
    problem = make_problem(layout, C=C)
    limits = DualLimits(tol=1e-10)
    with_bounds = margin_dual.solve(problem, limits=limits, seed=5)
    without = margin_dual.solve(problem, limits=limits, seed=5, bounds=False)
    ours, plain = with_bounds.workspace, without.workspace
    assert (ours.alpha == plain.alpha).all()
    assert (ours.theta == plain.theta).all()
    assert (ours.n_iter, ours.n_inner) == (plain.n_iter, plain.n_inner)
    assert with_bounds.info.duality_gap == without.info.duality_gap
    assert ours.n_pruned > 0 == plain.n_pruned
    assert ours.n_examined < plain.n_examined


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    C=st.sampled_from([1e-3, 1.0, 100.0]),
    n_sweeps=st.integers(1, 40),
)
def test_iterates_are_the_same_at_every_moment(
    seed: int, scale: float, C: float, n_sweeps: int
) -> None:
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(60, 4)).round(1)
    y = np.where(X[:, 0] + scale * rng.normal(size=60) > 0.0, 1.0, -1.0)
    problem = MarginProblem(X, y, np.full(60, C), "hinge")
    limits = DualLimits(tol=1e-9, max_iter=n_sweeps)
    ours = margin_dual.solve(problem, limits=limits, seed=seed).workspace
    plain = margin_dual.solve(problem, limits=limits, seed=seed, bounds=False).workspace
    assert (ours.alpha == plain.alpha).all()
    assert (ours.theta == plain.theta).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 5.0])
def test_the_optimum_is_that_of_liblinear(cancer, C: float, fit_intercept: bool) -> None:
    X, y = cancer
    ours = LinearSVC("hinge", C=C, solver="dual", tol=1e-8, fit_intercept=fit_intercept).fit(X, y)
    peer = PeerSVC(
        C=C, loss="hinge", tol=1e-8, max_iter=2_000_000, fit_intercept=fit_intercept
    ).fit(X, y)
    problem = ours.to_problem(X, y)
    best = certify_margin(problem, peer.coef_[0], float(np.ravel(peer.intercept_)[0])).objective
    assert ours.objective_ <= best * (1.0 + 1e-8)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=2e-3)
    assert ours.fit_status_ is Status.SOLVED
    assert ours.kkt_violation_ < 0.1


def test_its_own_optimum_costs_no_sweep_and_zero_is_cold() -> None:
    problem = make_problem()
    cold = margin_dual.solve(problem)
    again = margin_dual.solve(problem, cold.workspace.alpha)
    assert again.info.n_iter == 0
    assert again.info.seed == "given"
    assert (again.workspace.alpha == cold.workspace.alpha).all()
    certified(again, 1e-4)
    zero = margin_dual.solve(problem, np.zeros(problem.n))
    assert (zero.workspace.alpha == cold.workspace.alpha).all()
    assert zero.info.n_rows_computed == cold.info.n_rows_computed


def test_a_neighbour_is_a_good_start() -> None:
    problem = make_problem(C=1.0)
    limits = DualLimits(tol=1e-8)
    first = margin_dual.solve(problem, limits=limits)
    near = problem.with_weights(1.02 * problem.weights)
    warm = margin_dual.solve(near, 1.02 * first.workspace.alpha, limits=limits)
    cold = margin_dual.solve(near, limits=limits)
    certified(warm, 1e-8)
    assert warm.info.n_rows_computed < cold.info.n_rows_computed
    assert warm.info.objective == pytest.approx(cold.info.objective, rel=2e-8)


def test_the_seed_is_the_order() -> None:
    problem = make_problem()
    one, same, other = (margin_dual.solve(problem, seed=seed).workspace for seed in (1, 1, 2))
    assert (one.alpha == same.alpha).all()
    assert (one.alpha != other.alpha).any()


def test_limits_are_kept_and_the_gap_is_stated(cancer) -> None:
    problem = make_problem(C=100.0)
    for limits in (
        DualLimits(tol=1e-12, max_iter=2),
        DualLimits(tol=1e-12, max_examined=3 * problem.n),
    ):
        found = margin_dual.solve(problem, limits=limits)
        assert found.info.status is Status.ITERATION_LIMIT
        alpha = found.workspace.alpha
        gap = certify_margin(problem, found.coef, found.bias, alpha).duality_gap
        assert found.info.duality_gap == pytest.approx(gap, rel=1e-9)
    stopped = margin_dual.solve(problem, limits=DualLimits(tol=1e-12, time_limit=1e-9))
    assert stopped.info.status is Status.TIME_LIMIT
    X, y = cancer
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LinearSVC("hinge", solver="dual", C=1e3, max_iter=1, tol=1e-9).fit(X, y)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", ["penalised", "none"])
@pytest.mark.parametrize("C", [0.05, 5.0])
def test_smooth_losses_have_a_dual_too(loss: str, layout: str, offset: str, C: float) -> None:
    plain = make_problem(layout, C=C, offset=offset)
    problem = replace(plain, loss=loss, width=0.3 if loss == "huber" else 0.0)
    found = margin_dual.solve(problem, limits=DualLimits(tol=1e-9), seed=2)
    certified(found, 1e-9)
    without = margin_dual.solve(problem, limits=DualLimits(tol=1e-9), seed=2, bounds=False)
    assert (found.workspace.alpha == without.workspace.alpha).all()
    assert found.workspace.n_pruned > 0 == without.workspace.n_pruned
    newton = margin_newton.solve(problem, limits=margin_newton.NewtonLimits(tol=1e-10))
    assert found.info.objective == pytest.approx(newton.info.objective, rel=1.1e-9)


def test_many_features_begin_with_the_dual(monkeypatch) -> None:
    problem = replace(make_problem(C=0.1), loss="squared_hinge")
    limits = margin_newton.NewtonLimits(tol=1e-6)
    assert margin_auto.solve(problem, limits=limits).workspace is None
    monkeypatch.setattr(margin_newton, "MAX_GRAM", 3)
    found = margin_auto.solve(problem, limits=limits)
    certified(found, 1e-6)


def test_auto_goes_over_to_newton(cancer, monkeypatch) -> None:
    X, y = cancer
    for C, expected in ((1e-3, True), (1e4, False)):
        problem = LinearSVC("hinge", C=C).to_problem(X, y)
        found = margin_auto.solve(problem, limits=margin_newton.NewtonLimits(tol=1e-6))
        assert (found.workspace is not None) == expected
        assert found.info.duality_gap <= 1e-6 * found.info.objective
        assert margin_auto.count_visits(problem) > problem.n
    # With more features than a matrix is kept for, Newton's method is never the faster.
    monkeypatch.setattr(margin_newton, "MAX_GRAM", 3)
    assert margin_auto.count_visits(problem) == -1


def test_what_does_not_fit_is_refused(cancer) -> None:
    X, y = cancer
    with pytest.raises(SolverMismatch, match="but the offset is free; use the newton solver"):
        LinearSVC("hinge", solver="dual", penalise_intercept=False).fit(X, y)
    problem = make_problem()
    with pytest.raises(InfeasibleStart, match=r"start has shape \(3,\)"):
        margin_dual.solve(problem, np.zeros(3))
    with pytest.raises(InfeasibleStart, match=r"start\[0\] is -1.0; it must be between 0"):
        margin_dual.solve(problem, np.full(problem.n, -1.0))
    solution = margin_dual.solve(problem)
    with pytest.raises(InfeasibleStart, match="between 0 and the weight"):
        certify_margin(problem, solution.coef, solution.bias, problem.weights + 1.0)
    tube = MarginProblem(X, y.astype(float), np.ones(y.size), "squared_epsilon_insensitive", 0.1)
    with pytest.raises(InfeasibleStart, match="the loss is squared_epsilon_insensitive"):
        certify_margin(tube, np.zeros(tube.d), 0.0, np.zeros(tube.n))


def test_no_weight_at_all() -> None:
    problem = make_problem()
    nothing = problem.with_weights(np.zeros(problem.n))
    found = margin_dual.solve(nothing)
    assert found.info.status is Status.SOLVED
    assert not found.coef.any()
