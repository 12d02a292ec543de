"""K(x, z) = x'z."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import _core
from .base import FloatArray, Kernel, LibsvmName, dot_products, narrow, squared_norms

#: Features in extended precision held at once (32 MiB).
BLOCK_VALUES = 1 << 21


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel, which is the inner product."""

    name: ClassVar[str] = "linear"
    libsvm: ClassVar[LibsvmName] = LibsvmName(0, "linear")

    @property
    def key(self) -> Hashable:
        return (self.name,)

    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        return dot_products(X, Z)

    def diagonal(self, X: Any) -> FloatArray:
        return squared_norms(X)

    def bound(self, max_squared_norm: float) -> float:
        return max_squared_norm

    def combine(self, X: Any, Z: Any, coef: FloatArray) -> FloatArray:
        # X (Z' coef): where coefficients are large, the rounding of kernel values would show.
        X, Z = narrow(X, Z)
        step = max(1, BLOCK_VALUES // max(X.shape[1], 1))
        w = np.zeros(X.shape[1], dtype=np.longdouble)
        for first in range(0, Z.shape[0], step):
            rows = slice(first, first + step)
            w += Z[rows].T.astype(np.longdouble) @ coef[rows].astype(np.longdouble)
        values = np.empty(X.shape[0])
        for first in range(0, X.shape[0], step):
            values[first : first + step] = X[first : first + step].astype(np.longdouble) @ w
        return values

    def native_function(self) -> _core.KernelFunction:
        return _core.KernelFunction("linear")
