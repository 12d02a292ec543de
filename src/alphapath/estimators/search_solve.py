"""The solves of one chain of a search, and the scores of what they give."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..problem import FloatArray
from ..search.chain_result import ChainResult
from ..search.node import ROOT, Chain, Step
from ..solvers.native import Limits
from ..solvers.sequence import SequenceSolution, Steps, solve_sequence
from . import one_vs_one
from .base import BaseSVM
from .fold_models import complete_model, reduce_solution
from .search_grid import Model
from .search_rows import SearchData, SearchRows
from .search_scores import FoldOfRows, Judge


@dataclass(frozen=True)
class Setting:
    """What is the same for all chains of a search.

    Parameters
    ----------
    data : SearchData
    heads : sequence of Pipeline or None
        Preprocessings, not fitted.
    last : (str, estimator)
        Name and given estimator of the last step.
    models : sequence of Model
    judge : Judge
    deadline : float or None
        Of time.time(), for the whole search.
    """

    data: SearchData
    heads: Sequence[Pipeline | None]
    last: tuple[str, Any]
    models: Sequence[Model]
    judge: Judge
    deadline: float | None


class ChainSolver:
    """The solves of one chain on one kernel, and their scores."""

    def __init__(
        self,
        setting: Setting,
        chain: Chain,
        model: Model,
        rows: SearchRows,
        local: Sequence[int],
    ) -> None:
        self.setting, self.chain, self.model = setting, chain, model
        self.rows, self.local = rows, local
        self.sets = rows.sets(model)
        self.position = {fold: h for h, fold in enumerate(chain.folds)}
        n_classes = self.sets.n_classes
        self.pairs = one_vs_one.class_pairs(n_classes) if n_classes > 2 else [None]
        #: For each pair the steps that were taken and what they gave.
        self.found: list[tuple[list[Step], SequenceSolution] | None] = []

    def solve(self, view: Any, good: Sequence[int], result: ChainResult) -> None:
        """Every pair of classes, over all steps of the chain."""
        problems = self.rows.problems(self.model)
        for pair, problem in zip(self.pairs, problems, strict=True):
            folds = [
                self.chain.folds[h]
                for h in good
                if pair is None or np.isin(pair, self.sets.codes[self.local[h]]).all()
            ]
            steps = keep_folds(self.chain.steps, folds)
            if not steps:
                self.found.append(None)
                continue
            weights = np.stack(
                [self.rows.weights(self.sets, self.local[self.position[f]], pair) for f in folds]
            )
            solved = solve_sequence(
                problem.with_kernel(view),
                weights,
                as_native_steps(steps, folds, self.chain.factors),
                limits=self._limits(),
                total_time_limit=self._seconds_left(),
            )
            if solved.is_interrupted:
                raise KeyboardInterrupt
            self.found.append((steps, solved))
            if len(solved):
                result.count(steps, solved, self.position)

    def _limits(self) -> Limits:
        svm = self.model.estimator
        return Limits(svm.tol, svm.max_iter, svm.time_limit)

    def _seconds_left(self) -> float | None:
        deadline = self.setting.deadline
        return None if deadline is None else max(deadline - time.time(), 1e-6)

    def score(self, gamma: float, kernel: Any, good: Sequence[int], result: ChainResult) -> float:
        """Enter the scores of every fold; returns the seconds that took."""
        begin = time.perf_counter()
        for h in good:
            number = self.local[h]
            base = self.rows.as_prepared(self.model, self.sets.training_set(number).model)
            base._gamma, base._kernel = gamma, kernel
            fold = FoldOfRows(
                self.setting.data, self.rows, self.sets, base, self.chain.folds[h], number
            )
            where = self._find_steps(h)
            n_done = min((len(rows) for _, rows in where), default=0)
            result.forget(h, n_done)
            if n_done == 0:
                continue
            values = {
                part: self._values(where, fold.index(part), number, n_done)
                for part in self.setting.judge.parts
            }
            make_model = partial(self._fitted, where, base, number)
            scores = self.setting.judge.score_fold(fold, values, make_model)
            result.enter_scores(h, scores)
        seconds = time.perf_counter() - begin
        result.score_time[good] = seconds / (len(good) * len(self.chain.factors))
        return seconds

    def _find_steps(self, h: int) -> list[tuple[SequenceSolution, list[int]]]:
        """For each pair of the fold its solutions and the numbers of the steps, by factor."""
        fold = self.chain.folds[h]
        where = []
        for entry in self.found:
            if entry is None:
                continue
            steps, solved = entry
            mine = [k for k, step in enumerate(steps) if step.fold == fold]
            if mine:
                where.append((solved, [k for k in mine if k < len(solved)]))
        return where

    def _values(
        self,
        where: Sequence[tuple[SequenceSolution, list[int]]],
        index: Any,
        number: int,
        n_done: int,
    ) -> FloatArray:
        """Decision values of shape (n_done, n_rows, n_pairs)."""
        sign = self.sets.sign_of(number)
        columns = []
        for solved, numbers in where:
            first, last = numbers[0], numbers[n_done - 1]
            assert last - first == n_done - 1
            values = solved.gradient[first : last + 1, index] + solved.problem.targets[index]
            values += solved.bias[first : last + 1, None]
            columns.append(values)
        found = np.stack(columns, axis=2) if len(columns) > 1 else columns[0][:, :, None]
        return found if sign == 1.0 else sign * found

    def _fitted(
        self,
        where: Sequence[tuple[SequenceSolution, list[int]]],
        base: BaseSVM,
        number: int,
        k: int,
    ) -> Any:
        """The estimator of the k-th C as its fit would have left it, behind its preprocessing."""
        factor = self.chain.factors[k]
        fits = [
            reduce_solution(self.sets, number, solved[numbers[k]], False, factor)
            for solved, numbers in where
        ]
        model = self.rows.as_prepared(self.model, base)
        if hasattr(model, "C"):
            model.C = factor
        complete_model(self.sets, number, fits, model)
        if self.rows.head is None:
            return model
        return Pipeline([*self.rows.head.steps, (self.setting.last[0], model)])


def keep_folds(steps: Sequence[Step], folds: Sequence[int]) -> list[Step]:
    """The steps of these folds only; one whose parent is gone begins from nothing."""
    wanted = set(folds)
    if all(step.fold in wanted for step in steps):
        return list(steps)
    kept: list[Step] = []
    number = {ROOT: ROOT}
    for k, step in enumerate(steps):
        if step.fold not in wanted:
            continue
        number[k] = len(kept)
        parent = number.get(step.parent, ROOT)
        kept.append(Step(step.fold, step.factor, parent, step.seed if parent != ROOT else "cold"))
    return kept


def as_native_steps(steps: Sequence[Step], folds: Sequence[int], factors: Sequence[float]) -> Steps:
    row = {fold: i for i, fold in enumerate(folds)}
    return Steps(
        np.array([row[step.fold] for step in steps]),
        np.array([factors[step.factor] for step in steps]),
        np.array([step.parent for step in steps]),
        [step.seed for step in steps],
    )
