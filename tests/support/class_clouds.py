"""Rows of many classes that overlap."""

from __future__ import annotations

import numpy as np


def clouds(n_classes, n_each, seed=0, spread=1.2, d=5):
    """Classes that overlap, in no order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_classes), n_each))
    centres = spread * rng.normal(size=(n_classes, d))
    return centres[y] + rng.normal(size=(y.size, d)), y
