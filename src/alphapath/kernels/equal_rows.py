"""Equal rows: values computed for one of them are reused for the others, bit for bit.

The rounding of a product depends on the position of a row, so equal rows are evaluated once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from .base import FloatArray, narrow

UIntArray = NDArray[np.uint64]
IntArray = NDArray[np.intp]

#: Values compared at once (the temporaries stay in the cache).
BLOCK_VALUES = 1 << 16


def first_equal(X: Any) -> IntArray | None:
    """For each row, the index of the first row equal to it; None if no two rows are equal."""
    n = X.shape[0]
    if n < 2:
        return None
    if isinstance(X, np.ndarray) and X.flags.c_contiguous and X.dtype == np.float64:
        found = _core.first_equal(X, hash_rows(X))
        return None if found is None else np.asarray(found, dtype=np.intp)
    hashes = hash_rows(X)
    order = np.argsort(hashes, kind="stable")
    is_same = hashes[order[1:]] == hashes[order[:-1]]
    if not is_same.any():
        return None
    firsts = np.arange(n)
    starts = np.flatnonzero(np.concatenate([[True], ~is_same]))
    firsts[order] = np.repeat(order[starts], np.diff(np.append(starts, n)))
    copies = np.flatnonzero(firsts != np.arange(n))
    is_equal = rows_equal(X, copies, firsts[copies])
    firsts[copies[~is_equal]] = copies[~is_equal]  # equal hashes alone
    return firsts


def on_distinct_rows(X: Any, evaluate: Callable[[Any], FloatArray]) -> FloatArray:
    """`evaluate(X)`, one row for each row of X, with the same bits for equal rows."""
    distinct, places = distinct_rows(X)
    values = evaluate(distinct)
    return values if distinct is X else values[places]


def distinct_rows(X: Any) -> tuple[Any, IntArray]:
    """The rows without repetition (X itself if there is none), and each row's position there."""
    firsts = first_equal(X)
    if firsts is None:
        return X, np.arange(X.shape[0])
    rows, places = np.unique(firsts, return_inverse=True)
    return X[rows], places


class EqualRows:
    """The equal rows of X, determined on first use."""

    def __init__(self, X: Any) -> None:
        self._X = X

    @cached_property
    def _firsts(self) -> IntArray | None:
        return first_equal(self._X)

    def share(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """The values of some rows (along the first axis), with the same bits for equal rows."""
        if self._firsts is None:
            return values
        _, index, places = np.unique(self._firsts[rows], return_index=True, return_inverse=True)
        return values[index][places]


def mix(bits: UIntArray) -> UIntArray:
    """Spread the information of the high bits of a double over all 64 bits; 0 stays 0."""
    mixed = bits ^ (bits >> np.uint64(32))
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    return mixed


def hash_rows(X: Any) -> UIntArray:
    """One 64-bit hash per row: the sum over the features of multiplier * mixed bits, modulo 2^64.

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
    """One odd number per feature, the same in every process."""
    multipliers = np.random.default_rng(0).integers(1, 2**63, n_features, dtype=np.uint64)
    multipliers |= np.uint64(1)
    multipliers.flags.writeable = False
    return multipliers


def positive_zeros(values: FloatArray) -> FloatArray:
    """A copy in which -0.0 has become 0.0: the two are equal but differ in their bits."""
    return np.ascontiguousarray(values, dtype=np.float64) + 0.0


def rows_equal(X: Any, a: IntArray, b: IntArray) -> NDArray[np.bool_]:
    """Whether row a[k] equals row b[k], for every k."""
    if sp.issparse(X):
        difference = sp.csr_array(X[a] - X[b])
        distance: FloatArray = np.asarray(abs(difference).sum(axis=1)).ravel()
        return np.asarray(distance == 0.0)
    equal = np.empty(a.size, dtype=bool)
    step = max(1, BLOCK_VALUES // max(1, X.shape[1]))
    for first in range(0, a.size, step):
        part = slice(first, first + step)
        equal[part] = (X[a[part]] == X[b[part]]).all(axis=1)
    return equal
