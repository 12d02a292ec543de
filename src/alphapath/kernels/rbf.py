"""K(x, z) = exp(-gamma |x - z|^2)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .. import _core
from .base import (
    FloatArray,
    Kernel,
    LibsvmName,
    check_positive,
    dot_products,
    narrow,
    squared_norms,
)

#: Below this share of |x|^2 + |z|^2 the difference of products has lost too many digits.
CANCELLATION = 1e-6
#: Numbers in one piece of differences.
PIECE = 1 << 20


@dataclass(frozen=True)
class Rbf(Kernel):
    """The Gaussian kernel."""

    gamma: float
    name: ClassVar[str] = "rbf"
    parameters: ClassVar[tuple[str, ...]] = ("gamma",)
    product: ClassVar[str] = "squared_distance"
    libsvm: ClassVar[LibsvmName] = LibsvmName(2, "rbf")

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


def squared_distances(X: Any, Z: Any) -> FloatArray:
    """|x - z|^2 for each row x of X and z of Z; exactly 0 for equal rows.

    They are computed as |x|^2 + |z|^2 - 2 x'z on centred rows (dense data), and from the
    differences themselves where the result is small relative to the norms.
    """
    if sp.issparse(X) != sp.issparse(Z):
        X, Z = sp.csr_array(X), sp.csr_array(Z)
    X, Z = narrow(X, Z)
    if not sp.issparse(X):
        if len(X) == 1:  # the differences are as quick then
            return squared_norms(Z - X)[np.newaxis]
        centre = Z.mean(axis=0) if len(Z) else 0.0
        X, Z = X - centre, Z - centre
    norms = squared_norms(X)[:, None] + squared_norms(Z)[None, :]
    distances = dot_products(X, Z)
    distances *= -2.0
    distances += norms
    norms *= CANCELLATION
    rows, columns = np.nonzero(distances <= norms)
    is_open = norms[rows, columns] > 0.0  # two zero rows are at distance 0 for sure
    rows, columns = rows[is_open], columns[is_open]
    step = max(1, PIECE // max(1, X.shape[1]))
    for first in range(0, len(rows), step):
        i, j = rows[first : first + step], columns[first : first + step]
        distances[i, j] = squared_norms(X[i] - Z[j])
    return distances
