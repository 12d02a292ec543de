"""Problems whose kernel lives on a GPU: all steps of a sequence at once (see alphapath.gpu)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..gpu.batch import Plan, parents_along_c
from ..gpu.sequence import solve_on_device
from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.limits import Limits
from ..problem.solution import Solution, make_solution


def solve_steps(
    problem: Problem,
    weights: FloatArray,
    plan: Plan,
    limits: Limits,
    total_time_limit: float | None,
) -> tuple[dict[str, Any], bool]:
    """Return the columns of the solution of a sequence, and whether Ctrl-C ended it.

    Only parents along C are used for warm starts: all other steps are solved at the same time.
    """
    view: Any = problem.kernel
    parents = parents_along_c(plan.rows, plan.factors, plan.parents)
    seconds = [x for x in (limits.time_limit, total_time_limit) if x is not None]
    return solve_on_device(
        view,
        problem,
        weights,
        Plan(plan.rows, plan.factors, parents),
        Limits(limits.tol, limits.max_iter, min(seconds, default=None)),
    )


def solve(problem: Problem, start: Start | None, limits: Limits) -> Solution:
    """Solve one problem on a device; after Ctrl-C, the result is the start or zero."""
    view: Any = problem.kernel
    plan = Plan(np.zeros(1, dtype=np.int64), np.ones(1), np.full(1, -1))
    begun = None if start is None else np.asarray(start.beta)
    columns, _ = solve_on_device(
        view,
        problem,
        problem.weights[None, :],
        plan,
        Limits(limits.tol, limits.max_iter, limits.time_limit),
        begun,
    )
    if not len(columns["bias"]):
        raise KeyboardInterrupt
    counts = {
        name: columns[name][0] for name in ("status", "n_iter", "n_free_set_solves", "solve_time")
    }
    return make_solution(problem, columns["beta"][0], columns["gradient"][0], counts)
