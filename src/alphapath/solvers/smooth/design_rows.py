"""The rows of A = [X 1] (or X, without an offset), dense or CSR, and their products.

The offset is the last entry of theta. X is never copied, neither to append the ones nor to omit
the features that a problem drops, whose theta is 0 and whose gradient is never needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...errors import SolverMismatch
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem

Indices = NDArray[np.intp]
Columns = slice | Indices
#: Features of some instances, copied at a time.
CHUNK = 2048
#: Values of rows copied at a time: within the cache.
GATHERED = 1 << 19


class DesignRows:
    """A of one MarginProblem.

    Parameters
    ----------
    problem : MarginProblem
        A problem with a penalised offset or none.
    """

    def __init__(self, problem: MarginProblem) -> None:
        if problem.offset == "free":
            raise SolverMismatch(
                "The smooth_newton solver is for problems whose offset is penalised or absent, but "
                "this one is free; use offset='penalised'."
            )
        self.X: Any = problem.X
        self.is_sparse = problem.is_sparse
        self.n, self.d = problem.n, problem.d
        # Rows that native code may pass over as they are.
        self.is_plain = (
            not self.is_sparse
            and self.X.dtype == np.float64
            and self.X.strides[1] == self.X.itemsize
        )
        self.n_offsets = int(problem.offset == "penalised")
        self.dropped = problem.dropped
        self.is_kept = np.ones(self.width, dtype=bool)
        self.kept: Indices | None = None  # None: all
        if problem.dropped is not None:
            self.is_kept[: self.d] = ~problem.dropped
            self.kept = np.flatnonzero(self.is_kept)

    @property
    def width(self) -> int:
        """Length of theta, including dropped features."""
        return self.d + self.n_offsets

    @property
    def n_kept(self) -> int:
        """Length of theta without the dropped features."""
        return self.width if self.kept is None else self.kept.size

    @property
    def size(self) -> int:
        """Number of stored values of X."""
        return int(self.X.nnz if self.is_sparse else self.X.size)

    @property
    def density(self) -> float:
        """Fraction of the values of X that are stored."""
        return self.size / max(1, self.n * self.d)

    def values(self, theta: FloatArray) -> FloatArray:
        """A theta on all instances."""
        f = np.asarray(self.X @ theta[: self.d])
        return f + theta[self.d] if self.n_offsets else f

    def combine(self, rows: Indices, coefs: FloatArray) -> FloatArray:
        """A_rows' coefs, dropped features set to 0."""
        theta: FloatArray = _combine_rows(self, rows, coefs[np.newaxis])[0]
        if self.dropped is not None:
            theta[: self.d][self.dropped] = 0.0
        return theta

    def take(self, rows: Indices) -> FloatArray:
        """A[rows] as a dense array of the kept features."""
        block = self.X[rows].toarray() if self.is_sparse else self.X[rows]
        if self.n_offsets:
            block = np.hstack([block, np.ones((rows.size, 1))])
        return np.asarray(block if self.kept is None else block[:, self.kept])

    def gram(self, rows: Indices, weights: FloatArray) -> FloatArray:
        """A_rows' diag(weights) A_rows on the kept features; weights may be negative."""
        total = np.zeros((self.n_kept, self.n_kept))
        for sign in (1.0, -1.0):
            chosen = np.flatnonzero(sign * weights > 0.0)
            if chosen.size:
                block = self.take(rows[chosen])
                block *= np.sqrt(sign * weights[chosen])[:, np.newaxis]
                total += sign * (block.T @ block)  # numpy sees the transpose: half the work
        return total

    def column_chunks(self) -> Iterator[Columns]:
        """Chunks of the kept features, small enough for a block of rows to stay in the cache."""
        n_columns = self.d if self.is_sparse else CHUNK
        for first in range(0, self.d, n_columns):
            if self.dropped is None:
                yield slice(first, first + n_columns)
            else:
                yield first + np.flatnonzero(~self.dropped[first : first + n_columns])

    def block(self, rows: Indices, columns: Columns) -> Any:
        """X[rows, columns]."""
        if self.is_sparse:
            return self.X[rows][:, columns]
        if not isinstance(columns, slice) and is_run(columns):
            columns = slice(columns[0], columns[-1] + 1)  # copied several times as fast
        return (
            self.X[rows, columns] if isinstance(columns, slice) else self.X[np.ix_(rows, columns)]
        )

    def gather(self, rows: Indices) -> Any:
        """X[rows], dropped features set to 0: cheaper than a copy without the columns."""
        block = self.X[rows]
        if self.dropped is None:
            return block
        if self.is_sparse:
            return block @ sp.diags_array(self.is_kept[: self.d].astype(np.float64))
        block[:, self.dropped] = 0.0
        return block

    def products(self, block: Any, other: Any) -> FloatArray:
        """Products of rows of A as gathered."""
        return self.multiply(block, other) + self.n_offsets

    def multiply(self, block: Any, other: Any) -> FloatArray:
        """block @ other.T, dense; of a block with itself for half the work."""
        product = block @ other.T
        return np.asarray(product.toarray() if self.is_sparse else product)

    def squared_norms(self) -> FloatArray:
        """|a_i|^2 of all instances, including dropped features."""
        if self.is_sparse:
            norms = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        else:
            norms = np.einsum("ij,ij->i", self.X, self.X)
        return norms + self.n_offsets


