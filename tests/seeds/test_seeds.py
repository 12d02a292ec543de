"""Every seed: a feasible start with the exact gradient, the same answer as cold, and less work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from alphapath.kernels import KernelStore, Linear, Rbf
from alphapath.problem import Problem, Solution, Start, certify
from alphapath.problem.certificate import multiply_exactly
from alphapath.seeds import SEEDS
from alphapath.seeds.adjust import adjust
from alphapath.seeds.ato import BorderedInverse
from alphapath.solvers import coordinate, smo

MODELS = ("classification", "regression", "one_class")
KERNELS = {"rbf": Rbf(0.5), "near_identity": Rbf(50.0), "linear": Linear()}
MOVES = (
    "full_to_fold",
    "fold_to_fold",
    "fold_to_full",
    "leave_one_out",
    "next_one_out",
    "other_C",
    "other_weights",
    "one_weight",
    "null",
    "no_class",
)


@dataclass(frozen=True)
class Case:
    """Two problems that differ in their weights."""

    old: Problem
    new: Problem


def make_problem(model: str, kernel: str, n: int, has_duplicates: bool, C: float, seed: int):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=n)
    if has_duplicates:
        X[n // 2 :] = X[: n - n // 2]
    view = KernelStore(X).view(KERNELS[kernel])
    weights = np.full(n, C)
    if model == "regression":
        return Problem.regression(view, y, weights, epsilon=0.1)
    if model == "one_class":
        return Problem.one_class(view, weights, nu=0.3)
    signs = np.where(y > 0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return Problem.classification(view, signs, weights)


def make_move(problem: Problem, move: str, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = problem.n
    fold = rng.permutation(n) % 4
    ones = np.arange(n)
    c = problem.weights
    changes = {
        "full_to_fold": (c, np.where(fold == 0, 0.0, c)),
        "fold_to_fold": (np.where(fold == 0, 0.0, c), np.where(fold == 1, 0.0, c)),
        "fold_to_full": (np.where(fold == 0, 0.0, c), c),
        "leave_one_out": (c, np.where(ones == seed % n, 0.0, c)),
        "next_one_out": (
            np.where(ones == seed % n, 0.0, c),
            np.where(ones == (seed + 1) % n, 0.0, c),
        ),
        "other_C": (c, c * rng.choice([0.3, 0.5, 1.7, 10.0])),
        "other_weights": (c, c * rng.uniform(0.0, 2.0, size=n) * (rng.random(n) > 0.2)),
        "one_weight": (c, np.where(ones == seed % n, 3.0 * c, c)),
        "null": (c, c),
        "no_class": (c, np.where(problem.targets >= 0.0, c, 0.0)),
    }
    old, new = changes[move]
    if not new.any():
        new = c
    return Case(problem.with_weights(old), problem.with_weights(new))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    problem = make_problem(
        draw(st.sampled_from(MODELS)),
        draw(st.sampled_from(sorted(KERNELS))),
        draw(st.integers(6, 40)),
        draw(st.booleans()),
        draw(st.sampled_from([0.05, 1.0, 10.0])),
        draw(st.integers(0, 10**6)),
    )
    return make_move(problem, draw(st.sampled_from(MOVES)), draw(st.integers(0, 10**6)))


def check_start(problem: Problem, start: Start) -> None:
    problem.check_feasible(start.beta)
    assert start.gradient is not None
    product = multiply_exactly(problem, start.beta)
    exact = product + problem.ridge * start.beta - problem.targets
    diagonal = float(problem.kernel.diagonal().max())
    scale = max(1.0, float(np.abs(exact).max()), diagonal * float(np.abs(start.beta).sum()))
    np.testing.assert_allclose(start.gradient, exact, rtol=0.0, atol=1e-9 * scale)


def check_same_answer(seeded: Solution, cold: Solution, tol: float) -> None:
    problem = cold.problem
    gap = 0.0
    for solution in (seeded, cold):
        certificate = certify(problem, solution.beta, solution.bias)
        assert certificate.is_optimal(1.01 * tol + 1e-9)
        gap = max(gap, certificate.duality_gap)
    difference = abs(seeded.info.objective - cold.info.objective)
    assert difference <= gap + 1e-10 * max(1.0, float(np.abs(cold.beta).sum()))
    # The stopping rule allows tol * sum|beta|, cold or not: an objective much smaller than that
    # sum (one class, mostly) is not exact to 1e-3, and only the gap bounds the difference.
    if abs(cold.info.objective) > 0.05 * float(np.abs(cold.beta).sum()):
        assert difference <= 1e-3 * abs(cold.info.objective)


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(case=cases())
def test_a_start_is_feasible_and_ends_at_the_same_optimum(name: str, case: Case) -> None:
    parent = smo.solve(case.old)
    start = SEEDS[name](parent, case.new)
    if start is None:
        # Every valid problem has a feasible beta; only zero may not be one.
        assert name == "zero"
        assert case.new.total != 0.0
        return
    check_start(case.new, start)
    check_same_answer(smo.solve(case.new, start), smo.solve(case.new), 1e-3)


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(case=cases())
def test_decision_values_agree_at_a_tight_tolerance(name: str, case: Case) -> None:
    start = SEEDS[name](smo.solve(case.old, tol=1e-8), case.new)
    seeded, cold = (smo.solve(case.new, s, tol=1e-8) for s in (start, None))
    check_same_answer(seeded, cold, 1e-8)
    # w is unique; the bias is where an instance lies well inside its box.
    np.testing.assert_allclose(seeded.gradient, cold.gradient, rtol=0.0, atol=1e-5)
    problem = case.new
    width = problem.upper - problem.lower
    inside = np.minimum(cold.beta - problem.lower, problem.upper - cold.beta) > 1e-3 * width
    if problem.epsilon > 0.0:
        inside &= np.abs(cold.beta) > 1e-3 * width
    if (inside & (width > 0.0)).any():
        np.testing.assert_allclose(
            seeded.decision_values, cold.decision_values, rtol=0.0, atol=1e-5
        )


@pytest.mark.parametrize("name", sorted(set(SEEDS) - {"zero"}))
@pytest.mark.parametrize("model", MODELS)
def test_the_null_move_keeps_the_solution(name: str, model: str) -> None:
    problem = make_problem(model, "rbf", 40, False, 1.0, 3)
    parent = smo.solve(problem)
    start = SEEDS[name](parent, problem)
    assert start is not None
    np.testing.assert_array_equal(start.beta, parent.beta)
    assert smo.solve(problem, start).info.n_iter <= 1


def test_zero_costs_what_cold_costs() -> None:
    problem = make_problem("classification", "rbf", 40, False, 10.0, 5)
    parent = smo.solve(problem)
    start = SEEDS["zero"](parent, problem)
    assert smo.solve(problem, start).info.n_iter == smo.solve(problem).info.n_iter


def solve_chain(problem: Problem, masks: list[np.ndarray], name: str | None) -> int:
    """Iterations over all folds, each seeded from the last one (None: all cold)."""
    n_iter = 0
    last: Solution | None = None
    for mask in masks:
        fold = problem.with_held_out(mask)
        start = None if name is None or last is None else SEEDS[name](last, fold)
        last = smo.solve(fold, start, free_set=False)
        assert certify(fold, last.beta, last.bias).is_optimal(1.001e-3)
        n_iter += last.info.n_iter
    return n_iter


@pytest.mark.parametrize("name", ["sir", "greedy", "ato"])
def test_reuse_happened(name: str) -> None:
    X, y = make_classification(300, 8, n_informative=5, flip_y=0.1, random_state=0)
    view = KernelStore(X).view(Rbf(0.1))
    problem = Problem.classification(view, np.where(y == 1, 1.0, -1.0), np.full(300, 1.0))
    fold = np.random.default_rng(0).permutation(300) % 10
    masks = [fold == k for k in range(10)]
    assert solve_chain(problem, masks, name) < 0.8 * solve_chain(problem, masks, None)


@pytest.mark.parametrize("model", MODELS)
def test_ato_from_the_full_solution_leaves_nothing_to_do(model: str) -> None:
    problem = make_problem(model, "rbf", 60, False, 1.0, 11)
    parent = smo.solve(problem, tol=1e-8)
    fold = problem.with_held_out(np.arange(60) % 10 == 0)
    start = SEEDS["ato"](parent, fold)
    assert start is not None
    assert smo.solve(fold, start, tol=1e-5).info.n_iter == 0


def test_scaling_by_one_factor_needs_no_kernel_row() -> None:
    problem = make_problem("regression", "rbf", 40, False, 1.0, 7)
    parent = smo.solve(problem)
    wider = problem.with_weights(problem.weights * 4.0)
    start = SEEDS["scale"](parent, wider)
    assert start is not None
    np.testing.assert_allclose(start.beta, 4.0 * parent.beta, rtol=1e-15)
    at_bound = parent.beta == problem.upper
    assert at_bound.any()
    np.testing.assert_array_equal(start.beta[at_bound], wider.upper[at_bound])


@pytest.mark.parametrize("name", SEEDS)
def test_hard_margins_have_starts_too(name: str) -> None:
    """Infinite weights: no bound to scale or to move to."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += y
    view = KernelStore(X).view(Rbf(0.5))
    problem = Problem.classification(view, y, np.full(40, np.inf))
    parent = smo.solve(problem)
    fold = problem.with_held_out(np.arange(40) % 5 == 0)
    start = SEEDS[name](parent, fold)
    assert start is not None
    check_start(fold, start)
    solution = smo.solve(fold, start)
    assert certify(fold, solution.beta, solution.bias).is_optimal(1.001e-3)


