"""The training set of a model that is updated: rows in the order of their arrival, and answers.

Rows live in the slots of a GrowingView; the classifier of several classes has one Updater a pair,
all on the same kernel matrix. A copy or a pickle takes the rows and the betas along; the matrix and
the factors are made again when they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel
from ..kernels.growing import GrowingView
from ..paths import Change, Updater
from ..paths.walker import make_feasible
from ..problem import FloatArray, Problem
from ..solution import Info, Status

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows of the training set with what `fit` makes of y and sample_weight."""

    X: Any
    targets: FloatArray
    sample_weight: FloatArray

    @property
    def n(self) -> int:
        return int(self.targets.size)

    def take(self, positions: Any) -> Rows:
        return Rows(self.X[positions], self.targets[positions], self.sample_weight[positions])


@dataclass(frozen=True)
class Answer:
    """The exact solution of one problem, by position."""

    beta: FloatArray
    bias: float
    info: Info


NO_INFO = Info(Status.SOLVED, objective=0.0, duality_gap=0.0, kkt_violation=0.0, n_iter=0)


class OnlineSet:
    """What a model that is updated remembers; `targets` and `sample_weight` by arrival.

    Parameters
    ----------
    kernel : Kernel
    memory_limit : int, str or None
    epsilon : float
    """

    def __init__(self, kernel: Kernel, memory_limit: Any, epsilon: float) -> None:
        self.kernel, self.memory_limit, self.epsilon = kernel, memory_limit, epsilon
        self.targets: FloatArray = np.zeros(0)
        self.sample_weight: FloatArray = np.zeros(0)
        self.betas: list[FloatArray] = []  # by position, one a problem
        self._X: Any = None  # all rows while there is no view that holds them
        self._view: GrowingView | None = None
        self._slots: IntArray = np.zeros(0, dtype=np.int64)
        self._updaters: list[Updater] = []
        self._answers: list[Answer] = []

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_X"] = self.X_at(np.arange(self.n)) if self.n else None
        state.update(_view=None, _slots=np.zeros(0, dtype=np.int64), _updaters=[], _answers=[])
        return state

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.targets.size)

    def X_at(self, positions: Any) -> Any:
        """Raw rows by position."""
        return (
            self._X[positions] if self._view is None else self._view.rows_at(self._slots[positions])
        )

    def begin(self, rows: Rows, betas: list[FloatArray]) -> None:
        """Take over a fitted model: its rows and a feasible beta a problem."""
        self._X, self.targets, self.sample_weight = rows.X, rows.targets, rows.sample_weight
        self.betas = betas

    def change(self, add: Rows | None, forget: IntArray, problems_of: Any) -> list[Answer]:
        """Rows in and out at once; one exact Answer a problem.

        `problems_of(view, targets, sample_weight)` gives the Problems of a model; None stands for
        a pair of classes that has no rows.
        """
        if self._view is None and self.betas:
            self._restart(problems_of)
        kept = np.delete(np.arange(self.n), forget)
        targets, sample_weight = self.targets[kept], self.sample_weight[kept]
        if add is not None:
            targets = np.concatenate([targets, add.targets])
            sample_weight = np.concatenate([sample_weight, add.sample_weight])
        rows = _SlotRows(targets.size)
        problems = list(problems_of(rows, targets, sample_weight))
        if self._view is None:
            self._view = GrowingView(self.kernel, self.memory_limit)
            self._updaters = [Updater(self._view, self.epsilon) for _ in problems]
        self._move(add, forget, kept, problems)
        rows.view, rows.slots = self._view, self._slots
        self.targets, self.sample_weight = targets, sample_weight
        self.betas = [solution.beta for solution in self._answers]
        return self._answers

    def _restart(self, problems_of: Any) -> None:
        """Kernel matrix and factors for the rows and betas that are known."""
        problems = list(problems_of(_SlotRows(self.n), self.targets, self.sample_weight))
        view = GrowingView(self.kernel, self.memory_limit)
        slots = view.insert(self._X)
        updaters = [Updater(view, self.epsilon) for _ in problems]
        for updater, problem, beta in zip(updaters, problems, self.betas, strict=True):
            if problem is None:
                continue
            start = np.zeros(view.n)
            start[slots] = make_feasible(problem, beta)
            updater.update(_addition(slots, problem, np.arange(self.n)), start)
        self._view, self._slots, self._updaters = view, slots, updaters
        self._X = None

    def _move(
        self, add: Rows | None, forget: IntArray, kept: IntArray, problems: list[Problem | None]
    ) -> None:
        view = self._view
        assert view is not None
        remove = self._slots[forget]
        added = view.insert(add.X) if add is not None else np.zeros(0, dtype=np.int64)
        slots = np.concatenate([self._slots[kept], added])
        answers = []
        for updater, problem in zip(self._updaters, problems, strict=True):
            if problem is None:
                answers.append(Answer(np.zeros(slots.size), 0.0, NO_INFO))
                continue
            try:
                work = updater.update(self._change_of(updater, problem, added, remove, slots))
            except BaseException:
                self._drop_view()  # some problems moved and others did not
                raise
            solution = updater.walker.solution(problem, slots, work)
            answers.append(Answer(solution.beta, solution.bias, solution.info))
        view.remove(remove)
        self._slots, self._answers = slots, answers

    @staticmethod
    def _change_of(
        updater: Updater, problem: Problem, added: IntArray, remove: IntArray, slots: IntArray
    ) -> Change:
        """The change of one problem: only rows of its classes come and go."""
        walker = updater.walker
        weights = np.zeros(walker.view.n)
        weights[slots] = problem.weights
        before = np.zeros_like(weights)
        before[: walker.weights.size] = walker.weights
        positions = np.arange(slots.size - added.size, slots.size)
        is_own = problem.weights[positions] > 0.0
        gone = remove[before[remove] > 0.0]
        change = _addition(added[is_own], problem, positions[is_own])
        weights[added] = 0.0
        return Change(
            change.add,
            change.targets,
            change.add_weights,
            change.lower_scale,
            change.upper_scale,
            gone,
            weights,
        )

    def _drop_view(self) -> None:
        """Back to rows and betas as they were before the change."""
        self._X = self.X_at(np.arange(self.n)) if self.n else None
        self._view, self._updaters = None, []


class _SlotRows:
    """Rows of a view by position: what a Problem asks of its kernel."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.view: GrowingView | None = None
        self.slots: IntArray = np.zeros(0, dtype=np.int64)

    def exact_rows(self, indices: Any) -> FloatArray:
        assert self.view is not None
        return self.view.exact_rows(self.slots[indices])[:, self.slots]


def _addition(slots: IntArray, problem: Problem, positions: IntArray) -> Change:
    return Change(
        slots,
        problem.targets[positions],
        problem.weights[positions],
        problem.lower_scale[positions],
        problem.upper_scale[positions],
    )
