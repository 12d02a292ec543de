"""Exact validation curves: a score over t, where every f(x) is affine between breakpoints.

0-1 error: piecewise constant, it changes only where some f(x) changes sign. Squared error:
piecewise quadratic. Both come with their exact minimiser over all t, not over a grid.
(M. Karasuyama, section 4.4.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem import FloatArray

METRICS = ("error", "squared")


@dataclass(frozen=True, eq=False)
class ValidationCurve:
    """A score over t: value + slope (t - start) + curvature (t - start)^2 on each interval.

    Parameters
    ----------
    starts : array of shape (n_intervals,)
        Where each interval begins; it ends where the next begins, the last at `end`.
    end : float
    value, slope, curvature : arrays of shape (n_intervals,)
    name : str
        What t is.
    metric : str
    """

    starts: FloatArray
    end: float
    value: FloatArray
    slope: FloatArray
    curvature: FloatArray
    name: str = "t"
    metric: str = "error"

    @property
    def ends(self) -> FloatArray:
        return np.append(self.starts[1:], self.end)

    def __call__(self, t: Any) -> FloatArray:
        """The score at t; where it jumps, what it is just after."""
        times = np.asarray(t, dtype=np.float64)
        if np.any((times < self.starts[0]) | (times > self.end)):
            raise ValueError(f"The curve is known from {self.starts[0]} to {self.end} only.")
        k = np.clip(np.searchsorted(self.starts, times, side="right") - 1, 0, None)
        step = times - self.starts[k]
        return np.asarray(self.value[k] + step * (self.slope[k] + step * self.curvature[k]))

    @property
    def best(self) -> tuple[float, float]:
        """(t, score) of the minimum: the middle of the widest interval (by ratio) that has it."""
        ends = self.ends
        length = ends - self.starts
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = np.where(self.curvature > 0.0, -self.slope / (2.0 * self.curvature), 0.0)
        step = np.clip(vertex, 0.0, length)
        step = np.where((self.curvature == 0.0) & (self.slope < 0.0), length, step)
        least = self.value + step * (self.slope + step * self.curvature)
        lowest = float(least.min())
        ties = np.flatnonzero(least <= lowest + 1e-15 * max(1.0, abs(lowest)))
        is_flat = (self.slope[ties] == 0.0) & (self.curvature[ties] == 0.0)
        if not is_flat.any():
            k = int(ties[0])
            return float(self.starts[k] + step[k]), lowest
        flat = ties[is_flat]
        low, high = self.starts[flat], ends[flat]
        ratio = np.log(high / low) if low.min() > 0.0 else high - low
        k = int(np.argmax(ratio))
        middle = np.sqrt(low[k] * high[k]) if low.min() > 0.0 else (low[k] + high[k]) / 2.0
        return float(np.clip(middle, low[k], high[k])), lowest

    @property
    def best_t(self) -> float:
        return self.best[0]

    @property
    def best_value(self) -> float:
        return self.best[1]

    def plot(self, ax: Any = None) -> Any:
        """The curve, by matplotlib."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        if self.metric == "error":
            ax.stairs(self.value, np.append(self.starts, self.end), baseline=None)
        else:
            t = np.unique(np.concatenate([self.starts, [self.end]]))
            ax.plot(t, self(t))
        t_best, lowest = self.best
        ax.plot([t_best], [lowest], "o")
        if self.starts[0] > 0.0:
            ax.set_xscale("log")
        ax.set(xlabel=self.name, ylabel=self.metric)
        return ax


def make_curve(
    starts: FloatArray,
    ends: FloatArray,
    first: FloatArray,
    last: FloatArray,
    targets: FloatArray,
    metric: str = "error",
    sample_weight: Any = None,
    name: str = "t",
) -> ValidationCurve:
    """The curve of a metric from f at both ends of every piece (arrays (n_pieces, n_rows))."""
    if metric not in METRICS:
        raise ValueError(f"metric is {metric!r}; it must be one of {METRICS}.")
    n_rows = targets.size
    share = np.full(n_rows, 1.0 / n_rows)
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=np.float64)
        share = weights / weights.sum()
    if metric == "squared":
        return _squared_curve(starts, ends, first - targets, last - targets, share, name)
    return _error_curve(starts, ends, first, last, targets, share, name)


