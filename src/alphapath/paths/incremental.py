"""Exact incremental and decremental learning: many instances added and removed in one walk.

Given the exact solution on some instances, the betas of the instances to remove are driven to 0 and
the betas of the instances to add are driven towards their bound, all at the same pace, while the
others adjust so that they stay optimal. An added instance that reaches its margin on the way joins
the margin set (M. Karasuyama, chapter 3, figure 3.2; with one instance it is the single update).
The result is the exact solution that a fit from scratch gives.
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
        """Return the terms of some rows."""
        return Terms(*(values[rows] for values in self))


NO_TERMS = Terms(NOTHING, NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True)
class Change:
    """A simultaneous change: slots of the view to add, slots to remove, new weights of the rest.

    Parameters
    ----------
    add : array of slots
    terms : Terms
        Terms of the slots to add.
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
        """Whether the change is empty."""
        return self.weights is None and self.add.size == 0 and self.remove.size == 0


class Decrement:
    """Exact solutions without some of the instances, derived from the solution on all of them.

    Leave-l-out by decrement: the betas of the held-out instances are driven to 0, and nothing is
    solved again. The solution on all instances is polished once; every fold starts from a copy.

    Parameters
    ----------
    full : Solution
        Solution on a kernel in float64.

    Examples
    --------
    >>> folds = Decrement(full)                                     # doctest: +SKIP
    >>> folds.without(problem.with_held_out(mask)).decision_values  # doctest: +SKIP
    """

    def __init__(self, full: Solution) -> None:
        self._walker = Walker.of_problem(full.problem)
        self._walker.begin(full.beta)

    def without(self, problem: Problem) -> Solution:
        """Return the solution of the same problem with other weights, 0 where held out."""
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
        """Apply the change; the first call solves the problem.

        `start`, for the first call, is a feasible beta on the slots, from which the solver is
        warm-started. The solver comes first since each event of the walk to the exact solution
        costs a solve with the margin set, so that few of them should remain.
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
