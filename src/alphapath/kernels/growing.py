"""A kernel matrix in double whose rows are added and removed: one slot per row, slots reused."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..errors import KernelError
from .base import FloatArray, Kernel, squared_norms
from .limits import LARGEST_VALUE
from .linear import Linear
from .policy import DENSE_SHARE, parse_memory_limit, row_bytes
from .rbf import CANCELLATION, Rbf, squared_distances
from .samples import as_rows, make_samples

IntArray = NDArray[np.int64]

#: Slots made at once, as a share of those there are.
GROWTH = 1.125


class GrowingView:
    """The kernel on a changing set of rows, as read by solvers and paths.

    Stored values are inner products about one of the first rows, so that no digits are lost if the
    kernel is nearly constant: K_ij = stored_ij + offset_i + offset_j.

    Parameters
    ----------
    kernel : Kernel
        Any kernel that is evaluated on rows, that is, not Precomputed.
    memory_limit : int, str or None
        Memory limit for the matrix, as in KernelStore.
    """

    def __init__(self, kernel: Kernel, memory_limit: int | float | str | None = None) -> None:
        self.kernel = kernel
        self.memory_limit = parse_memory_limit(memory_limit)
        self.gram = _core.GrowingGram(0)
        self._rows = _Rows()
        self._is_used = np.zeros(0, dtype=bool)

    @property
    def n(self) -> int:
        """Number of slots, including empty ones."""
        return int(self.gram.n)

    @property
    def spare_bytes(self) -> int:
        """Bytes of the memory limit that the matrix leaves free."""
        return max(self.memory_limit - self.gram.nbytes, 0)

    @staticmethod
    def check_size(n: int, memory_limit: int | float | str | None) -> None:
        """Reject rows for which the matrix would not fit, before changing anything."""
        limit = parse_memory_limit(memory_limit)
        needed = n * row_bytes(n, "float64")
        if needed > limit:
            raise KernelError(
                f"The kernel matrix of {n} rows takes {needed} bytes, and memory_limit is "
                f"{limit}; raise memory_limit, or forget rows (window=)."
            )

    def insert(self, X: Any) -> IntArray:
        """Assign slots to the rows of X and compute their kernel values."""
        count = X.shape[0]
        self.check_size(int(self._is_used.sum()) + count, self.memory_limit)
        function = self.kernel.native_function()
        if self.n == 0:
            first = choose_origin(X)
            order = np.concatenate([[first], np.delete(np.arange(count), first)])
            slots = np.empty(count, dtype=np.int64)
            slots[order] = self._insert(X[order], function)
            return slots
        return self._insert(X, function)

    def _insert(self, X: Any, function: _core.KernelFunction | None) -> IntArray:
        """Slots for rows; the first one ever becomes the origin."""
        count = X.shape[0]
        if self.n == 0 and function is not None:
            return self._begin(as_rows(X), function)
        free = np.flatnonzero(~self._is_used)
        if free.size < count:
            used = self.n - free.size
            wanted = self._choose_size(used + count)
            self.gram.reserve(wanted)
            self._is_used = np.concatenate(
                [self._is_used, np.zeros(wanted - self._is_used.size, dtype=bool)]
            )
            free = np.flatnonzero(~self._is_used)
        slots = free[:count].astype(np.int64)
        self._rows.put(slots, X, self.n)
        self._is_used[slots] = True
        others = np.flatnonzero(self._is_used)
        if isinstance(self.kernel, Rbf):
            gamma = self.kernel.gamma
            own, theirs, squares = self._rows.rbf_terms(gamma, slots, others)
            self.gram.fill_rbf(gamma, slots, own, others, theirs, squares)
        else:
            values, offsets = self._rows.centred(self.kernel, slots, others)
            if not np.abs(values).max() <= LARGEST_VALUE:  # nan included
                self._is_used[slots] = False
                raise KernelError(
                    f"Values of the kernel {self.kernel} on the added rows are not finite, or "
                    f"exceed {LARGEST_VALUE:g}. {self.kernel.advice_on_size}."
                )
            self.gram.fill(slots, offsets, others, values)
        return slots

    def _begin(self, X: Any, function: _core.KernelFunction) -> IntArray:
        """The first rows, all their kernel values by native code."""
        count = X.shape[0]
        n_slots = self._choose_size(count)
        self.gram.begin(n_slots, make_samples(X, self.memory_limit // DENSE_SHARE), function)
        slots = np.arange(count, dtype=np.int64)
        self._rows.put(slots, X, n_slots)
        if isinstance(self.kernel, Rbf):
            self._rows.put_at_origin(self.kernel.gamma, slots)
        self._is_used = np.arange(n_slots) < count
        return slots

    def remove(self, slots: IntArray) -> None:
        """Free these slots; their values remain until the slots are reused."""
        self._is_used[slots] = False

    def rows_at(self, slots: Any) -> Any:
        """Return the raw rows in these slots."""
        return self._rows.take(slots)

    def exact_rows(self, indices: Any) -> FloatArray:
        """Compute K[indices, :] from the raw data; values against empty slots are 0."""
        slots = np.arange(self.n)[indices]
        used = np.flatnonzero(self._is_used)
        values = np.zeros((slots.size, self.n))
        values[:, used] = self.kernel.evaluate(self.rows_at(slots), self.rows_at(used))
        return values

    def _choose_size(self, n_used: int) -> int:
        """The number of slots to allocate for this number in use."""
        most = int(np.sqrt(self.memory_limit / 8.0)) // 16 * 16
        return max(n_used, min(int(GROWTH * n_used), most))


def choose_origin(X: Any) -> int:
    """The row in the middle: about one that is far away, values of the others lose digits.

    The median is where most rows are, however far some of them; of sparse rows it is 0, nearly.
    """
    if sp.issparse(X):
        return int(np.argmin(squared_norms(X)))
    return int(np.argmin(squared_norms(X - np.median(X, axis=0))))


class _Rows:
    """Raw rows by slot, dense or sparse, with what their kernel values are computed from."""

    def __init__(self) -> None:
        self._origin: Any = None
        self._X: Any = None
        self._about: FloatArray | None = None  # dense rows about the origin
        self._norms: FloatArray | None = None
        self._at_origin = np.zeros(0)  # rbf: expm1(-gamma |x - origin|^2)
        self._row_of = np.zeros(0, dtype=np.intp)  # sparse: where in _X a slot's row is

    def put(self, slots: IntArray, X: Any, n_slots: int) -> None:
        if self._X is None:
            self._origin = X[:1].copy()
            if not sp.issparse(X):
                self._X = np.zeros((n_slots, X.shape[1]))
                self._about = np.zeros_like(self._X)
                self._norms = np.zeros(n_slots)
            else:
                self._X = X[:0]
        if sp.issparse(self._X):
            self._put_sparse(slots, sp.csr_matrix(X), n_slots)
            return
        assert self._about is not None
        assert self._norms is not None
        if sp.issparse(X):
            X = X.toarray()
        if n_slots > len(self._X):
            more = n_slots - len(self._X)
            self._X = np.pad(self._X, ((0, more), (0, 0)))
            self._about = np.pad(self._about, ((0, more), (0, 0)))
            self._norms = np.pad(self._norms, (0, more))
        self._X[slots] = X
        about = X - self._origin
        self._about[slots] = about
        self._norms[slots] = squared_norms(about)

    def _put_sparse(self, slots: IntArray, X: Any, n_slots: int) -> None:
        row_of = np.zeros(n_slots, dtype=np.intp)
        row_of[: self._row_of.size] = self._row_of
        if self._X.shape[0] > 2 * n_slots:
            self._X = self._X[self._row_of]
            row_of[: self._row_of.size] = np.arange(self._row_of.size)
        row_of[slots] = self._X.shape[0] + np.arange(slots.size)
        self._X = sp.vstack([self._X, X], format="csr")
        self._row_of = row_of

    def take(self, slots: Any) -> Any:
        return self._X[self._row_of[slots]] if sp.issparse(self._X) else self._X[slots]

    def rbf_terms(
        self, gamma: float, slots: IntArray, others: NDArray[np.intp]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(E of `slots` at the origin, E of `others` there, squared distances between them).

        E = K - 1 by expm1, which keeps the digits where gamma is small; K = 1 + E and E_oo = 0.
        """
        if self._about is not None:
            squares = self._distances(slots, others)
        else:
            squares = squared_distances(self.take(slots), self.take(others))
        own = self.put_at_origin(gamma, slots)
        return own, self._at_origin[others], squares

    def put_at_origin(self, gamma: float, slots: IntArray) -> FloatArray:
        """E of `slots` at the origin, kept."""
        if self._norms is not None:
            norms = self._norms[slots]
        else:
            norms = squared_distances(self.take(slots), self._origin)[:, 0]
        last = int(slots.max())
        if last >= self._at_origin.size:
            self._at_origin = np.pad(self._at_origin, (0, last + 1 - self._at_origin.size))
        own = np.expm1(-gamma * norms)
        self._at_origin[slots] = own
        return own

    def centred(
        self, kernel: Kernel, slots: IntArray, others: NDArray[np.intp]
    ) -> tuple[FloatArray, FloatArray]:
        """(inner products about the origin, offsets of `slots`)."""
        origin = self._origin
        X, Z = self.take(slots), self.take(others)
        at_origin = kernel.evaluate(X, origin)[:, 0]
        own_origin = float(kernel.evaluate(origin, origin)[0, 0])
        if isinstance(kernel, Linear) and self._about is not None:
            values = self._about[slots] @ self._about[others].T
        else:
            values = kernel.evaluate(X, Z) - at_origin[:, None]
            values -= kernel.evaluate(origin, Z) - own_origin
        return np.ascontiguousarray(values), at_origin - own_origin / 2.0

    def _distances(self, slots: IntArray, others: NDArray[np.intp]) -> FloatArray:
        """|x - z|^2 from the rows about the origin; small ones by differences."""
        assert self._about is not None
        assert self._norms is not None
        A, B = self._about[slots], self._about[others]
        norms = self._norms[slots][:, None] + self._norms[others]
        distances = A @ B.T
        distances *= -2.0
        distances += norms
        norms *= CANCELLATION
        i, j = np.nonzero(distances <= norms)
        distances[i, j] = squared_norms(A[i] - B[j])
        return distances
