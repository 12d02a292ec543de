"""Equal (x, y) rows form one instance with the summed weight; rows of weight zero are dropped.

Both are exact: the dual depends on equal rows only through the sum of their beta, whose box is
the sum of their boxes. Instances are ordered by a hash of their content, so a fit depends neither
on the order of the rows nor on whether a repetition is written as rows or as a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...kernels.equal_rows import hash_rows, rows_equal
from ...problem.box_problem import FloatArray
from .one_vs_one import PairBetas

ONE = np.ones(1, dtype=np.uint64)


@dataclass(frozen=True)
class MergedRows:
    """The instances of a training set, and the way back to its rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features)
    targets, weights : arrays of shape (n_instances,)
    instance_of : array of shape (n_rows,)
        The instance of each row; any instance for a row of weight zero.
    row_weights : array of shape (n_rows,)
    """

    X: Any
    targets: FloatArray
    weights: FloatArray
    instance_of: NDArray[np.intp]
    row_weights: FloatArray

    def spread(self, beta: FloatArray, scale: FloatArray) -> FloatArray:
        """beta of every row, where the box of an instance is `scale` times its weight.

        A row receives its share by weight, and exactly its bound if the instance is at its bound.
        """
        own = self.instance_of
        return share_beta(beta[own], scale[own], self.row_weights, self.weights[own])

    def spread_betas(self, betas: PairBetas, scale: FloatArray) -> PairBetas:
        """The nonzero beta of rows, in their order, from that of instances."""
        instances = betas.rows
        n_rows = self.instance_of.size
        if n_rows == self.weights.size:  # no row was left out or merged: its beta is the instance's
            row_of = np.empty(n_rows, dtype=np.intp)
            row_of[self.instance_of] = np.arange(n_rows)
            rows = row_of[instances]
            used = np.lexsort((rows, betas.pairs))
            return PairBetas(rows[used], betas.values[used], betas.pairs[used])
        order, ends = self._rows_of
        counts = ends[instances + 1] - ends[instances]
        before = np.cumsum(counts) - counts
        rows = order[np.repeat(ends[instances] - before, counts) + np.arange(counts.sum())]
        own, pairs = np.repeat(instances, counts), np.repeat(betas.pairs, counts)
        values = np.repeat(betas.values, counts)
        values = share_beta(values, scale[own], self.row_weights[rows], self.weights[own])
        used = np.flatnonzero(values)
        used = used[np.lexsort((rows[used], pairs[used]))]
        return PairBetas(rows[used], values[used], pairs[used])

    @cached_property
    def _rows_of(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows by instance, and where those of each begin, with the end at the end."""
        order = np.argsort(self.instance_of, kind="stable")
        counts = np.bincount(self.instance_of, minlength=self.weights.size)
        return order, np.concatenate([[0], np.cumsum(counts)])


def share_beta(
    value: FloatArray, scale: FloatArray, weights: FloatArray, totals: FloatArray
) -> FloatArray:
    """What rows have of the beta `value` of their instances, whose weights are `totals`."""
    bound = scale * weights
    share = np.divide(weights, totals, out=np.zeros_like(totals), where=totals > 0.0)
    size = np.minimum(np.abs(value) * share, bound)
    # Float equality on purpose: a solver sets a bounded beta to the bound itself.
    is_bound = np.abs(value) == scale * totals
    return np.copysign(np.where(is_bound, bound, size), value)


def merge_rows(
    X: Any, targets: FloatArray, weights: FloatArray, by_target: bool = False
) -> MergedRows:
    """Drop rows of weight zero, merge equal (x, target) rows, order by content (target first, where
    problems are about the rows of some targets)."""
    used = np.flatnonzero(weights)
    hashes = hash_rows(X)
    hashes += _core.hash_rows(targets[:, np.newaxis], ONE)
    if used.size == hashes.size:
        rows = np.lexsort((hashes, targets) if by_target else (hashes,))
    else:
        rows = used[np.lexsort((hashes[used], targets[used]) if by_target else (hashes[used],))]
    is_first = np.ones(rows.size, dtype=bool)
    maybe_equal = np.flatnonzero(hashes[rows[1:]] == hashes[rows[:-1]]) + 1
    if maybe_equal.size:
        a, b = rows[maybe_equal], rows[maybe_equal - 1]
        is_first[maybe_equal] = ~(rows_equal(X, a, b) & (targets[a] == targets[b]))
    starts = np.flatnonzero(is_first)
    firsts = rows[starts]
    instance_of = np.zeros(weights.size, dtype=np.intp)
    instance_of[rows] = np.cumsum(is_first) - 1
    totals = np.add.reduceat(weights[rows], starts)
    return MergedRows(take_rows(X, firsts), targets[firsts], totals, instance_of, weights)


def keep_rows(X: Any, targets: FloatArray, weights: FloatArray) -> MergedRows:
    """Make every row its own instance, in the given order."""
    return MergedRows(X, targets, weights, np.arange(weights.size), weights)


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """A copy of some rows; dense ones in memory that serves the next fit, whose page faults would
    take as long as the fit."""
    if sp.issparse(X):
        return X[rows]
    return _core.take_rows(X, np.ascontiguousarray(rows, dtype=np.int64))
