"""K(x, z) = x'z."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import _core
from .base import FloatArray, Kernel, dot_products, squared_norms


@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product."""

    name: ClassVar[str] = "linear"

    @property
    def key(self) -> Hashable:
        return (self.name,)

    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        return dot_products(X, Z)

    def diagonal(self, X: Any) -> FloatArray:
        return squared_norms(X)

    def bound(self, max_squared_norm: float) -> float:
        return max_squared_norm

    def native_function(self) -> _core.KernelFunction:
        return _core.KernelFunction("linear")
