"""Sequences of problems in one native call: the optimum of each, whatever it began from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphapath import Problem, Status, certify
from alphapath.kernels import KernelStore, Linear, Rbf
from alphapath.problem.limits import Limits
from alphapath.problem.steps import Known, Steps
from alphapath.solvers import smo
from alphapath.solvers.sequence.along_c import CHAIN_SEEDS, solve_chain
from alphapath.solvers.sequence.sequence import solve_sequence
from datasets import generated

GRID = 2.0 ** np.arange(-5, 16, 2)


def make_problem(kind: str, view: Any, rng: np.random.Generator) -> Problem:
    signs = np.where(rng.random(view.n) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    weights = rng.uniform(0.1, 1.0, view.n)
    if kind == "classification":
        return Problem.classification(view, signs, weights)
    if kind == "regression":
        return Problem.regression(view, signs + rng.normal(size=view.n), weights, 0.1)
    return Problem.one_class(view, weights, 0.3)


@st.composite
def problems(draw: Any) -> Problem:
    """Few rows, some of them equal or rounded, any model."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(4, 40))
    X = rng.normal(size=(n, 3))
    if draw(st.booleans()):
        X = np.round(X)
    X[rng.integers(0, n, n // 4)] = X[0]
    kernel = draw(st.sampled_from([Rbf(2.0**-12), Rbf(0.5), Rbf(64.0), Linear()]))
    view = KernelStore(X).view(kernel, tol=1e-6)
    return make_problem(
        draw(st.sampled_from(["classification", "regression", "one_class"])), view, rng
    )


def check_optimal(found: Any, tol: float) -> None:
    """Every step is certified from the raw data, and its info tells the truth."""
    for k in range(len(found)):
        solution = found[k]
        assert solution.info.status is Status.SOLVED
        proof = certify(solution.problem, solution.beta, solution.bias)
        size = max(1.0, float(np.abs(solution.beta).sum()))
        assert proof.kkt_violation <= 1.01 * tol + 1e-9 * size
        assert proof.box_violation == 0.0
        assert proof.sum_violation <= 1e-9 * size
        assert solution.info.objective == pytest.approx(proof.objective, rel=1e-7, abs=1e-7)
        assert solution.info.duality_gap == pytest.approx(proof.duality_gap, rel=1e-4, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(sorted(CHAIN_SEEDS)), st.booleans())
def test_every_step_of_a_chain_is_optimal(problem: Problem, seeding: str, down: bool) -> None:
    factors = GRID[:8][::-1] if down else GRID[:8]
    check_optimal(solve_chain(problem, factors, seeding=seeding, tol=1e-6), 1e-6)


def test_steps_beyond_the_weights_of_the_problem() -> None:
    """They only say for whom rows are copied together, not who may move."""
    X, y = generated()
    view = KernelStore(X).view(Rbf(0.1))
    everybody = np.full(len(y), 10.0)
    problem = Problem.classification(view, np.where(y > 0, 1.0, -1.0), everybody)
    few = problem.with_weights(np.where(np.arange(len(y)) % 4 == 0, 10.0, 0.0))
    steps = Steps(np.arange(2), np.ones(2), np.array([-1, 0]), ["cold", "greedy"])
    weights = np.stack([few.weights, everybody])
    check_optimal(solve_sequence(few, weights, steps, limits=Limits(1e-6)), 1e-6)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_every_fold_begun_from_another_is_optimal(problem: Problem) -> None:
    n_folds = 2
    weights = np.tile(problem.weights, (n_folds + 1, 1))
    for h in range(n_folds):
        weights[h + 1, 2 + h :: n_folds] = 0.0  # the first two rows, one of each class, stay
    steps = Steps(np.arange(3), np.ones(3), np.array([-1, 0, 1]), ["cold", "greedy", "greedy"])
    check_optimal(solve_sequence(problem, weights, steps, limits=Limits(1e-6)), 1e-6)


def a_problem(C: float = 1.0) -> Problem:
    X, y = generated()
    view = KernelStore(X).view(Rbf(0.1), tol=1e-3)
    return Problem.classification(view, np.where(y > 0, 1.0, -1.0), np.full(len(y), C))


def fold_weights(problem: Problem, k: int) -> Any:
    weights = np.tile(problem.weights, (k, 1))
    for h in range(k):
        weights[h, h::k] = 0.0
    return weights


def test_a_chain_costs_less_than_cold_solves() -> None:
    chain = solve_chain(a_problem(), GRID)
    cold = solve_chain(a_problem(), GRID, seeding="none")
    assert chain.n_iter.sum() < 0.7 * cold.n_iter.sum()
    assert set(cold.seed) == {"cold"}
    alone = smo.solve(a_problem(float(GRID[4])))
    assert cold.n_iter[4] == alone.info.n_iter
    assert np.array_equal(cold.beta[4], alone.beta)


def test_where_no_instance_is_bounded_a_larger_c_costs_nothing() -> None:
    chain = solve_chain(a_problem(), [2.0**20, 2.0**22, 2.0**24])
    assert chain.seed[1:] == ("keep", "keep")
    assert (chain.n_iter[1:] == 0).all()


def test_chains_in_one_call_are_those_of_single_calls() -> None:
    problem = a_problem()
    weights = fold_weights(problem, 3)
    together = solve_chain(problem, GRID, weights=weights)
    alone = [solve_chain(problem.with_weights(row), GRID) for row in weights]
    assert np.array_equal(together.beta, np.concatenate([chain.beta for chain in alone]))


def test_a_step_depends_on_its_parent_alone() -> None:
    problem = a_problem(10.0)
    full = smo.solve(problem)
    weights = fold_weights(problem, 4)
    steps = Steps(np.arange(4), np.ones(4), np.zeros(4, dtype=int), ["greedy"] * 4)
    together = solve_sequence(problem, weights, steps, limits=Limits(), known=[Known.of(full)])
    for h in range(4):
        one = Steps(np.arange(1), np.ones(1), np.zeros(1, dtype=int), ["greedy"])
        alone = solve_sequence(problem, weights[[h]], one, limits=Limits(), known=[Known.of(full)])
        assert np.array_equal(alone.beta[0], together.beta[h])
    check_optimal(together, 1e-3)


@pytest.mark.parametrize("kind", ["star", "chain", "cold"])
def test_bits_do_not_depend_on_the_threads(kind: str) -> None:
    problem = a_problem(10.0)
    n_folds = 12
    weights = fold_weights(problem, n_folds)
    parents = {
        "star": np.where(np.arange(n_folds) > 0, 0, -1),
        "chain": np.arange(n_folds) - 1,
        "cold": np.full(n_folds, -1),
    }[kind]
    seeds = ["cold" if parent < 0 else "greedy" for parent in parents]
    steps = Steps(np.arange(n_folds), np.ones(n_folds), parents, seeds)
    one, *others = (
        solve_sequence(problem, weights, steps, limits=Limits(), n_threads=n) for n in (1, 2, 3, 20)
    )
    check_optimal(one, 1e-3)
    for other in others:
        for name in ("beta", "gradient", "bias", "n_iter", "kkt_violation"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_what_the_time_limit_cuts_is_missing_on_threads() -> None:
    problem = a_problem(10.0)
    weights = fold_weights(problem, 12)
    steps = Steps(np.arange(12), np.ones(12), np.full(12, -1), ["cold"] * 12)
    found = solve_sequence(
        problem, weights, steps, limits=Limits(), total_time_limit=1e-9, n_threads=3
    )
    assert len(found) < 12
    assert not found.is_interrupted


def test_decision_values_are_those_of_the_steps_that_were_solved() -> None:
    problem = a_problem(10.0)
    steps = Steps(np.zeros(3, dtype=int), np.ones(3), np.full(3, -1), ["cold"] * 3)
    weights = fold_weights(problem, 1)
    all_steps = solve_sequence(problem, weights, steps, limits=Limits())
    for n_solved in range(3):
        columns = {name: column[:n_solved] for name, column in all_steps.columns.items()}
        found = replace(all_steps, columns=columns)
        assert len(found) == n_solved
        values = found.decision_values
        assert values.shape == (n_solved, problem.n)
        assert np.array_equal(values, all_steps.decision_values[:n_solved])
    cut = solve_sequence(problem, weights, steps, limits=Limits(), total_time_limit=1e-9)
    assert len(cut) == 0
    assert cut.decision_values.shape == (0, problem.n)
    assert cut.values_of_parts(np.empty(0, dtype=int), [], slice(None)).shape == (0,)


def test_what_the_time_limit_cuts_is_missing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 10))
    view = KernelStore(X).view(Rbf(0.01), tol=1e-6)
    problem = Problem.classification(
        view, np.where(rng.random(1500) < 0.5, 1.0, -1.0), np.ones(1500)
    )
    found = solve_chain(problem, 2.0 ** np.arange(40), total_time_limit=0.1, tol=1e-9)
    assert len(found) < 40
    assert not found.is_interrupted


def test_values_of_a_sequence_that_was_cut_before_its_first_step_are_empty() -> None:
    problem = a_problem(10.0)
    found = solve_chain(problem, 2.0 ** np.arange(40), total_time_limit=1e-9)
    assert found.n_solved == 0
    assert found.beta.shape == (0, problem.n)
    assert found.values_at(np.arange(3)).shape == (0, 3)
    assert found.values_at(np.arange(3), slice(7, 0)).shape == (0, 3)


@pytest.mark.parametrize(
    ("factors", "options", "message"),
    [
        ([1.0, -2.0], {}, "positive"),
        ([[1.0]], {}, "list of positive"),
        ([1.0], {"seeding": "fast"}, "seeding is 'fast'"),
        ([1.0], {"tol": 0.0}, "tol is 0.0"),
    ],
)
def test_bad_input(factors: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve_chain(a_problem(), factors, **options)


def test_a_seed_that_needs_the_same_rows_is_refused_elsewhere() -> None:
    problem = a_problem()
    steps = Steps(np.arange(2), np.ones(2), np.array([-1, 0]), ["cold", "scale"])
    with pytest.raises(ValueError, match="Only the greedy seed"):
        solve_sequence(problem, fold_weights(problem, 2), steps, limits=Limits())
