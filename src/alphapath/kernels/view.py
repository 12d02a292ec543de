"""One kernel on the rows of one store."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .base import FloatArray, Kernel


class KernelView:
    """The kernel matrix of a store's rows; never labels, folds or C.

    ``gram`` is the native matrix that solvers read: whole, or rows on demand. Everything returned
    here is the true K, offsets included, in float64. ``spare_bytes`` is what the store's memory
    limit leaves beside this matrix, for copies a solver may make of its rows.
    """

    __slots__ = (
        "_X",
        "__weakref__",
        "_double",
        "_make_double",
        "_rounding",
        "gram",
        "kernel",
        "key",
        "n",
        "spare_bytes",
    )

    def __init__(
        self,
        X: Any,
        kernel: Kernel,
        gram: _core.Gram,
        key: Hashable,
        spare_bytes: int,
        make_double: Callable[[Kernel], KernelView | None],
    ) -> None:
        self._X = X
        self._make_double = make_double
        self._double: KernelView | None = None
        self._rounding: float | None = None
        self.kernel = kernel
        self.gram = gram
        self.key = key
        self.n: int = gram.n
        self.spare_bytes = spare_bytes

    def rows(self, idx: ArrayLike) -> FloatArray:
        """K[idx, :] as stored."""
        return self.gram.rows(_as_indices(idx))

    def block(self, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        """K[rows][:, columns] as stored."""
        return self.gram.block(_as_indices(rows), _as_indices(columns))

    def multiply(self, idx: ArrayLike, coef: ArrayLike) -> FloatArray:
        """K[:, idx] @ coef, summed in double."""
        return self.gram.multiply(_as_indices(idx), np.ascontiguousarray(coef, dtype=np.float64))

    def products_at(
        self,
        gradients: FloatArray,
        targets: FloatArray,
        betas: FloatArray,
        sizes: FloatArray,
        rows: ArrayLike,
        ends: ArrayLike = (),
    ) -> FloatArray:
        """K[rows, :] @ beta from gradients K beta - r, with the same bits for equal kernel rows.

        Products closer to another than their rounding, to which the target belongs, are summed
        again from the kernel row and beta alone.

        Parameters
        ----------
        gradients, betas : arrays of shape (n_parts, n)
        targets : array of shape (n,)
        sizes : array of shape (n_parts, 2)
            What |beta|_1 was at most while the gradients were made (infinity for that of `betas`),
            and by how much they were scaled together with their rounding.
        rows : array of int
            Part after part; those of every part where `ends` is empty.
        ends : array of shape (n_parts,)
            Where the rows of each part end.
        """
        where = _as_indices(rows), _as_indices(ends)
        return self.gram.products_at(gradients, targets, betas, sizes, *where)

    def exact_rows(self, idx: ArrayLike) -> FloatArray:
        """K[idx, :] computed again from the raw data, in double."""
        return self.kernel.evaluate(self._X[_as_indices(idx)], self._X)

    def exact_multiply(self, idx: ArrayLike, coef: FloatArray) -> FloatArray | None:
        """K[:, idx] @ coef from the raw data, where that takes no kernel values; else None."""
        return self.kernel.combine(self._X, self._X[_as_indices(idx)], coef)

    def diagonal(self) -> FloatArray:
        """K_ii."""
        return np.asarray(self.gram.diagonal() + 2.0 * self.gram.offset())

    @property
    def rounding(self) -> float:
        """How far stored values are off the true ones, in the root mean square, by some of them."""
        if self.gram.precision == "float64":
            return 0.0
        if self._rounding is None:
            rows = np.linspace(0, self.n - 1, 16).astype(np.int64)
            columns = np.linspace(0, self.n - 1, min(self.n, 1024)).astype(np.int64)
            if self.kernel.native_function() is None:
                exact = self.exact_rows(rows)[:, columns]
            else:
                exact = self.kernel.evaluate(self._X[rows], self._X[columns])
            error = self.block(rows, columns) - exact
            self._rounding = float(np.sqrt(np.mean(error * error)))
        return self._rounding

    def in_double(self) -> KernelView | None:
        """The same kernel in float64, held as long as this one; None where there is no room."""
        if self._double is None:
            self._double = self._make_double(self.kernel)
        return self._double

    def part(self, members: NDArray[np.intp]) -> PartView:
        """The kernel on some instances, in this order; rows are copied at their first use."""
        return PartView(self, members)

    def __repr__(self) -> str:
        kind = "whole" if self.gram.is_full else "row by row"
        return f"KernelView({self.kernel}, n={self.n}, {self.gram.precision}, {kind})"


class PartView(KernelView):
    """Some of the instances of another view: their rows and columns, as a problem of few of them
    (a pair of many classes) reads them. Nothing is computed again."""

    __slots__ = ("members", "whole")

    def __init__(self, whole: KernelView, members: NDArray[np.intp]) -> None:
        gram = whole.gram.part(_as_indices(members))
        spare = max(whole.spare_bytes - gram.nbytes, 0)
        super().__init__(whole._X, whole.kernel, gram, whole.key, spare, whole._make_double)
        self.whole = whole
        self.members = members

    def exact_rows(self, idx: ArrayLike) -> FloatArray:
        return self.whole.exact_rows(self.members[_as_indices(idx)])[:, self.members]

    def exact_multiply(self, idx: ArrayLike, coef: FloatArray) -> FloatArray | None:
        found = self.whole.exact_multiply(self.members[_as_indices(idx)], coef)
        return None if found is None else found[self.members]

    @property
    def rounding(self) -> float:
        return self.whole.rounding

    def in_double(self) -> KernelView | None:
        if self._double is None:
            fine = self.whole.in_double()
            self._double = None if fine is None else fine.part(self.members)
        return self._double


def _as_indices(idx: ArrayLike) -> NDArray[np.int64]:
    indices = np.asarray(idx)
    if indices.dtype == np.bool_:
        indices = np.flatnonzero(indices)
    return np.ascontiguousarray(indices, dtype=np.int64).reshape(-1)
