"""Kernel matrices on one set of rows, computed once and shared by all problems on them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import KernelError
from .base import FloatArray, Kernel, narrow
from .equal_rows import first_equal
from .limits import LARGEST_IN_FLOAT32, LARGEST_SQUARED_NORM, check_kernel_size
from .policy import (
    DENSE_SHARE,
    SMALL,
    TIGHT,
    Layout,
    Precision,
    choose_layout,
    choose_precision,
    parse_memory_limit,
    row_bytes,
)
from .precomputed import Precomputed, check_kernel_matrix
from .rbf import Rbf
from .samples import as_rows, find_step, make_samples, pays

T = TypeVar("T")


@dataclass(frozen=True)
class Counts:
    """Work done by a store so far: kernel rows computed, cache hits and views created."""

    rows_computed: int
    hits: int
    views: int


class KernelStore:
    """The rows of X and all kernel matrices computed from them.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        The rows; for the kernel Precomputed, the kernel matrix itself.
    memory_limit : int, str or None
        Memory limit, in bytes or as text such as "200MB", for all kernel matrices of this store
        that are in use at a time. None means half of the memory of the machine.
    n_threads : int or None
        Number of threads that compute a matrix; None means one, -1 all processors. The results are
        bitwise independent of it.
    defers_rows : bool
        Whether a large matrix may be computed row by row on demand if memory allocation is slow.
        This is meant for a single solve, which may need only some of the rows. The results are
        bitwise independent of it.

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath.kernels import KernelStore, Rbf
    >>> store = KernelStore(np.array([[0.0], [1.0], [3.0]]))
    >>> store.view(Rbf(gamma=0.5)).exact_rows([1]).round(3)
    array([[0.607, 1.   , 0.135]])
    """

    def __init__(
        self,
        X: Any,
        *,
        memory_limit: int | float | str | None = None,
        n_threads: int | None = None,
        defers_rows: bool = False,
    ) -> None:
        self._X = as_rows(X)
        self.n: int = self._X.shape[0]
        self.memory_limit = parse_memory_limit(memory_limit)
        self.n_threads = _count_threads(n_threads)
        self.defers_rows = defers_rows
        self._samples: _core.Samples | None = None
        self._keeps_products = False
        #: Views that are leased; those in use fit `room` together.
        self.leases = Shelf(self.memory_limit)
        self._products: dict[tuple[str, Precision], _core.Gram] = {}
        self._views: weakref.WeakValueDictionary[Hashable, KernelView] = (
            weakref.WeakValueDictionary()
        )
        #: Told when a view is gone; quicker to make than weakref.finalize.
        self._graves: set[weakref.ref[KernelView]] = set()
        self._n_views = 0
        self._past_rows = self._past_hits = 0
        self._lock = threading.RLock()

    def view(
        self,
        kernel: Kernel,
        *,
        precision: Literal["auto", "float32", "float64"] = "auto",
        tol: float = 1e-3,
    ) -> KernelView:
        """Return the kernel on all rows; the same object as long as it is referenced."""
        with self._lock:
            wanted = self._wanted_precision(kernel, precision, tol)
            shrinks = precision == "auto" and self._shrinks(wanted, tol)
            key = (kernel.key, wanted, shrinks)
            view = self._views.get(key)
            if view is None:
                view = self._make_view(kernel, key, precision == "auto")
                self._views[key] = view
                gram = view.gram
                self._graves.add(weakref.ref(view, lambda grave: self._retire(gram, grave)))
                self._n_views += 1
            return view

    @contextmanager
    def lease(
        self, kernel: Kernel, *, tol: float, n_problems: int = 1, user: Hashable = None
    ) -> Iterator[KernelView]:
        """The view of a kernel inside the context, once there is room for work on it.

        The last one stays until another is made. `n_problems` and `user` are for stores on a
        device, where problems take room as well: there each user's are counted.
        """

        def make() -> KernelView:
            return self.view(kernel, tol=tol)

        key = (kernel.key, tol < 1e-5, user)
        with self.leases.lease(key, self.work_bytes(tol), make) as view:
            yield view

    @property
    def room(self) -> int:
        """Bytes for matrices in use at a time: the limit minus what cached products may take.

        It depends only on the limit and the number of rows: how a kernel is used must not depend on
        which products happen to be cached.
        """
        takes_half = self._keeps_products and self._keeps_any("float32")
        return self.memory_limit - self.memory_limit // 2 if takes_half else self.memory_limit

    def work_bytes(self, tol: float) -> int:
        """Bytes that work on a single kernel may take; at most `room`."""
        precision = choose_precision(self.n, tol)
        size = self.n * row_bytes(self.n, precision)
        if precision == "float32" and self.holds_both():
            size += self.n * row_bytes(self.n, "float64")  # where float32 does not suffice
        return min(size, self.room)

    def holds_both(self) -> bool:
        """Whether a float32 matrix and its float64 version together fit the limit."""
        return self.n * (row_bytes(self.n, "float32") + row_bytes(self.n, "float64")) <= self.room

    def holds_part(self, size: int, tol: float) -> bool:
        """Whether a whole matrix and a copy of a part with `size` instances fit the limit."""
        precision = choose_precision(self.n, tol)
        needed = self.n * row_bytes(self.n, precision) + size * row_bytes(size, precision)
        return needed <= self.room

    def _make_double(self, kernel: Kernel) -> KernelView | None:
        return self.view(kernel, precision="float64") if self.holds_both() else None

    def keep_products(self) -> None:
        """Cache squared distances (rbf) or dot products (poly, sigmoid) from their first use on.

        Each later view, for any gamma, degree or coef0, then costs one function evaluation per
        value. The products count towards the memory limit, and are cached only if they take at most
        half of it. Dot products are cached in float64 even for float32 kernels, since centring
        cancels their leading digits.

        Every matrix is then laid out as if it were the only one, so that its bits do not depend on
        the others: `lease` keeps the sum of the `work_bytes` in use within `room`.
        """
        self._keeps_products = True
        self.leases = Shelf(self.room)

    @property
    def nbytes(self) -> int:
        """Bytes of kernel values and products currently held."""
        with self._lock:
            grams = [view.gram for view in self._views.values()]
            return sum(gram.nbytes for gram in [*grams, *self._products.values()])

    def matrix(self, kernel: Kernel) -> FloatArray:
        """Return the whole K in double, in memory owned by the caller; it is not cached."""
        rows = self._choose_rows(kernel)
        if rows is None:
            return self._given_matrix(kernel).copy()
        return _core.matrix_of_samples(*rows, self.n_threads)

    @property
    def counts(self) -> Counts:
        """Work done so far, including that of deleted views."""
        with self._lock:
            grams = [view.gram for view in self._views.values()]
            return Counts(
                self._past_rows + sum(gram.n_rows_computed for gram in grams),
                self._past_hits + sum(gram.n_hits for gram in grams),
                self._n_views,
            )

    def _make_view(
        self, kernel: Kernel, key: tuple[Hashable, Precision, bool], is_free: bool
    ) -> KernelView:
        rows = self._choose_rows(kernel)
        given = self._given_matrix(kernel) if rows is None else None
        _, wanted, shrinks = key
        precision = self._checked_precision(
            kernel, given, "float32" if shrinks else wanted, is_free
        )
        products = None if rows is None else self._find_products(kernel, rows[0], precision)
        layout = self._choose_layout(kernel, precision)
        capacity = 0 if layout.is_full else layout.capacity_rows
        may_defer = self.defers_rows and rows is not None and products is None
        options = _core.GramOptions(layout.precision, capacity, self.n_threads, may_defer)
        if rows is None:
            assert given is not None
            gram = _core.gram_of_array(given, options)
        elif products is not None:
            gram = _core.gram_of_products(products, rows[1], options)
        else:
            gram = _core.gram_of_samples(*rows, options)
        # Counted from this matrix alone: what a solver does must not depend on who else is alive.
        own = layout.capacity_rows * row_bytes(self.n, layout.precision)
        spare = max(self.memory_limit - own, 0)
        return KernelView(self._X, kernel, gram, key, spare, self._make_double)

    def _wanted_precision(self, kernel: Kernel, precision: str, tol: float) -> Precision:
        if precision not in ("auto", "float32", "float64"):
            raise KernelError(
                f"precision == {precision!r}; it must be 'auto', 'float32' or 'float64'."
            )
        if precision == "float64" or (precision == "auto" and self.n <= SMALL):
            return "float64"
        wanted = choose_precision(self.n, tol) if precision == "auto" else "float32"
        if kernel.native_function() is None:  # a given matrix is checked once it exists
            return wanted
        return self._checked_precision(kernel, None, wanted, precision == "auto")

    def _checked_precision(
        self, kernel: Kernel, given: FloatArray | None, precision: Precision, is_free: bool
    ) -> Precision:
        """Use float64 instead of a float32 that cannot hold the values."""
        if precision == "float64":
            return precision
        largest = self._largest(kernel, given)
        if largest <= LARGEST_IN_FLOAT32:
            return precision
        if is_free:
            return "float64"
        raise KernelError(
            f"Values of the {kernel.name} kernel may reach {largest:.3g}, too large for "
            f"precision='float32'; use 'float64' or scale the features."
        )

    def _largest(self, kernel: Kernel, given: FloatArray | None) -> float:
        """A bound on |K|; centred values are at most four times as large."""
        if given is not None:
            return max(float(given.max()), -float(given.min()))
        return kernel.bound(self._read_samples().max_squared_norm)

    def _shrinks(self, precision: Precision, tol: float) -> bool:
        """Whether a float64 that is only a luxury becomes float32, since that fits as a whole."""
        is_luxury = precision == "float64" and tol >= TIGHT
        float32_bytes, float64_bytes = (
            self.n * row_bytes(self.n, name) for name in ("float32", "float64")
        )
        return is_luxury and float32_bytes <= self.room < float64_bytes

    def _choose_layout(self, kernel: Kernel, precision: Precision) -> Layout:
        held = 0 if self._keeps_products else self.nbytes
        left = max(self.room - held, 0)
        fits_surely = self.n * row_bytes(self.n, "float64") <= left
        overhead = 0 if fits_surely else self._packed_bytes(kernel)
        return choose_layout(self.n, TIGHT, left, precision, overhead)

    def _packed_bytes(self, kernel: Kernel) -> int:
        """What a row cache keeps of the data, at most: packed rows or a transposed copy."""
        if kernel.native_function() is None:
            return 0
        n_columns = int(narrow(self._X)[0].shape[1])
        if self._read_samples().is_dense:
            return 8 * (self.n + 48) * (n_columns + 1)
        return 12 * int(self._X.nnz) + 8 * (self.n + n_columns + 32)

    def _given_matrix(self, kernel: Kernel) -> FloatArray:
        if isinstance(kernel, Precomputed):
            return check_kernel_matrix(self._X, "The precomputed kernel matrix")
        values = kernel.evaluate(self._X, self._X)
        values = check_kernel_matrix(values, "The matrix returned by the kernel function")
        firsts = first_equal(self._X)  # what a function rounds may depend on where rows stand
        return values if firsts is None else values[np.ix_(firsts, firsts)]

    def _choose_rows(self, kernel: Kernel) -> tuple[_core.Samples, _core.KernelFunction] | None:
        """Rows, and a function of them with the values of `kernel`; None where it has none.

        Whole numbers where the rows are on a grid and it is a function of distances.
        """
        function = kernel.native_function()
        if function is None:
            return None
        check_kernel_size(kernel, self._read_samples().max_squared_norm)
        if isinstance(kernel, Rbf) and self._on_grid is not None:
            step, whole = self._on_grid
            return whole, Rbf(kernel.gamma * step * step).native_function()
        return self._read_samples(), function

    @cached_property
    def _on_grid(self) -> tuple[float, _core.Samples] | None:
        """The step of a grid that the rows are on, and its whole numbers."""
        is_worth_it = pays(*self._X.shape) and not self._read_samples().is_integer
        step = find_step(self._X) if is_worth_it else None
        return None if step is None else (step, _core.Samples(self._X, step))

    def _read_samples(self) -> _core.Samples:
        if self._samples is None:
            samples = make_samples(self._X, self.memory_limit // DENSE_SHARE)
            if not samples.max_squared_norm <= LARGEST_SQUARED_NORM:
                raise KernelError(
                    f"X has an entry that is not finite, or a row with a squared norm beyond "
                    f"{LARGEST_SQUARED_NORM:g}; scale the features or remove such rows."
                )
            self._samples = samples
        return self._samples

    def _find_products(
        self, kernel: Kernel, rows: _core.Samples, precision: Precision
    ) -> _core.Gram | None:
        """Kept products of the kernel's rows, made now where there is room for them.

        A float32 kernel is always made of products in float32, whether or not those in float64 are
        here for another one: its bits must not depend on what was asked for before. For the same
        reason products that fit alone take the place of others where not all fit.
        """
        kind = kernel.product
        if not self._keeps_products or kind is None:
            return None
        if kind == "dot":
            precision = "float64"
        if not self._keeps_any(precision):
            return None
        products = self._products.pop((kind, precision), None)
        if products is None:
            self._drop_products(self.n * row_bytes(self.n, precision))
            options = _core.GramOptions(precision, 0, self.n_threads)
            function = _core.KernelFunction(kind)
            products = _core.gram_of_samples(rows, function, options)
        self._products[kind, precision] = products  # the last used is the last dropped
        return products

    def _keeps_any(self, precision: Precision) -> bool:
        """Whether products in this precision fit the half of the limit that is theirs."""
        return self.n * row_bytes(self.n, precision) <= self.memory_limit // 2

    def _drop_products(self, needed: int) -> None:
        """Make room for this number of bytes of products."""
        while self._products:
            held = sum(products.nbytes for products in self._products.values())
            if held + needed <= self.memory_limit // 2:
                return
            del self._products[next(iter(self._products))]

    def _retire(self, gram: _core.Gram, grave: weakref.ref[KernelView]) -> None:
        with self._lock:
            self._graves.discard(grave)
            self._past_rows += gram.n_rows_computed
            self._past_hits += gram.n_hits


def _count_threads(n_threads: int | None) -> int:
    if n_threads is None:
        return 1
    if n_threads == -1:
        return os.cpu_count() or 1
    if n_threads < 1:
        raise KernelError(f"n_threads == {n_threads}; it must be positive, -1 (all) or None (one).")
    return int(n_threads)


class KernelView:
    """The kernel matrix on the rows of a store, independent of labels, folds and C.

    ``gram`` is the native matrix that solvers read, either whole or as rows on demand. All methods
    return the true K, including offsets, in float64. ``spare_bytes`` is what the memory limit
    leaves in addition to this matrix, for copies that a solver may make of its rows.
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
        """Return K[idx, :] as stored."""
        return self.gram.rows(_as_indices(idx))

    def block(self, rows: ArrayLike, columns: ArrayLike) -> FloatArray:
        """Return K[rows][:, columns] as stored."""
        return self.gram.block(_as_indices(rows), _as_indices(columns))

    def multiply(self, idx: ArrayLike, coef: ArrayLike) -> FloatArray:
        """Compute K[:, idx] @ coef, summed in double."""
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
        """Compute K[rows, :] @ beta from gradients K beta - r, bitwise equal for equal kernel rows.

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
        """Recompute K[idx, :] from the raw data, in double."""
        return self.kernel.evaluate(self._X[_as_indices(idx)], self._X)

    def exact_multiply(self, idx: ArrayLike, coef: FloatArray) -> FloatArray | None:
        """Compute K[:, idx] @ coef from the raw data if no kernel values are needed, else None."""
        return self.kernel.combine(self._X, self._X[_as_indices(idx)], coef)

    def diagonal(self) -> FloatArray:
        """Return the diagonal K_ii."""
        return np.asarray(self.gram.diagonal() + 2.0 * self.gram.offset())

    @property
    def rounding(self) -> float:
        """Estimate the root mean square error of stored values from a sample of them."""
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
        """Return the same kernel in float64, held as long as this one; None if there is no room."""
        if self._double is None:
            self._double = self._make_double(self.kernel)
        return self._double

    def part(self, members: NDArray[np.intp]) -> PartView:
        """Return the kernel on some instances, in this order; rows are copied on first use."""
        return PartView(self, members)

    def __repr__(self) -> str:
        kind = "whole" if self.gram.is_full else "row by row"
        return f"KernelView({self.kernel}, n={self.n}, {self.gram.precision}, {kind})"


class PartView(KernelView):
    """Rows and columns of some instances of another view, as read by a problem on few of them
    (a pair of many classes). Nothing is computed again."""

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


# Things that several threads use at a time, made once, within a byte budget.
#
# What a solver does depends on how a kernel matrix is laid out, and that on the memory that is
# left; results must not depend on how many threads there are. So every matrix is laid out as if it
# were alone, and a thread that needs one for which there is no room waits until others are done.


@dataclass
class Entry:
    """A cached object, its size, and the number of threads that currently use it."""

    size: int
    n_users: int = 0
    value: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Shelf:
    """A shared cache by key; the last object used stays until another is created.

    Parameters
    ----------
    limit : int
        Bytes that objects in use may take together; one object of any size is always allowed.
    room_for_idle : int
        Bytes of unused objects to keep, in addition to the last one; the least recently used are
        evicted first.
    """

    def __init__(self, limit: int, room_for_idle: int = 0) -> None:
        self.limit, self.room_for_idle = limit, room_for_idle
        self._entries: dict[Hashable, Entry] = {}
        self._changed = threading.Condition()

    @contextmanager
    def lease(self, key: Hashable, size: int, make: Callable[[], T]) -> Iterator[T]:
        """Yield the object of this key, created by `make` unless it is cached.

        Callers must not pass it on: it may be evicted as soon as the context ends.
        """
        entry = self._take(key, size)
        try:
            with entry.lock:
                if entry.value is None:
                    entry.value = make()
            yield entry.value
        finally:
            self._put_back(entry)

    def _take(self, key: Hashable, size: int) -> Entry:
        with self._changed:
            while key not in self._entries and not self._has_room(size):
                self._changed.wait()
            if key not in self._entries:
                self._make_room(size)
            entry = self._entries.pop(key, None) or Entry(size)
            self._entries[key] = entry  # the last one, as the most recently used
            entry.n_users += 1
            return entry

    def _has_room(self, size: int) -> bool:
        used = [entry.size for entry in self._entries.values() if entry.n_users]
        return not used or sum(used) + size <= self.limit

    def _make_room(self, size: int) -> None:
        """Evict unused objects until one of this size fits."""
        total = size + sum(entry.size for entry in self._entries.values())
        for key in [key for key, entry in self._entries.items() if not entry.n_users]:
            if total <= self.room_for_idle:
                return
            total -= self._entries.pop(key).size

    def _put_back(self, entry: Entry) -> None:
        with self._changed:
            entry.n_users -= 1
            if entry.value is None and not entry.n_users:  # it could not be made
                self._entries = {key: e for key, e in self._entries.items() if e is not entry}
            self._changed.notify_all()
