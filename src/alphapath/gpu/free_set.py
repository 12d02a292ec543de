"""Exact minimum over the free instances of one problem, on a device.

    minimise  1/2 d' K d + s' d   over the free set, with sum(d) = 0 and beta + d in the box

Where SMO converges slowly (large C, smooth kernels), this takes one long step. As in
cpp/src/dual/box_face, with H = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1), Newton's direction is -H s; a
member p that meets its bound is fixed by removing w = H e_p from everything,
H <- H - w w' / w_p (walk.cu, reference.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .matrix import DeviceMatrix, tile_rows
from .state import BatchState

#: Free sets beyond this are left to SMO: their factor would take longer than what it saves.
MAX_MEMBERS = 12_000
#: Share of the memory limit that one free set may take, and matrices of doubles that it needs.
FREE_SET_SHARE, N_MATRICES = 0.06, 6
#: Bounds that a walk meets at most: SMO moves many of them faster.
MAX_HITS = 512
#: Added to the diagonal, relative to its mean: what keeps a kernel rounded to float32 definite; the
#: second where the first does not.
RIDGES = (1e-6, 1e-4)


def most_members(memory_limit: int) -> int:
    """Largest number of members that a free set may have within the limit."""
    return min(MAX_MEMBERS, int((FREE_SET_SHARE * memory_limit / (8 * N_MATRICES)) ** 0.5))


def solve_free_set(engine: Any, matrix: DeviceMatrix, p: int) -> bool:
    """Move problem p to the minimum over its free set; False if that brought no progress."""
    state: BatchState = engine.state
    xp, n = state.xp, int(state.sizes[state.rows[p]])
    beta, g = state.beta[p, :n], state.gradient[p, :n]
    lower, upper, epsilon = state.lower[p, :n], state.upper[p, :n], state.family.epsilon
    is_free = (beta > lower) & (beta < upper)
    if epsilon > 0.0:
        is_free &= beta != 0.0
    free = xp.flatnonzero(is_free)
    if not 3 <= free.size <= matrix.max_members:
        return False
    columns = state.columns[state.rows[p], free]
    inverse = invert(xp, xp.asarray(matrix.full[columns[:, None], columns], dtype=np.float64))
    if inverse is None:
        return False
    low, high = lower[free], upper[free]
    if epsilon > 0.0:  # the smooth piece on this side of the kink
        low = xp.where(beta[free] > 0.0, xp.maximum(low, 0.0), low)
        high = xp.where(beta[free] < 0.0, xp.minimum(high, 0.0), high)
    slopes = g[free] + epsilon * xp.sign(beta[free])
    moved = engine.walk(inverse, slopes, beta[free], low, high)
    change = moved - beta[free]
    response = multiply(xp, matrix, columns, change)[state.columns[state.rows[p], :n]]
    # The change of the objective: what rounding spoilt is not taken.
    if not float(change @ (slopes + response[free] / 2.0)) < 0.0:
        return False
    beta[free] = moved
    g += response
    return True


def invert(xp: Any, block: Any) -> Any:
    """A^-1 for the kernel block relative to its first member; None if it is not definite."""
    origin, norm = block[0].copy(), block[0, 0]
    block -= origin[:, None]
    block -= origin
    block += norm
    size = float(xp.abs(xp.diagonal(block)).mean())
    if not size > 0.0:
        return None
    block += size  # a constant changes nothing where sums are 0, and lifts the first member off 0
    index = xp.arange(len(block))
    for ridge in RIDGES:
        block[index, index] += ridge * size
        try:
            factor = xp.linalg.cholesky(block)
        except np.linalg.LinAlgError:
            continue
        inverse = solve_triangular(xp, factor, xp.eye(len(block)))
        if bool(xp.isfinite(inverse).all()):
            return inverse.T @ inverse
    return None


def solve_triangular(xp: Any, factor: Any, right: Any) -> Any:
    """L^-1 B for a lower triangle L."""
    if xp is np:
        from scipy.linalg import solve_triangular as solve
    else:
        from cupyx.scipy.linalg import solve_triangular as solve
    return solve(factor, right, lower=True)


def begin_walk(inverse: Any, slopes: Any) -> tuple[Any, Any, Any]:
    """A^-1 1, the same with sum 1, and Newton's direction."""
    ones = inverse.sum(axis=1)
    scaled = ones / ones.sum()
    d = -(inverse @ slopes)
    d -= scaled * d.sum()
    return ones, scaled, d


def multiply(xp: Any, matrix: DeviceMatrix, columns: Any, change: Any) -> Any:
    """Stored K[:, columns] @ change on all instances, in double."""
    product = xp.zeros(matrix.n)
    step = tile_rows(matrix.n)
    for first in range(0, len(columns), step):
        rows = matrix.full[columns[first : first + step]]
        product += change[first : first + step] @ rows.astype(np.float64)
    return product
