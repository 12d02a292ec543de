"""The batched SMO in plain NumPy: what smo.cu and walk.cu do, for machines without a GPU.

It is slow and serves as a readable reference: tests run the same driver on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..problem.box_problem import FloatArray
from .free_set import MAX_HITS, begin_walk
from .state import GOAL, BatchState

N_BINS = 1024
MIN_CURVATURE = 1e-12


class ReferenceEngine:
    """The passes of a round, and the walk, on a BatchState with arrays of NumPy."""

    xp = np

    def __init__(self, state: BatchState) -> None:
        self.state = state

    def select(self, active: NDArray[np.int32], tol: float) -> None:
        """The worst violators of each problem become its working set."""
        state = self.state
        for p in active:
            n = state.sizes[state.rows[p]]
            beta, g = state.beta[p, :n], state.gradient[p, :n]
            rising, falling = find_slopes(g, beta, state.family.epsilon)
            may_rise, may_fall = beta < state.upper[p, :n], beta > state.lower[p, :n]
            least_up = rising[may_rise].min(initial=np.inf)
            most_down = falling[may_fall].max(initial=-np.inf)
            violation = state.violation[p] = most_down - least_up
            last = state.working[p, : state.n_working[p]]
            state.n_working[p] = 0
            if not violation > tol:
                continue
            # The newest free ones of the last working set stay: they answer to what the others do.
            kept = last[(may_rise & may_fall)[last]][: state.size // 2]
            is_new = np.ones(n, dtype=bool)
            is_new[kept] = False
            up = find_bins(rising - least_up, violation, may_rise & is_new)
            down = find_bins(most_down - falling, violation, may_fall & is_new)
            n_up, n_down = int((up >= 0).sum()), int((down >= 0).sum())
            n_new = state.size - kept.size
            want_up = min(n_new // 2, n_up)
            want_down = min(n_new - want_up, n_down)
            want_up = min(n_new - want_down, n_up)
            taken = take_first(up, want_up) | take_first(down, want_down)
            found = np.concatenate([np.flatnonzero(taken), kept])
            state.n_working[p] = found.size
            state.working[p, : found.size] = found
            state.row_of[p, : found.size] = state.columns[state.rows[p], found]

    def solve(self, active: NDArray[np.int32], rows: FloatArray, diagonal: FloatArray, tol: float,
              max_iter: int) -> None:  # fmt: skip
        """SMO on the working set of each problem alone."""
        state = self.state
        for p in active:
            size = int(state.n_working[p])
            state.n_moved[p] = 0
            if size == 0:
                continue
            k = state.working[p, :size]
            columns = state.columns[state.rows[p], k]
            where = state.row_of[p, :size]
            start = state.beta[p, k]
            beta, g = start.copy(), state.gradient[p, k].copy()
            goal = max(GOAL * float(state.violation[p]), 0.5 * tol)
            state.n_iter[p] += solve_small(
                np.asarray(rows[np.ix_(where, columns)], dtype=np.float64),
                np.asarray(diagonal[columns], dtype=np.float64),
                beta,
                g,
                (state.lower[p, k], state.upper[p, k]),
                state.family.epsilon,
                goal,
                max_iter,
            )
            moved = np.flatnonzero(beta != start)
            state.beta[p, k] = beta
            state.n_moved[p] = moved.size
            state.change[p, : moved.size] = (beta - start)[moved]
            state.moved[p, : moved.size] = where[moved]

    def update(self, active: NDArray[np.int32], rows: FloatArray) -> None:
        """Add the kernel rows of the betas that moved to the gradients."""
        state = self.state
        for p in active:
            moved = int(state.n_moved[p])
            n = state.sizes[state.rows[p]]
            columns = state.columns[state.rows[p], :n]
            step = state.change[p, :moved] @ rows[state.moved[p, :moved]].astype(np.float64)
            state.gradient[p, :n] += step[columns]

    def walk(self, inverse: FloatArray, slopes: FloatArray, beta: FloatArray, lower: FloatArray,
             upper: FloatArray) -> FloatArray:  # fmt: skip
        """Follow Newton's direction over a free set, with its corrections at bounds."""
        ones, scaled, d = begin_walk(inverse, slopes)
        is_fixed = np.zeros(beta.size, dtype=bool)
        fixed: list[tuple[int, FloatArray]] = []
        left = 1.0
        for _ in range(min(MAX_HITS, beta.size - 2)):
            end = np.where(d > 0.0, upper, lower)
            length = np.where(d == 0.0, 1.0, d)
            room = np.where(is_fixed | (d == 0.0), np.inf, (end - beta) / length)
            at = int(np.argmin(room))
            step = max(float(room[at]), 0.0)
            beta = np.clip(beta + min(step, left) * d, lower, upper)
            if step >= left:
                return beta
            beta[at] = end[at]
            left -= step
            w = inverse[at] - scaled * ones[at]
            for p, before in fixed:
                w -= before[at] / before[p] * before
            if not w[at] > 0.0:
                return beta
            is_fixed[at] = True
            fixed.append((at, w))
            d = np.where(is_fixed, 0.0, d - w * (d[at] / w[at]))
        return beta


