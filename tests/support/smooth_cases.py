"""Kernel matrices as the data of a smooth SVM, and folds of them."""

from __future__ import annotations

import numpy as np

from alphapath.problem import MarginProblem


def make_square(n=120, seed=0, c=1.0, **changes):
    """An rbf kernel matrix of two overlapping clouds as the data."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    signs = np.sign(X[:, 0] + 0.3 * rng.normal(size=n))
    K = np.exp(-0.5 * np.square(X[:, np.newaxis] - X).sum(axis=2))
    return MarginProblem(K, signs, np.full(n, 0.5 * c), **changes)


def make_folds(problem, n_folds=4):
    masks = [np.arange(problem.n) % n_folds == h for h in range(n_folds)]
    return [problem.with_held_out(mask, mask) for mask in masks]
