"""The state of a batch of problems on one kernel, in arrays of NumPy or CuPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem.box_problem import FloatArray

#: Instances in a working set.
SIZE = 1024

#: Arrays of doubles (and what amounts to one) that a problem has of each of its members.
ARRAYS = 6

#: A working set is solved to this share of the violation it was chosen by.
GOAL = 0.1


@dataclass(frozen=True, eq=False)
class Family:
    """Problems that differ only in their weights, as in solvers/sequence/sequence.py.

    Parameters
    ----------
    targets, lower_scale, upper_scale : arrays of shape (n,)
    weights : array of shape (n_weightings, n)
    epsilon, total_share : float
    """

    targets: FloatArray
    lower_scale: FloatArray
    upper_scale: FloatArray
    weights: FloatArray
    epsilon: float
    total_share: float

    def bounds(self, row: int, factor: float) -> tuple[FloatArray, FloatArray, float]:
        """The box and the sum of the problem with weights factor * weights[row]."""
        c = factor * self.weights[row]
        # A side of the box that does not exist stays shut, whatever the weight.
        lower = np.where(self.lower_scale == 0.0, 0.0, self.lower_scale * c)
        upper = np.where(self.upper_scale == 0.0, 0.0, self.upper_scale * c)
        total = 0.0 if self.total_share == 0.0 else self.total_share * float(c.sum())
        return lower, upper, total


class BatchState:
    """beta, gradient and box of every problem, at its members only.

    The members of a problem are the instances of positive weight, in order. Arrays have one row
    per problem and `width` columns, padded with empty boxes.
    """

    def __init__(self, xp: Any, family: Family, rows: NDArray[np.int64], factors: FloatArray):
        self.xp, self.family = xp, family
        self.n_problems, self.size = len(rows), SIZE
        self.rows, self.factors = rows, factors
        members = [np.flatnonzero(weights) for weights in family.weights]
        self.sizes = np.array([index.size for index in members])
        self.width = -(-max(int(self.sizes.max()), 1) // 32) * 32
        columns = np.zeros((len(members), self.width), dtype=np.int32)
        for row, index in enumerate(members):
            columns[row, : index.size] = index
        self.members = members
        self.columns = xp.asarray(columns)
        self.n_members = xp.asarray(self.sizes.astype(np.int32))
        self.weighting = xp.asarray(rows.astype(np.int32))
        shape = (self.n_problems, self.width)
        lower, upper, beta = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.totals = np.zeros(self.n_problems)
        for p, (row, factor) in enumerate(zip(rows, factors, strict=True)):
            low, high, self.totals[p] = family.bounds(int(row), float(factor))
            index = members[row]
            lower[p, : index.size], upper[p, : index.size] = low[index], high[index]
            beta[p] = fill_up(lower[p], upper[p], self.totals[p])
        self.lower, self.upper = xp.asarray(lower), xp.asarray(upper)
        self.beta = xp.asarray(beta)
        self.gradient = xp.zeros(shape)
        self.working = xp.zeros((self.n_problems, self.size), dtype=np.int32)
        self.row_of = xp.zeros((self.n_problems, self.size), dtype=np.int32)
        self.n_working = xp.zeros(self.n_problems, dtype=np.int32)
        self.violation = xp.full(self.n_problems, np.inf)
        self.change = xp.zeros((self.n_problems, self.size))
        self.moved = xp.zeros((self.n_problems, self.size), dtype=np.int32)
        self.n_moved = xp.zeros(self.n_problems, dtype=np.int32)
        self.n_iter = xp.zeros(self.n_problems, dtype=np.int64)
        self.is_kept = xp.zeros(shape, dtype=np.uint8)

    def spread(self, p: int) -> Any:
        """beta of problem p on all instances."""
        row = int(self.rows[p])
        beta = self.xp.zeros(self.family.targets.size)
        size = int(self.sizes[row])
        beta[self.columns[row, :size]] = self.beta[p, :size]
        return beta

    def objectives(self, which: Any, gradient: Any) -> Any:
        """The objective of some problems at their beta; `gradient` is that of their members."""
        xp, epsilon = self.xp, self.family.epsilon
        beta = self.beta[which]
        targets = xp.asarray(self.family.targets)[self.columns[self.weighting[which]]]
        return (beta * (gradient - targets) / 2.0 + epsilon * xp.abs(beta)).sum(axis=1)

    def take(self, p: int, values: Any) -> Any:
        """The values of the members of problem p, padded with zeros."""
        row = int(self.rows[p])
        size = int(self.sizes[row])
        taken = self.xp.zeros(self.width)
        taken[:size] = values[self.columns[row, :size]]
        return taken


def problem_bytes(width: int) -> int:
    """Bytes of one problem with this number of members, including its working set."""
    return 8 * ARRAYS * width + 4 * SIZE**2 + 24 * SIZE


def fill_up(lower: FloatArray, upper: FloatArray, total: float) -> FloatArray:
    """Set every beta to the end of its box nearest to 0, then move them to meet the sum."""
    beta: FloatArray = np.clip(0.0, lower, upper)
    missing = total - float(beta.sum())
    if missing == 0.0:
        return beta
    room = upper - beta if missing > 0.0 else beta - lower
    used = np.clip(abs(missing) - (np.cumsum(room) - room), 0.0, room)
    return np.asarray(beta + np.sign(missing) * used)


def to_host(array: Any) -> Any:
    """Convert to an array of NumPy."""
    return array if isinstance(array, np.ndarray) else array.get()
