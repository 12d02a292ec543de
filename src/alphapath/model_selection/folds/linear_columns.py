"""One column of the decision values of a LinearSVC along C, on one fold or on several."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem
from ...problem.solution import Info, Status
from ...solvers.primal.newton import JointPaths, NewtonPath
from .protocol import ColumnFit, Wanted

if TYPE_CHECKING:
    from .linear import LinearFolds


class Together:
    """One column of several folds, side by side."""

    def __init__(
        self,
        folds: LinearFolds,
        group: Sequence[int],
        problems: list[MarginProblem],
        grams: list[FloatArray],
        wanted: Wanted,
    ) -> None:
        self.folds, self.group, self.wanted = folds, group, wanted
        self.paths = JointPaths(
            problems,
            folds.model._limits,
            rows=folds.rows,
            grams=grams,
            signs_only=wanted.is_sign_enough and len(folds.problems) == 1,
        )

    def step(self, C: float, seed: str) -> list[ColumnFit]:
        begin = time.perf_counter()
        results, held_out = self.paths.step(C)
        seconds = (time.perf_counter() - begin) / len(self.group)
        fits = []
        for f, (h, result) in enumerate(zip(self.group, results, strict=True)):
            coef, bias = np.empty(0), 0.0
            if self.wanted.has_coef or self.wanted.has_train:
                coef, bias = self.paths.solution(f)
            info = Info(
                status=Status(result.status),
                objective=result.objective,
                duality_gap=result.gap,
                kkt_violation=float(np.sqrt(2.0 * result.gap)),
                n_iter=result.n_iter,
                solve_time=seconds,
                seed=seed,
            )
            train, test = self.folds.splits[h]
            inner = self.folds.values(coef, bias, train) if self.wanted.has_train else None
            fits.append(ColumnFit(coef, bias, info, held_out.take(test), inner))
        return fits


class Alone:
    """One column of one fold."""

    def __init__(
        self,
        folds: LinearFolds,
        group: Sequence[int],
        problems: list[MarginProblem],
        grams: list[FloatArray],
        wanted: Wanted,
    ) -> None:
        self.folds, self.fold, self.wanted = folds, group[0], wanted
        self.path = NewtonPath(problems[0], folds.model._limits, rows=folds.rows)

    def step(self, C: float, seed: str) -> list[ColumnFit]:
        info, coef, bias = self.path.step(C)
        if info.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        train, test = self.folds.splits[self.fold]
        inner = self.folds.values(coef, bias, train) if self.wanted.has_train else None
        values = self.folds.values(coef, bias, test)
        return [ColumnFit(coef, bias, replace(info, seed=seed), values, inner)]
