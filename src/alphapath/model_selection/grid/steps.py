"""The steps of a chain as the solver takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...problem.steps import Steps
from ...search.chain import NEIGHBOUR, ROOT, Step


def keep_folds(steps: Sequence[Step], folds: Sequence[int]) -> list[Step]:
    """The steps of these folds only; one whose parent is gone begins from nothing."""
    wanted = set(folds)
    if all(step.fold in wanted for step in steps):
        return list(steps)
    kept: list[Step] = []
    number = {ROOT: ROOT, NEIGHBOUR: NEIGHBOUR}
    for k, step in enumerate(steps):
        if step.fold not in wanted:
            continue
        number[k] = len(kept)
        parent = number.get(step.parent, ROOT)
        kept.append(Step(step.fold, step.factor, parent, step.seed if parent != ROOT else "cold"))
    return kept


def as_native_steps(
    steps: Sequence[Step], folds: Sequence[int], factors: Sequence[float], n_known: int = 0
) -> Steps:
    """The steps as the solver counts them: after `n_known` solutions, for the NEIGHBOUR's nodes."""
    row = {fold: i for i, fold in enumerate(folds)}
    fold, factor, parent, seeds = zip(*steps, strict=True)
    parents = np.array(parent)
    if n_known:
        is_next = parents == NEIGHBOUR
        parents = np.where(parents >= 0, parents + n_known, ROOT)
        parents[is_next] = np.arange(n_known)
    return Steps(
        np.array([row[f] for f in fold]), np.array([factors[j] for j in factor]), parents, seeds
    )