@pytest.mark.parametrize("name", SEEDS)
def test_a_model_without_bias_has_starts_too(name: str) -> None:
    """No sum constraint, an infinite box, a ridge: the 2-norm one-class model."""
    rng = np.random.default_rng(4)
    n = 40
    view = KernelStore(rng.normal(size=(n, 3))).view(Rbf(0.5))
    weights, zeros, ones = np.full(n, np.inf), np.zeros(n), np.ones(n)
    problem = Problem(view, ones, weights, zeros, ones, has_equality=False, ridge=0.5)
    parent = coordinate.solve(problem.with_held_out(np.arange(n) % 5 == 0))
    fold = problem.with_held_out(np.arange(n) % 5 == 1)
    start = SEEDS[name](parent, fold)
    assert start is not None
    check_start(fold, start)
    solution = coordinate.solve(fold, start)
    assert certify(fold, solution.beta).is_optimal(1.001e-3)


@pytest.mark.parametrize("name", SEEDS)
def test_a_kernel_kept_row_by_row_serves_too(name: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 4))
    view = KernelStore(X, memory_limit="200KB").view(Rbf(0.3), precision="float64")
    assert not view.gram.is_full
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, 1.0, -1.0)
    problem = Problem.classification(view, y, np.full(200, 2.0))
    parent = smo.solve(problem.with_held_out(np.arange(200) % 5 == 0))
    fold = problem.with_held_out(np.arange(200) % 5 == 1)
    start = SEEDS[name](parent, fold)
    assert start is not None
    check_start(fold, start)
    solution = smo.solve(fold, start)
    assert certify(fold, solution.beta, solution.bias).is_optimal(1.001e-3)


