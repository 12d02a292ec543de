"""Products of rows of A with each other, computed once for all Hessians that ask for them.

Hessians of problems on the same X share an object of these; one of a problem with fewer features
takes from the products of all what the lost features are in them. Arrays are replaced, never
written to: who holds them need not mind what others learn or forget.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..problem import FloatArray
from .design_rows import Columns, DesignRows, Indices


class Products:
    """K = A_W A_W' of the instances W = `known`.

    Parameters
    ----------
    rows : DesignRows
    """

    def __init__(self, rows: DesignRows) -> None:
        self.rows = rows
        self.known: Indices = np.empty(0, dtype=np.intp)
        self.place = np.full(rows.n, -1)  # of an instance in `known`
        self.K: FloatArray = np.empty((0, 0))

    def lift(self, rows: DesignRows, own: Indices) -> Products:
        """A copy for more instances, of which `own` are the present ones."""
        other = Products(rows)
        other.known, other.K = own[self.known], self.K
        other.place[own] = self.place
        return other

    def without(self, features: Indices) -> Products:
        """The products when these features are left out as well."""
        return ThinProducts(self, features)

    @property
    def shared(self) -> Products:
        """Where products of rows are taken from: here."""
        return self

    def between(self, some: Indices, others: Indices) -> FloatArray:
        """K of known instances."""
        return np.asarray(self.K[np.ix_(self.place[some], self.place[others])])

    def count_new(self, instances: Indices) -> int:
        return int(np.count_nonzero(self.place[instances] < 0))

    def predict_cost(self, instances: Indices) -> float:
        """Flops to know these instances too."""
        n_new, width = self.count_new(instances), self.rows.n_kept * self.rows.density
        return float(n_new) * (2.0 * self.known.size + n_new) * width

    def learn(self, instances: Indices) -> None:
        """Know these instances too."""
        new = instances[self.place[instances] < 0]
        if new.size == 0:
            return
        m = self.known.size
        K = np.empty((m + new.size, m + new.size))
        K[:m, :m] = self.K
        self._multiply(new, K[m:])
        K[:m, m:] = K[m:, :m].T
        self.K = K
        self.known = np.concatenate([self.known, new])
        self.place = self.place.copy()
        self.place[new] = m + np.arange(new.size)

    def keep(self, instances: Indices) -> None:
        """Forget all but these."""
        self.K = self.between(instances, instances)
        self.known = instances
        self.place = np.full(self.rows.n, -1)
        self.place[instances] = np.arange(instances.size)

    def _multiply(self, new: Indices, K: FloatArray) -> None:
        """Write the products of new instances with the known ones, then themselves."""
        K[:] = self.rows.n_offsets
        add_products(self.rows, self.rows.column_chunks(), (self.known, new), K)


class ThinProducts(Products):
    """The products of `whole` less those of the features `lost`, for the instances asked for."""

    def __init__(self, whole: Products, lost: Indices) -> None:
        super().__init__(whole.rows)
        self.whole, self.lost = whole, lost

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
        """Nothing is forgotten: these go with their problem."""

    def _multiply(self, new: Indices, K: FloatArray) -> None:
        everybody = np.concatenate([self.known, new])
        self.whole.learn(everybody)  # it may have let some go
        np.negative(self.whole.between(new, everybody), out=K)
        add_products(self.rows, [self.lost], (self.known, new), K)
        np.negative(K, out=K)


def add_products(
    rows: DesignRows, chunks: Iterable[Columns], who: tuple[Indices, Indices], K: FloatArray
) -> None:
    """Add to K the products over some features of new instances with known ones and themselves."""
    known, new = who
    for columns in chunks:
        left = rows.block(new, columns)
        if known.size:
            K[:, : known.size] += rows.multiply(left, rows.block(known, columns))
        K[:, known.size :] += rows.multiply(left, left)
