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

from ... import _core
from ...problem.box_problem import FloatArray
from ..validation_curve import ValidationCurve, merge_steps
from .analytic_curve import AnalyticCurve, expand

BOUND = 2
#: Terms of bounded rows that came and went, in units of those of the present sum.
MOST_LEFT = 8.0


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
    bounded = _Bounded(path, G)
    for k in range(path.n_pieces):
        bounded.go_to(k)
        first, last = path.piece_ends(k)
        if first == last:
            continue
        members, a, drift, poles, residues = path.piece(k)
        fixed = bounded.values(members, a)
        if poles.size == 0:  # the bridge of a gap, whose members may be at their bound
            a = a - np.where(bounded.sides[members] == BOUND, model.upper[members], 0.0)
        block = G[:, members]
        W = np.ascontiguousarray(-(residues @ block.T))
        yield RowsOnPiece(first, last, fixed + block @ a, -(block @ drift), W, poles)


class _Bounded:
    """G[:, bound] u along a path; G holds a row for each validation row."""

    def __init__(self, path: Any, G: FloatArray) -> None:
        self.path, self.G = path, G
        self.sides = path.first_sides.copy()
        self.sizes = np.abs(G).max(axis=0, initial=0.0)
        self.n_seen = 0
        self.fixed: FloatArray
        self._sum()

    def _sum(self) -> None:
        rows = np.flatnonzero(self.sides == BOUND)
        upper = self.path.model.upper[rows]
        self.fixed = self.G[:, rows] @ upper
        self.present = float(self.sizes[rows] @ upper)
        self.left_behind = 0.0

    def go_to(self, k: int) -> None:
        """Apply the events before piece k."""
        n_due = self.path.n_events_before(k)
        for _, row, left, joined in self.path.events_[self.n_seen : n_due]:
            self.sides[row] = joined
            if BOUND in (left, joined):
                upper = self.path.model.upper[row] * (1.0 if joined == BOUND else -1.0)
                self.fixed += upper * self.G[:, row]
                self.present += upper * float(self.sizes[row])
                self.left_behind += abs(upper) * float(self.sizes[row])
        self.n_seen = n_due

    def values(self, members: NDArray[np.int32], a: FloatArray) -> FloatArray:
        """The sum; afresh where rows that came and went left more rounding behind than it has."""
        if self.left_behind > MOST_LEFT * (self.present + float(self.sizes[members] @ np.abs(a))):
            self._sum()
        return self.fixed


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
    starts[0] = min(path.range_)  # a short jump at the end of the range has no piece
    return AnalyticCurve(np.array(starts), max(path.range_), tuple(series), "lambda")
