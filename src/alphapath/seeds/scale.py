"""Scale: beta_i c_new,i / c_old,i, the usual start for another C.

Given a parent and new weights. Where all weights change by one factor the result is feasible as it
is and its gradient needs no kernel: g_new = factor (g + r) - r. Otherwise the sum is adjusted.
"""

from __future__ import annotations

import numpy as np

from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.solution import Solution
from .move import Move, make_start

#: Relative difference that two roundings leave.
SAME = 1e-15


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta, scaled with its box; instances that were held out begin at 0."""
    move = Move(parent, problem)
    ratio = find_ratio(parent.problem.weights, problem.weights)
    beta = scale_beta(parent, problem, ratio)
    adjusted = move.adjust(beta, move.added, move.find_free(beta))
    if adjusted is None:
        return None
    factor = find_factor(move, adjusted)
    if factor is None:
        return move.start_at(adjusted)
    product = parent.gradient + parent.problem.targets
    return make_start(adjusted, factor * product - problem.targets)


def find_factor(move: Move, beta: FloatArray) -> float | None:
    """The number that beta is the parent's beta times, to rounding; None where there is none."""
    old, new = move.parent.problem, move.problem
    if old.kernel is not new.kernel or not np.array_equal(old.ridges, new.ridges):
        return None
    largest = int(np.abs(move.parent.beta).argmax())
    if move.parent.beta[largest] == 0.0:
        return None
    factor = float(beta[largest] / move.parent.beta[largest])
    difference = np.abs(beta - factor * move.parent.beta)
    return factor if bool((difference <= SAME * np.abs(beta)).all()) else None


def find_ratio(old: FloatArray, new: FloatArray) -> FloatArray:
    """c_new / c_old; 1 where that is no number (held out before, or without a bound)."""
    has_ratio = (old > 0.0) & np.isfinite(old) & np.isfinite(new)
    return np.divide(new, old, out=np.ones_like(old), where=has_ratio)


def scale_beta(parent: Solution, problem: Problem, ratio: FloatArray) -> FloatArray:
    """The scaled beta; one at a bound goes to the new bound itself, whatever the rounding."""
    old = parent.problem
    beta = np.clip(parent.beta * ratio, problem.lower, problem.upper)
    was_open = (old.lower < old.upper) & np.isfinite(problem.weights)
    beta = np.where(was_open & (parent.beta == old.lower), problem.lower, beta)
    return np.where(was_open & (parent.beta == old.upper), problem.upper, beta)
