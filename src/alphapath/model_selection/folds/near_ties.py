"""Decision values that rounding may order one way or the other, though their rows differ.

Several free instances of a fold are on the margin, say: equal held-out rows have equal values then,
but other rows that lie there too are told apart by the last bits alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.equal_rows import rows_equal
from ...problem.box_problem import FloatArray
from .protocol import Indices

#: What sums in double may be off by, of the largest summand.
EXACT = 2.0**-42


def share_of_ties(X: Any, rows: Indices, values: FloatArray, off: float) -> float:
    """The share of the rows whose value is within `off` of that of a row that differs.

    Values that follow one another within `off` count as one.
    """
    if values.size < 2:
        return 0.0
    order = np.argsort(values, kind="stable")
    is_near = np.diff(values[order]) <= off
    if not is_near.any():
        return 0.0
    before = np.flatnonzero(is_near)
    differs = ~rows_equal(X, rows[order[before]], rows[order[before + 1]])
    if not differs.any():
        return 0.0
    group = np.concatenate([[0], np.cumsum(~is_near)])
    tied = np.unique(group[before[differs]])
    return float(np.isin(group, tied).mean())
