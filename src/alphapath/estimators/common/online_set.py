"""The training set of an updated model: rows in order of arrival, and solutions.

Rows live in the slots of a GrowingView; a classifier of several classes has one Updater per
pair, all on the same kernel matrix. A copy or a pickle contains the rows and the betas; the matrix
and the factors are recomputed when they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import Kernel
from ...kernels.growing import GrowingView
from ...paths.incremental import Change, Terms, Updater
from ...paths.walker import NOBODY, Work, make_feasible
from ...problem.box_problem import FloatArray
from ...problem.solution import Info, Status

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
    """The memory of an updated model; `targets` and `sample_weight` are in order of arrival.

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
        self._slots: IntArray = NOBODY
        self._weights: FloatArray = np.zeros(0)  # C_i, by position
        self._updaters: list[Updater] = []
        self._works: list[Work] = []  # of the last change
        self._answers: list[Answer] = []

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_X"] = self.X_at(np.arange(self.n)) if self.n else None
        state.update(_view=None, _slots=NOBODY, _updaters=[], _answers=[])
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

    def set_epsilon(self, epsilon: float) -> None:
        """Set the parameter; if it changed, the next change starts from the betas."""
        if epsilon != self.epsilon:
            self.epsilon = epsilon
            self._drop_view()

    def begin(self, rows: Rows, betas: list[FloatArray]) -> None:
        """Take over a fitted model: its rows and a feasible beta per problem."""
        self._X, self.targets, self.sample_weight = rows.X, rows.targets, rows.sample_weight
        self.betas = betas

    def change(
        self, add: Rows | None, forget: IntArray, weigh: Any, terms_of: Any, tol: float
    ) -> list[Answer]:
        """Add and remove rows at once; return one exact Answer per problem, solved if within `tol`.

        `weigh(targets, sample_weight)` gives C_i of all rows, `terms_of(targets, weights)` the
        Terms of some rows in each problem, with weight 0 where a row is not of the problem.
        """
        if self._view is None and self.betas:
            self._restart(weigh, terms_of)
        kept: Any = slice(None)
        if forget.size:
            kept = np.ones(self.n, dtype=bool)
            kept[forget] = False
        targets, sample_weight = self.targets[kept], self.sample_weight[kept]
        if add is not None:
            targets = np.concatenate([targets, add.targets])
            sample_weight = np.concatenate([sample_weight, add.sample_weight])
        weights = weigh(targets, sample_weight)
        n_add = 0 if add is None else add.n
        n_kept = targets.size - n_add
        is_same = np.array_equal(weights[:n_kept], self._weights[kept])
        terms = list(terms_of(targets[n_kept:], weights[n_kept:]))
        if self._view is None:
            self._view = GrowingView(self.kernel, self.memory_limit)
            self._updaters = [Updater(self._view, self.epsilon) for _ in terms]
        self._move(add, self._slots[forget], kept, terms, None if is_same else weights)
        self._answer(tol)
        self.targets, self.sample_weight, self._weights = targets, sample_weight, weights
        self.betas = [answer.beta for answer in self._answers]
        return self._answers

    def _restart(self, weigh: Any, terms_of: Any) -> None:
        """Kernel matrix and factors for the rows and betas that are known."""
        self._weights = weigh(self.targets, self.sample_weight)
        all_terms = list(terms_of(self.targets, self._weights))
        view = GrowingView(self.kernel, self.memory_limit)
        slots = view.insert(self._X)
        updaters = [Updater(view, self.epsilon) for _ in all_terms]
        for updater, terms, beta in zip(updaters, all_terms, self.betas, strict=True):
            start = np.zeros(view.n)
            lower, upper = terms.lower_scale * terms.weights, terms.upper_scale * terms.weights
            start[slots] = make_feasible(beta, lower, upper)
            updater.update(Change(slots, terms), start)
        self._view, self._slots, self._updaters = view, slots, updaters
        self._X = None

    def _move(
        self,
        add: Rows | None,
        remove: IntArray,
        kept: Any,
        terms: list[Terms],
        weights: FloatArray | None,
    ) -> None:
        view = self._view
        assert view is not None
        slots = self._slots[kept]
        added = NOBODY
        if add is not None:
            added = view.insert(add.X)
            slots = np.concatenate([slots, added])
        by_slot = None
        if weights is not None:
            by_slot = np.zeros(view.n)
            by_slot[slots] = weights
        self._works = []
        for updater, own in zip(self._updaters, terms, strict=True):
            try:
                work = updater.update(_change_of(updater, own, added, remove, by_slot))
            except BaseException:
                self._drop_view()  # some problems moved and others did not
                raise
            self._works.append(work)
        view.remove(remove)
        self._slots = slots

    def _answer(self, tol: float) -> None:
        """What the updaters have come to."""
        self._answers = []
        for updater, work in zip(self._updaters, self._works, strict=True):
            if updater.is_begun:
                bias, info = updater.walker.describe(work, tol)
                beta = updater.walker.native.beta()[self._slots]
                self._answers.append(Answer(beta, bias, info))
            else:
                self._answers.append(Answer(np.zeros(self._slots.size), 0.0, NO_INFO))

    def _drop_view(self) -> None:
        """Back to rows and betas as they were before the change."""
        self._X = self.X_at(np.arange(self.n)) if self.n else None
        self._view, self._updaters = None, []


def _change_of(
    updater: Updater,
    terms: Terms,
    added: IntArray,
    remove: IntArray,
    by_slot: FloatArray | None,
) -> Change:
    """The change of one problem: only rows of its classes come and go.

    `terms` are those of the rows in the slots `added`; `by_slot` are new weights of all rows.
    """
    before = updater.walker.weights
    gone = remove[before[remove] > 0.0] if remove.size else remove
    weights = None
    if by_slot is not None:
        weights = np.zeros_like(by_slot)
        np.copyto(weights[: before.size], by_slot[: before.size], where=before > 0.0)
    is_own = terms.weights > 0.0
    if not is_own.all():
        added, terms = added[is_own], terms.take(is_own)
    return Change(added, terms, gone, weights)
