"""Equal (x, y) rows are one instance with the summed weight; rows of weight zero are none.

Both are exact: the dual depends on equal rows only through the sum of their beta, whose box is
the sum of their boxes. Instances are ordered by a hash of their content, so a fit depends neither
on the order of the rows nor on whether a repetition is written as rows or as a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..kernels.base import narrow
from ..problem import FloatArray
from .one_vs_one import PairBetas

UIntArray = NDArray[np.uint64]

#: Values hashed at once (the temporaries stay in the cache).
BLOCK_VALUES = 1 << 16


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

        A row gets its share by weight, and exactly its own bound where the instance is at its.
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
    """Every row an instance of its own, in the given order."""
    return MergedRows(X, targets, weights, np.arange(weights.size), weights)


def mix(bits: UIntArray) -> UIntArray:
    """Spread the information of the high bits of a double over all 64 bits; 0 stays 0."""
    mixed = bits ^ (bits >> np.uint64(32))
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return mixed


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """A copy of some rows; dense ones in memory that serves the next fit, whose page faults would
    take as long as the fit."""
    if sp.issparse(X):
        return X[rows]
    return _core.take_rows(X, np.ascontiguousarray(rows, dtype=np.int64))


def hash_rows(X: Any) -> UIntArray:
    """One 64-bit hash a row: sum over the features of multiplier * mixed bits, modulo 2^64.

    Zeros add nothing, so a row has the same hash whether it is stored dense or sparse.
    """
    (X,) = narrow(X)
    multipliers = hash_multipliers(X.shape[1])
    if sp.issparse(X):
        terms = mix(positive_zeros(X.data).view(np.uint64)) * multipliers[X.indices]
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
        differences: UIntArray = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        return differences
    return _core.hash_rows(X, multipliers)


@lru_cache(maxsize=16)
def hash_multipliers(n_features: int) -> UIntArray:
    """One odd number a feature, the same in every process."""
    multipliers = np.random.default_rng(0).integers(1, 2**63, n_features, dtype=np.uint64)
    multipliers |= np.uint64(1)
    multipliers.flags.writeable = False
    return multipliers


def positive_zeros(values: FloatArray) -> FloatArray:
    """A copy in which -0.0 has become 0.0: the two are equal but differ in their bits."""
    return np.ascontiguousarray(values, dtype=np.float64) + 0.0


def rows_equal(X: Any, a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether row a[k] equals row b[k], for every k."""
    if sp.issparse(X):
        difference = sp.csr_array(X[a] - X[b])
        distance: FloatArray = np.asarray(abs(difference).sum(axis=1)).ravel()
        return np.asarray(distance == 0.0)
    equal = np.empty(a.size, dtype=bool)
    step = max(1, BLOCK_VALUES // X.shape[1])
    for first in range(0, a.size, step):
        part = slice(first, first + step)
        equal[part] = (X[a[part]] == X[b[part]]).all(axis=1)
    return equal
