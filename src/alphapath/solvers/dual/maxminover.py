"""OneClassMaxMinOver: one class with squared slacks, by the counters of Timm, Klement, Martinetz.

    minimise  1/2 beta' (K + D) beta - sum(beta)   subject to  beta >= 0

It stops by the relative feasibility gap (primal - dual) / (primal + 1); see
cpp/src/dual/maxminover.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ... import _core
from ...problem.box_problem import FloatArray, Problem, Start
from ...problem.limits import Limits
from ...problem.solution import Solution
from ..native import as_native, prepare_start, require_one_class, solve_options, wrap_result


@dataclass(frozen=True)
class Counters:
    """The state of MaxMinOver: unscaled counters, the gap, and the trace of gaps.

    Parameters
    ----------
    counters : array of shape (n,)
        beta times min s, which warm-starts a neighbouring node.
    relative_gap : float
    trace : array of shape (n_evaluations, 2)
        Number of steps and the gap at each evaluation.
    """

    counters: FloatArray
    relative_gap: float
    trace: FloatArray

    def as_start(self) -> Start:
        """The counters as the start of a problem with another kernel or ridge."""
        return Start(self.counters)


def solve(
    problem: Problem,
    start: Start | None = None,
    *,
    gap_tol: float = 1e-4,
    max_iter: int = -1,
    time_limit: float | None = None,
    recompute_every: int = 1000,
    check_every: int = 0,
) -> Solution:
    """Solve `problem` to a relative feasibility gap of `gap_tol`, from `start` (None: cold).

    The counters begin as `start.beta`, unscaled; `solution.workspace` is a Counters. `check_every`
    is the number of steps between two evaluations of the gap (0: a default).

    Examples
    --------
    >>> parent = maxminover.solve(problem)                               # doctest: +SKIP
    >>> maxminover.solve(neighbour, parent.workspace.as_start())         # doctest: +SKIP
    """
    require_one_class(problem, "The maxminover solver")
    if recompute_every < 1 or check_every < 0:
        raise ValueError(
            f"recompute_every is {recompute_every} and check_every {check_every}; the first must "
            f"be at least 1, the second at least 0."
        )
    view: Any = problem.kernel
    beta, gradient = prepare_start(problem, start)
    n_rows_before = view.gram.n_rows_computed
    result = _core.solve_maxminover(
        as_native(problem),
        beta,
        gradient,
        solve_options(Limits(gap_tol, max_iter, time_limit), view.spare_bytes),
        recompute_every,
        check_every,
    )
    solution = wrap_result(problem, result.solution, n_rows_before)
    return replace(solution, workspace=Counters(result.counters, result.gap, result.trace))
