"""Keep: what fits the new box stays.

Given a parent and new weights (another C, a fold, single weights), every beta is clipped to its new
box; then T, M or all are adjusted.
"""

from __future__ import annotations

from ..problem.box_problem import Problem, Start
from ..problem.solution import Solution
from .move import Move


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta, clipped and adjusted."""
    move = Move(parent, problem)
    return move.start_near(move.kept)
