"""Decision values of pairs of classes that were solved on their own rows: products with the kernel
matrix that is there, for all pairs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import one_vs_one
from ..estimators.base import BLOCK_VALUES, CACHED_VALUES
from ..problem import FloatArray
from ..solvers.precision import on_good_view
from .fold_sets import Indices


def pair_values(
    view: Any,
    rows: Indices,
    steps: Sequence[one_vs_one.PairBetas],
    codes: NDArray[Any],
    n_classes: int,
    tol: float,
) -> FloatArray:
    """K beta, without the bias, of shape (n_steps, n_rows, n_pairs).

    Parameters
    ----------
    view : KernelView
        Of all instances.
    rows : array of int
        The instances to evaluate at.
    steps : sequence of PairBetas
        For each step the nonzero beta of all pairs.
    codes : array of shape (n,)
        The class of each instance that is among those.
    n_classes : int
    tol : float
        Slopes may be off by no more, or values in double are taken.
    """
    support, n_support = one_vs_one.group_support(steps, codes, n_classes)
    coefficients = [one_vs_one.fill_coefficients(step, codes, n_classes, support) for step in steps]
    n_pairs = len(one_vs_one.class_pairs(n_classes))
    longest = max(float(step.lengths(n_pairs).max()) for step in steps)
    view = on_good_view(view, longest, tol)
    # Pair after pair, as they are combined and counted.
    values = np.empty((len(steps), n_pairs, rows.size))
    block = max(1, min(BLOCK_VALUES // max(1, support.size), CACHED_VALUES // n_pairs))
    for first in range(0, rows.size, block):
        here = slice(first, first + block)
        K = view.block(rows[here], support)
        for k, dual_coef in enumerate(coefficients):
            values[k, :, here] = one_vs_one.combine_pairs(K, n_support, dual_coef).T
    return values.transpose(0, 2, 1)
