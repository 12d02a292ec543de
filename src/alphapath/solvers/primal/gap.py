"""The quality of a model as reported by the primal solvers, recomputed from all rows in one pass.

The bound is that of `certify_margin`. The slopes of the loss give a point of the dual; those of a
Huber loss close to the hinge do so for the hinge, whose own slope jumps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import _core
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem
from .rows import make_task, native_loss


@dataclass(frozen=True)
class PointQuality:
    """Objective, a bound on its distance from the optimum, the gradient and decision values."""

    objective: float
    gap: float
    gradient_norm: float
    values: FloatArray


def measure_point(
    problem: MarginProblem,
    rows: _core.MarginRows,
    theta: FloatArray,
    C: float = 1.0,
    *,
    width: float | None = None,
    wants_values: bool = False,
) -> PointQuality:
    """At theta = (w, b) for the weights times C; `width`: of a Huber loss for the slopes."""
    smooth = native_loss(problem) if width is None else _core.MarginLoss.huber(width)
    sums, values = _core.sum_dual(make_task(problem, rows), smooth, theta, wants_values)
    alpha, moments = sums.alpha, sums.moments
    penalty = theta.copy()  # P theta
    if problem.offset == "free":
        penalty[-1] = 0.0
    objective = C * sums.losses + 0.5 * float(penalty @ penalty)
    gradient = penalty - C * (moments[0] + moments[1])
    if problem.offset == "none":
        gradient[-1] = 0.0
    square = float(gradient @ gradient)
    if problem.offset != "free" and problem.loss != "hinge":
        gap = 0.5 * square
    else:
        shares = np.ones(2)
        if problem.offset == "free":
            shares = np.divide(alpha.min(), alpha, out=np.zeros(2), where=alpha > 0.0)
        u = C * (shares @ moments)
        u[-1] *= problem.offset == "penalised"
        dual = C * float(shares @ alpha) - 0.5 * float(u @ u)
        if problem.loss == "huber":
            dual += C * problem.width * float(shares @ alpha - shares**2 @ sums.squares)
        elif problem.loss == "squared_hinge":
            dual -= 0.25 * C * float(shares**2 @ sums.squares)
        gap = max(objective - dual, 0.0)
    # That of the dual's zero, where no digit is left of the one found.
    gap = gap if gap <= objective else objective
    values.flags.writeable = False  # so that a solution shares it
    return PointQuality(objective, gap, float(np.sqrt(square)), values)
