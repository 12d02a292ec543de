"""Exact validation curves: a score over t, where every f(x) is affine between breakpoints.

The 0-1 error is piecewise constant and changes only where some f(x) changes sign. The squared error
is piecewise quadratic. Both come with their exact minimiser over all t, not over a grid.
(M. Karasuyama, section 4.4.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..problem.box_problem import FloatArray

#: Of labels, and of numbers.
METRICS = ("error", "squared")
NUMBER_METRICS = ("squared", "absolute")


@dataclass(frozen=True, eq=False)
class ValidationCurve:
    """A score over t: value + slope (t - start) + curvature (t - start)^2 on each interval.

    Parameters
    ----------
    starts : array of shape (n_intervals,)
        Start of each interval; it ends where the next one starts, the last one at `end`.
    end : float
    value, slope, curvature : arrays of shape (n_intervals,)
    name : str
        Name of the parameter t.
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
        """(t, score) at the minimum, in the middle of the widest minimising interval (by ratio)."""
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

    @property
    def best_ranges(self) -> list[tuple[float, float]]:
        """The minimising intervals of a piecewise constant score."""
        is_best = np.concatenate([[False], self.value == self.value.min(), [False]])
        change = np.flatnonzero(np.diff(is_best.astype(np.int8)))
        edges = np.append(self.starts, self.end)
        return [
            (float(edges[a]), float(edges[b]))
            for a, b in zip(change[::2], change[1::2], strict=True)
        ]

    def plot(self, ax: Any = None) -> Any:
        """Plot the curve with matplotlib."""
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
    residual: FloatArray,
    rate: FloatArray,
    targets: FloatArray,
    metric: str = "error",
    sample_weight: Any = None,
    name: str = "t",
) -> ValidationCurve:
    """The curve of a metric from f - target at the start of every piece, and its rate there.

    `residual` and `rate` are arrays (n_pieces, n_rows).
    """
    share = make_shares(sample_weight, targets.size)
    if metric == "absolute":
        return absolute_curve(starts, ends, residual, rate, share, name)
    if metric not in METRICS:
        raise ValueError(f"metric is {metric!r}; it must be one of {METRICS}.")
    sums = _core.sum_scores(starts, ends, residual, rate, targets, share, metric == "error")
    return as_curve(sums, float(ends[-1]), metric, name)


def absolute_curve(
    starts: FloatArray,
    ends: FloatArray,
    residual: FloatArray,
    rate: FloatArray,
    share: FloatArray,
    name: str,
) -> ValidationCurve:
    """The weighted mean of |f - target|: piecewise affine, it turns where a residual is 0."""
    parts = []
    for k, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if not end > start:
            continue
        r, v = residual[k], rate[k]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            way = -r / v
        turns = np.flatnonzero((way > 0.0) & (way < end - start))
        turns = turns[np.argsort(way[turns], kind="stable")]
        sign = np.where(r == 0.0, np.sign(v), np.sign(r))
        steps = np.concatenate([[0.0], way[turns]])
        slope = share @ (sign * v) + np.concatenate(
            [[0.0], np.cumsum(2.0 * share[turns] * np.abs(v[turns]))]
        )
        value = share @ np.abs(r) + np.concatenate([[0.0], np.cumsum(np.diff(steps) * slope[:-1])])
        parts.append((start + steps, value, slope))
    where, value, slope = (np.concatenate([part[i] for part in parts]) for i in range(3))
    keep = np.append(where[1:] > where[:-1], where[-1] < ends[-1])
    return ValidationCurve(
        where[keep],
        float(ends[-1]),
        value[keep],
        slope[keep],
        np.zeros(int(keep.sum())),
        name,
        "absolute",
    )


def as_curve(
    sums: tuple[FloatArray, FloatArray, FloatArray, FloatArray], end: float, metric: str, name: str
) -> ValidationCurve:
    """The curve from what the native core summed along a path.

    f >= 0 means +1, as in `predict`; a row counts as an error where that is not its label.
    """
    where, value, slope, curvature = sums
    if metric == "error":
        return merge_steps(where, value, end, name)
    return ValidationCurve(where, end, value, slope, curvature, name, metric)


def make_shares(sample_weight: Any, n_rows: int) -> FloatArray:
    """The weight of each row (equal by default), divided by their sum."""
    if sample_weight is None:
        return np.full(n_rows, 1.0 / n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; there must be one for each of {n_rows} rows."
        )
    if not (np.isfinite(weights).all() and weights.min() >= 0.0 and weights.sum() > 0.0):
        raise ValueError(
            f"sample_weight goes from {weights.min()} to {weights.max()}; weights must be finite, "
            f"none negative and one positive."
        )
    return np.asarray(weights / weights.sum())


def merge_steps(where: FloatArray, value: FloatArray, end: float, name: str) -> ValidationCurve:
    """Drop intervals of zero length and steps of zero height."""
    value = np.round(value, 13) + 0.0
    keep = np.append(where[1:] > where[:-1], where[-1] < end)
    keep[-1] |= not keep.any()
    where, value = where[keep], value[keep]
    changes = np.concatenate([[True], value[1:] != value[:-1]])
    where, value = where[changes], value[changes]
    zeros = np.zeros_like(value)
    return ValidationCurve(where, end, value, zeros, zeros, name, "error")


def average_curves(curves: list[ValidationCurve], weights: FloatArray) -> ValidationCurve:
    """The weighted mean of curves, over their common range."""
    low, end = max(curve.starts[0] for curve in curves), min(curve.end for curve in curves)
    starts = np.unique(np.concatenate([curve.starts for curve in curves]))
    starts = starts[(starts == low) | ((starts > low) & (starts < end))]
    value, slope, curvature = (np.zeros(starts.size) for _ in range(3))
    for curve, weight in zip(curves, weights, strict=True):
        k = np.clip(np.searchsorted(curve.starts, starts, side="right") - 1, 0, None)
        step = starts - curve.starts[k]
        value += weight * (curve.value[k] + step * (curve.slope[k] + step * curve.curvature[k]))
        slope += weight * (curve.slope[k] + 2.0 * step * curve.curvature[k])
        curvature += weight * curve.curvature[k]
    first = curves[0]
    if first.metric == "error":
        return merge_steps(starts, value, end, first.name)
    return ValidationCurve(starts, end, value, slope, curvature, first.name, first.metric)