def is_run(numbers: Indices) -> bool:
    """Whether ascending numbers are consecutive."""
    return bool(numbers.size and numbers[-1] - numbers[0] == numbers.size - 1)


def cut(n_rows: int, n_columns: int, n_values: int) -> Iterator[slice]:
    """Pieces of about `n_values` values each."""
    step = max(1, n_values // n_columns)
    for first in range(0, n_rows, step):
        yield slice(first, first + step)


def values_of_all(rows: DesignRows, thetas: Sequence[FloatArray]) -> list[FloatArray]:
    """A theta for each theta, in one pass over X."""
    if len(thetas) == 1:
        return [rows.values(thetas[0])]
    return list(_multiply_rows(rows, None, np.stack(thetas)))


def values_at(rows: DesignRows, used: Indices, thetas: Sequence[FloatArray]) -> list[FloatArray]:
    """A theta for each theta, on the instances `used`; 0 on the others."""
    found = np.zeros((len(thetas), rows.n))
    found[:, used] = _multiply_rows(rows, used, np.stack(thetas))
    return list(found)


def _multiply_rows(rows: DesignRows, used: Indices | None, thetas: FloatArray) -> FloatArray:
    """theta'a_i of the instances `used` (None: all), one row a theta."""
    few = np.ascontiguousarray(thetas[:, : rows.d])
    if rows.is_plain:
        found = _core.multiply_few(rows.X, used, few)
    else:
        found = np.asarray((rows.X if used is None else rows.X[used]) @ few.T).T
    return found + thetas[:, rows.d :] if rows.n_offsets else found


def combine_all(
    rows: Sequence[DesignRows], pulls: Sequence[tuple[Indices, FloatArray]]
) -> list[FloatArray]:
    """A_rows' coefs for each of them, in one pass over the rows that any of them uses."""
    if len(rows) == 1:
        return [rows[0].combine(*pulls[0])]
    design = rows[0]
    used = np.unique(np.concatenate([who for who, _ in pulls]))
    place = np.empty(design.n, dtype=np.intp)
    place[used] = np.arange(used.size)
    coefs = np.zeros((len(rows), used.size))
    for k, (who, values) in enumerate(pulls):
        coefs[k, place[who]] = values
    thetas = _combine_rows(design, used, coefs)
    for own, theta in zip(rows, thetas, strict=True):
        theta[~own.is_kept] = 0.0
    return list(thetas)


def _combine_rows(rows: DesignRows, used: Indices, coefs: FloatArray) -> FloatArray:
    """coefs'A_used on all features, one row for each row of coefs."""
    thetas = np.zeros((len(coefs), rows.width))
    if rows.is_plain:
        thetas[:, : rows.d] = _core.combine_few(rows.X, used, coefs)
    else:
        for part in cut(used.size, rows.d, GATHERED):
            thetas[:, : rows.d] += (rows.X[used[part]].T @ coefs[:, part].T).T
    if rows.n_offsets:
        thetas[:, rows.d] = coefs.sum(axis=1)
    return thetas
