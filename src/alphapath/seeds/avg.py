"""AVG (DeCoste and Wagstaff 2000; Wen et al. 2017, supplement): the removed mass, evenly over M.

Given a parent (the full-data solution) and the problem without R: what R held is spread evenly over
the free instances; what does not fit one of them goes evenly to the others. That is one shift
of M with clipping. Where M has not the room, T joins, then all.
"""

from __future__ import annotations

from ..problem.box_problem import Problem, Start
from ..problem.solution import Solution
from .move import Move


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta without R, M shifted by one number."""
    move = Move(parent, problem)
    return move.start_near(move.kept, move.find_free(move.kept), move.added)