def _error_curve(
    starts: FloatArray,
    ends: FloatArray,
    first: FloatArray,
    last: FloatArray,
    targets: FloatArray,
    share: FloatArray,
    name: str,
) -> ValidationCurve:
    """f >= 0 means +1, as in `predict`; a row counts where that is not its label."""
    is_above, ends_above = first >= 0.0, last >= 0.0
    # A row at 0 at the start of a piece is judged by where it goes.
    goes_below = (first == 0.0) & (last < 0.0)
    is_above &= ~goes_below
    label = targets > 0.0
    cost = np.where(label, -share, share)  # of being above
    base = float(share[label].sum())
    values = base + is_above @ cost
    piece, row = np.nonzero(is_above != ends_above)
    crossing = first[piece, row] / (first[piece, row] - last[piece, row])
    times = starts[piece] + crossing * (ends[piece] - starts[piece])
    times = np.clip(times, starts[piece], ends[piece])
    change = np.where(ends_above[piece, row], cost[row], -cost[row])
    # Inside a piece: running sums of the changes; at a piece's start: the exact sum.
    all_times = np.concatenate([starts, times])
    order = np.lexsort(
        (
            np.concatenate([np.full(starts.size, -1), row]),
            all_times,
            np.concatenate([np.arange(starts.size), piece]),
        )
    )
    is_start = order < starts.size
    steps = np.where(is_start, 0.0, np.concatenate([np.zeros(starts.size), change])[order])
    running = np.cumsum(steps)
    at_start = np.flatnonzero(is_start)
    own_piece = np.cumsum(is_start) - 1
    value = values[own_piece] + running - running[at_start][own_piece]
    where = all_times[order]
    return _merge_steps(where, value, float(ends[-1]), name)


def _merge_steps(where: FloatArray, value: FloatArray, end: float, name: str) -> ValidationCurve:
    """Drop intervals of no length and steps of no height."""
    value = np.round(value, 13) + 0.0
    keep = np.append(where[1:] > where[:-1], where[-1] < end)
    keep[-1] |= not keep.any()
    where, value = where[keep], value[keep]
    changes = np.concatenate([[True], value[1:] != value[:-1]])
    where, value = where[changes], value[changes]
    zeros = np.zeros_like(value)
    return ValidationCurve(where, end, value, zeros, zeros, name, "error")


def _squared_curve(
    starts: FloatArray,
    ends: FloatArray,
    first: FloatArray,
    last: FloatArray,
    share: FloatArray,
    name: str,
) -> ValidationCurve:
    length = np.where(ends > starts, ends - starts, 1.0)
    rate = (last - first) / length[:, None]
    return ValidationCurve(
        starts,
        float(ends[-1]),
        (first**2) @ share,
        2.0 * (first * rate) @ share,
        (rate**2) @ share,
        name,
        "squared",
    )


def average_curves(curves: list[ValidationCurve], weights: FloatArray) -> ValidationCurve:
    """The weighted mean of curves over the same range."""
    starts = np.unique(np.concatenate([curve.starts for curve in curves]))
    value, slope, curvature = (np.zeros(starts.size) for _ in range(3))
    for curve, weight in zip(curves, weights, strict=True):
        k = np.clip(np.searchsorted(curve.starts, starts, side="right") - 1, 0, None)
        step = starts - curve.starts[k]
        value += weight * (curve.value[k] + step * (curve.slope[k] + step * curve.curvature[k]))
        slope += weight * (curve.slope[k] + 2.0 * step * curve.curvature[k])
        curvature += weight * curve.curvature[k]
    first = curves[0]
    if first.metric == "error":
        return _merge_steps(starts, value, first.end, first.name)
    return ValidationCurve(starts, first.end, value, slope, curvature, first.name, first.metric)
