"""The folds of a classifier of many small pairs of classes: all pairs on all folds in one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ..search.parents import COLD, FULL, Plan
from ..solution import Info
from ..solvers.class_pairs import PairsSolution, solve_class_pairs
from ..solvers.native import Limits
from ..solvers.steps import Steps
from .fold_models import FoldModels, PairFit


class PairRun:
    """The folds of a model, each pair of classes solved from fold to fold on its own rows.

    Parameters
    ----------
    folds : FoldModels
        Of pairs that are small, on one kernel.
    seeding : {"auto", "none", "greedy"}
    keep_train : bool
        Whether values of the training rows are wanted.
    """

    def __init__(self, folds: FoldModels, seeding: str, keep_train: bool) -> None:
        self.folds, self.keep_train = folds, keep_train
        self.plan = folds.make_plan(tuple(folds.codes), seeding)
        #: In the order in which they are solved.
        self.order = [FULL] * self.plan.needs_full + list(self.plan.parents)
        self._full: list[Info] = []

    @staticmethod
    def is_for(folds: FoldModels, seeding: str) -> bool:
        """Whether folds can be solved so."""
        return (
            folds.parts.are_small
            and not folds.has_own_kernels
            and seeding in ("auto", "none", "greedy")
            and all(codes.size == folds.n_classes for codes in folds.codes.values())
            and not any(folds.training_set(h).has_repeats for h in folds.codes)
        )

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, Any]]:
        folds, model = self.folds, self.folds.model
        weights = [
            folds.parts.weights if h == FULL else folds.training_set(h).weights for h in self.order
        ]
        solved = solve_class_pairs(
            folds.whole,
            folds.parts.pairs,
            np.stack(weights),
            steps_of(self.plan, self.order),
            limits=Limits(model.tol, model.max_iter, model.time_limit),
            n_threads=effective_n_jobs(n_jobs),
        )
        if self.plan.needs_full:
            self._full = solved.infos(0)
        for k, h in enumerate(self.order):
            if h != FULL and (solved.n_solved > k).all():
                yield h, folds.with_values(h, self._fits(solved, k, h), self.keep_train)
        for h in folds.errors:
            yield h, []
        if not solved.is_complete:
            raise KeyboardInterrupt

    def full_infos(self) -> list[Info]:
        return self._full

    def _fits(self, solved: PairsSolution, k: int, fold: int) -> list[PairFit]:
        """What is kept of all pairs on a fold."""
        position_of = self.folds.training_set(fold).position_of
        fits = []
        biases = solved.columns["bias"][:, k].tolist()
        for p, (bias, info) in enumerate(zip(biases, solved.infos(k), strict=True)):
            rows, beta = solved.support_in(p, k)
            fits.append(PairFit(position_of[rows], beta, bias, info, None, None))
        return fits


def steps_of(plan: Plan, order: list[int]) -> Steps:
    """The folds as steps, each with a row of weights of its own."""
    number = {h: k for k, h in enumerate(order)} | {COLD: -1}
    parents = [-1 if h == FULL else number[plan.parents[h]] for h in order]
    seeds = ["cold" if parent < 0 else "greedy" for parent in parents]
    return Steps(np.arange(len(order)), np.ones(len(order)), np.array(parents), seeds)
