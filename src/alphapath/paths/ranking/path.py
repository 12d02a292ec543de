"""RankPath: the exact ranking model as a function of one parameter t of its pair weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...kernels import PairView
from ...kernels.equal_rows import distinct_rows, on_distinct_rows
from ...kernels.samples import as_rows
from ...problem.box_problem import FloatArray
from ...problem.solution import Solution, Status, make_solution
from ...solvers import ranking as pairs
from ..path import BLOCK_VALUES, Path
from ..walker import TOO_MUCH, Place
from .ndcg import NdcgCurve, NdcgRecorder, check_relevance, read_queries


@dataclass(frozen=True, eq=False)
class RankPath(Path):
    """The exact ranking model on [start, end]; the instances of the base class are pairs here.

    `at(t)`, `beta_at(t)` and `sets_at(t)` refer to pairs, `decision_function(X, t)` returns scores
    and `validate(X, y, qid)` the exact curve of NDCG@k. `rank_weight_path` and `rank_c_path` return
    such paths.

    Examples
    --------
    >>> path = rank_weight_path(RankSVM(C=0.01), X, y, qid=qid)      # doctest: +SKIP
    >>> path.validate(X_new, y_new, qid_new).best_t                 # doctest: +SKIP
    """

    @property
    def pairs(self) -> PairView:
        return pairs.require_pairs(self.problem)

    def at(self, t: float) -> Solution:
        """Return the exact solution at t, with its gradient on all pairs."""
        self._check(t)
        problem = replace(self.problem, weights=self.weights_at(t))
        if any(low < t < high for low, high in self.gaps):
            return pairs.solve(problem, tol=1e-6)
        beta = self.beta_at(t)
        support = np.flatnonzero(beta)
        gradient = self.pairs.multiply(support, beta[support]) - problem.targets
        counts: dict[str, float] = {
            "status": Status.SOLVED,
            "n_iter": 0,
            "n_breakpoints": self.n_pieces,
        }
        solution = make_solution(problem, beta, gradient, counts)
        if solution.info.kkt_violation <= TOO_MUCH:
            return solution
        # Beside a gap, or where rounding is large: what the walk kept here is no solution.
        fresh = pairs.solve(problem, tol=1e-6)
        better = min(solution, fresh, key=lambda found: found.info.kkt_violation)
        solved = better.info.kkt_violation <= TOO_MUCH
        status = Status.SOLVED if solved else Status.STALLED
        return replace(better, info=replace(better.info, status=status))

    def decision_function(self, X: Any, t: float) -> FloatArray:
        """Scores of the rows of X by the model at t; equal rows have bitwise equal scores."""
        beta = self.beta_at(t)
        return on_distinct_rows(as_rows(X), lambda rows: self.scores_of(rows, beta))

    def scores_of(self, X: Any, beta: FloatArray) -> FloatArray:
        """Return the scores of the rows of X by the model with this beta."""
        alpha = self.pairs.aggregate(beta)
        if self.pairs.is_linear:
            return np.asarray(X @ (self.pairs._X.T @ alpha))
        support = np.flatnonzero(alpha)
        return np.asarray(self.pairs.kernel_with(X, support) @ alpha[support])

    def validate(  # type: ignore[override]
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        k: int | None = 10,
    ) -> NdcgCurve:
        """Compute the exact curve of NDCG@k over t and its exact maximiser.

        Parameters
        ----------
        X, y : validation rows and their relevance
        qid, group : the queries of these rows, as in `RankSVM.fit`
        k : int or None
            Number of positions that count; None for all.
        """
        X = as_rows(X)
        n = X.shape[0]
        relevance = check_relevance(y, n)
        recorder = NdcgRecorder(relevance, read_queries(n, qid, group), k)
        bounds = np.append(self.pieces["tau"], self.end)
        for block, values in self.value_blocks(X):
            recorder.add(bounds[block], values)
        return recorder.curve(self.end, self.name)

    def values_on(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the scores at the start and end of every piece: two arrays (n_pieces, n_rows)."""
        blocks = [values[bool(block.start) :] for block, values in self.value_blocks(X)]
        values = np.concatenate(blocks)
        return values[:-1], values[1:]

    def value_blocks(self, X: Any) -> Iterator[tuple[slice, FloatArray]]:
        """Scores at the bounds of the pieces, a block of bounds at a time (the last one again).

        Scores are continuous in t and affine between bounds. Equal rows of X get equal scores, to
        the last bit.
        """
        rows, instance_of = distinct_rows(as_rows(X))
        view = self.pairs
        features = view._X if view.is_linear else view.kernel_with(rows, slice(None)).T
        n_bounds = self.n_pieces + 1
        step = max(2, BLOCK_VALUES // max(1, rows.shape[0]))
        for first in range(0, n_bounds - 1, step):
            block = slice(first, min(first + step + 1, n_bounds))
            sums = self._sums_at_bounds(features, block)
            values = np.asarray(sums @ rows.T) if view.is_linear else sums
            yield block, values[:, instance_of]

    def _sums_at_bounds(self, features: Any, block: slice) -> FloatArray:
        """sum_p beta_p (features_i - features_j) at the bounds of a block, one row each."""
        bounds = np.append(self.pieces["tau"], self.end)[block]
        piece = np.minimum(np.arange(block.start, block.stop), self.n_pieces - 1)
        at_start, rate = self._bounded_coefs(piece)
        first = self.pieces["first"]
        last = np.append(first[1:], self.pieces["members"].size)
        counts = (last - first)[piece]
        row = np.repeat(np.arange(piece.size), counts)
        own = np.repeat(first[piece] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        own = own + np.arange(row.size)
        step = (bounds - self.pieces["tau"][piece])[row]
        beta = self.pieces["beta"][own] + step * self.pieces["beta_rate"][own]
        members = self._on_instances(row, self.pieces["members"][own], beta, piece.size)
        fixed, moving = at_start @ features, rate @ features
        dense = [
            np.asarray(part.toarray() if sp.issparse(part) else part)
            for part in (fixed, moving, members @ features)
        ]
        total = np.cumsum(dense[0], axis=0) + bounds[:, None] * np.cumsum(dense[1], axis=0)
        return np.asarray(total + dense[2])

    def _bounded_coefs(self, piece: Any) -> tuple[Any, Any]:
        """What c0 and dc of the pairs at their bound change by from one piece to the next.

        Sparse, (n pieces of the block, n instances); the first row is the sum so far.
        """
        places = self._places_of(int(piece[0]))
        above = np.flatnonzero(places == Place.ABOVE)
        change_piece = self.pieces["change_piece"]
        low, high = np.searchsorted(change_piece, [piece[0], piece[-1]], side="right")
        pair = self.pieces["change_instance"][low:high].astype(np.int64)
        is_above = self.pieces["change_place"][low:high] == Place.ABOVE
        # Whether a pair was above before each change: its last change in the block, or the start.
        order = np.lexsort((np.arange(pair.size), pair))
        was_above = np.empty(pair.size, dtype=bool)
        previous = np.concatenate([[False], is_above[order][:-1]])
        is_new = np.concatenate([[True], pair[order][1:] != pair[order][:-1]])[: pair.size]
        start = places[pair[order]] == Place.ABOVE
        was_above[order] = np.where(is_new, start, previous[: pair.size])
        sign = is_above.astype(np.float64) - was_above
        row = np.concatenate([np.zeros(above.size, dtype=np.int64), change_piece[low:high]])
        row[above.size :] -= int(piece[0])
        pair = np.concatenate([above, pair])
        sign = np.concatenate([np.ones(above.size), sign])
        return (
            self._on_instances(row, pair, sign * self.c0[pair], piece.size),
            self._on_instances(row, pair, sign * self.dc[pair], piece.size),
        )

    def _on_instances(self, row: Any, pair: Any, coef: FloatArray, n_rows: int) -> Any:
        """Coefficients of pairs as a sparse (n_rows, n_instances) matrix on instances."""
        view = self.pairs
        rows = np.concatenate([row, row])
        columns = np.concatenate([view.better[pair], view.worse[pair]])
        values = np.concatenate([coef, -coef])
        return sp.csr_array((values, (rows, columns)), shape=(n_rows, view.instances.n))

    def plot(self, instances: Any = None, ax: Any = None) -> Any:
        """Plot the feature weights over t for a linear model, else the scores of the first rows.

        `instances` are the features (or rows) to draw; by default, up to 30.
        """
        import matplotlib.pyplot as plt

        view = self.pairs
        t = np.linspace(self.start, self.end, 101)
        alphas = np.stack([view.aggregate(self.beta_at(float(u))) for u in t])
        if view.is_linear:
            values, label = np.asarray(alphas @ view._X), "weight"
        else:
            shown = slice(0, 30) if instances is None else instances
            K = view.instances.block(
                np.arange(view.instances.n)[shown], np.arange(view.instances.n)
            )
            values, label, instances = np.asarray(alphas @ K.T), "score", slice(None)
        if instances is None:
            instances = np.argsort(-np.ptp(values, axis=0))[:30]
        if ax is None:
            _, ax = plt.subplots()
        ax.plot(t, values[:, instances], linewidth=0.8)
        ax.set(xlabel=self.name, ylabel=label)
        return ax
