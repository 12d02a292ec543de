"""Products of rows of A with each other, computed once for all Hessians that use them.

Hessians of problems on the same X share an object of these; one of a problem with fewer features
takes from the products of all what the lost features are in them. Arrays are replaced, never
written to, so holders are not affected by what others learn or forget.

Products of many long rows are computed in single precision, for half the time; what follows from
them is then corrected in double (refine.py). Where rounding would leave too little of 1/D
beside them, `doubled` is taken instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ...problem.box_problem import FloatArray
from .design_rows import Columns, DesignRows, Indices

#: From this many values of X on, products are computed in single precision.
LARGE = 1 << 22
#: The largest D times an eigenvalue of K that single precision bears: a correction then leaves at
#: most some hundredths of an error.
SINGLE_LIMIT = 1e6
#: Instances from which that eigenvalue is estimated.
SAMPLE = 64


class Products:
    """K = A_W A_W' of the instances W = `known`.

    Parameters
    ----------
    rows : DesignRows
    is_single : bool or None
        Whether K is in single precision; None means if X is dense and large.
    """

    def __init__(self, rows: DesignRows, is_single: bool | None = None) -> None:
        self.rows = rows
        if is_single is None:
            is_single = not rows.is_sparse and rows.size >= LARGE
        self.is_single = is_single
        self.known: Indices = np.empty(0, dtype=np.intp)
        self.place = np.full(rows.n, -1)  # of an instance in `known`
        self.K: Any = np.empty((0, 0), dtype=np.float32 if is_single else np.float64)

    def lift(self, rows: DesignRows, own: Indices) -> Products:
        """A copy for more instances, of which `own` are the current ones."""
        other = Products(rows)
        other.known, other.K = own[self.known], self.K.astype(other.K.dtype, copy=False)
        other.place[own] = self.place
        return other

    @cached_property
    def doubled(self) -> Products:
        """The same in double precision, for users that need more precision; initially empty."""
        return Products(self.rows, is_single=False)

    @cached_property
    def mean_eigenvalue(self) -> float:
        """An estimate of K's largest eigenvalue over the number of instances."""
        sample = np.linspace(0, self.rows.n - 1, min(SAMPLE, self.rows.n)).astype(np.intp)
        block = self.rows.gather(sample)
        return float(np.linalg.norm(self.rows.products(block, block))) / sample.size

    def is_too_rough(self, weights: FloatArray) -> bool:
        """Whether single precision would leave too little of 1/D for these D."""
        largest = self.mean_eigenvalue * np.count_nonzero(weights)
        return bool(largest * weights.max() > SINGLE_LIMIT)

    def without(self, features: Indices) -> Products:
        """The products when these features are left out as well."""
        return ThinProducts(self, features)

    @property
    def shared(self) -> Products:
        """Where products of rows are taken from: here."""
        return self

    def between(self, some: Indices, others: Indices) -> Any:
        """K of known instances."""
        return np.asarray(self.K[np.ix_(self.place[some], self.place[others])])

    def count_new(self, instances: Indices) -> int:
        return int(np.count_nonzero(self.place[instances] < 0))

    def predict_cost(self, instances: Indices) -> float:
        """Flops to compute the products of these instances."""
        n_new, width = self.count_new(instances), self.rows.n_kept * self.rows.density
        return float(n_new) * (2.0 * self.known.size + n_new) * width

    def learn(self, instances: Indices) -> None:
        """Compute the products of these instances."""
        new = instances[self.place[instances] < 0]
        if new.size == 0:
            return
        m = self.known.size
        K = np.empty((m + new.size, m + new.size), dtype=self.K.dtype)
        K[:m, :m] = self.K
        self._multiply(new, K[m:])
        K[:m, m:] = K[m:, :m].T
        self.K = K
        self.known = np.concatenate([self.known, new])
        self.place = self.place.copy()
        self.place[new] = m + np.arange(new.size)

    def keep(self, instances: Indices) -> None:
        """Drop all products but these."""
        self.K = self.between(instances, instances)
        self.known = instances
        self.place = np.full(self.rows.n, -1)
        self.place[instances] = np.arange(instances.size)

    def _multiply(self, new: Indices, K: Any) -> None:
        """Write the products of new instances with the known ones, then themselves."""
        K[:] = self.rows.n_offsets
        add_products(self.rows, self.rows.column_chunks(), (self.known, new), K)


class ThinProducts(Products):
    """The products of `whole` minus those of the features `lost`, for the requested instances."""

    def __init__(self, whole: Products, lost: Indices) -> None:
        super().__init__(whole.rows, whole.is_single)
        self.whole, self.lost = whole, lost

    @cached_property
    def doubled(self) -> Products:
        return ThinProducts(self.whole.doubled, self.lost)

    @cached_property
    def mean_eigenvalue(self) -> float:
        return self.whole.mean_eigenvalue  # which is no smaller

    @property
    def shared(self) -> Products:
        return self.whole

    def lift(self, rows: DesignRows, own: Indices) -> Products:
        return Products(rows)

    def without(self, features: Indices) -> Products:
        return ThinProducts(self.whole, np.union1d(self.lost, features))

    def predict_cost(self, instances: Indices) -> float:
        n_new, width = self.count_new(instances), self.lost.size * self.rows.density
        own = float(n_new) * (2.0 * self.known.size + n_new) * width
        return own + self.whole.predict_cost(instances)

    def keep(self, instances: Indices) -> None:
        """Drop nothing: these products live as long as their problem."""

    def _multiply(self, new: Indices, K: Any) -> None:
        everybody = np.concatenate([self.known, new])
        self.whole.learn(everybody)  # it may have let some go
        np.negative(self.whole.between(new, everybody), out=K)
        add_products(self.rows, [self.lost], (self.known, new), K)
        np.negative(K, out=K)


def add_products(
    rows: DesignRows, chunks: Iterable[Columns], who: tuple[Indices, Indices], K: Any
) -> None:
    """Add to K the products over some features of new instances with known ones and themselves."""
    known, new = who
    for columns in chunks:
        left = rows.block(new, columns).astype(K.dtype, copy=False)
        if known.size:
            right = rows.block(known, columns).astype(K.dtype, copy=False)
            K[:, : known.size] += rows.multiply(left, right)
        K[:, known.size :] += rows.multiply(left, left)
