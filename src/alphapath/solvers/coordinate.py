"""Coordinate descent, one variable at a time: no sum constraint, no tube (epsilon = 0)."""

from __future__ import annotations

from .. import _core
from ..errors import SolverMismatch
from ..problem import Problem, Start
from ..solution import Solution
from .native import Limits, require_equality, run


def solve(
    problem: Problem,
    start: Start | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float | None = None,
) -> Solution:
    """Solve `problem` to a KKT violation of at most `tol`, from `start` (None: cold).

    Examples
    --------
    >>> solution = coordinate.solve(problem)                     # doctest: +SKIP
    """
    require_equality(problem, has_equality=False, solver="coordinate", instead="smo")
    if problem.epsilon != 0.0:
        raise SolverMismatch(
            f"The coordinate solver is for problems with epsilon = 0, but epsilon is "
            f"{problem.epsilon}; use a problem with a sum constraint and the smo solver."
        )
    return run(_core.solve_coordinate, problem, start, Limits(tol, max_iter, time_limit))
