"""The folds of a classifier of many small pairs of classes: all pairs on all folds in one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ...problem.limits import Limits
from ...problem.solution import Info
from ...search.folds.plan import FULL
from ...solvers.sequence.class_pairs import PairsSolution, solve_class_pairs
from .dual import FoldModels, PairFit
from .run import FoldRun


class PairRun(FoldRun):
    """The folds of a model, each pair of classes solved on its own rows.

    On one kernel a pair goes from fold to fold, all pairs in one call. Where folds have kernels of
    their own, one fold comes after the other, each from zero.

    Parameters
    ----------
    folds : FoldModels
        Of pairs that are small.
    seeding : {"auto", "none", "greedy"}
        "greedy" on one kernel only.
    keep_train : bool
        Whether values of the training rows are wanted.
    """

    def __init__(self, folds: FoldModels, seeding: str, keep_train: bool) -> None:
        self.folds, self.keep_train = folds, keep_train
        own = "none" if folds.has_own_kernels else seeding
        self.plan = folds.make_plan(tuple(folds.codes), own)
        self._full: list[Info] = []

    @staticmethod
    def is_for(folds: FoldModels, seeding: str) -> bool:
        """Whether folds can be solved so."""
        known = ("auto", "none") if folds.has_own_kernels else ("auto", "none", "greedy")
        return (
            folds.parts.are_small
            and seeding in known
            and len(folds.codes) > 0
            and all(codes.size == folds.n_classes for codes in folds.codes.values())
            and not any(folds.training_set(h).has_repeats for h in folds.codes)
        )

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, Any]]:
        n_threads = effective_n_jobs(n_jobs)
        everybody = list(self.plan.parents)
        if self.folds.has_own_kernels:
            for h in everybody:
                yield from self._solve(self.folds.view_of(h), [h], n_threads)
        else:
            order = [FULL] * self.plan.needs_full + everybody
            yield from self._solve(self.folds.whole, order, n_threads)
        for h in self.folds.errors:
            yield h, []

    def _solve(self, view: Any, order: list[int], n_threads: int) -> Iterator[tuple[int, Any]]:
        """Folds, in the order in which they are solved, on one kernel."""
        folds, model = self.folds, self.folds.model
        weights = [
            folds.parts.weights if h == FULL else folds.training_set(h).weights for h in order
        ]
        solved = solve_class_pairs(
            view,
            folds.parts.pairs,
            np.stack(weights),
            self.plan.as_steps(order),
            limits=Limits(model.tol, model.max_iter, model.time_limit),
            n_threads=n_threads,
        )
        if order[0] == FULL:
            self._full = solved.infos(0)
        for k, h in enumerate(order):
            if h != FULL and (solved.n_solved > k).all():
                yield h, folds.with_values(h, self._fits(solved, k, h), self.keep_train)
        if solved.is_interrupted or not solved.is_complete:
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
