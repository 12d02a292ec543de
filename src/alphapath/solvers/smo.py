"""Sequential minimal optimisation for the family with the sum constraint (SVC, SVR, nu one-class).

Second-order working sets, and exact solves of the free set in between; see cpp/src/smo.
"""

from __future__ import annotations

from .. import _core
from ..problem import Problem, Start
from ..solution import Solution
from . import device
from .native import Limits, require_equality, require_no_ridge, run


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

    The stopping rule is absolute, so it does not depend on the start. A solve that ends by a
    limit or by Ctrl-C returns a valid Solution; `solution.as_start()` resumes it.

    Examples
    --------
    >>> solution = smo.solve(problem, start=parent.as_start())   # doctest: +SKIP
    """
    require_equality(problem, has_equality=True, solver="smo", instead="coordinate")
    require_no_ridge(problem, solver="smo")
    if device.is_on_device(problem):
        return device.solve(problem, start, Limits(tol, max_iter, time_limit))
    return run(_core.solve_smo, problem, start, Limits(tol, max_iter, time_limit, free_set))
