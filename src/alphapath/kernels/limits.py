"""Limits on the size of rows, kernel values and decision values.

Values that would overflow in a solver are rejected before anything is solved; values that overflow
only on rows unseen by the fit are rejected by the prediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..errors import KernelError
from .base import FloatArray, Kernel, squared_norms

#: Solvers add up kernel values and multiply three of them; the cube is far below 1.8e308.
LARGEST_VALUE = 1e100
#: Distances are formed from sums of squared norms.
LARGEST_SQUARED_NORM = 1e300
#: Kernel values beyond this are not trusted to float32.
LARGEST_IN_FLOAT32: float = _core.LARGEST_IN_FLOAT32


def check_squared_norms(X: Any) -> float:
    """The largest squared norm of the rows of X; too large rows are rejected."""
    if type(X) is np.ndarray and X.dtype == np.float64 and X.flags.c_contiguous:
        found = _core.largest_squared_norm(X)
        if found <= LARGEST_SQUARED_NORM:
            return found
    with np.errstate(over="ignore"):
        values = squared_norms(X)
    largest = float(values.max(initial=0.0))
    if not largest <= LARGEST_SQUARED_NORM:
        i = int(np.argmin(values <= LARGEST_SQUARED_NORM))
        raise KernelError(
            f"Row {i} of X has squared norm {values[i]:.3g}; it must be at most "
            f"{LARGEST_SQUARED_NORM:g}. Scale the features, to [-1, 1] for example."
        )
    return largest


def check_kernel_size(kernel: Kernel, squared_norm: float) -> None:
    """Reject a kernel whose values are too large on rows of at most this squared norm."""
    largest = kernel.bound(squared_norm)
    if not largest <= LARGEST_VALUE:
        raise KernelError(
            f"Values of the kernel {kernel} may reach {largest:.3g} on these rows; they must not "
            f"exceed {LARGEST_VALUE:g}. {kernel.advice_on_size}."
        )


def check_decision_values(values: FloatArray, kernel: Kernel) -> FloatArray:
    """The decision (or kernel) values of new rows, which must be finite."""
    is_finite = np.isfinite(values)
    if is_finite.all():
        return values
    row = int(np.argwhere(~is_finite)[0, 0])
    found = values[row] if values.ndim == 1 else values[row][~is_finite[row]][0]
    raise KernelError(
        f"Row {row} of X has the decision value {found}: values of the kernel {kernel} are not "
        f"finite or too large there. {kernel.advice_on_size}."
    )
