"""Paths between two weightings of SVC and SVR against the dual from raw data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import data, models
from .c_paths import check_point, dual_at, make_problem
from .cases import Skip
from .data import FloatArray, Generator


def run_case(seed: int) -> str | None:
    rng = data.generator("weight_paths", seed)
    rows, model, epsilon = make_problem(rng)
    if not rows.kernel.is_convex:
        raise Skip("paths are for kernels that are positive semi-definite.")
    old, new = (make_weighting(rng, rows.n, rows.C) for _ in range(2))
    path = follow(model, rows, old, new)
    K, error = models.raw_gram(replace(rows, weights=None))
    points = np.concatenate([rng.uniform(0, 1, 4), rng.choice(path.breakpoints_, 2), [0.0, 1.0]])
    for t in points:
        weights = np.maximum(old + t * (new - old), 0.0)
        at = replace(rows, weights=weights, C=1.0)
        check_point(path, dual_at(at, K, error, epsilon), float(t))
    return None


def make_weighting(rng: Generator, n: int, C: float) -> FloatArray:
    """One C a row: equal, over many decades, or some rows left out."""
    kind = rng.random()
    weights = np.full(n, float(np.clip(C, 1e-3, 1e3)))
    if kind < 0.4:
        weights = weights * 10.0 ** rng.uniform(-3, 3, n)
    elif kind < 0.6:
        weights = weights * rng.integers(1, 4, n)
    if rng.random() < 0.4:
        weights[rng.random(n) < 0.3] = 0.0
    return weights


def follow(model: Any, rows: Any, old: FloatArray, new: FloatArray) -> Any:
    from alphapath.paths import weight_path

    try:
        return weight_path(model, rows.X, rows.y, old, new)
    except Exception as error:
        models.refuse(error)
