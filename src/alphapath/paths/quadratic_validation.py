"""The validation error along a path over lambda: piecewise constant, every change exact.

On a piece of the path lambda f(x) is s + x (e + sum_k W_k / (D_k - x)) for every validation row, a
rational function with the poles of the piece; its zeros, all of them, are where a label changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..problem import FloatArray

BOUND = 2


@dataclass(frozen=True, eq=False)
class StepCurve:
    """A piecewise constant function of lambda, and where it is best.

    Parameters
    ----------
    edges : array of shape (m + 1,)
        Ends of the steps, increasing.
    values : array of shape (m,)
        The value between two edges.
    greater_is_better : bool
    """

    edges: FloatArray
    values: FloatArray
    greater_is_better: bool = False

    def at(self, lam: float) -> float:
        """The value at lambda (of the upper step where lambda is an edge)."""
        if not self.edges[0] <= lam <= self.edges[-1]:
            raise ValueError(
                f"lam is {lam}; the curve covers {self.edges[0]:g} to {self.edges[-1]:g}."
            )
        k = int(np.searchsorted(self.edges, lam, side="right")) - 1
        return float(self.values[min(k, len(self.values) - 1)])

    @cached_property
    def best_(self) -> float:
        """The best value on the whole range."""
        return float(self.values.max() if self.greater_is_better else self.values.min())

    @cached_property
    def best_ranges_(self) -> list[tuple[float, float]]:
        """The intervals of lambda on which the best value is taken."""
        is_best = np.concatenate([[False], self.values == self.best_, [False]])
        change = np.flatnonzero(np.diff(is_best.astype(np.int8)))
        return [
            (float(self.edges[a]), float(self.edges[b]))
            for a, b in zip(change[::2], change[1::2], strict=True)
        ]

    @cached_property
    def best_lambda_(self) -> float:
        """The middle, on a logarithmic scale, of the longest best interval."""
        low, high = max(self.best_ranges_, key=lambda ends: ends[1] / ends[0])
        return float(np.sqrt(low * high))

    def mirrored(self) -> StepCurve:
        """One minus the curve: accuracy from error."""
        return StepCurve(self.edges, 1.0 - self.values, not self.greater_is_better)

    def plot(self, ax: Any = None) -> Any:
        """The steps over a logarithmic axis; returns the matplotlib axes."""
        from .quadratic_plot import plot_steps

        return plot_steps(self, ax)


def trace_error(path: Any, K: FloatArray, is_positive: NDArray[np.bool_]) -> StepCurve:
    """The error of a LambdaPath on rows with kernel values K against the training rows."""
    model = path.model
    G = K * model.scale
    sides = path.sides_of(0)
    at_bound = np.flatnonzero(sides == BOUND)
    fixed = G[:, at_bound] @ model.upper[at_bound]
    edges: list[float] = [path.range_[0]]
    counts: list[int] = []
    n_seen = 0
    for k in range(path.n_pieces):
        n_seen = _apply_events(path, k, n_seen, G, fixed)
        first, last = path.piece_ends(k)
        if first == last:
            continue
        members, a, drift, poles, residues = path.piece(k)
        block = G[:, members]
        s = fixed + block @ a
        e = -(block @ drift)
        W = -(residues @ block.T)
        rows, x = _core.find_crossings(s, e, np.ascontiguousarray(W), poles, first - last)
        order = np.argsort(np.abs(x), kind="stable")
        is_wrong = _is_wrong(s, e, W, poles, is_positive)
        n_wrong = int(np.count_nonzero(is_wrong))
        for j in order:
            edges.append(first - float(x[j]))
            counts.append(n_wrong)
            is_wrong[rows[j]] = not is_wrong[rows[j]]
            n_wrong += 1 if is_wrong[rows[j]] else -1
        edges.append(last)
        counts.append(n_wrong)
    return join_steps(np.array(edges), np.array(counts) / len(is_positive))


def _apply_events(path: Any, k: int, n_seen: int, G: FloatArray, fixed: FloatArray) -> int:
    """Brings `fixed` = G[:, bound] u to piece k; returns the number of events applied so far."""
    n_due = int(path._n_before[k])
    for _, row, left, joined in path.events_[n_seen:n_due]:
        if BOUND in (left, joined):
            fixed += (1.0 if joined == BOUND else -1.0) * path.model.upper[row] * G[:, row]
    return n_due


def _is_wrong(
    s: FloatArray, e: FloatArray, W: FloatArray, poles: FloatArray, is_positive: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Wrong labels just after the beginning of a piece; a value of zero is judged by its slope."""
    slope = e + (1.0 / poles) @ W
    f = np.where(s == 0.0, slope, s)
    return np.asarray((f >= 0.0) != is_positive)


def join_steps(edges: FloatArray, values: FloatArray) -> StepCurve:
    """Edges in increasing order, steps of no length dropped, equal neighbours joined."""
    if edges[0] > edges[-1]:
        edges, values = edges[::-1], values[::-1]
    edges = np.maximum.accumulate(edges)
    is_long = edges[1:] > edges[:-1]
    starts, values = edges[:-1][is_long], values[is_long]
    is_new = np.concatenate([[True], values[1:] != values[:-1]])
    return StepCurve(np.append(starts[is_new], edges[-1]), values[is_new])


def pool_errors(curves: Sequence[StepCurve], sizes: Sequence[int]) -> StepCurve:
    """Wrong labels of all curves over all rows, on the range that they share.

    Counts are added as integers: equal errors must not differ by rounding.
    """
    low = max(float(curve.edges[0]) for curve in curves)
    high = min(float(curve.edges[-1]) for curve in curves)
    edges = np.unique(np.concatenate([curve.edges for curve in curves]))
    edges = np.concatenate([[low], edges[(edges > low) & (edges < high)], [high]])
    n_wrong = np.zeros(len(edges) - 1, dtype=np.int64)
    for curve, size in zip(curves, sizes, strict=True):
        k = np.searchsorted(curve.edges, edges[:-1], side="right") - 1
        n_wrong += np.rint(size * curve.values[k]).astype(np.int64)
    return join_steps(edges, n_wrong / sum(sizes))
