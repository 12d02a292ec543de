"""Kernel matrices of one set of rows on a device."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DeviceError, KernelError
from ..kernels import Kernel, parse_memory_limit
from ..kernels.equal_rows import EqualRows
from ..kernels.limits import LARGEST_IN_FLOAT32, check_kernel_size, check_squared_norms
from ..kernels.store import Counts, Shelf
from ..problem.box_problem import FloatArray
from .cuda import CudaEngine, require_cupy
from .free_set import FREE_SET_SHARE, most_members
from .matrix import TILE_BYTES, DeviceMatrix, DeviceRows
from .reference import ReferenceEngine
from .state import SIZE, problem_bytes, to_host
from .streams import device_work

#: Share of the free device memory that is used where no limit is given.
DEFAULT_SHARE = 0.9

#: Share of the limit for rows, distances and a kernel matrix, and for the problems of a batch; the
#: rest is for free sets and for tiles.
MATRIX_SHARE, BATCH_SHARE = 0.75, 0.15

#: Of the largest target: what is left of it in a gradient may be rounding.
TARGET_ROUNDING = 2.0**-44

#: Tiles that one job has at a time, at most.
N_TILES = 6


@dataclass(frozen=True)
class Layout:
    """How a memory limit is used; it is the same for every kernel, independent of the others.

    Parameters
    ----------
    shared : int
        Bytes of the rows, and of distances if they are cached.
    keeps_distances, is_full : bool
        Whether all squared distances are cached, and whether all values of a kernel are stored.
    row_capacity : int
        Number of kernel rows that may be held if not all are stored.
    """

    shared: int
    keeps_distances: bool
    is_full: bool
    row_capacity: int


class DeviceStore:
    """The rows of X on a device, and the kernel matrices computed from them.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        The rows; sparse rows become dense on the device.
    memory_limit : int, str or None
        Total device memory in bytes; None means 90% of the free memory.
    xp : module or None
        numpy for the reference on the processor; None for CuPy.
    """

    def __init__(self, X: Any, *, memory_limit: Any = None, xp: Any = None) -> None:
        self.xp = require_cupy() if xp is None else xp
        self.engine_type = ReferenceEngine if self.xp is np else CudaEngine
        self._X = X
        self.n: int = X.shape[0]
        self.equal_rows = EqualRows(X)
        if memory_limit is None and self.xp is not np:
            free, _ = self.xp.cuda.runtime.memGetInfo()
            memory_limit = int(DEFAULT_SHARE * free)
        self.memory_limit = parse_memory_limit(memory_limit)
        self.lock = threading.RLock()
        self._rows: DeviceRows | None = None
        self._keeps_products = False
        #: Views that are leased; those in use fit the device together with their problems.
        self.leases = Shelf(self.memory_limit)
        self._views: weakref.WeakValueDictionary[Hashable, DeviceView] = (
            weakref.WeakValueDictionary()
        )
        self._n_views = self._n_rows = 0

    def keep_products(self) -> None:
        """Cache squared distances if they take at most half of the memory for matrices."""
        self._keeps_products = True
        self.leases = Shelf(self.room_for_jobs())

    @contextmanager
    def lease(
        self, kernel: Kernel, *, tol: float, n_problems: int = 1, user: Hashable = None
    ) -> Iterator[DeviceView]:
        """The view of a kernel inside the context, once there is room for a user's problems."""

        def make() -> DeviceView:
            return self.view(kernel, tol=tol)

        key = (kernel.key, tol < 1e-5, user)
        with self.leases.lease(key, self.job_bytes(n_problems), make) as view:
            yield view

    def view(self, kernel: Kernel, *, precision: str = "auto", tol: float = 1e-3) -> DeviceView:
        """Return the kernel on all rows; the same object as long as it is referenced."""
        with self.lock, self.within_limit("a kernel matrix"):
            view = self._views.get(kernel.key)
            if view is None:
                view = self._make_view(kernel)
                self._views[kernel.key] = view
                self._n_views += 1
                self._n_rows += view.matrix.n_rows_computed
            return view

    def holds_part(self, size: int, tol: float) -> bool:
        """Never: all problems of a kernel are solved at once, on the whole of it."""
        return False

    def layout(self) -> Layout:
        """The layout within the limit; a DeviceError if the rows alone do not fit."""
        matrix_bytes = 4 * self.n * self.n
        for_matrices = MATRIX_SHARE * self.memory_limit
        data_bytes = 8 * self.n * (2 * int(self._X.shape[1]) + 1)
        if data_bytes + TILE_BYTES > for_matrices:
            raise DeviceError(
                f"memory_limit is {self.memory_limit} bytes; the rows alone need "
                f"{data_bytes + TILE_BYTES} on the device. Give more, or use device='cpu'."
            )
        room = for_matrices - data_bytes - TILE_BYTES
        keeps_distances = self._keeps_products and 2 * matrix_bytes <= room
        held = matrix_bytes if keeps_distances else 0
        is_full = held + matrix_bytes <= room
        row_capacity = int(room // (16 * self.n))
        if not is_full and row_capacity < SIZE:
            raise DeviceError(
                f"memory_limit is {self.memory_limit} bytes; a working set of {SIZE} kernel rows "
                f"of {self.n} values needs {16 * self.n * SIZE}. Give more, or use device='cpu'."
            )
        return Layout(data_bytes + held, keeps_distances, is_full, row_capacity)

    def room_for_jobs(self) -> int:
        """Bytes for all kernels that are processed at a time."""
        return self.memory_limit - self.layout().shared

    def job_bytes(self, n_problems: int) -> int:
        """Bytes of one kernel with a batch of problems; all available bytes if rows are cached."""
        if not self.layout().is_full:
            return self.room_for_jobs()
        batch = min(n_problems * problem_bytes(self.n), int(BATCH_SHARE * self.memory_limit))
        free_set = int(FREE_SET_SHARE * self.memory_limit)
        return min(4 * self.n**2 + batch + free_set + N_TILES * TILE_BYTES, self.room_for_jobs())

    def _make_view(self, kernel: Kernel) -> DeviceView:
        self._check_size(kernel)
        layout = self.layout()
        if self._rows is None:
            self._rows = DeviceRows(self.xp, self._X)
        self._rows.keeps_distances = layout.keeps_distances
        matrix = DeviceMatrix(self._rows, kernel, layout.is_full)
        matrix.row_capacity = layout.row_capacity
        matrix.max_members = most_members(self.memory_limit)
        return DeviceView(self, kernel, matrix)

    def _check_size(self, kernel: Kernel) -> None:
        """Reject kernel values that float32, in which they are stored, cannot hold."""
        squared_norm = check_squared_norms(self._X)
        check_kernel_size(kernel, squared_norm)
        largest = kernel.bound(squared_norm)
        if not largest <= LARGEST_IN_FLOAT32:
            raise KernelError(
                f"Values of the kernel {kernel} may reach {largest:.3g} on these rows, and a "
                f"device keeps them in float32, up to {LARGEST_IN_FLOAT32:g}. Use device='cpu'. "
                f"{kernel.advice_on_size}."
            )

    @contextmanager
    def within_limit(self, what: str) -> Iterator[None]:
        """A context for work of this thread within the limit; running out of memory is reported."""
        if self.xp is np:
            yield
            return
        try:
            with device_work(self.xp, self, self.memory_limit):
                yield
        except self.xp.cuda.memory.OutOfMemoryError as error:
            raise DeviceError(
                f"The device has no room for {what} of {self.n} rows within "
                f"{self.memory_limit} bytes ({error}). Give memory_limit, or use device='cpu'."
            ) from None

    def count_rows(self, n_rows: int) -> None:
        """Kernel rows that were computed in addition to whole matrices."""
        with self.lock:
            self._n_rows += n_rows

    @property
    def counts(self) -> Counts:
        """Work done so far."""
        return Counts(self._n_rows, 0, self._n_views)


class DeviceView:
    """One kernel on the rows of a DeviceStore, with the interface of a KernelView.

    ``matrix`` is read by the solvers on the device. All methods return the true K in float64,
    computed from the rows.
    """

    __slots__ = ("__weakref__", "kernel", "key", "matrix", "n", "store")

    def __init__(self, store: DeviceStore, kernel: Kernel, matrix: DeviceMatrix) -> None:
        self.store, self.kernel, self.matrix = store, kernel, matrix
        self.key, self.n = kernel.key, matrix.n

    def exact_rows(self, idx: ArrayLike) -> FloatArray:
        """K[idx, :] from the raw data, by the kernel's formula in NumPy."""
        return self.kernel.evaluate(self.store._X[np.asarray(idx)], self.store._X)

    def multiply(self, idx: ArrayLike, coef: ArrayLike) -> FloatArray:
        """K[:, idx] @ coef, in double."""
        beta = np.zeros((1, self.n))
        beta[0, np.asarray(idx)] = coef
        with self.store.lock, self.store.within_limit("a product"):
            return np.asarray(to_host(self.matrix.multiply(self.matrix.xp.asarray(beta)))[0])

    def products_at(
        self,
        gradients: FloatArray,
        targets: FloatArray,
        betas: FloatArray,
        sizes: FloatArray,
        rows: ArrayLike,
        ends: ArrayLike = (),
    ) -> FloatArray:
        """K[rows, :] @ beta from gradients K beta - r, as `kernels.KernelView.products_at`.

        A product below the rounding of the targets is 0, and equal rows share the first's.
        """
        where, ends = np.asarray(rows), np.asarray(ends, dtype=np.int64)
        floor = TARGET_ROUNDING * float(np.abs(targets).max(initial=0.0))
        parts = np.split(where, ends[:-1]) if ends.size else [where] * len(gradients)
        values = []
        for gradient, part in zip(gradients, parts, strict=True):
            products = gradient[part] + targets[part]
            products[np.abs(products) <= floor] = 0.0
            values.append(self.store.equal_rows.share(products, part))
        return np.concatenate(values)

    def __repr__(self) -> str:
        kind = "whole" if self.matrix.full is not None else "row by row"
        return f"DeviceView({self.kernel}, n={self.n}, {kind})"
