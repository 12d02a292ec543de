"""Rows on a grid: whole numbers times one step, as grey values divided by 255 are.

Products of small whole numbers are exact in 16 bits, and several times faster than those in double.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import FloatArray, Kernel
from .rbf import Rbf

#: Rows from which the step is guessed.
SAMPLE = 64
#: The largest whole number: beyond it products would not be exact.
LARGEST = 4096.0
#: Values this close to the grid, as a share of the largest one, are rounded to it.
ROUNDING = 4.0 * np.finfo(np.float64).eps


def to_whole_numbers(X: Any, kernel: Kernel) -> tuple[Any, Kernel]:
    """Whole numbers and a kernel on them with the values of `kernel` on X; both as given if none.

    Only where the kernel is a function of distances: these are a multiple of the others.
    """
    found = find_grid(X) if isinstance(kernel, Rbf) else None
    if not isinstance(kernel, Rbf) or found is None:
        return X, kernel
    step, whole = found
    return whole, Rbf(kernel.gamma * step * step)


def find_grid(X: Any) -> tuple[float, FloatArray] | None:
    """The step and the whole numbers of dense rows; None where they are on none, or on 1 itself."""
    if not isinstance(X, np.ndarray):
        return None
    values = np.unique(np.abs(X[:: max(1, len(X) // SAMPLE)]))
    if values.size < 2:
        return None
    top = float(values[-1])
    steps = np.diff(values)
    steps = steps[steps > ROUNDING * top]
    n_steps = np.rint(top / steps.min()) if steps.size else 0.0
    if not 0.0 < n_steps <= LARGEST:
        return None
    step = top / float(n_steps)
    if step == 1.0 or not _is_on(step, values):
        return None
    whole = np.rint(X / step)
    is_on_grid = float(np.abs(whole).max()) <= LARGEST and _is_on(step, X)
    return (step, whole) if is_on_grid else None


def _is_on(step: float, values: FloatArray) -> bool:
    away = np.abs(values - step * np.rint(values / step))
    return bool(away.max() <= ROUNDING * np.abs(values).max())
