"""Which solution each fold begins from, decided before anything is solved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...problem.steps import Steps
from ...seeds import REGISTRY, SEEDS

BoolArray = NDArray[np.bool_]

#: The parent of a fold that begins from the solution on all data, or from nothing.
FULL, COLD = -1, -2

#: No seed: each fold follows the exact path from the solution on all data (alphapath.paths).
DECREMENTAL = "decremental"

#: From as many folds on, "auto" solves all data first: the fit is paid back by the folds.
MANY_FOLDS = 10

#: Up to as many instances all folds are one native call: to stop after the first ones and ask
#: whether their starts paid would take longer than it can save.
FEW_INSTANCES = 2500


@dataclass(frozen=True)
class Plan:
    """The seed, and the parent of each fold: an earlier fold, FULL or COLD.

    `may_give_up`: whether the folds go on cold where the first seeded ones cost too much.
    """

    seed: str
    parents: Mapping[int, int]
    may_give_up: bool = False

    @property
    def needs_full(self) -> bool:
        return FULL in self.parents.values()

    def as_steps(self, order: Sequence[int]) -> Steps:
        """Folds (or FULL) as steps of one sequence, each with a row of weights of its own."""
        number = {h: k for k, h in enumerate(order)} | {COLD: -1}
        parents = [-1 if h == FULL else number[self.parents[h]] for h in order]
        seeds = ["cold" if parent < 0 else self.seed for parent in parents]
        return Steps(np.arange(len(order)), np.ones(len(order)), np.array(parents), seeds)


def check_seeding(seeding: str) -> None:
    """Refuse an unknown name in one sentence."""
    if seeding not in ("auto", "none", DECREMENTAL, *SEEDS):
        known = ", ".join(repr(name) for name in (DECREMENTAL, *SEEDS))
        raise ValueError(f"seeding is {seeding!r}; it must be 'auto', 'none' or one of {known}.")


def make_plan(
    folds: Sequence[int],
    held_out: Callable[[Sequence[int]], list[NDArray[np.intp]]],
    seeding: str,
    wants_full: bool,
    size: int,
) -> Plan:
    """The plan for the folds numbered `folds` (in that order), by the rule measured for "auto".

    With the solution on all data wanted anyway, or many folds, every fold begins from it by the
    greedy seed; otherwise by the greedy seed from the nearest fold solved before. `held_out` gives
    the instances that folds leave out, `size` is the number of instances of the problem, which may
    be fewer.
    """
    check_seeding(seeding)
    is_auto = seeding == "auto"
    if seeding == "none":
        return Plan("cold", dict.fromkeys(folds, COLD))
    seed = "greedy" if is_auto else seeding
    from_full = seed == DECREMENTAL or REGISTRY[seed].starts_from == "full"
    if is_auto and not wants_full:
        from_full = len(folds) >= MANY_FOLDS
    may_give_up = is_auto and size > FEW_INSTANCES
    if from_full:
        return Plan(seed, dict.fromkeys(folds, FULL), may_give_up)
    return Plan(seed, nearest_earlier(folds, held_out, prefers_first=is_auto), may_give_up)


def nearest_earlier(
    folds: Sequence[int],
    held_out: Callable[[Sequence[int]], list[NDArray[np.intp]]],
    *,
    prefers_first: bool = False,
) -> dict[int, int]:
    """For each fold the earlier one whose training set differs in the fewest instances.

    Where no two folds hold out a common instance (k-fold) all earlier ones are equally near. Of
    equals the latest is taken, as in the papers, or the first: then the folds after it do not wait
    for each other.
    """
    parents = {
        fold: folds[0 if prefers_first else i - 1] if i else COLD for i, fold in enumerate(folds)
    }
    if len(folds) < 3:
        return parents
    own = held_out(folds)
    counts, rows = [part.size for part in own], np.concatenate(own)
    if np.bincount(rows).max(initial=0) <= 1:
        return parents
    indptr = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(folds), int(rows.max(initial=0)) + 1)
    members = sp.csr_array((np.ones(rows.size, dtype=np.int32), rows, indptr), shape)
    common = sp.csr_array(members @ members.T)
    sizes = np.asarray(counts)
    for i in range(1, len(folds)):
        shared = common[[i]].toarray().ravel()[:i]
        difference = sizes[i] + sizes[:i] - 2 * shared
        nearest = int(np.argmin(difference if prefers_first else difference[::-1]))
        parents[folds[i]] = folds[nearest if prefers_first else i - 1 - nearest]
    return parents
