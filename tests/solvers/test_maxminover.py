"""One class with squared slacks: MaxMinOver, the coordinate solver, and a general QP solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from alphapath import Problem, Start, Status, certify
from alphapath.errors import SolverMismatch
from alphapath.kernels import KernelStore, Linear, Rbf
from alphapath.solvers import coordinate, maxminover
from oracles import dual_objective, solve_by_qp

GAP = 1e-4


def rows(n: int = 90) -> np.ndarray:
    X, y = make_moons(2 * n, noise=0.15, random_state=0)
    return X[y == 0]


def problem_of(name: str = "plain") -> Problem:
    X = rows()
    n = len(X)
    weights = np.full(n, 100.0)
    kernel = Rbf(2.0)
    if name == "weights":
        weights = np.linspace(0.5, 50.0, n)
    if name == "held_out":
        weights[::3] = 0.0
    if name == "identity":
        kernel = Rbf(1e9)
    if name == "rank_one":
        kernel = Rbf(1e-30)
    if name == "duplicates":
        X = np.repeat(X[: n // 3], 3, axis=0)
    if name == "linear":
        X = X + 3.0
        kernel = Linear()
    if name == "float32":
        return Problem.squared_slack_one_class(
            KernelStore(X).view(kernel, precision="float32"), weights
        )
    return Problem.squared_slack_one_class(KernelStore(X).view(kernel), weights)


NAMES = ("plain", "weights", "held_out", "identity", "rank_one", "duplicates", "linear", "float32")


@pytest.mark.parametrize("name", NAMES)
def test_both_solvers_reach_the_gap_and_the_optimum(name):
    problem = problem_of(name)
    best = dual_objective(problem, solve_by_qp(problem))
    values = []
    for solution in (
        maxminover.solve(problem, gap_tol=GAP),
        coordinate.solve(problem, gap_tol=GAP),
    ):
        assert solution.info.status is Status.SOLVED
        certificate = certify(problem, solution.beta)
        assert certificate.relative_gap <= GAP * (1 + 1e-3)
        assert certificate.box_violation == 0.0
        # The gap bounds the distance to the optimum.
        gap = certificate.duality_gap
        assert best - 1e-7 <= certificate.objective <= best + gap + 1e-7
        assert_allclose(solution.info.duality_gap, gap, rtol=1e-3, atol=1e-7)
        values.append(solution.decision_values - 1.0)
    # |w - w*|^2 <= 2 gap bounds how far a decision value can be from that of the optimum.
    far = np.sqrt(8.0 * certificate.relative_gap * (certificate.primal_objective + 1.0))
    largest = np.sqrt(np.max(problem.kernel.diagonal()))
    is_clear = np.abs(values[0]) > far * largest
    assert (np.sign(values[0]) == np.sign(values[1]))[is_clear].all()


@pytest.mark.parametrize("name", ["plain", "weights", "held_out"])
def test_gap_of_the_solver_is_that_of_the_certificate(name):
    solution = maxminover.solve(problem_of(name), gap_tol=GAP)
    gap = certify(solution.problem, solution.beta).relative_gap
    assert solution.workspace.relative_gap == pytest.approx(gap, rel=1e-9)
    steps, gaps = solution.workspace.trace.T
    assert steps[0] == 0.0
    assert steps[-1] == solution.info.n_iter
    assert (gaps[:-1] > GAP).all()
    assert gaps[-1] == solution.workspace.relative_gap


def test_counters_are_whole_numbers_and_beta_their_multiple():
    solution = maxminover.solve(problem_of())
    counters = solution.workspace.counters
    assert (counters == np.round(counters)).all()
    assert counters.sum() == solution.info.n_iter + 1  # +2 - 1 a step, and no -1 in the first
    rho = counters.sum() / solution.beta.sum()
    assert_allclose(solution.beta * rho, counters, rtol=1e-12)
    assert float((solution.gradient).min()) == pytest.approx(0.0, abs=1e-12)


def test_the_own_optimum_costs_nothing_and_zero_what_a_cold_start_does():
    problem = problem_of()
    solution = maxminover.solve(problem)
    assert maxminover.solve(problem, solution.as_start()).info.n_iter <= 1
    assert maxminover.solve(problem, solution.workspace.as_start()).info.n_iter <= 1
    from_zero = maxminover.solve(problem, Start(np.zeros(problem.n)))
    assert from_zero.info.n_iter == solution.info.n_iter


def test_a_neighbour_starts_from_the_counters():
    problem = problem_of()
    parent = maxminover.solve(problem.with_ridge(0.008))
    cold = maxminover.solve(problem)
    warm = maxminover.solve(problem, parent.workspace.as_start())
    assert warm.info.n_iter < cold.info.n_iter / 2
    assert certify(problem, warm.beta).relative_gap <= GAP * 1.001


def test_limits_end_a_run_with_an_honest_status():
    problem = problem_of()
    short = maxminover.solve(problem, gap_tol=1e-9, max_iter=500)
    assert short.info.status is Status.ITERATION_LIMIT
    assert short.info.n_iter == 500
    assert certify(problem, short.beta).relative_gap > 1e-9
    late = maxminover.solve(problem, gap_tol=1e-13, time_limit=0.05)
    assert late.info.status in (Status.TIME_LIMIT, Status.STALLED)
    # Out of reach in double precision: it ends by itself, as near as rounding allows.
    out_of_reach = coordinate.solve(problem, gap_tol=1e-300)
    assert out_of_reach.info.status in (Status.STALLED, Status.SOLVED)
    assert certify(problem, out_of_reach.beta).relative_gap < 1e-14


def test_other_models_are_refused():
    problem = problem_of()
    with pytest.raises(SolverMismatch, match="one class with squared slacks"):
        maxminover.solve(replace(problem, targets=np.zeros(problem.n)))
    with pytest.raises(SolverMismatch, match="one class with squared slacks"):
        coordinate.solve(problem.with_weights(np.ones(problem.n)), gap_tol=GAP)
    with pytest.raises(ValueError, match="gap_tol is -1"):
        coordinate.solve(problem, gap_tol=-1.0)
    with pytest.raises(ValueError, match="recompute_every is 0"):
        maxminover.solve(problem, recompute_every=0)


def test_a_chain_of_ridges_is_its_solves_one_by_one():
    problem = problem_of("weights").with_ridge(problem_of("weights").ridges)
    factors = np.geomspace(10.0, 1e-3, 9)
    chain = coordinate.solve_ridges(problem, factors, gap_tol=GAP)
    assert len(chain.nodes) == factors.size
    cold = 0
    for k, factor in enumerate(factors):
        solution = chain.solution(k)
        assert_allclose(solution.problem.ridges, factor * problem.ridges)
        certificate = certify(solution.problem, solution.beta)
        assert certificate.relative_gap <= GAP * 1.001
        assert chain.nodes[k].gap == pytest.approx(certificate.relative_gap, rel=1e-6)
        alone = coordinate.solve(solution.problem, gap_tol=GAP)
        cold += alone.info.n_iter
        gap = certificate.duality_gap + alone.info.duality_gap
        assert abs(alone.info.objective - certificate.objective) <= gap
    assert sum(node.n_iter for node in chain.nodes) < cold / 2
    with pytest.raises(ValueError, match="positive numbers"):
        coordinate.solve_ridges(problem, [1.0, 0.0])


def test_limits_of_a_chain_hold_for_each_node():
    problem = problem_of().with_ridge(1.0)
    chain = coordinate.solve_ridges(problem, [0.1, 0.01, 0.001], gap_tol=1e-9, max_iter=5)
    assert [node.n_iter for node in chain.nodes] == [5, 5, 5]
    last = chain.solution(2)
    assert last.info.status is Status.ITERATION_LIMIT
    assert certify(last.problem, last.beta).relative_gap == pytest.approx(last.relative_gap)
    late = coordinate.solve_ridges(problem, [0.1, 0.01], gap_tol=1e-15, time_limit=1e-9)
    assert [node.status for node in late.nodes] == [int(Status.TIME_LIMIT)]


def test_a_chain_continues_from_a_start():
    problem = problem_of().with_ridge(1.0)
    first = coordinate.solve_ridges(problem, [0.01], gap_tol=GAP)
    again = coordinate.solve_ridges(problem, [0.01], Start(first.beta[0]), gap_tol=GAP)
    assert again.nodes[0].n_iter == 0
    assert certify(again.solution(0).problem, again.beta[0]).relative_gap <= GAP * 1.001
