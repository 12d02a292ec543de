"""Rows of X in the form of the native core, and the grid on which they may lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..errors import KernelError
from .base import narrow

#: Values from which the step is guessed.
SAMPLE = 8192
#: The largest whole number: beyond it products would not be exact.
LARGEST = 4096.0
#: Values this close to the grid, as a share of the largest of those, are rounded to it.
ROUNDING = 4.0 * np.finfo(np.float64).eps
#: Multiplications that a matrix must take for a search to pay.
FEWEST_PRODUCTS = 1e8


def as_rows(X: Any) -> Any:
    """Convert X to C-contiguous float64 rows or to CSR with sorted, unique float64 entries."""
    if sp.issparse(X):
        check_sparse(X)
        X = X.tocsr().astype(np.float64, copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] == 0:
        raise KernelError(f"X has shape {X.shape}; it must have two dimensions and a row at least.")
    return X


def make_samples(X: Any, dense_limit: int) -> _core.Samples:
    """The rows for native code; sparse rows may use up to `dense_limit` bytes for a dense copy."""
    if not sp.issparse(X):
        return _core.Samples(X)
    (X,) = narrow(X)
    return _core.Samples(
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int64, copy=False),
        X.data,
        X.shape[1],
        dense_limit,
    )


def check_sparse(X: Any) -> None:
    """Reject a sparse matrix with out-of-range indices, which SciPy's native code trusts too."""
    if not sp.issparse(X):
        return
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            for index, n in zip(X.coords, X.shape, strict=True):
                if len(index) != len(X.data):
                    raise ValueError("index and data arrays differ in length")
                if len(index) and not 0 <= index.min() <= index.max() < n:
                    raise ValueError(f"indices must be from 0 to {n - 1}")
    except ValueError as error:
        what = str(error).rstrip(".")
        raise KernelError(f"X is not a valid {X.format.upper()} matrix: {what}.") from error


# Rows on a grid: whole numbers times one step, as grey values divided by 255 are.
#
# Products of small whole numbers are exact in 16 bits, and several times faster than those of
# other numbers. Distances are those of the whole numbers times the square of the step.


def find_step(X: Any) -> float | None:
    """The step of the grid on which dense rows lie; None if there is no grid or its step is 1.

    The rows must be finite.
    """
    if not isinstance(X, np.ndarray):
        return None
    flat = X.reshape(-1)
    values = np.unique(np.abs(flat[:: max(1, flat.size // SAMPLE)]))
    top = float(values[-1])
    steps = np.diff(values, prepend=0.0)
    steps = steps[steps > ROUNDING * top]
    if steps.size == 0:
        return None
    n_steps = float(np.rint(top / steps.min()))
    step = top / n_steps
    if n_steps > LARGEST or step == 1.0 or not _core.is_on_grid(X, step, ROUNDING * top):
        return None
    return step


def pays(n: int, d: int) -> bool:
    """Whether computing the matrix of n rows takes much longer than the search for a step."""
    return float(n) * n * d >= FEWEST_PRODUCTS
