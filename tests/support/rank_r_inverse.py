"""The paper's own rank-r updates of the Hessian inverse, for comparison.

The solvers in alphapath/solvers/smooth work with factors and small systems instead: the same
answers with fewer operations and no drift. First the instances that lose their loss are removed,
then those that gain one are added (paper 003, section 3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphapath.problem import FloatArray


def update_feature_inverse(
    inverse: FloatArray, A_out: FloatArray, A_new: FloatArray, c: float
) -> FloatArray:
    """Strategy I: (I + c A'A)^-1 without the rows A_out and with the rows A_new (eq. 4)."""
    for rows, sign in ((A_out, -1.0), (A_new, 1.0)):
        V = inverse @ rows.T
        small = sign / c * np.eye(len(rows)) + rows @ V
        inverse = inverse - V @ np.linalg.solve(small, V.T)
    return inverse


def update_instance_inverse(
    inverse: FloatArray,
    stays: NDArray[np.bool_],
    A_kept: FloatArray,
    A_new: FloatArray,
    c: float,
) -> FloatArray:
    """Strategy II: (I + c A A')^-1 on the instances that stay and the new ones (eq. 7, then 6).

    `inverse` is on the old instances, `stays` says which of them stay; their rows are A_kept.
    """
    M_2, M_4 = inverse[np.ix_(stays, ~stays)], inverse[np.ix_(~stays, ~stays)]
    T_inverse = inverse[np.ix_(stays, stays)] - M_2 @ np.linalg.solve(M_4, M_2.T)
    U = c * A_kept @ A_new.T
    W = T_inverse @ U
    S = np.linalg.inv(np.eye(len(A_new)) + c * A_new @ A_new.T - U.T @ W)
    return np.block([[T_inverse + W @ S @ W.T, -W @ S], [-S @ W.T, S]])