@given(
    n=st.integers(1, 30),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_adjust_is_the_nearest_point(n: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lower, upper = -rng.random(n), rng.random(n)
    beta = np.clip(rng.normal(size=n), lower, upper)
    total = float((1.0 - share) * lower.sum() + share * upper.sum())
    adjusted = adjust(beta, lower, upper, total, [np.arange(n)])
    assert adjusted is not None
    assert ((lower <= adjusted) & (adjusted <= upper)).all()
    assert abs(adjusted.sum() - total) <= 1e-12 * n
    # Optimality of the projection: all that are not stopped by a bound moved alike.
    moved = adjusted - beta
    inner = (adjusted > lower) & (adjusted < upper)
    if inner.any():
        shift = moved[inner][0]
        np.testing.assert_allclose(moved[inner], shift, atol=1e-12)
        assert (np.abs(moved) <= abs(shift) + 1e-12).all()


def test_adjust_takes_the_first_group_with_room() -> None:
    beta, lower, upper = np.zeros(4), np.zeros(4), np.ones(4)
    first = adjust(beta, lower, upper, 1.0, [np.array([0, 1]), np.arange(4)])
    np.testing.assert_array_equal(first, [0.5, 0.5, 0.0, 0.0])
    both = adjust(beta, lower, upper, 3.0, [np.array([0, 1]), np.arange(4)])
    np.testing.assert_array_equal(both, np.full(4, 0.75))
    assert adjust(beta, lower, upper, 5.0, [np.arange(4)]) is None


@pytest.mark.parametrize("model", ["classification", "one_class"])
def test_the_bordered_inverse_follows_its_members(model: str) -> None:
    problem = make_problem(model, "rbf", 20, True, 1.0, 2)
    view = problem.kernel
    system = BorderedInverse(view, problem, np.arange(8))
    assert system.members.size == 8
    assert system.insert(9)
    assert not system.insert(10 + 3)  # the duplicate of a member
    system.remove(2)
    m = system.members.size
    B = np.zeros((m + 1, m + 1))
    B[0, 1:] = B[1:, 0] = 1.0
    B[1:, 1:] = view.block(system.members, system.members)
    np.testing.assert_allclose(B @ system.inverse, np.eye(m + 1), atol=1e-8)
    assert BorderedInverse(view, problem, np.arange(20)).members.size == 10
