"""A validation score that is analytic in t between breakpoints, exact to rounding.

Each interval keeps a Chebyshev series whose degree follows from where the score has its poles: the
coefficients of a function that is analytic inside an ellipse with foci at both ends and half-axes
summing to r half-lengths fall like r^-k. All minima of a series are roots of its derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from ...problem.box_problem import FloatArray

#: Natural logarithm of the share of the score that a series may leave out, and some terms more for
#: poles of second order.
DIGITS, MORE_TERMS = 36.0, 4
MAX_DEGREE = 200


@dataclass(frozen=True, eq=False)
class AnalyticCurve:
    """A score over t, given by one Chebyshev series per interval.

    Parameters
    ----------
    starts : array of shape (n_intervals,)
        Start of each interval; it ends where the next one starts, the last one at `end`.
    end : float
    series : tuple of arrays
        Chebyshev coefficients on [-1, 1], to which the interval is mapped.
    name : str
        Name of the parameter t.
    metric : str
    """

    starts: FloatArray
    end: float
    series: tuple[FloatArray, ...]
    name: str = "t"
    metric: str = "squared"

    @property
    def ends(self) -> FloatArray:
        return np.append(self.starts[1:], self.end)

    def __call__(self, t: Any) -> FloatArray:
        """The score at t."""
        times = np.asarray(t, dtype=np.float64)
        if np.any((times < self.starts[0]) | (times > self.end)):
            raise ValueError(f"The curve is known from {self.starts[0]} to {self.end} only.")
        flat = np.atleast_1d(times)
        k = np.clip(np.searchsorted(self.starts, flat, side="right") - 1, 0, None)
        low, high = self.starts[k], self.ends[k]
        places = np.clip((2.0 * flat - low - high) / (high - low), -1.0, 1.0)
        values = [
            chebyshev.chebval(u, self.series[j]) for u, j in zip(places, k.tolist(), strict=True)
        ]
        return np.asarray(values).reshape(times.shape)

    def values_at_ends(self) -> tuple[FloatArray, FloatArray]:
        """The score at the start and end of every interval."""
        first = [chebyshev.chebval(-1.0, c) for c in self.series]
        last = [chebyshev.chebval(1.0, c) for c in self.series]
        return np.array(first), np.array(last)

    @cached_property
    def best(self) -> tuple[float, float]:
        """(t, score) at the minimum over all t."""
        # |T_k| <= 1 bounds a series from below: intervals that cannot hold the minimum are skipped.
        floors = np.array([c[0] - np.abs(c[1:]).sum() for c in self.series])
        best = (float(self.starts[0]), np.inf)
        for k in np.argsort(floors, kind="stable"):
            if floors[k] >= best[1]:
                break
            low, high = self.starts[k], self.ends[k]
            places = critical_points(self.series[k])
            values = chebyshev.chebval(places, self.series[k])
            j = int(np.argmin(values))
            if values[j] < best[1]:
                t = 0.5 * (low + high) + 0.5 * (high - low) * places[j]
                best = (float(np.clip(t, low, high)), float(values[j]))
        return best

    @property
    def best_t(self) -> float:
        return self.best[0]

    @property
    def best_value(self) -> float:
        return self.best[1]

    def plot(self, ax: Any = None) -> Any:
        """Plot the curve with matplotlib."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        t = np.unique(np.concatenate([self.starts, np.geomspace(self.starts[0], self.end, 400)]))
        t = t[(t >= self.starts[0]) & (t <= self.end)]
        ax.plot(t, self(t))
        ax.plot(*([value] for value in self.best), "o")
        ax.set(xlabel=self.name, ylabel=self.metric, xscale="log")
        return ax


def expand(score: Callable[[FloatArray], FloatArray], low: float, high: float) -> FloatArray:
    """The series of a score on [low, high], 0 < low, whose poles all lie at t <= 0."""
    ratio = (high + low) / (high - low)
    growth = np.log(ratio + np.sqrt(ratio * ratio - 1.0))
    degree = min(int(np.ceil(DIGITS / growth)) + MORE_TERMS, MAX_DEGREE)
    nodes = chebyshev.chebpts1(degree + 1)
    values = score(0.5 * (low + high) + 0.5 * (high - low) * nodes)
    # Orthogonality of the polynomials over these nodes.
    coef = 2.0 / (degree + 1) * (chebyshev.chebvander(nodes, degree).T @ values)
    coef[0] *= 0.5
    return np.asarray(coef)


def critical_points(coef: FloatArray) -> FloatArray:
    """Both ends of [-1, 1] and every place between them at which the derivative vanishes."""
    ends = np.array([-1.0, 1.0])
    slope = chebyshev.chebder(coef)
    slope = chebyshev.chebtrim(slope, tol=1e-15 * max(float(np.abs(coef).max()), 1e-300))
    if slope.size < 2:
        return ends
    roots = chebyshev.chebroots(slope)
    # A root that rounding moved off the real line is a place where the slope all but vanishes.
    is_near = (np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) < 1.0)
    return np.concatenate([ends, roots.real[is_near]])
