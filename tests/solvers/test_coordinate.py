"""The solver of the family without the sum constraint, on its future models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alphapath import Problem, Start, Status, certify
from alphapath.errors import SolverMismatch
from alphapath.kernels import KernelStore, Linear, Rbf
from alphapath.solvers import coordinate
from datasets import CLASSIFICATION
from oracles import dual_objective, solve_by_qp


def problem_of(name):
    X, y = CLASSIFICATION["generated"]()
    n = y.size
    view = KernelStore(X).view(Rbf(0.1), tol=1e-8)
    ones, zeros = np.ones(n), np.zeros(n)
    fields = {
        # weights, lower_scale, upper_scale, targets, ridge
        "box": (ones, zeros, ones, ones, 0.0),
        "ridge": (ones, zeros, ones, ones, 1.0),
        "hard": (np.full(n, np.inf), zeros, ones, ones, 0.1),
        "both_signs": (ones, -ones, ones, X[:, 0], 0.01),
        "linear": (0.1 * ones, zeros, ones, ones, 0.0),
    }
    if name == "linear":
        view = KernelStore(X * (2 * y - 1)[:, np.newaxis]).view(Linear(), tol=1e-8)
    weights, low, high, targets, ridge = fields[name]
    return Problem(view, targets, weights, low, high, has_equality=False, ridge=ridge)


@pytest.mark.parametrize("name", ["box", "ridge", "hard", "both_signs", "linear"])
def test_optimum_is_certified_and_its_own_start(name):
    problem = problem_of(name)
    solution = coordinate.solve(problem, tol=1e-7)
    assert solution.info.status is Status.SOLVED
    assert solution.bias == 0.0
    certificate = certify(problem, solution.beta, solution.bias)
    assert certificate.is_optimal(1.05e-7)
    assert coordinate.solve(problem, solution.as_start(), tol=1e-7).info.n_iter <= 1
    cold = coordinate.solve(problem)
    assert coordinate.solve(problem, Start(np.zeros(problem.n))).info.n_iter == cold.info.n_iter
    if name != "hard":
        best = dual_objective(problem, solve_by_qp(problem))
        assert solution.info.objective == pytest.approx(best, rel=1e-6)


def test_a_tube_is_refused():
    with pytest.raises(SolverMismatch, match=r"epsilon = 0, but epsilon is 0.2"):
        coordinate.solve(replace(problem_of("both_signs"), epsilon=0.2))


def test_limits_and_resuming():
    problem = problem_of("box")
    part = coordinate.solve(problem, max_iter=5)
    assert part.info.status is Status.ITERATION_LIMIT
    whole = coordinate.solve(problem, part.as_start())
    assert whole.info.status is Status.SOLVED
