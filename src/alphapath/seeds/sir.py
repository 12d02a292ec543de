"""SIR, single instance replacement (Wen et al. 2017, eqs. 19-21, algorithm 3).

Given a parent on S + R and the problem on S + T: each r in R with beta_r != 0 gives its beta to the
most similar (largest K_rt) unused t in T of the same label, so that f changes little (eq. 21);
then T is adjusted. Where no such t is left the paper draws a random one of T; here that beta is
dropped and the adjustment spreads it, which is deterministic.

The label of an instance whose box has two sides (regression) is the side that its residual under
the parent asks for, sign(r - f).
"""

from __future__ import annotations

import numpy as np

from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.solution import Solution
from .move import BLOCK_VALUES, Indices, Move


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta on S, that of R handed to T one by one."""
    move = Move(parent, problem)
    beta = move.kept.copy()
    amounts = parent.beta[move.lost] - move.kept[move.lost]
    labels = find_labels(parent, problem, move.added)
    for side in (1.0, -1.0):
        givers = move.lost[amounts * side > 0.0]
        takers = move.added[labels == side]
        chosen = match(move, givers, takers)
        has_taker = chosen >= 0
        beta[takers[chosen[has_taker]]] = (parent.beta - move.kept)[givers[has_taker]]
    return move.start_near(np.clip(beta, problem.lower, problem.upper))


def find_labels(parent: Solution, problem: Problem, added: Indices) -> FloatArray:
    """+1 or -1: the side of the box to which each added instance would move."""
    is_upward = problem.upper[added] > 0.0
    is_two_sided = is_upward & (problem.lower[added] < 0.0)
    is_upward &= ~is_two_sided | (parent.gradient[added] + parent.bias < 0.0)
    return np.where(is_upward, 1.0, -1.0)


def match(move: Move, givers: Indices, takers: Indices) -> Indices:
    """For each giver in turn the position of the most similar taker still unused, or -1."""
    chosen = np.full(givers.size, -1, dtype=np.intp)
    if takers.size == 0:
        return chosen
    penalty = np.zeros(takers.size)  # -inf once used
    step = max(1, BLOCK_VALUES // takers.size)
    n_matched = min(givers.size, takers.size)
    for first in range(0, n_matched, step):
        similarity = move.kernel.block(givers[first : min(first + step, n_matched)], takers)
        similarity += penalty
        # The best of all unused at this point stays the best unless an earlier row takes it.
        for k, best in enumerate(similarity.argmax(axis=1)):
            if penalty[best] != 0.0:
                best = (similarity[k] + penalty).argmax()
            penalty[best] = -np.inf
            chosen[first + k] = best
    return chosen
