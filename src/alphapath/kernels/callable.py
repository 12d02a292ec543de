"""A kernel given as a Python function of two sets of rows."""

from __future__ import annotations

import collections.abc
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..errors import KernelError
from .base import FloatArray, Kernel


@dataclass(frozen=True)
class Callable(Kernel):
    """A kernel whose function(X, Z) returns the matrix of kernel values, as in scikit-learn."""

    function: collections.abc.Callable[[Any, Any], Any]
    name: ClassVar[str] = "callable"
    has_option: ClassVar[bool] = False
    advice_on_size: ClassVar[str] = "Scale the features, or correct the kernel function"

    @property
    def key(self) -> Hashable:
        return (self.name, id(self.function))

    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        values = self.function(X, Z)
        if sp.issparse(values):
            values = values.toarray()
        values = np.asarray(values, dtype=np.float64)
        expected = (X.shape[0], Z.shape[0])
        if values.shape != expected:
            raise KernelError(
                f"The kernel function returned an array of shape {values.shape}; it must return "
                f"{expected}, one row for each row of X and one column for each row of Z."
            )
        return values

    def diagonal(self, X: Any) -> FloatArray:
        values = [self.evaluate(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])]
        return np.asarray(values)
