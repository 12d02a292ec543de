"""K(x, z) = exp(-gamma |x - z|^2)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import _core
from .base import FloatArray, Kernel, check_positive
from .distances import squared_distances


@dataclass(frozen=True)
class Rbf(Kernel):
    """The Gaussian kernel."""

    gamma: float
    name: ClassVar[str] = "rbf"

    def __post_init__(self) -> None:
        check_positive(self.gamma, "gamma")

    @property
    def key(self) -> Hashable:
        return (self.name, float(self.gamma))

    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        exponent = squared_distances(X, Z)
        exponent *= -self.gamma
        return np.asarray(np.exp(exponent, out=exponent))

    def diagonal(self, X: Any) -> FloatArray:
        return np.ones(X.shape[0])

    def native_function(self) -> _core.KernelFunction:
        return _core.KernelFunction("rbf", self.gamma)
