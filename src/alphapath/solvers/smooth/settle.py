"""Newton steps on the instances whose products are known, without a pass over the data.

    minimise  1/2 beta'K beta + sum of the losses at f = K beta,    K = A_W A_W'

Given: an InstanceHessian, whose products K are those of the instances W, at states that are active
on W alone. With theta = A_W'beta this is the problem of newton.py without the instances
outside W. These have no loss, so the way from a theta with these states to the optimum on W goes
downhill for all instances too; one pass over the data then tells which of the others have a loss.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem
from .design_rows import Indices
from .instance_hessian import InstanceHessian
from .states import Point, curvatures_of, find_armijo_step, goals_of, is_consistent, states_of

#: Steps without a look at the other instances.
MAX_STEPS = 12


def settle(
    hessian: InstanceHessian, problem: MarginProblem, states: FloatArray
) -> tuple[FloatArray, tuple[Indices, FloatArray], int]:
    """States that agree with themselves on W, their instances and beta, and the steps taken.

    After MAX_STEPS, or where rounding leaves no decrease, they are those of the last step; where it
    leaves no numbers, there are no instances: theta = 0.
    """
    W, K = hessian.products.known, hessian.products.K
    place = hessian.products.place
    within = replace(
        problem,
        X=K,
        targets=problem.targets[W],
        weights=problem.weights[W],
        offset="none",
        dropped=None,
    )
    point: Point | None = None
    for n_steps in range(1, MAX_STEPS + 1):
        found, beta = hessian.solve_newton(goals_of(problem, states))
        if not np.isfinite(beta).all():
            return states, (found[:0], beta[:0]), n_steps
        pull = np.zeros(W.size)
        pull[place[found]] = beta
        values = np.asarray(K @ pull.astype(K.dtype, copy=False), dtype=np.float64)
        if not np.isfinite(values).all():
            return states, (found[:0], beta[:0]), n_steps
        target = Point(pull, values, values)
        if n_steps == MAX_STEPS or is_consistent(within, states[W], values):
            break
        step = 1.0 if point is None else find_armijo_step(within, point, target)
        if step == 0.0:
            break
        point = target if point is None else point.towards(target, step)
        states = np.zeros(problem.n)
        states[W] = states_of(within, point.values)
        hessian.move(curvatures_of(problem, states))
    return states, (found, beta), n_steps
