"""Sparse rows that are too wide for arrays with a number for every feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...kernels.policy import default_memory_limit

#: How many numbers for each feature scaling and linear ranking hold at a time.
N_ARRAYS = 6


def find_excess(X: Any) -> tuple[int, int, int] | None:
    """(row, column, bytes) of the last column with a value; None where the arrays fit."""
    n_bytes = 8 * N_ARRAYS * int(X.shape[1])
    if not sp.issparse(X) or X.nnz == 0 or n_bytes <= default_memory_limit():
        return None
    rows = X.tocsr()
    place = int(np.argmax(rows.indices))
    row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
    return row, int(rows.indices[place]), n_bytes
