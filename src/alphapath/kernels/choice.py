"""The kernel that parameters name, and its gamma."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import KERNELS, FloatArray, Kernel
from .callable import Callable as CallableKernel
from .limits import check_squared_norms

#: Values of X held in temporaries at once (they stay in the cache).
BLOCK_VALUES = 1 << 16


def parameters_of(kernel: Any) -> tuple[str, ...]:
    """The parameters of an estimator that its kernel (a name or a function) depends on."""
    return () if callable(kernel) else KERNELS[kernel].parameters


def uses_gamma(kernel: Any) -> bool:
    """Whether the kernel (a name or a function) has a coefficient gamma."""
    return "gamma" in parameters_of(kernel)


def choose_kernel(
    model: Any, X: Any, sample_weight: FloatArray, *, given: Any = None
) -> tuple[float, Kernel]:
    """The gamma and the kernel that a model's parameters name on the rows of X.

    `given` are the rows before equal ones were merged, where they are still to be checked.
    """
    if given is not None:
        check_squared_norms(given)
    gamma = choose_gamma(model, X, sample_weight)
    return gamma, make_kernel(model.kernel, gamma, model.degree, model.coef0)


def choose_kernels(model: Any, X: Any, weights: FloatArray) -> list[tuple[float, Kernel]]:
    """The gamma and the kernel for every row of `weights`."""
    return [choose_kernel(model, X, row) for row in weights]


def choose_gamma(model: Any, X: Any, sample_weight: FloatArray) -> float:
    """The number that the model's gamma stands for; 0 where its kernel has none."""
    gamma = model.gamma
    if not uses_gamma(model.kernel):
        return 0.0
    if isinstance(gamma, str):
        return scale_gamma(X, sample_weight) if gamma == "scale" else 1.0 / float(X.shape[1])
    return float(gamma)


def scale_gamma(X: Any, sample_weight: FloatArray) -> float:
    """gamma="scale": 1 / (n_features * variance of all values), rows counted by their weight."""
    share = sample_weight / (sample_weight.sum() * X.shape[1])
    mean = float((share @ X).sum())
    variance = 0.0
    for rows in row_blocks(X):
        block = X[rows]
        if sp.issparse(block):
            n_zeros = block.shape[1] - np.diff(block.indptr)
            block.data = np.square(block.data - mean)
            squares = np.asarray(block.sum(axis=1)).ravel() + n_zeros * mean**2
        else:
            squares = np.square(block - mean).sum(axis=1)
        variance += float(share[rows] @ squares)
    # Equal values leave a variance of the size of rounding; scikit-learn then takes gamma = 1.
    return 1.0 / (X.shape[1] * variance) if variance > (1e-14 * mean) ** 2 else 1.0


def row_blocks(X: Any) -> list[slice]:
    """Slices over the rows of X, of bounded size."""
    step = max(1, BLOCK_VALUES // X.shape[1])
    return [slice(first, first + step) for first in range(0, X.shape[0], step)]


def make_kernel(kernel: Any, gamma: float, degree: int, coef0: float) -> Kernel:
    """The kernel object that scikit-learn's parameters name."""
    if callable(kernel):
        return CallableKernel(kernel)
    values = {"gamma": gamma, "degree": int(degree), "coef0": float(coef0)}
    return KERNELS[kernel](**{name: values[name] for name in parameters_of(kernel)})
