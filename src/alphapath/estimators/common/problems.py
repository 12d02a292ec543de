"""The problems of a model on some rows, each on the instances that it is about.

A pair of many classes is about few of the rows: its problem has these alone, on their part of the
kernel matrix. What it says of other rows is a product with the kernel (one_vs_one.combine_pairs).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...kernels.raw_rows import Members
from ...problem.box_problem import FloatArray, Problem
from ...solvers.sequence.class_pairs import MOST_INSTANCES, ClassPairs
from . import one_vs_one


class Parts:
    """The problems of a model, in the order of its `intercept_`.

    Parameters
    ----------
    model : BaseSVM
        Prepared: its classes are known.
    targets, weights : arrays of shape (n,)
        Of all instances.
    members : sequence of arrays, or None
        The instances that each problem is on; None where each is on all of them (those that it is
        not about have weight 0).
    """

    def __init__(
        self,
        model: Any,
        targets: FloatArray,
        weights: FloatArray,
        members: list[Members] | None,
    ) -> None:
        self.model, self.targets, self.weights, self.members = model, targets, weights, members

    def __len__(self) -> int:
        return int(self.model._n_problems)

    @property
    def is_divided(self) -> bool:
        return self.members is not None

    @property
    def largest(self) -> int:
        """The instances of the largest problem."""
        return self.targets.size if self.members is None else max(map(len, self.members))

    @property
    def are_small(self) -> bool:
        """Whether they are pairs of so few instances that they are best solved in one call."""
        return self.is_divided and self.largest <= MOST_INSTANCES

    @cached_property
    def pairs(self) -> ClassPairs:
        """The pairs of classes, for such a call."""
        assert self.members is not None
        members = np.concatenate(self.members)
        sizes = [own.size for own in self.members]
        pairs = one_vs_one.class_pairs(len(self.model.classes_))
        positive = np.repeat([pair[0] for pair in pairs], sizes)
        signs = np.where(self.targets[members] == positive, 1.0, -1.0)
        return ClassPairs(members, signs, np.concatenate([[0], np.cumsum(sizes)]))

    def members_of(self, number: int) -> Any:
        """Which values of an array over all instances are those of a problem."""
        return slice(None) if self.members is None else self.members[number]

    def problem(self, number: int, view: Any) -> Problem:
        """One problem, on its part of the kernel `view` of all instances."""
        own = self.members_of(number)
        part = view if self.members is None else view.part(own)
        problem: Problem = self.model._make_problem(
            number, part, self.targets[own], self.weights[own]
        )
        return problem


def divide(model: Any, store: Any, targets: FloatArray, weights: FloatArray) -> Parts:
    """The problems on their parts of a store's kernels where there is room for these."""
    parts = Parts(model, targets, weights, model._divide(targets))
    if parts.is_divided and not store.holds_part(parts.largest, model.tol):
        return Parts(model, targets, weights, None)
    return parts
