"""MIR, multiple instance replacement (Wen et al. 2017, eqs. 12-18, algorithm 2).

Given a parent on S + R and the problem on S + T: S stays, and T replaces R at once. beta_T is the
least-squares solution of

    K[X,T] beta_T = df + K[X,R] beta_R        X = S + R      (eq. 15)
          sum beta_T = sum beta_R                            (eq. 16)

with df_i = -(slope_i + bias) for bounded i, which asks it onto the margin, and 0 for i in M. beta_T
is clipped to its box, then T is adjusted. In signed variables the labels drop out; for problems of
another total the second line has what the sum misses. The normal equations (eq. 18) get a relative
ridge instead of a pseudo-inverse: duplicates share their part evenly.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..problem import optimality
from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.solution import Solution
from .move import BLOCK_VALUES, Move

#: Added to the diagonal of the normal equations, relative to its mean.
RIDGE = 1e-10


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta on S, and on T what keeps the margins best."""
    move = Move(parent, problem)
    beta = move.kept.copy()
    if move.added.size and move.lost.size:
        beta[move.added] = fit_added(move)
        np.clip(beta, problem.lower, problem.upper, out=beta)
    return move.start_near(beta)


def fit_added(move: Move) -> FloatArray:
    """beta_T by regularised normal equations, X taken a block of rows at a time."""
    n_added = move.added.size
    removed = move.parent.beta - move.kept
    goal = move.kernel.multiply(move.lost, removed[move.lost]) + find_push(move.parent)
    normal = np.zeros((n_added, n_added))
    right = np.zeros(n_added)
    if move.problem.has_equality:
        normal += 1.0
        right += move.problem.total - float(move.kept.sum())
    trained = np.flatnonzero(move.parent.problem.weights > 0.0)
    step = max(1, BLOCK_VALUES // n_added)
    for first in range(0, trained.size, step):
        rows = trained[first : first + step]
        block = move.kernel.block(rows, move.added)
        normal += block.T @ block
        right += block.T @ goal[rows]
    normal.flat[:: n_added + 1] += RIDGE * max(float(np.trace(normal)) / n_added, 1e-300)
    try:
        factor = linalg.cho_factor(normal, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return np.asarray(linalg.lstsq(normal, right, check_finite=False)[0])
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))


def find_push(parent: Solution) -> FloatArray:
    """df: what would bring each bounded instance onto the margin, 0 for the free."""
    problem, beta = parent.problem, parent.beta
    left, right = optimality.slopes(problem, beta, parent.gradient)
    slope = np.where(beta < problem.upper, right, left) + parent.bias
    is_bounded = (beta <= problem.lower) | (beta >= problem.upper)
    if problem.epsilon > 0.0:
        is_bounded |= beta == 0.0
    return np.where(is_bounded, -slope, 0.0)
