"""K(x, z) = tanh(gamma x'z + coef0); not positive semi-definite in general."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import _core
from .base import (
    FloatArray,
    Kernel,
    LibsvmName,
    check_finite,
    check_positive,
    dot_products,
    squared_norms,
)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """The sigmoid kernel: the hyperbolic tangent of an affine function of the inner product."""

    gamma: float
    coef0: float = 0.0
    name: ClassVar[str] = "sigmoid"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "coef0")
    product: ClassVar[str] = "dot"
    libsvm: ClassVar[LibsvmName] = LibsvmName(3, "sigmoid")

    def __post_init__(self) -> None:
        check_positive(self.gamma, "gamma")
        check_finite(self.coef0, "coef0")

    @property
    def key(self) -> Hashable:
        return (self.name, float(self.gamma), float(self.coef0))

    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        return np.asarray(self.of_products(dot_products(X, Z)))

    def diagonal(self, X: Any) -> FloatArray:
        return np.asarray(self.of_products(squared_norms(X)))

    def of_products(self, products: Any, xp: Any = np) -> Any:
        return xp.tanh(self.gamma * products + self.coef0)

    def native_function(self) -> _core.KernelFunction:
        return _core.KernelFunction("sigmoid", self.gamma, self.coef0)
