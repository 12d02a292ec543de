"""Rows on a grid: whole numbers times one step, as grey values divided by 255 are.

Products of small whole numbers are exact in 16 bits, and several times faster than those of other
numbers. Distances are those of the whole numbers times the square of the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core

#: Values from which the step is guessed.
SAMPLE = 8192
#: The largest whole number: beyond it products would not be exact.
LARGEST = 4096.0
#: Values this close to the grid, as a share of the largest of those, are rounded to it.
ROUNDING = 4.0 * np.finfo(np.float64).eps
#: Multiplications that a matrix must take for a search to pay.
FEWEST_PRODUCTS = 1e8


def find_step(X: Any) -> float | None:
    """The step of the grid that dense rows are on; None where they are on none, or on 1 itself.

    The rows are finite.
    """
    if not isinstance(X, np.ndarray):
        return None
    flat = X.reshape(-1)
    values = np.unique(np.abs(flat[:: max(1, flat.size // SAMPLE)]))
    top = float(values[-1])
    steps = np.diff(values, prepend=0.0)
    steps = steps[steps > ROUNDING * top]
    if steps.size == 0:
        return None
    n_steps = float(np.rint(top / steps.min()))
    step = top / n_steps
    if n_steps > LARGEST or step == 1.0 or not _core.is_on_grid(X, step, ROUNDING * top):
        return None
    return step


def pays(n: int, d: int) -> bool:
    """Whether the matrix of n rows takes much longer than looking for a step."""
    return float(n) * n * d >= FEWEST_PRODUCTS
