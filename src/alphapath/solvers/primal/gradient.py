"""Gradient descent on a MarginProblem, with bounds on the change in the margins.

    minimise  1/2 |theta|^2 + sum_i c_i loss(m_i)

by fixed steps that are halved when the objective rises: section 4.2 of Guillory and Bilmes,
"Practical Methods for Exploiting Bounds on Change in the Margin". Loss and gradient are exact at
every step, and most margins are not computed. As in the paper, the step is that of the mean-loss
form of the objective, lam / 2 |theta|^2 + mean loss. It stops when the gap is within `tol` of the
objective: the relative change, the paper's rule, is small wherever rounding has halved the step
once more or less, far from the optimum too. The slopes of the hinge have no gap, so there
the change ends the descent; the status is SOLVED only if its gap is also within `tol`.
"""

from __future__ import annotations

import time

import numpy as np

from ... import _core
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem, scale_weights
from ...problem.solution import Info, MarginSolution, Status
from .gap import measure_point
from .rows import make_task, read_rows, require_margins

#: How losses and gradients are summed: lazy bounds, the same by clusters of rows, the paper's
#: sorted lists, or every margin.
BOUNDS = ("lazy", "clusters", "sorted", "full")


def solve(
    problem: MarginProblem,
    start: FloatArray | None = None,
    *,
    tol: float = 1e-4,
    bounds: str = "lazy",
    limits: tuple[int, float | None] = (-1, None),
    rows: _core.MarginRows | None = None,
    step: float = 100.0,
) -> MarginSolution:
    """Descend from `start` = (w, b), or from 0.

    Parameters
    ----------
    problem : MarginProblem
        A problem with a margin loss; with the hinge, this is subgradient descent.
    start : array of shape (d + 1,) or None
    tol : float
        Gap relative to the objective at which to stop; for the hinge its relative change.
    bounds : "lazy", "clusters", "sorted" or "full"
    limits : (max_iter, time_limit)
        -1 and None mean no limit.
    rows : MarginRows or None
        The rows of problem.X, if the caller has read them.
    step : float
        The first step.
    """
    require_margins(problem, "gradient")
    began = time.perf_counter()
    rows = read_rows(problem.X) if rows is None else rows
    theta = np.zeros(problem.d + 1) if start is None else np.ascontiguousarray(start, float)
    scale = 1.0 / float(problem.weights.sum())
    options = _core.DescentOptions()
    options.lam = scale
    options.bias_lam = scale if problem.offset == "penalised" else 0.0
    options.has_bias = problem.offset != "none"
    options.tol, options.step, options.max_iter = tol, step, limits[0]
    if problem.loss != "hinge":
        options.gap_tol = tol
    task = make_task(problem, rows, scale_weights(problem.weights, scale))
    sums = _core.MarginSums(task, bounds)
    found = _core.descend(sums, theta, options, limits[1] or 0.0)
    n_examined = sums.n_examined
    del sums  # several numbers for every row
    width = tol if problem.loss == "hinge" else None
    point = measure_point(problem, rows, found.theta, width=width, wants_values=True)
    status = Status(found.status)
    if status is Status.SOLVED and point.gap > tol * point.objective:
        status = Status.STALLED
    info = Info(
        status=status,
        objective=point.objective,
        duality_gap=point.gap,
        kkt_violation=point.gradient_norm,
        n_iter=found.n_iter,
        n_rows_computed=n_examined,
        seed="cold" if start is None else "given",
        solve_time=time.perf_counter() - began,
    )
    return MarginSolution(problem, found.theta[:-1], float(found.theta[-1]), point.values, info)
