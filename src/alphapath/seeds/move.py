"""From a parent's solution to the next problem: what the new box does to beta, and the way back.

Legend (Wen et al. 2017): R removed (weight > 0 -> 0), T added (0 -> > 0), S the rest, M strictly
inside the box. Any other change of the weights is a move too: what a shrinking box cuts off is
`lost`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..kernels.store import KernelView
from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.optimality import find_free
from ..problem.solution import Solution
from .adjust import adjust

Indices = NDArray[np.intp]

#: Kernel values that a seed holds at once (32 MiB of doubles).
BLOCK_VALUES = 1 << 22


@dataclass(frozen=True, eq=False)
class Move:
    """A parent's solution and the problem to begin; both share the instances and their targets."""

    parent: Solution
    problem: Problem

    @property
    def kernel(self) -> KernelView:
        return cast(KernelView, self.problem.kernel)

    @cached_property
    def kept(self) -> FloatArray:
        """The parent's beta, clipped to the new box."""
        return np.clip(self.parent.beta, self.problem.lower, self.problem.upper)

    @cached_property
    def lost(self) -> Indices:
        """Where clipping took something away: R with beta != 0, and boxes that shrank."""
        return np.flatnonzero(self.kept != self.parent.beta)

    @cached_property
    def added(self) -> Indices:
        """T."""
        return np.flatnonzero((self.parent.problem.weights == 0.0) & (self.problem.weights > 0.0))

    def find_free(self, beta: FloatArray) -> Indices:
        """M."""
        return np.flatnonzero(find_free(self.problem, beta))

    def find_gradient(self, beta: FloatArray) -> FloatArray:
        """(K + D) beta - r on all instances, from the parent's or anew: the fewer rows."""
        old, new = self.parent.problem, self.problem
        change = beta - self.parent.beta
        changed = np.flatnonzero(change)
        support = np.flatnonzero(beta)
        is_same_form = old.kernel is new.kernel and old.targets is new.targets
        if is_same_form and changed.size <= support.size:
            gradient = self.parent.gradient.copy()
            if old.has_ridge or new.has_ridge:
                gradient += (new.ridges - old.ridges) * self.parent.beta
        else:
            gradient, change, changed = -new.targets, beta, support
        if changed.size:
            gradient += self.kernel.multiply(changed, change[changed])
            if new.has_ridge:
                gradient += new.ridges * change
        return gradient

    def start_at(self, beta: FloatArray) -> Start:
        """The Start at a feasible beta."""
        return make_start(beta, self.find_gradient(beta))

    def adjust(self, beta: FloatArray, *groups: Indices) -> FloatArray | None:
        """beta with the sum that the problem asks for, all instances being the last group."""
        if not self.problem.has_equality:
            return beta
        everybody = np.arange(beta.size)
        return adjust(
            beta,
            self.problem.lower,
            self.problem.upper,
            self.problem.total,
            (*groups, everybody),
        )

    def start_near(self, beta: FloatArray, *groups: Indices) -> Start | None:
        """The Start at the adjusted beta: groups in turn, by default T, then M, then all."""
        adjusted = self.adjust(beta, *(groups or (self.added, self.find_free(beta))))
        return None if adjusted is None else self.start_at(adjusted)


def make_start(beta: FloatArray, gradient: FloatArray) -> Start:
    """A Start that takes over both arrays instead of copying them."""
    beta.flags.writeable = gradient.flags.writeable = False
    return Start(beta, gradient)
