"""TOP (Lee et al. 2004; Wen et al. 2017, supplement): the removed mass, to the most similar.

Given a parent (the full-data solution) and the problem without R: each r gives its beta_r to the
instance with the largest K_rj that has room for it, what does not fit to the next, and so on. In
signed variables an instance of the other label takes it by falling towards 0, as the paper says.
"""

from __future__ import annotations

import numpy as np

from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.solution import Solution
from .move import BLOCK_VALUES, Move


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta without R, its nearest neighbours raised or lowered instead."""
    move = Move(parent, problem)
    beta = move.kept.copy()
    takers = np.flatnonzero(problem.lower < problem.upper)
    step = max(1, BLOCK_VALUES // problem.n)
    for first in range(0, move.lost.size, step):
        givers = move.lost[first : first + step]
        amounts = parent.beta[givers] - move.kept[givers]
        similarity = move.kernel.block(givers, takers)
        # What an instance loses by its own box must not come back to it.
        similarity[givers[:, None] == takers] = -np.inf
        local = beta[takers]
        bounds = (problem.lower[takers], problem.upper[takers])
        for row, amount in zip(similarity, amounts, strict=True):
            give(row, float(amount), local, bounds)
        beta[takers] = local
    return move.start_near(beta)


def give(
    similarity: FloatArray, amount: float, beta: FloatArray, box: tuple[FloatArray, FloatArray]
) -> None:
    """Add `amount` to `beta`, most similar first, each up to its bound; both arrays are changed."""
    bound = box[1] if amount > 0.0 else box[0]
    similarity[beta == bound] = -np.inf
    while amount != 0.0:
        j = int(similarity.argmax())
        if similarity[j] == -np.inf:
            return
        room = bound[j] - beta[j]
        if abs(amount) < abs(room):
            beta[j] += amount
            return
        beta[j] = bound[j]
        amount -= room
        similarity[j] = -np.inf
