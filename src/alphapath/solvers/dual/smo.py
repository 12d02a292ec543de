"""Sequential minimal optimisation for the family with the sum constraint (SVC, SVR, nu one-class).

Second-order working sets, and exact solves of the free set in between; see cpp/src/dual/smo.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import _core
from ...problem.box_problem import Problem, Start
from ...problem.limits import Limits
from ...problem.solution import Solution
from .. import device
from ..native import is_on_device, is_rounded, require_equality, require_no_ridge, run
from ..precision import as_stalled, continue_counts, in_double, is_hopeless, is_spoilt


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
    if is_on_device(problem):
        return device.solve(problem, start, Limits(tol, max_iter, time_limit))
    limits = Limits(tol, max_iter, time_limit, free_set)
    if not is_rounded(problem.kernel):
        return run(_core.solve_smo, problem, start, limits)
    length = np.linalg.norm(problem.weights)
    fine = in_double(problem) if is_hopeless(problem.kernel, length, tol) else None
    if fine is not None:
        begin = None if start is None else Start(start.beta)
        return replace(run(_core.solve_smo, fine, begin, limits), problem=problem)
    solution = run(_core.solve_smo, problem, start, limits)
    if not is_spoilt(solution, tol):
        return solution
    fine = in_double(problem)
    if fine is None:
        return as_stalled(solution, tol)
    left = None if time_limit is None else max(time_limit - solution.info.solve_time, 1e-6)
    n_left = max_iter if max_iter < 0 else max(max_iter - solution.info.n_iter, 0)
    rest = Limits(tol, n_left, left, free_set)
    again = run(_core.solve_smo, fine, Start(solution.beta), rest)
    return replace(again, problem=problem, info=continue_counts(solution.info, again.info))
