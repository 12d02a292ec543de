"""Zero: begin at beta = 0, as if there were no parent (what the others are compared with)."""

from __future__ import annotations

import numpy as np

from ..problem.box_problem import Problem, Start
from ..problem.solution import Solution
from .move import make_start


def seed(parent: Solution, problem: Problem) -> Start | None:
    """Given any parent: beta = 0 and its gradient -r; None where 0 is not feasible (one class)."""
    start = make_start(np.zeros(problem.n), -problem.targets)
    return start if start.is_feasible(problem, sum_atol=0.0) else None
