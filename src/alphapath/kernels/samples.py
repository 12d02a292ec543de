"""The rows of a kernel matrix as native code takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..errors import KernelError
from .base import narrow


def as_rows(X: Any) -> Any:
    """X as C-contiguous float64 rows or as CSR with sorted, unique float64 entries."""
    if sp.issparse(X):
        X = X.tocsr().astype(np.float64, copy=False)
        _check_csr(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] == 0:
        raise KernelError(f"X has shape {X.shape}; it must have two dimensions and a row at least.")
    return X


def make_samples(X: Any, dense_limit: int) -> _core.Samples:
    """The rows for native code; sparse ones may take up to `dense_limit` bytes as a dense copy."""
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


def _check_csr(X: Any) -> None:
    """Native code trusts the indices, so a damaged matrix must not get there."""
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise KernelError(f"X is not a valid CSR matrix: {error}.") from error