def find_slopes(g: FloatArray, beta: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """Slopes to the right and to the left."""
    return (
        g + np.where(beta >= 0.0, epsilon, -epsilon),
        g + np.where(beta > 0.0, epsilon, -epsilon),
    )


def find_bins(distance: FloatArray, violation: float, is_able: NDArray[np.bool_]) -> FloatArray:
    """Bins by the distance from the worst violator; -1 for those that violate nothing."""
    with np.errstate(invalid="ignore"):
        bins = np.minimum(np.floor(distance * (N_BINS / violation)), N_BINS - 1)
    return np.asarray(np.where(is_able & (distance < violation), bins, -1))


def take_first(bins: FloatArray, wanted: int) -> NDArray[np.bool_]:
    """The `wanted` ones of the lowest bins, in order within the last."""
    counts = np.bincount(bins[bins >= 0].astype(np.intp), minlength=N_BINS)
    before = np.cumsum(counts) - counts
    edge = int(np.flatnonzero(before < max(wanted, 1))[-1])
    taken = (bins >= 0) & (bins < edge)
    at_edge = np.flatnonzero(bins == edge)[: max(wanted - int(before[edge]), 0)]
    taken[at_edge] = True
    return np.asarray(taken)


def solve_small(
    K: FloatArray,
    diagonal: FloatArray,
    beta: FloatArray,
    g: FloatArray,
    box: tuple[FloatArray, FloatArray],
    epsilon: float,
    goal: float,
    max_iter: int,
) -> int:
    """Run second-order SMO on a few instances, in place; return the number of iterations."""
    lower, upper = box
    for iteration in range(max_iter):
        rising, falling = find_slopes(g, beta, epsilon)
        up = np.where(beta < upper, rising, np.inf)
        down = np.where(beta > lower, falling, -np.inf)
        i = int(np.argmin(up))
        if not down.max() - up[i] > goal:
            return iteration
        excess = down - up[i]
        curvature = np.maximum(diagonal[i] + diagonal - 2.0 * K[i], MIN_CURVATURE)
        gain = np.where(excess > 0.0, excess, 0.0) ** 2 / curvature
        j = int(np.argmax(gain))
        ceiling = min(upper[i], 0.0) if epsilon > 0.0 and beta[i] < 0.0 else upper[i]
        floor = max(lower[j], 0.0) if epsilon > 0.0 and beta[j] > 0.0 else lower[j]
        room_i, room_j = ceiling - beta[i], beta[j] - floor
        step = min(excess[j] / curvature[j], room_i, room_j)
        beta[i] = ceiling if step == room_i else beta[i] + step
        beta[j] = floor if step == room_j else beta[j] - step
        g += step * (K[i] - K[j])
    return max_iter
