"""Products in single precision: the same optimum as in double, or double where they do not do."""

from __future__ import annotations

import numpy as np
import pytest

from alphapath.problem import MarginProblem, Status, certify_margin
from alphapath.solvers.smooth import newton as smooth_newton
from alphapath.solvers.smooth import products as smooth_products
from alphapath.solvers.smooth import refine as smooth_refine
from alphapath.solvers.smooth.design_rows import DesignRows
from alphapath.solvers.smooth.instance_hessian import InstanceHessian
from alphapath.solvers.smooth.leave_one_out import leave_out
from alphapath.solvers.smooth.refine import DualSystem, combine_refined
from alphapath.solvers.smooth.states import curvatures_of, goals_of, states_of
from smooth_cases import make_folds, make_square


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """Single precision for the smallest products too."""
    monkeypatch.setattr(smooth_products, "LARGE", 1)


def theta_of(solution):
    return np.append(solution.coef, solution.bias)


def check_optimum(found, tol=1e-9):
    """The certificate's optimum, and that of Newton steps in double."""
    assert found.info.status is Status.SOLVED
    certificate = certify_margin(found.problem, found.coef, found.bias)
    fresh = smooth_newton.solve(found.problem, strategy="none")
    assert not fresh.workspace.is_single
    theta, other = theta_of(found), theta_of(fresh)
    assert certificate.gradient_norm <= 1e-8 * np.linalg.norm(theta)
    assert np.linalg.norm(theta - other) <= tol * np.linalg.norm(other)


@pytest.mark.parametrize("c", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("offset", ["penalised", "none"])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
def test_models_and_folds_are_those_of_double_precision(c, offset, loss):
    width = 0.1 if loss.endswith("insensitive") else 0.0
    problem = make_square(150, c=c, offset=offset, loss=loss, width=width)
    full = smooth_newton.solve(problem, strategy="instance")
    moved = smooth_newton.solve(
        problem.with_weights(1.1 * problem.weights), full, strategy="instance"
    )
    folds = smooth_newton.solve_side_by_side(make_folds(problem), full, strategy="instance")
    for found in (full, moved, *folds):
        check_optimum(found)
        assert found.workspace.is_single


def test_a_huge_c_goes_to_double_before_anything_is_computed(monkeypatch):
    learned = []
    learn = smooth_products.Products.learn
    monkeypatch.setattr(
        smooth_products.Products,
        "learn",
        lambda self, some: learned.append(self.is_single) or learn(self, some),
    )
    problem = make_square(150, c=1e6)
    full = smooth_newton.solve(problem, strategy="instance")
    folds = smooth_newton.solve_side_by_side(make_folds(problem), full, strategy="instance")
    assert learned
    assert not any(learned)
    for found in (full, *folds):
        check_optimum(found, tol=1e-8)


def test_from_a_small_c_to_a_huge_one():
    problem = make_square(150)
    full = smooth_newton.solve(problem, strategy="instance")
    assert full.workspace.is_single
    for factor in (10.0, 1e6):
        scaled = problem.with_weights(factor * problem.weights)
        start = smooth_newton.solve(scaled, full, strategy="instance")
        for found in (
            start,
            *smooth_newton.solve_side_by_side(make_folds(scaled), start, strategy="instance"),
        ):
            check_optimum(found, tol=1e-8)
            assert found.workspace.is_single == (factor < 1e3)


@pytest.mark.parametrize("c", [1e4, 1e5])
def test_where_single_precision_was_tried_in_vain(c, monkeypatch):
    """The factor fails, or the corrections do not shrink."""
    monkeypatch.setattr(smooth_products, "SINGLE_LIMIT", np.inf)
    problem = make_square(150, c=c)
    full = smooth_newton.solve(problem, strategy="instance")
    assert not full.workspace.is_single
    for found in (full, *smooth_newton.solve_side_by_side(make_folds(problem), full)):
        check_optimum(found, tol=1e-8)


def make_system(problem, states, is_settled=True):
    rows = DesignRows(problem)
    hessian = InstanceHessian(rows)
    hessian.products.learn(np.arange(problem.n))
    hessian.move(curvatures_of(problem, states))
    answer = hessian.solve_newton(goals_of(problem, states))
    return DualSystem(problem, rows, hessian, states, answer, is_settled, is_refined=True)


def test_a_wrong_state_next_to_the_kink_is_put_right():
    problem = make_square(150)
    fresh = smooth_newton.solve(problem, strategy="none")
    right = states_of(problem, fresh.decision_values)
    nearest = np.argmin(np.abs(1.0 - problem.targets * fresh.decision_values))
    wrong = right.copy()
    wrong[nearest] = 0.0 if right[nearest] else problem.targets[nearest]
    system = make_system(problem, wrong)
    (theta,) = combine_refined([system])
    assert (system.states == right).all()
    np.testing.assert_allclose(theta, theta_of(fresh), atol=1e-10 * np.linalg.norm(theta))
    kept = make_system(problem, wrong, is_settled=False)  # a plain Newton step keeps its states
    combine_refined([kept])
    assert (kept.states == wrong).all()


def test_states_are_looked_at_however_small_the_first_correction_is(monkeypatch):
    problem = make_square(150)
    fresh = smooth_newton.solve(problem, strategy="none")
    right = states_of(problem, fresh.decision_values)
    nearest = np.argmin(np.abs(1.0 - problem.targets * fresh.decision_values))
    wrong = right.copy()
    wrong[nearest] = 0.0 if right[nearest] else problem.targets[nearest]
    monkeypatch.setattr(smooth_refine, "LEFT", 1.0)
    system = make_system(problem, wrong)
    combine_refined([system])
    assert (system.states == right).all()


def test_corrections_that_do_not_shrink_end_in_double(monkeypatch):
    problem = make_square(150)
    fresh = smooth_newton.solve(problem, strategy="none")
    states = states_of(problem, fresh.decision_values)
    system = make_system(problem, states)
    monkeypatch.setattr(smooth_refine, "LEAST_RATE", 1e12)
    monkeypatch.setattr(smooth_refine, "LEFT", 0.0)  # the first correction is not enough
    (theta,) = combine_refined([system])
    assert not system.hessian.is_single
    np.testing.assert_allclose(theta, theta_of(fresh), atol=1e-10 * np.linalg.norm(theta))


def test_settled_states_that_are_wrong_do_not_come_back():
    """A crowd at the kink: rounding decides who has a loss, and steps still come to an end."""
    problem = make_square(n=60, c=2.0)
    fresh = smooth_newton.solve(problem, strategy="none")
    # Rows that repeat the nearest ones, a little shifted: a crowd at the kink.
    near = np.argsort(np.abs(1.0 - problem.targets * fresh.decision_values))[:10]
    X = np.vstack([problem.X, *(problem.X[near] * (1.0 + 1e-7 * k) for k in range(1, 9))])
    signs = np.concatenate([problem.targets, *[problem.targets[near]] * 8])
    crowded = MarginProblem(np.ascontiguousarray(X), signs, np.full(signs.size, 1.0))
    check_optimum(smooth_newton.solve(crowded, strategy="instance"))


def test_leave_one_out_is_in_double():
    problem = make_square(n=60)
    full = smooth_newton.solve(problem, strategy="instance")
    assert full.workspace.is_single
    found = leave_out(full, np.arange(60), strategy="instance", drops_features=True)
    for i in range(0, 60, 7):
        mask = np.arange(60) == i
        fresh = smooth_newton.solve(problem.with_held_out(mask, mask), strategy="none")
        assert found.values[i] == pytest.approx(fresh.decision_values[i], abs=1e-9)
