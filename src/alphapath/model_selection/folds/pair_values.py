"""Decision values of pairs of classes that were solved on their own rows: products with the kernel
matrix that is there, for all pairs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...estimators.common import one_vs_one
from ...estimators.common.base import BLOCK_VALUES, CACHED_VALUES
from ...kernels.equal_rows import first_equal
from ...problem.box_problem import FloatArray
from ...solvers.precision import on_good_view
from .training_sets import Indices


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
    # Pair after pair, as they are combined and counted; equal rows once, whose products would
    # else be rounded by where they stand.
    block = max(1, min(BLOCK_VALUES // max(1, support.size), CACHED_VALUES // n_pairs))
    firsts = find_equal(view, rows, support, block)
    distinct = rows if firsts is None else rows[firsts == np.arange(rows.size)]
    values = np.empty((len(steps), n_pairs, distinct.size))
    for first in range(0, distinct.size, block):
        here = slice(first, first + block)
        K = view.block(distinct[here], support)
        for k, dual_coef in enumerate(coefficients):
            values[k, :, here] = one_vs_one.combine_pairs(K, n_support, dual_coef).T
    if firsts is not None:
        values = values[:, :, np.unique(firsts, return_inverse=True)[1]]
    return values.transpose(0, 2, 1)


def find_equal(view: Any, rows: Indices, columns: NDArray[Any], block: int) -> Indices | None:
    """For each row the place of the first whose kernel values are the same; None where no two are.

    By the rows of X where the kernel is a function of them: then equal rows have equal values.
    """
    if view.kernel.native_function() is not None:
        return first_equal(view._X[rows])
    K = np.concatenate(
        [view.block(rows[k : k + block], columns) for k in range(0, rows.size, block)]
    )
    return first_equal(K)
