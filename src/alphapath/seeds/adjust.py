"""Adjust: the nearest beta in the box whose sum is right, moving as few instances as will do.

Wen et al. 2017, section 3, "Adjusting alpha'_T": shift a group of betas by one number and clip, so
that the sum constraint holds. The sum is piecewise linear and monotone in the shift; sorting the
distances to the bounds finds it exactly.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..problem.box_problem import FloatArray

#: A sum this close to the wanted one, relative to sum |beta|, is right: rounding is not shifted.
ROUNDING = 1e-12


def adjust(
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    total: float,
    groups: Iterable[NDArray[np.intp]],
) -> FloatArray | None:
    """beta with sum `total`; None where no group has the room.

    On entry lower <= beta <= upper. The groups (indices) are tried in turn, each together with
    those before it; the first that can take all of what is missing is shifted, and no other.
    """
    missing = total - float(beta.sum())
    slack = ROUNDING * (abs(total) + float(np.abs(beta).sum()))
    if abs(missing) <= slack:
        return beta
    bound = upper if missing > 0.0 else lower
    is_member = np.zeros(beta.size, dtype=np.bool_)
    for group in groups:
        is_member[group] = True
        members = np.flatnonzero(is_member)
        gaps = np.abs(bound[members] - beta[members])
        if float(gaps.sum()) >= abs(missing) - slack:
            shift = find_shift(gaps, abs(missing))
            moved = beta[members] + np.copysign(shift, missing)
            moved = np.clip(moved, lower[members], upper[members])
            adjusted = beta.copy()
            # The bound itself, not beta + gap: solvers compare exactly.
            is_bounded = gaps <= shift * (1.0 + ROUNDING)
            adjusted[members] = np.where(is_bounded, bound[members], moved)
            return adjusted
    return None


def find_shift(gaps: FloatArray, missing: float) -> float:
    """t with sum_i min(t, gaps_i) = missing (infinite where the gaps just add up to it)."""
    # No shift exceeds `missing`, so longer gaps (infinite ones too) are as good as that.
    nearest = np.sort(np.minimum(gaps, missing))
    before = np.cumsum(nearest) - nearest
    n_beyond = np.arange(gaps.size, 0, -1)
    k = int(np.searchsorted(before + nearest * n_beyond, missing))
    if k == gaps.size:
        return np.inf
    return float((missing - before[k]) / n_beyond[k])
