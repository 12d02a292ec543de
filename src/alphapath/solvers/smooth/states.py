"""The pieces of the smooth SVM's objective: states of instances, and steps that lower it.

See newton.py for the problem and the method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem

#: An instance this close to the kink has no loss to speak of: its state is the one assumed.
TIE = 1e-12
#: Armijo: the least share of the decrease that the slope promises.
DELTA = 1e-4


def states_of(problem: MarginProblem, values: FloatArray) -> FloatArray:
    """The side of the kink on which each instance has a loss, +1 or -1; 0 where it has none."""
    y = problem.targets
    if problem.loss == "squared_hinge":
        return np.where((y * values < 1.0) & (problem.weights > 0.0), y, 0.0)
    error = y - values
    is_active = (np.abs(error) > problem.width) & (problem.weights > 0.0)
    return np.where(is_active, np.sign(error), 0.0)


def curvatures_of(problem: MarginProblem, states: FloatArray) -> FloatArray:
    """D: 2 c_i on active instances, 0 on the others."""
    return np.asarray(2.0 * problem.weights * np.abs(states))


def goals_of(problem: MarginProblem, states: FloatArray) -> FloatArray:
    """t: the value at which the quadratic of an active instance has its minimum."""
    return problem.targets - problem.width * states


def is_consistent(problem: MarginProblem, states: FloatArray, values: FloatArray) -> bool:
    """Whether `values` have these states, ties aside."""
    differs = np.flatnonzero(states_of(problem, values) != states)
    distance = distance_to_kink(problem, values)[differs]
    return bool((distance <= TIE * np.maximum(1.0, np.abs(problem.targets[differs]))).all())


def distance_to_kink(problem: MarginProblem, values: FloatArray) -> FloatArray:
    """How far each decision value may move before the state changes."""
    if problem.loss == "squared_hinge":
        return np.abs(1.0 - problem.targets * values)
    return np.abs(np.abs(problem.targets - values) - problem.width)


@dataclass
class Point:
    """theta with A theta; or beta with K beta, where theta = A'beta and K = AA'.

    `dual` is what |theta|^2 is the product of with the position: theta itself, or K beta.
    """

    position: FloatArray
    values: FloatArray
    dual: FloatArray

    def objective(self, problem: MarginProblem) -> float:
        return 0.5 * float(self.position @ self.dual) + float(
            problem.weights @ problem.losses(self.values)
        )

    def towards(self, other: Point, step: float) -> Point:
        if step == 1.0:
            return other
        position = self.position + step * (other.position - self.position)
        values = self.values + step * (other.values - self.values)
        return Point(position, values, values if self.dual is self.values else position)


def find_armijo_step(problem: MarginProblem, point: Point, target: Point) -> float:
    """The largest of 1, 1/2, 1/4, ... with a sufficient decrease; 0 where rounding leaves none."""
    direction = target.position - point.position
    rise = target.values - point.values
    slope = float(point.dual @ direction) + float(
        (problem.weights * problem.slopes(point.values)) @ rise
    )
    now = point.objective(problem)
    # No decrease can be seen below the rounding of the objective itself.
    slack = 4.0 * np.finfo(np.float64).eps * abs(now)
    step = 1.0
    while step > 1e-10:
        if point.towards(target, step).objective(problem) <= now + DELTA * step * slope + slack:
            return step
        step /= 2.0
    return 0.0
