"""Exact minimum over the free instances of one problem, on a device.

    minimise  1/2 d' K d + s' d   over the free set, with sum(d) = 0 and beta + d in the box

Where SMO crawls (large C, smooth kernels) this takes the long way at once. As in cpp/src/face:
with H = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1), Newton's direction is -H s; a member p that meets its
bound is fixed by taking w = H e_p out of everything, H <- H - w w' / w_p.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .matrix import DeviceMatrix
from .state import BatchState, to_host

#: Free sets beyond this are left to SMO: their factor would take longer than what it saves.
MAX_MEMBERS = 12_000
#: Bounds that a walk meets at most: SMO moves many of them faster.
MAX_HITS = 128
#: Added to the diagonal, relative to its mean: what keeps a kernel rounded to float32 definite.
RIDGE = 1e-6


def solve_free_set(state: BatchState, matrix: DeviceMatrix, p: int) -> bool:
    """Move problem p to the minimum over its free set; False where that brought nothing."""
    xp, n = state.xp, int(state.sizes[state.rows[p]])
    beta, g = state.beta[p, :n], state.gradient[p, :n]
    lower, upper, epsilon = state.lower[p, :n], state.upper[p, :n], state.family.epsilon
    is_free = (beta > lower) & (beta < upper)
    if epsilon > 0.0:
        is_free &= beta != 0.0
    free = xp.flatnonzero(is_free)
    if not 3 <= free.size <= MAX_MEMBERS:
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
    moved = walk(xp, inverse, slopes, beta[free], low, high)
    change = moved - beta[free]
    response = multiply(xp, matrix, columns, change)[state.columns[state.rows[p], :n]]
    # The change of the objective: what rounding spoilt is not taken.
    if not float(change @ (slopes + response[free] / 2.0)) < 0.0:
        return False
    beta[free] = moved
    g += response
    return True


def invert(xp: Any, block: Any) -> Any:
    """A^-1 for the kernel block seen from its first member; None where it is not definite."""
    origin, norm = block[0].copy(), block[0, 0]
    block -= origin[:, None]
    block -= origin
    block += norm
    size = float(xp.abs(xp.diagonal(block)).mean())
    if not size > 0.0:
        return None
    block += size  # a constant changes nothing where sums are 0, and lifts the first member off 0
    index = xp.arange(len(block))
    block[index, index] += RIDGE * size
    try:
        factor = xp.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        return None
    inverse = solve_triangular(xp, factor, xp.eye(len(block)))
    return inverse.T @ inverse if bool(xp.isfinite(inverse).all()) else None


def solve_triangular(xp: Any, factor: Any, right: Any) -> Any:
    """L^-1 B for a lower triangle L."""
    if xp is np:
        from scipy.linalg import solve_triangular as solve
    else:
        from cupyx.scipy.linalg import solve_triangular as solve
    return solve(factor, right, lower=True)


def walk(xp: Any, inverse: Any, slopes: Any, beta: Any, lower: Any, upper: Any) -> Any:
    """Newton's direction and its corrections at bounds; where that leads."""
    m = len(beta)
    ones = inverse.sum(axis=1)
    scaled = ones / ones.sum()
    d = -(inverse @ slopes)
    d -= scaled * d.sum()
    is_fixed = xp.zeros(m, dtype=bool)
    n_most = min(MAX_HITS, m - 2)
    fixed, pivots = xp.empty((n_most, m)), xp.empty(n_most)
    left = 1.0
    for n_hits in range(n_most):
        end = xp.where(d > 0.0, upper, lower)
        room = xp.where(is_fixed | (d == 0.0), xp.inf, (end - beta) / xp.where(d == 0.0, 1.0, d))
        at = xp.argmin(room)
        w = inverse[:, at] - scaled * ones[at]
        if n_hits:
            w -= (fixed[:n_hits, at] / pivots[:n_hits]) @ fixed[:n_hits]
        step, pivot = (float(x) for x in to_host(xp.stack([room[at], w[at]])))  # one transfer a hit
        step = max(step, 0.0)
        if step >= left:
            return xp.clip(beta + left * d, lower, upper)
        beta = xp.clip(beta + step * d, lower, upper)
        beta[at] = end[at]
        left -= step
        if not pivot > 0.0:
            return beta
        is_fixed[at] = True
        fixed[n_hits], pivots[n_hits] = w, pivot
        d = xp.where(is_fixed, 0.0, d - w * (d[at] / pivot))
    return beta


def multiply(xp: Any, matrix: DeviceMatrix, columns: Any, change: Any) -> Any:
    """Stored K[:, columns] @ change on all instances, in double."""
    product = xp.zeros(matrix.n)
    for first in range(0, len(columns), 1024):
        rows = matrix.full[columns[first : first + 1024]]
        product += change[first : first + 1024] @ rows.astype(np.float64)
    return product
