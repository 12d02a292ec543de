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
from typing import Any, NamedTuple

import numpy as np

from ..kernels.growing import GrowingView
from ..problem.box_problem import FloatArray, Problem
from ..problem.solution import Solution
from .walker import NOBODY, NOTHING, IntArray, Walker, Work


class Terms(NamedTuple):
    """What a Problem says about each of its rows: the arguments of Problem after the kernel."""

    targets: FloatArray
    weights: FloatArray
    lower_scale: FloatArray
    upper_scale: FloatArray

    def take(self, rows: Any) -> Terms:
        """Those of some rows."""
        return Terms(*(values[rows] for values in self))


NO_TERMS = Terms(NOTHING, NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class Change:
    """What changes at once: slots of the view that come, that go, and new weights of the rest.

    Parameters
    ----------
    add : array of slots
    terms : Terms
        Of the slots that come.
    remove : array of slots
    weights : array of shape (n_slots,) or None
        Weights of the instances that stay; None leaves them as they are.
    """

    add: IntArray = field(default_factory=lambda: NOBODY)
    terms: Terms = NO_TERMS
    remove: IntArray = field(default_factory=lambda: NOBODY)
    weights: FloatArray | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether all stays as it is."""
        return self.weights is None and self.add.size == 0 and self.remove.size == 0


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
        return walker.solution(problem, work)


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
    >>> bias, info = updater.walker.describe(work)                  # doctest: +SKIP
    """

    def __init__(self, view: GrowingView, epsilon: float = 0.0) -> None:
        self.walker = Walker(view, epsilon, is_centred=True)
        self.is_begun = False

    def update(self, change: Change, start: FloatArray | None = None) -> Work:
        """Make the change; the first call solves.

        `start`, for the first call, is a feasible beta on the slots to begin from. Few events lead
        from what the solver makes of it to the exact solution: each costs a solve with the margin.
        """
        begin = time.perf_counter()
        walker = self.walker
        before, n_fallbacks = walker.native.counts, walker.n_fallbacks
        if change.add.size or walker.targets.size < walker.view.n:
            terms = change.terms
            walker.define(change.add, terms.targets, terms.lower_scale, terms.upper_scale)
        if self.is_begun and change.is_nothing:
            pass
        elif self.is_begun and walker.native.can_drive(
            change.add, change.terms.weights, change.remove
        ):
            self.is_begun = False  # until it arrived: an interrupt leaves the walker under way
            walker.move(change.weights, change.add, change.terms.weights, change.remove)
        else:
            self.is_begun = False
            if change.weights is not None:
                walker.weights = change.weights.copy()
            walker.weights[change.add] = change.terms.weights
            walker.weights[change.remove] = 0.0
            if walker.weights.any():
                walker.solve(start)
        self.is_begun = bool(walker.weights.any())
        return Work.since(before, walker, n_fallbacks, time.perf_counter() - begin)
