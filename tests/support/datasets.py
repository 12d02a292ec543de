"""Data that comes with scikit-learn or is generated, degenerate sets included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
    make_regression,
)
from sklearn.preprocessing import StandardScaler

Data = tuple[NDArray[np.float64], NDArray[Any]]


def scaled(loader: Callable[..., Data]) -> Data:
    X, y = loader(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16.0, y[:400]


def generated() -> Data:
    return make_classification(200, 10, n_informative=5, n_redundant=2, flip_y=0.1, random_state=0)


def duplicates() -> Data:
    """Every row several times, some with both labels."""
    X, y = make_moons(60, noise=0.3, random_state=1)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    y[::20] = 1 - y[::20]
    return X, y


def ties() -> Data:
    """A symmetric grid: many equal distances, gradients and steps."""
    grid = np.arange(-3.0, 4.0)
    X = np.array([[a, b] for a in grid for b in grid])
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def constant_features() -> Data:
    X, y = generated()
    return np.hstack([X, np.full((X.shape[0], 3), 7.0)]), y


def lonely_class() -> Data:
    """One class of a single sample."""
    X, _ = generated()
    y = np.zeros(X.shape[0], dtype=int)
    y[17] = 1
    return X, y


CLASSIFICATION: dict[str, Callable[[], Data]] = {
    "iris": lambda: scaled(load_iris),
    "wine": lambda: scaled(load_wine),
    "breast_cancer": lambda: scaled(load_breast_cancer),
    "digits": digits,
    "generated": generated,
    "duplicates": duplicates,
    "ties": ties,
    "constant_features": constant_features,
    "lonely_class": lonely_class,
}

REGRESSION: dict[str, Callable[[], Data]] = {
    "diabetes": lambda: scaled(load_diabetes),
    "generated": lambda: make_regression(150, 8, noise=10.0, random_state=0),
    "repeated": lambda: tuple(
        np.repeat(a, 2, axis=0) for a in make_regression(50, 4, random_state=2)
    ),
}

#: Kernels and C, among them K close to the identity and close to rank one.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "identity": {"gamma": 1e3, "C": 10.0},
    "rank_one": {"gamma": 1e-7},
    "large_C": {"gamma": 0.05, "C": 1e6},
    "small_C": {"C": 2.0**-5},
}
