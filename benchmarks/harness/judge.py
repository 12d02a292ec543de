"""Objective and decision values of an rbf model, from raw data in double precision.

Plain numpy and no code of any library under test, so that every peer is judged alike.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

BLOCK = 512  # rows of the kernel at a time


def as_dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def rbf(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma |a - b|^2)."""
    squares = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)[None, :]
    squares -= 2.0 * (A @ B.T)
    return np.exp(-gamma * np.maximum(squares, 0.0, out=squares))


def kernel_times(X: Any, rows: np.ndarray, support: np.ndarray, beta: Any, gamma: float) -> Any:
    """K[rows, support] beta."""
    A, B = as_dense(X[rows]), as_dense(X[support])
    blocks = range(0, len(A), BLOCK)
    return np.concatenate([rbf(A[i : i + BLOCK], B, gamma) @ beta for i in blocks])


def classification_objective(X: Any, support: np.ndarray, beta: np.ndarray, gamma: float) -> float:
    """1/2 beta'K beta - sum |beta|: LIBSVM's dual objective, smaller is better."""
    value = kernel_times(X, support, support, beta, gamma)
    return float(0.5 * beta @ value - np.abs(beta).sum())


def probe_rows(n: int, at_most: int = 2000) -> np.ndarray:
    """Evenly spaced rows on which peers are compared."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int))


def pair_models(model: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Signed duals (n, n_pairs) and biases (n_pairs,) from scikit-learn's attributes.

    Regression and two classes are one column. With more classes LIBSVM keeps, for the pair
    (i, j), the duals of class i in row j - 1 and those of class j in row i.
    """
    support = np.asarray(model.support_)
    coefficients = as_dense(model.dual_coef_)
    biases = np.ravel(model.intercept_).astype(float)
    if len(coefficients) == 1:
        duals = np.zeros((n, 1))
        duals[support, 0] = coefficients[0]
        return duals, biases
    ends = np.cumsum(model.n_support_)
    places = [np.arange(end - size, end) for end, size in zip(ends, model.n_support_, strict=True)]
    pairs = list(combinations(range(len(places)), 2))
    duals = np.zeros((n, len(pairs)))
    for p, (i, j) in enumerate(pairs):
        duals[support[places[i]], p] = coefficients[j - 1, places[i]]
        duals[support[places[j]], p] = coefficients[i, places[j]]
    return duals, biases


def objectives(K: np.ndarray, duals: np.ndarray, linear: np.ndarray, epsilon: float) -> np.ndarray:
    """1/2 beta'K beta - r'beta + eps |beta|_1 of every column; `linear` holds the r."""
    quadratic = 0.5 * np.einsum("ij,ij->j", duals, K @ duals)
    return quadratic - np.einsum("ij,ij->j", linear, duals) + epsilon * np.abs(duals).sum(axis=0)


def sign_differences(f: np.ndarray, reference: np.ndarray, margin: float) -> int:
    """How often two decision values differ in sign where the reference is not within `margin`."""
    return int(np.sum((np.abs(reference) >= margin) & (np.sign(f) != np.sign(reference))))
