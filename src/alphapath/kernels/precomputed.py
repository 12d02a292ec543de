"""The kernel for which the data are the kernel matrix."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..errors import KernelError
from .base import FloatArray, Kernel, LibsvmName
from .limits import LARGEST_VALUE

#: Asymmetry relative to the largest entry that passes for rounding (of float32, say).
SYMMETRY_RTOL = 1e-5


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The precomputed kernel: rows of X are rows of the kernel matrix, K(x, training rows)."""

    name: ClassVar[str] = "precomputed"
    libsvm: ClassVar[LibsvmName] = LibsvmName(4, "precomputed")
    advice_on_size: ClassVar[str] = "Divide the kernel matrix by a constant"

    @property
    def key(self) -> Hashable:
        return (self.name,)

    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        return np.asarray(X, dtype=np.float64)

    def diagonal(self, X: Any) -> FloatArray:
        return np.diagonal(np.asarray(X, dtype=np.float64)).copy()


def check_kernel_matrix(matrix: Any, what: str) -> FloatArray:
    """Return an exactly symmetric C-contiguous float64 matrix; the input must be so to rounding."""
    if sp.issparse(matrix):
        raise KernelError(f"{what} is sparse; pass a dense array.")
    K: FloatArray = np.ascontiguousarray(matrix, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise KernelError(f"{what} has shape {K.shape}; it must be square.")
    is_finite, lowest, highest, asymmetry = _core.look_at_matrix(K)
    if not (is_finite and max(-lowest, highest) <= LARGEST_VALUE):
        i, j = np.argwhere(~(np.abs(K) <= LARGEST_VALUE))[0]
        raise KernelError(
            f"{what} has the entry {K[i, j]} at [{i}, {j}]; all must be finite and at most "
            f"{LARGEST_VALUE:g} in size."
        )
    if asymmetry == 0.0:
        return K
    difference = K - K.T
    if asymmetry > SYMMETRY_RTOL * max(highest, -lowest):
        i, j = np.unravel_index(int(np.argmax(difference)), K.shape)
        raise KernelError(
            f"{what} is not symmetric: [{i}, {j}] is {K[i, j]} but [{j}, {i}] is {K[j, i]}."
        )
    return np.asarray(K - 0.5 * difference)
