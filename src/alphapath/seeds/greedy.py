"""Greedy: drop what is held out, then restore the sum where that costs the objective least.

Given a parent (the full-data solution, or another fold's) and the new problem: beta is clipped to
the new box and g updated by these columns only. While the sum is short, the instance with the
smallest right slope rises to its bound or until the sum is right (too high: the one with the
largest left slope falls); g follows by its row. With a tube a move also ends at the kink
beta_i = 0.
"""

from __future__ import annotations

import numpy as np

from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.solution import Solution
from .adjust import ROUNDING
from .move import Move, make_start


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta, clipped, with few instances moved; None where the box has no such sum."""
    move = Move(parent, problem)
    beta = move.kept.copy()
    gradient = move.find_gradient(beta)
    if problem.has_equality and not restore_sum(move, beta, gradient):
        return None
    return make_start(beta, gradient)


def restore_sum(move: Move, beta: FloatArray, gradient: FloatArray) -> bool:
    """Move `beta` and `gradient` to the sum asked for; False where there is no more room.

    In terms of sign * beta the sum is always short, and the left slope of beta is minus the
    right slope of -beta.
    """
    problem = move.problem
    missing = problem.total - float(beta.sum())
    slack = ROUNDING * (abs(problem.total) + float(np.abs(beta).sum()))
    sign = 1.0 if missing > 0.0 else -1.0
    bound = problem.upper if sign > 0.0 else problem.lower
    # slope = sign * gradient + tube; infinite where there is no room.
    tube = np.where(sign * beta >= 0.0, problem.epsilon, -problem.epsilon)
    tube[beta == bound] = np.inf
    while abs(missing) > slack:
        i = int((sign * gradient + tube).argmin())
        if tube[i] == np.inf:
            return False
        end = 0.0 if problem.epsilon > 0.0 and sign * beta[i] < 0.0 < sign * bound[i] else bound[i]
        step = end - beta[i]
        if abs(step) > abs(missing):
            step = missing
            end = beta[i] + step
            if abs(end) <= slack and problem.holds_zero:
                end = 0.0  # what is left is rounding, and as a beta would set the bias
        gradient += move.kernel.multiply([i], [step])
        gradient[i] += problem.ridges[i] * step
        beta[i] = end
        missing -= step
        tube[i] = np.inf if end == bound[i] else problem.epsilon
    return True
