"""Seeds: seed(parent, problem) -> Start, a feasible place to begin the next related problem.

The problems share the kernel and the targets and differ in their weights (a fold, another C, other
sample weights). None means that no feasible start was found: begin cold. The result of a solve does
not depend on the seed, only its cost does.
"""

from __future__ import annotations

from .. import _core
from . import ato, avg, greedy, keep, mir, scale, sir, top, zero
from .registry import REGISTRY, SEEDS, Seed, chain_seeds, native_fold_seeds, register, unregister

for _seed in (
    Seed("cold", "from zero", "nothing", None, _core.Seed.cold),
    Seed("zero", "from zero", "fold", zero.seed),
    Seed(
        "keep",
        "the unchanged solution of the previous C",
        starts_from="fold",
        python=keep.seed,
        native=_core.Seed.keep,
        leads_along_C=True,
    ),
    Seed(
        "lift",
        "rows at the bound move to the new bound",
        starts_from="C",
        native=_core.Seed.lift,
        leads_along_C=True,
    ),
    Seed(
        "scale",
        "the solution of the previous C, scaled by the ratio of the two C",
        starts_from="fold",
        python=scale.seed,
        native=_core.Seed.scale,
        leads_along_C=True,
    ),
    Seed(
        "climb",
        "through smaller C, where a start from zero takes long",
        starts_from="C",
        native=_core.Seed.climb,
        leads_along_C=True,
    ),
    Seed("sir", "the previous fold, each removed row replaced by its nearest", "fold", sir.seed),
    Seed("mir", "the previous fold, removed rows replaced by least squares", "fold", mir.seed),
    Seed("ato", "the previous fold, followed towards the new optimum", "fold", ato.seed),
    Seed("avg", "all rows, with what was removed spread evenly", "full", avg.seed),
    Seed("top", "all rows, with what was removed given to the nearest", "full", top.seed),
    Seed(
        "greedy",
        "the solution of another fold, repaired",
        starts_from="full",
        python=greedy.seed,
        native=_core.Seed.greedy,
    ),
):
    register(_seed)

__all__ = [
    "REGISTRY",
    "SEEDS",
    "Seed",
    "chain_seeds",
    "native_fold_seeds",
    "register",
    "unregister",
]
