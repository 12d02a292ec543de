"""Data for the paths over lambda: the published artificial set, and an oracle in plain numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphapath.paths import LambdaPath

FloatArray = NDArray[np.float64]

LOSSES = {
    "squared_hinge": (1.0, np.inf),
    "modified_huber": (1.0, 2.0),
    "huber": (1.1, 0.2),
    "equal": (1.0, 1.0),
}


def artificial(n: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Two Gaussians against one in the plane, n/2 rows a class, features scaled to [0, 1]."""
    rng = np.random.default_rng(seed)
    plus, minus = [[0.5, 0.1], [0.1, 0.5]], [[0.5, -0.1], [-0.1, 0.5]]
    parts = [
        rng.multivariate_normal([0, 0], minus, n // 4),
        rng.multivariate_normal([0, 2], plus, n // 2 - n // 4),
        rng.multivariate_normal([1, 1], minus, n // 2),
    ]
    X = np.vstack(parts)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return X, np.repeat([1.0, -1.0], n // 2)


def violation(path: LambdaPath, lam: float) -> float:
    """How far the kept fractions are from (5.11) at one lambda, by dense algebra."""
    model = path.model
    K = model.view.exact_rows(np.arange(model.view.n))
    a = path._scaled_dual(lam)
    z = model.targets - model.scale * (K @ (model.scale * a)) / lam
    return float(np.abs(a - np.clip(z, 0.0, model.upper)).max())


def random_lambdas(path: LambdaPath, n: int, seed: int = 0) -> FloatArray:
    """Values of lambda spread evenly over the logarithm of the path's range."""
    low, high = sorted(path.range_)
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), n))
