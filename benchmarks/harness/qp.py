"""The same duals by a general interior-point solver (Clarabel through qpsolvers)."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def solve_dual(
    K: np.ndarray, targets: np.ndarray, lower: np.ndarray, upper: np.ndarray, epsilon: float
) -> tuple[np.ndarray, float]:
    """Minimiser beta of 1/2 beta'K beta - r'beta + eps |beta|_1 in the box with sum 0, and bias.

    With eps > 0 beta is split into beta+ - beta-, both nonnegative.
    """
    import qpsolvers

    n = len(targets)
    if epsilon == 0.0:
        P, q, ones = K, -targets, np.ones(n)
        box = (lower, upper)
    else:
        P = np.block([[K, -K], [-K, K]])
        q = np.concatenate([epsilon - targets, epsilon + targets])
        ones = np.concatenate([np.ones(n), -np.ones(n)])
        box = (np.zeros(2 * n), np.concatenate([upper, -lower]))
    problem = qpsolvers.Problem(
        sparse.csc_matrix(P),
        q,
        A=sparse.csc_matrix(ones[None, :]),
        b=np.zeros(1),
        lb=box[0],
        ub=box[1],
    )
    accuracy = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    solution = qpsolvers.solve_problem(problem, solver="clarabel", **accuracy)
    if solution.x is None or solution.y is None:
        raise RuntimeError(f"Clarabel found no solution: {solution.extras}.")
    z = solution.x
    # A stationary point has K beta - r + bias 1 in the cone of the box: the bias is the
    # multiplier of the sum.
    return (z if epsilon == 0.0 else z[:n] - z[n:]), float(solution.y[0])
