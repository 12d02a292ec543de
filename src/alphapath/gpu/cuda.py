"""smo.cu and walk.cu on the current CUDA device, through CuPy."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError
from .free_set import MAX_HITS, MAX_MEMBERS, begin_walk
from .state import GOAL, BatchState

#: Threads a block, and columns a block of the update.
SELECT_THREADS, UPDATE_THREADS, UPDATE_COLUMNS, WALK_THREADS = 1024, 256, 1024, 1024

#: Shared memory that a block may have beside what the code itself takes.
MAX_SHARED = 200 * 1024


@lru_cache(maxsize=1)
def require_cupy() -> Any:
    """Return CuPy with a usable device; otherwise raise an error that says what is missing."""
    try:
        import cupy
    except ImportError:
        raise DeviceError(
            "device='cuda' needs CuPy, which is not installed; install alphapath[gpu], or use "
            "device='cpu'."
        ) from None
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(
            f"device='cuda' needs an NVIDIA GPU, and CuPy finds none ({error}); use device='cpu'."
        ) from None
    if n_devices == 0:
        raise DeviceError("device='cuda' needs an NVIDIA GPU; use device='cpu'.")
    return cupy


def has_gpu() -> bool:
    """Whether CuPy finds a device."""
    try:
        require_cupy()
    except DeviceError:
        return False
    return True


@lru_cache(maxsize=16)
def load_module(name: str, device: int, **macros: float) -> Any:
    """The compiled kernels of one file for one device."""
    cupy = require_cupy()
    options = ("-std=c++17", *(f"-D{macro}={value}" for macro, value in macros.items()))
    return cupy.RawModule(code=files("alphapath.gpu").joinpath(name).read_text(), options=options)


class CudaEngine:
    """The passes of a round, and the walk, on a BatchState with arrays of CuPy."""

    def __init__(self, state: BatchState) -> None:
        self.xp = cupy = require_cupy()
        self.state = state
        size = state.size
        self._shared = 4 * size**2 if 4 * size**2 <= MAX_SHARED else 0
        macros = {"Q": size, "GOAL": GOAL, "SHARED_BLOCK": int(self._shared > 0)}
        module = load_module("smo.cu", cupy.cuda.Device().id, **macros)
        self._select = module.get_function("select_working_set")
        self._solve = module.get_function("solve_working_set")
        self._update = module.get_function("update_gradients")
        self._active = cupy.zeros(state.n_problems, dtype=np.int32)
        self._batch = as_struct(
            cupy,
            [
                *(self._active, state.columns, state.n_members, state.weighting),
                *(state.beta, state.gradient, state.lower, state.upper),
                *(np.int64(state.width), np.float64(state.family.epsilon)),
            ],
        )
        self._work = as_struct(
            cupy,
            [
                *(state.working, state.n_working, state.violation, state.row_of),
                *(state.change, state.moved, state.n_moved, state.n_iter, state.is_kept),
            ],
        )
        n_blocks = 1 if self._shared else state.n_problems
        self._blocks = cupy.empty((n_blocks, size, size), dtype=np.float32)
        if self._shared:
            self._solve.max_dynamic_shared_size_bytes = self._shared
        self._last: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def _set_active(self, active: NDArray[np.int32]) -> None:
        if not np.array_equal(active, self._last):
            self._active[: active.size] = self.xp.asarray(active)
            self._last = active.copy()

    def select(self, active: NDArray[np.int32], tol: float) -> None:
        """The worst violators of each problem become its working set."""
        self._set_active(active)
        self._select((active.size,), (SELECT_THREADS,), (self._batch, self._work, np.float64(tol)))

    def solve(
        self, active: NDArray[np.int32], rows: Any, diagonal: Any, tol: float, max_iter: int
    ) -> None:
        """SMO on the working set of each problem alone."""
        self._set_active(active)
        given = (self._batch, self._work, rows, np.int64(rows.shape[1]), self._blocks, diagonal)
        self._solve(
            (active.size,),
            (self.state.size,),
            (*given, np.float64(tol), np.int32(max_iter)),
            shared_mem=self._shared,
        )

    def update(self, active: NDArray[np.int32], rows: Any) -> None:
        """Add the kernel rows of the betas that moved to the gradients."""
        self._set_active(active)
        n_tiles = -(-self.state.width // UPDATE_COLUMNS)
        self._update(
            (active.size, n_tiles),
            (UPDATE_THREADS,),
            (self._batch, self._work, rows, np.int64(rows.shape[1])),
        )

    def walk(self, inverse: Any, slopes: Any, beta: Any, lower: Any, upper: Any) -> Any:
        """Follow Newton's direction over a free set, with its corrections at bounds."""
        cupy, m = self.xp, beta.size
        ones, scaled, d = begin_walk(inverse, slopes)
        moved = beta.copy()
        max_hits = min(MAX_HITS, m - 2)
        fixed, pivots = cupy.empty((max_hits, m)), cupy.empty(max_hits)
        given = (inverse, ones, scaled, d, moved, lower, upper, fixed, pivots)
        macros = {"MAX_HITS": MAX_HITS, "MAX_MEMBERS": MAX_MEMBERS}
        module = load_module("walk.cu", cupy.cuda.Device().id, **macros)
        walk = module.get_function("walk_free_set")
        walk((1,), (WALK_THREADS,), (np.int32(m), *given, np.int32(max_hits)))
        return moved


def as_struct(cupy: Any, fields: list[Any]) -> Any:
    """A struct in device memory with eight bytes per field, the address of an array."""
    words = [
        np.array(field).view(np.uint64) if isinstance(field, np.generic) else field.data.ptr
        for field in fields
    ]
    return cupy.asarray(np.array(words, dtype=np.uint64))
