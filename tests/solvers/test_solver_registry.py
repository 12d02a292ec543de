"""What CONTRIBUTING promises of every solver in SOLVERS."""

from __future__ import annotations

import re

import numpy as np
import pytest

from alphapath.errors import InfeasibleStart, SolverMismatch
from alphapath.kernels import KernelStore, Rbf
from alphapath.problem import Problem, Start, Status, certify
from alphapath.solvers import SOLVERS
from oracles import dual_objective, solve_by_qp

RNG = np.random.default_rng(4)
X = RNG.normal(size=(40, 3))
VALUES = X[:, 0] + 0.3 * RNG.normal(size=40)
SIGNS = np.where(VALUES > 0.0, 1.0, -1.0)
WEIGHTS = np.where(np.arange(40) % 7 == 0, 0.0, RNG.uniform(0.5, 3.0, size=40))
VIEW = KernelStore(X).view(Rbf(0.5), precision="float64")

#: One problem of each family.
PROBLEMS = {
    "classification": Problem.classification(VIEW, SIGNS, WEIGHTS),
    "regression": Problem.regression(VIEW, VALUES, WEIGHTS, epsilon=0.1),
    "one_class": Problem.one_class(VIEW, WEIGHTS, nu=0.4),
    "squared_slacks": Problem.squared_slack_one_class(VIEW, WEIGHTS),
    "no_bias": Problem(
        *(VIEW, SIGNS, WEIGHTS, np.minimum(SIGNS, 0.0), np.maximum(SIGNS, 0.0)),
        has_equality=False,
        ridge=0.3,
    ),
}


def is_for(name: str, problem: Problem) -> bool:
    """Whether the solver takes the problem."""
    try:
        SOLVERS[name](problem)
    except SolverMismatch:
        return False
    return True


ACCEPTED = [(name, kind) for name in SOLVERS for kind in PROBLEMS if is_for(name, PROBLEMS[kind])]


def test_every_solver_is_for_something_and_every_problem_has_a_solver() -> None:
    assert {name for name, _ in ACCEPTED} == set(SOLVERS)
    assert {kind for _, kind in ACCEPTED} == set(PROBLEMS)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_other_problems_are_refused_in_a_sentence(name: str, kind: str) -> None:
    if (name, kind) in ACCEPTED:
        pytest.skip("it is for this problem")
    with pytest.raises(SolverMismatch) as refusal:
        SOLVERS[name](PROBLEMS[kind])
    assert re.fullmatch(r"[A-Z].*\.", str(refusal.value))


@pytest.mark.parametrize(("name", "kind"), ACCEPTED)
def test_the_certificate_confirms_what_the_solver_says(name: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    solution = SOLVERS[name](problem)
    assert solution.info.status is Status.SOLVED
    found = certify(problem, solution.beta, solution.bias)
    scale = max(1.0, abs(found.objective))
    assert solution.info.objective == pytest.approx(found.objective, abs=1e-9 * scale)
    assert solution.info.duality_gap == pytest.approx(found.duality_gap, abs=1e-8 * scale)
    assert solution.info.kkt_violation == pytest.approx(found.kkt_violation, abs=1e-9)
    best = dual_objective(problem, solve_by_qp(problem))
    assert abs(dual_objective(problem, solution.beta) - best) <= found.duality_gap + 1e-6 * scale


@pytest.mark.parametrize(("name", "kind"), ACCEPTED)
def test_its_own_optimum_leaves_nothing_to_do(name: str, kind: str) -> None:
    solution = SOLVERS[name](PROBLEMS[kind])
    start = getattr(solution.workspace, "as_start", solution.as_start)()
    again = SOLVERS[name](PROBLEMS[kind], start)
    assert again.info.status is Status.SOLVED
    assert again.info.n_iter <= 1


@pytest.mark.parametrize(("name", "kind"), ACCEPTED)
def test_a_zero_start_costs_what_a_cold_one_does(name: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    if problem.total != 0.0:
        pytest.skip("zero is not feasible")
    cold = SOLVERS[name](problem)
    zero = SOLVERS[name](problem, Start(np.zeros(problem.n)))
    assert zero.info.n_iter == cold.info.n_iter
    np.testing.assert_array_equal(zero.beta, cold.beta)


@pytest.mark.parametrize(("name", "kind"), ACCEPTED)
def test_an_infeasible_start_is_refused(name: str, kind: str) -> None:
    problem = PROBLEMS[kind]
    outside = np.where(WEIGHTS == 0.0, 0.5, problem.lower)  # a held-out instance has no room
    with pytest.raises(InfeasibleStart):
        SOLVERS[name](problem, Start(outside))
