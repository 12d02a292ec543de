"""Coordinate descent on the dual of a margin loss, with exact shrinking by margin bounds.

    minimise  1/2 |theta|^2 + 1/2 sum r_i alpha_i^2 - high sum alpha,    theta = sum alpha_i y_i x_i

over 0 <= alpha_i <= c_i, with r_i = 0 and high = 1 for the hinge. For the squared hinge r_i is
1 / (2 c_i) and alpha_i has no upper bound; for the Huber loss r_i is 2 h / c_i and high 1 + h.

Sweeps over all rows alternate with sweeps over the rows that move. A row at a bound is skipped only
while the distance that theta has moved proves that its margin has not reached 1, so nothing has to
be undone: with and without bounds, the iterates are bitwise the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ... import _core
from ...errors import InfeasibleStart, SolverMismatch
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MARGIN_LOSSES, MarginProblem
from ...problem.solution import Info, MarginSolution, Status
from .gap import measure_point
from .rows import decision_values, make_task, read_rows, require_margins

#: A gap relative to the objective that the model's own slopes show, without the dual variables.
SHOWN = 1e-8


@dataclass(frozen=True)
class DualLimits:
    """Gap relative to the objective, sweeps over all rows (-1: no limit), seconds (None: none).

    `max_examined` (-1: no limit) is the number of computed margins at which to give up, or as soon
    as the rate of the gap predicts that many.
    """

    tol: float = 1e-4
    max_iter: int = -1
    time_limit: float | None = None
    max_examined: int = -1


def solve(
    problem: MarginProblem,
    start: FloatArray | None = None,
    *,
    limits: DualLimits | None = None,
    bounds: bool = True,
    seed: int = 0,
    rows: _core.MarginRows | None = None,
) -> MarginSolution:
    """Descend from the dual variables `start`, or from 0; a free offset is not supported.

    Parameters
    ----------
    problem : MarginProblem
    start : array of shape (n,) or None
        0 <= alpha_i <= c_i, such as the `alpha` in the workspace of a solution.
    limits : DualLimits or None
    bounds : bool
        Whether to skip rows that provably do not move.
    seed : int
        Determines the order in which rows are visited.
    rows : MarginRows or None
        The rows of problem.X, if the caller has read them.

    Examples
    --------
    >>> problem = MarginProblem(np.eye(2), [1.0, -1.0], [0.5, 2.0], "hinge", offset="none")
    >>> solve(problem).coef.tolist()
    [0.5, -1.0]
    """
    require_dual(problem)
    began = time.perf_counter()
    limits = limits or DualLimits()
    rows = read_rows(problem.X) if rows is None else rows
    options = _core.DualOptions()
    options.tol, options.max_iter = limits.tol, limits.max_iter
    options.max_examined = limits.max_examined
    options.has_bias = problem.offset == "penalised"
    options.uses_bounds, options.seed = bounds, seed
    alpha = None if start is None else check_alpha(problem, start)
    task = make_task(problem, rows)
    found = _core.descend_dual(task, alpha, options, limits.time_limit or 0.0)
    info = Info(
        status=Status(found.status),
        objective=found.objective,
        duality_gap=found.gap,
        kkt_violation=found.violation,
        n_iter=found.n_iter,
        n_rows_computed=found.n_examined,
        seed="cold" if start is None else "given",
        solve_time=time.perf_counter() - began,
    )
    coef, bias = found.theta[:-1], float(found.theta[-1])
    if problem.loss == "hinge":
        return MarginSolution(problem, coef, bias, decision_values(rows, coef, bias), info, found)
    point = measure_point(problem, rows, found.theta, wants_values=True)
    is_shown = point.gap <= SHOWN * point.objective
    alpha = None if is_shown else found.alpha
    return MarginSolution(problem, coef, bias, point.values, info, found, alpha)


def can_solve(problem: MarginProblem) -> bool:
    """Whether this is a margin loss with a penalised offset or none."""
    return problem.loss in MARGIN_LOSSES and problem.offset != "free" and problem.dropped is None


def require_dual(problem: MarginProblem) -> None:
    """Reject other problems in one sentence."""
    require_margins(problem, "dual")
    if not can_solve(problem):
        raise SolverMismatch(
            f"The dual solver is for a penalised offset or none, but the offset is "
            f"{problem.offset}; use the newton solver."
        )


def check_alpha(problem: MarginProblem, alpha: FloatArray) -> FloatArray:
    """Check that dual variables lie in their boxes; others are rejected, never clipped."""
    checked = np.ascontiguousarray(alpha, dtype=np.float64)
    if checked.shape != (problem.n,):
        raise InfeasibleStart(f"start has shape {checked.shape}; it must be ({problem.n},).")
    upper = problem.weights
    if problem.loss == "squared_hinge":
        upper = np.where(upper > 0.0, np.inf, 0.0)
    is_inside = (checked >= 0.0) & (checked <= upper)
    if not is_inside.all():
        i = int(np.argmin(is_inside))
        raise InfeasibleStart(f"start[{i}] is {checked[i]}; it must be between 0 and {upper[i]}.")
    return checked
