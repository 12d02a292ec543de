"""Small problems for the gpu room."""

from __future__ import annotations

import numpy as np

from alphapath import Problem
from alphapath.gpu import DeviceStore


def make_store(X, device, **options):
    return DeviceStore(X, xp=np if device == "numpy" else None, **options)


def make_data(n=150, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[: n // 10] = X[n // 10 : 2 * (n // 10)]  # duplicates
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 1.0, 1.0, -1.0)


def make_problem(kind, view, X, y):
    if kind == "classification":
        return Problem.classification(view, y, np.ones(len(y)))
    if kind == "regression":
        return Problem.regression(view, X[:, 0] + 0.1 * y, np.ones(len(y)), 0.1)
    return Problem.one_class(view, np.ones(len(y)), 0.3)
