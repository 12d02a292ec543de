"""Validation scores along a path over lambda: every change of the error, every squared error.

On a piece of the path lambda f(x) is s + x (e + sum_k W_k / (D_k - x)) for every validation row, a
rational function with the poles of the piece. Its zeros, all of them, are where a label changes;
the squared error is a rational function of lambda too, with poles at lambda <= 0 only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..problem import FloatArray
from .analytic_curve import AnalyticCurve, expand
from .validation import ValidationCurve, merge_steps

BOUND = 2


@dataclass(frozen=True)
class RowsOnPiece:
    """lambda f = s + x (e + W'/(poles - x)) at the validation rows, for x = first - lambda."""

    first: float
    last: float
    s: FloatArray
    e: FloatArray
    W: FloatArray  # (n_poles, n_rows)
    poles: FloatArray

    def decision_values(self, lams: FloatArray) -> FloatArray:
        """f, one row a lambda."""
        x = self.first - lams
        fractions = (x[:, None] / (self.poles - x[:, None])) @ self.W
        return np.asarray((self.s + np.outer(x, self.e) + fractions) / lams[:, None])

    def is_above(self) -> NDArray[np.bool_]:
        """f >= 0 just after the beginning; a value of zero is judged by its slope."""
        slope = (self.e + (1.0 / self.poles) @ self.W) * np.sign(self.first - self.last)
        return np.asarray(np.where(self.s == 0.0, slope, self.s) >= 0.0)


def rows_on_pieces(path: Any, K: FloatArray) -> Iterator[RowsOnPiece]:
    """The pieces of a LambdaPath that have a length, in the order of the walk."""
    model = path.model
    G = K * model.scale
    at_bound = np.flatnonzero(path.first_sides == BOUND)
    fixed = G[:, at_bound] @ model.upper[at_bound]
    n_seen = 0
    for k in range(path.n_pieces):
        n_seen = _apply_events(path, k, n_seen, G, fixed)
        first, last = path.piece_ends(k)
        if first == last:
            continue
        members, a, drift, poles, residues = path.piece(k)
        if poles.size == 0:  # the bridge of a gap, whose members may be at their bound
            a = a - np.where(path.sides_of(k)[members] == BOUND, model.upper[members], 0.0)
        block = G[:, members]
        W = np.ascontiguousarray(-(residues @ block.T))
        yield RowsOnPiece(first, last, fixed + block @ a, -(block @ drift), W, poles)


def _apply_events(path: Any, k: int, n_seen: int, G: FloatArray, fixed: FloatArray) -> int:
    """Brings `fixed` = G[:, bound] u to piece k; returns the number of events applied so far."""
    n_due: int = path.n_events_before(k)
    for _, row, left, joined in path.events_[n_seen:n_due]:
        if BOUND in (left, joined):
            fixed += (1.0 if joined == BOUND else -1.0) * path.model.upper[row] * G[:, row]
    return n_due


def trace_error(
    path: Any, K: FloatArray, targets: FloatArray, share: FloatArray
) -> ValidationCurve:
    """The weighted error of a LambdaPath on rows with kernel values K against the training rows."""
    is_positive = targets > 0.0
    edges: list[FloatArray] = [np.array([path.range_[0]])]
    values: list[FloatArray] = []
    for piece in rows_on_pieces(path, K):
        rows, x = _core.find_crossings(
            piece.s, piece.e, piece.W, piece.poles, piece.first - piece.last
        )
        order = np.argsort(np.abs(x), kind="stable")
        is_wrong = piece.is_above() != is_positive
        # A row that crosses twice is wrong and right in turn.
        turns = np.where(is_wrong, -1.0, 1.0)
        steps = np.empty(order.size)
        for j, row in enumerate(rows[order].tolist()):
            steps[j] = turns[row] * share[row]
            turns[row] = -turns[row]
        edges += [piece.first - x[order], np.array([piece.last])]
        values.append(share @ is_wrong + np.concatenate([[0.0], np.cumsum(steps)]))
    where, value = np.concatenate(edges), np.concatenate(values)
    if where[0] > where[-1]:
        where, value = where[::-1], value[::-1]
    where = np.maximum.accumulate(where)
    return merge_steps(where[:-1], value, float(where[-1]), "lambda")


def trace_squared(
    path: Any, K: FloatArray, targets: FloatArray, share: FloatArray
) -> AnalyticCurve:
    """The weighted mean of (f - y)^2, y = +-1, along a LambdaPath."""
    starts, series = [], []
    for piece in rows_on_pieces(path, K):
        low, high = sorted((piece.first, piece.last))

        def score(lams: FloatArray, piece: RowsOnPiece = piece) -> FloatArray:
            return np.asarray((piece.decision_values(lams) - targets) ** 2 @ share)

        starts.append(low)
        series.append(expand(score, low, high))
    if path.range_[0] > path.range_[1]:
        starts, series = starts[::-1], series[::-1]
    return AnalyticCurve(np.array(starts), max(path.range_), tuple(series), "lambda")
