"""Ranking data of the tests: plain, with ties, duplicates, equal rows in a pair, and more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

Case = tuple[Any, Any, Any]


def generated(seed: int = 0, n_queries: int = 6, n: int = 60, d: int = 5) -> Case:
    """Rows of several queries with three levels of relevance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.digitize(X @ rng.normal(size=d) + rng.normal(size=n), [0.0, 1.5])
    return X, y, rng.integers(n_queries, size=n)


def duplicates() -> Case:
    """Every row twice or more, some with another relevance: pairs of equal rows."""
    X, y, qid = generated(1, 4, 24)
    X, y, qid = np.tile(X, (2, 1)), np.tile(y, 2), np.tile(qid, 2)
    y[::7] = (y[::7] + 1) % 3
    return X, y, qid


def grid() -> Case:
    """Whole numbers in one feature: scores tie everywhere."""
    rng = np.random.default_rng(2)
    return rng.integers(3, size=(40, 1)).astype(float), rng.integers(3, size=40), np.arange(40) % 4


def one_query() -> Case:
    """Ordinal regression: all rows of one query, many levels."""
    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(3).permutation(len(y))[:40]
    levels = np.digitize(y[rows], [80, 120, 160, 220])
    return StandardScaler().fit_transform(X[rows]), levels, np.zeros(40, dtype=int)


def lone_labels() -> Case:
    """Queries of one level or of one row beside others."""
    X, y, qid = generated(4, 8, 50)
    y[qid == 0] = 1
    qid[0] = 99
    return X, y, qid


def constant_feature() -> Case:
    """A feature with no variance, and one that repeats another."""
    X, y, qid = generated(5)
    return np.hstack([X, np.ones((len(X), 1)), X[:, :1]]), y, qid


CASES: dict[str, Callable[[], Case]] = {
    "generated": generated,
    "duplicates": duplicates,
    "grid": grid,
    "one_query": one_query,
    "lone_labels": lone_labels,
    "constant_feature": constant_feature,
}

KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.2, "coef0": 1.0},
}
