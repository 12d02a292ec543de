"""Seeds: seed(parent, problem) -> Start, a feasible place to begin the next related problem.

The problems share the kernel and the targets and differ in their weights (a fold, another C, other
sample weights). None means that no feasible start was found: begin cold. The result of a solve does
not depend on the seed, only its cost does.
"""

from __future__ import annotations

from collections.abc import Callable

from ..problem.box_problem import Problem, Start
from ..problem.solution import Solution
from . import ato, avg, greedy, keep, mir, scale, sir, top, zero

Seed = Callable[[Solution, Problem], Start | None]

SEEDS: dict[str, Seed] = {
    "zero": zero.seed,
    "keep": keep.seed,
    "scale": scale.seed,
    "sir": sir.seed,
    "mir": mir.seed,
    "ato": ato.seed,
    "avg": avg.seed,
    "top": top.seed,
    "greedy": greedy.seed,
}

__all__ = ["SEEDS", "Seed"]
