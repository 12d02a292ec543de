"""Coordinate descent, one variable at a time, for the family without the sum constraint."""

from __future__ import annotations

from .. import _core
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
    free_set: bool = True,
) -> Solution:
    """Solve `problem` to a KKT violation of at most `tol`, from `start` (None: cold).

    Examples
    --------
    >>> solution = coordinate.solve(problem)                     # doctest: +SKIP
    """
    require_equality(problem, has_equality=False, solver="coordinate", instead="smo")
    return run(_core.solve_coordinate, problem, start, Limits(tol, max_iter, time_limit, free_set))
