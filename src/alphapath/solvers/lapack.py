"""SciPy's BLAS and LAPACK for the native solvers, and their threads.

The solvers factor the free set by LAPACK, on one thread: bits must not depend on how many there
are, and problems are solved side by side rather than one on many threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from scipy.linalg import cython_blas, cython_lapack
from threadpoolctl import ThreadpoolController

from .. import _core

_lock = threading.Lock()
_n_inside = 0
_limiter: Any = None


def install() -> None:
    """Hand the function pointers that SciPy exports to the native code."""
    _core.use_blas(cython_blas.__pyx_capi__, cython_lapack.__pyx_capi__)


@cache
def _controller() -> Any:
    """Finding the loaded libraries takes milliseconds, so it is done once and when first asked."""
    return ThreadpoolController().select(user_api="blas")


def current_threads() -> int:
    """The largest number of threads that a loaded BLAS would use now; 1 where none is known."""
    libraries = _controller().lib_controllers
    return max((int(library.num_threads or 1) for library in libraries), default=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS to one thread; may be entered by several threads and more than once."""
    global _limiter, _n_inside
    with _lock:
        if _n_inside == 0 and current_threads() > 1:
            _limiter = _controller().limit(limits=1)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0 and _limiter is not None:
                _limiter.restore_original_limits()
                _limiter = None
