"""The folds of one problem on few instances: solved in one native call, scored all at once.

Fold by fold, to state such a problem and to enter its solution would take longer than the solve.
"""

from __future__ import annotations

import numpy as np
from joblib import effective_n_jobs

from ...problem.limits import Limits
from ...problem.solution import Info, Status
from ...search.folds.plan import FEW_INSTANCES, FULL
from ...search.folds.run import MAX_BATCH_VALUES, is_native
from ...solvers.sequence.sequence import solve_sequence
from .dual import FoldModels
from .table import FoldTable


class SequenceRun:
    """The folds of a model of one problem on one kernel, of which only a metric is asked for.

    Parameters
    ----------
    folds : FoldModels
    seeding : {"auto", "none", "greedy"}
    """

    def __init__(self, folds: FoldModels, seeding: str) -> None:
        self.folds = folds
        self.plan = folds.make_plan(tuple(folds.codes), seeding)
        self._full: list[Info] = []

    @staticmethod
    def is_for(folds: FoldModels, seeding: str) -> bool:
        """Whether folds can be solved so, and are so small that it pays."""
        return (
            seeding in ("auto", "none", "greedy")
            and folds.n_classes == 2
            and folds.n_rows <= FEW_INSTANCES
            and 2 * folds.n_rows * (len(folds.splits) + 1) <= MAX_BATCH_VALUES
            and not (folds.has_own_kernels or folds.is_on_device or folds.errors)
            and not any(folds.training_set(h).has_repeats for h in folds.codes)
            and all(test.size for _, test in folds.splits)
            and is_native(folds.problem(0))
        )

    def fill(self, table: FoldTable, n_jobs: int | None) -> None:
        """Enter every fold; after Ctrl-C those that are solved."""
        folds, model = self.folds, self.folds.model
        everybody = list(self.plan.parents)
        order = [FULL] * self.plan.needs_full + everybody
        weights = [
            folds.parts.weights if h == FULL else folds.training_set(h).weights for h in order
        ]
        solved = solve_sequence(
            folds.problem(0),
            np.stack(weights),
            self.plan.as_steps(order),
            limits=Limits(model.tol, model.max_iter, model.time_limit),
            n_threads=effective_n_jobs(n_jobs),
        )
        n_before = len(order) - len(everybody)
        self._full = [solved.info_of(k) for k in range(min(n_before, len(solved)))]
        for k in range(n_before, len(solved)):
            if solved.status[k] is not Status.SOLVED:
                folds.warn_unsolved([solved.info_of(k)])
        done = everybody[: max(len(solved) - n_before, 0)]
        if done:
            table.add_steps(done, solved, n_before, model)
        if solved.is_interrupted:
            raise KeyboardInterrupt

    def full_infos(self) -> list[Info]:
        return self._full
