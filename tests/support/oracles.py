"""Independent answers: a general QP solver, and a kernel view that is just a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import qpsolvers
import scipy.sparse as sp
from numpy.typing import NDArray

from alphapath.problem import Problem

FloatArray = NDArray[np.float64]


class MatrixView:
    """A kernel given as a numpy matrix: enough for Problem and certify."""

    def __init__(self, K: Any) -> None:
        self.K = np.asarray(K, dtype=np.float64)

    @property
    def n(self) -> int:
        return self.K.shape[0]

    def exact_rows(self, indices: Any) -> FloatArray:
        return self.K[indices]


def kernel_matrix(problem: Problem) -> FloatArray:
    """The whole kernel matrix from raw data."""
    return problem.kernel.exact_rows(np.arange(problem.n))


def solve_by_qp(problem: Problem) -> FloatArray:
    """beta by Clarabel's interior point method: beta = p - q with p, q >= 0."""
    n = problem.n
    K = kernel_matrix(problem) + problem.ridge * np.eye(n)
    K = (K + K.T) / 2.0
    P = np.block([[K, -K], [-K, K]])
    q = np.concatenate([problem.epsilon - problem.targets, problem.epsilon + problem.targets])
    upper = np.concatenate([np.maximum(problem.upper, 0.0), np.maximum(-problem.lower, 0.0)])
    A = sp.csc_matrix(np.concatenate([np.ones(n), -np.ones(n)])) if problem.has_equality else None
    b = np.array([problem.total]) if problem.has_equality else None
    solution = qpsolvers.solve_problem(
        qpsolvers.Problem(sp.csc_matrix(P), q, A=A, b=b, lb=np.zeros(2 * n), ub=upper),
        solver="clarabel",
        tol_gap_abs=1e-10,
        tol_gap_rel=1e-10,
        tol_feas=1e-10,
    )
    assert solution.found
    return solution.x[:n] - solution.x[n:]


def dual_objective(problem: Problem, beta: FloatArray) -> float:
    """The minimised dual, straight from its formula."""
    K = kernel_matrix(problem) + problem.ridge * np.eye(problem.n)
    quadratic = 0.5 * float(beta @ K @ beta)
    return quadratic - float(problem.targets @ beta) + problem.epsilon * float(np.abs(beta).sum())
