"""Exact incremental and decremental learning: many instances in and out in one walk.

Given the exact solution with some instances, betas of those to be removed are driven to 0 and
betas of those to be added towards their bound, all at the same pace, while the others answer so
that they stay optimal; an added instance that reaches its margin on the way becomes one of them
(M. Karasuyama, chapter 3, figure 3.2; with one instance it is the single update). Returned is the
exact solution, the same that a fit from nothing gives.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from ..kernels.growing import GrowingView
from ..problem import FloatArray, Problem
from ..solution import Solution
from .walker import NOBODY, NOTHING, IntArray, Walker, Work


@dataclass(frozen=True)
class Change:
    """What changes at once: slots of the view that come, that go, and new weights of the rest.

    Parameters
    ----------
    add : array of slots
    targets, add_weights, lower_scale, upper_scale : arrays, one value a slot of `add`
    remove : array of slots
    weights : array of shape (n_slots,) or None
        Weights of the instances that stay; None leaves them as they are.
    """

    add: IntArray = field(default_factory=lambda: NOBODY)
    targets: FloatArray = field(default_factory=lambda: NOTHING)
    add_weights: FloatArray = field(default_factory=lambda: NOTHING)
    lower_scale: FloatArray = field(default_factory=lambda: NOTHING)
    upper_scale: FloatArray = field(default_factory=lambda: NOTHING)
    remove: IntArray = field(default_factory=lambda: NOBODY)
    weights: FloatArray | None = None


class Decrement:
    """Exact solutions without some of the instances, each from the solution with all of them.

    Leave-l-out by decrement: the betas of what is held out are driven to 0, and nothing is solved
    again. The solution on all instances is polished once; every fold begins from a copy of it.

    Parameters
    ----------
    full : Solution
        On a kernel in float64.

    Examples
    --------
    >>> folds = Decrement(full)                                     # doctest: +SKIP
    >>> folds.without(problem.with_held_out(mask)).decision_values  # doctest: +SKIP
    """

    def __init__(self, full: Solution) -> None:
        self._walker = Walker.of_problem(full.problem)
        self._walker.begin(full.beta)

    def without(self, problem: Problem) -> Solution:
        """The solution of the same problem with weights that differ, 0 where held out."""
        begin = time.perf_counter()
        walker = self._walker.copy()
        before = walker.native.counts
        remove = np.flatnonzero((walker.weights > 0.0) & (problem.weights == 0.0))
        walker.move(problem.weights, remove=remove.astype(np.int64))
        work = Work.since(before, walker, 0, time.perf_counter() - begin)
        return walker.solution(problem, None, work)


class Updater:
    """The exact solution of one problem on the slots of a GrowingView, kept up to date.

    Parameters
    ----------
    view : GrowingView
    epsilon : float
        Half-width of the tube (regression), 0 for classification.

    Examples
    --------
    >>> updater = Updater(view, epsilon=0.1)                        # doctest: +SKIP
    >>> work = updater.update(Change(add=slots, ...))               # doctest: +SKIP
    >>> solution = updater.walker.solution(problem, slots, work)    # doctest: +SKIP
    """

    def __init__(self, view: GrowingView, epsilon: float = 0.0) -> None:
        self.walker = Walker(view, epsilon, is_centred=True)
        self._is_begun = False

    def update(self, change: Change, start: FloatArray | None = None) -> Work:
        """Make the change; the first call solves from nothing.

        `start`, for the first call, is a feasible beta on the slots to begin from.
        """
        begin = time.perf_counter()
        walker = self.walker
        before, n_fallbacks = walker.native.counts, walker.n_fallbacks
        if change.add.size or walker.targets.size < walker.view.n:
            walker.define(change.add, change.targets, change.lower_scale, change.upper_scale)
        weights = walker.weights if change.weights is None else change.weights
        if self._is_begun and self._is_nothing(change, weights):
            pass
        elif self._is_begun and self._can_walk(change, weights):
            self._is_begun = False  # until it arrived: an interrupt leaves the walker under way
            walker.move(weights, change.add, change.add_weights, change.remove)
        else:
            self._is_begun = False
            walker.weights = weights.copy()
            walker.weights[change.add] = change.add_weights
            walker.weights[change.remove] = 0.0
            if start is None:
                walker.solve()
            else:
                walker.begin(start)
        self._is_begun = True
        return Work.since(before, walker, n_fallbacks, time.perf_counter() - begin)

    def _is_nothing(self, change: Change, weights: FloatArray) -> bool:
        is_still = change.add.size == 0 and change.remove.size == 0
        return is_still and np.array_equal(weights, self.walker.weights)

    def _can_walk(self, change: Change, weights: FloatArray) -> bool:
        """Whether both signs can have a beta before and after: else all betas are 0 and stay 0."""
        walker = self.walker
        before = walker.weights > 0.0
        after = weights > 0.0
        after[change.add] = change.add_weights > 0.0
        after[change.remove] = False
        rises, falls = walker.upper_scale > 0.0, walker.lower_scale < 0.0
        return bool(
            (before & rises).any()
            and (before & falls).any()
            and (after & rises).any()
            and (after & falls).any()
        )
