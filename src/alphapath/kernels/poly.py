"""K(x, z) = (gamma x'z + coef0)^degree."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import _core
from ..errors import KernelError
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
class Poly(Kernel):
    """The polynomial kernel with an integer degree."""

    gamma: float
    degree: int = 3
    coef0: float = 0.0
    name: ClassVar[str] = "poly"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "degree", "coef0")
    product: ClassVar[str] = "dot"
    libsvm: ClassVar[LibsvmName] = LibsvmName(1, "polynomial")
    advice_on_size: ClassVar[str] = (
        "Scale the features, to [-1, 1] for example, or lower gamma, coef0 or degree"
    )

    def __post_init__(self) -> None:
        check_positive(self.gamma, "gamma")
        check_finite(self.coef0, "coef0")
        if int(self.degree) != self.degree or not 0 <= self.degree < 2**31:
            raise KernelError(f"degree == {self.degree}; it must be a whole number, 0 or more.")

    @property
    def key(self) -> Hashable:
        return (self.name, float(self.gamma), int(self.degree), float(self.coef0))

    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        return np.asarray(self.of_products(dot_products(X, Z)))

    def diagonal(self, X: Any) -> FloatArray:
        return np.asarray(self.of_products(squared_norms(X)))

    def of_products(self, products: Any, xp: Any = np) -> Any:
        with np.errstate(over="ignore"):  # what is infinite is refused where it is used
            return (self.gamma * products + self.coef0) ** int(self.degree)

    def bound(self, max_squared_norm: float) -> float:
        base = max(self.gamma * max_squared_norm + abs(self.coef0), 1.0)
        exponent = int(self.degree) * math.log(base)
        return math.exp(exponent) if exponent < 709.0 else math.inf

    def native_function(self) -> _core.KernelFunction:
        return _core.KernelFunction("poly", self.gamma, self.coef0, int(self.degree))
