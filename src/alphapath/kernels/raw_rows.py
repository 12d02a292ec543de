"""Rows of a kernel matrix, computed from the raw data on demand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import FloatArray
from .precomputed import Precomputed

Members = NDArray[np.intp]


class RawRows:
    """A kernel on raw data without a store, as needed by certificates.

    `members` holds the rows that are instances; None means all.
    """

    def __init__(self, kernel: Any, X: Any, members: Members | None = None) -> None:
        self.kernel = kernel
        self.X = X
        self.members = members
        self.n: int = X.shape[0] if members is None else members.size

    def part(self, members: Members) -> RawRows:
        """The kernel on some of the rows."""
        return RawRows(self.kernel, self.X, members)

    def exact_rows(self, indices: Any) -> FloatArray:
        """Rows of the kernel matrix, in double."""
        rows = indices if self.members is None else self.members[indices]
        if isinstance(self.kernel, Precomputed):
            found = np.asarray(self.X[rows])
            return found if self.members is None else found[:, self.members]
        columns = self.X if self.members is None else self.X[self.members]
        return np.asarray(self.kernel.evaluate(self.X[rows], columns))
