"""From rows, relevance and queries to the pairs of a ranking problem and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..kernels import Kernel, KernelStore, Linear, LinearRows, PairView, pairs_within
from ..kernels.raw_rows import RawRows
from ..paths.ranking.ndcg import Queries
from ..problem.box_problem import FloatArray, Problem


@dataclass(frozen=True)
class RankRows:
    """Checked rows by query, without those of weight 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or the kernel matrix of these rows
    relevance, weights : arrays of shape (n,)
    queries : Queries
        `order` are rows as the caller gave them.
    """

    X: Any
    relevance: FloatArray
    weights: FloatArray
    queries: Queries

    def pair_view(self, instances: Any) -> PairView:
        """All pairs within queries, on a view of the instances."""
        first_row = self.queries.first_row
        better, worse = pairs_within(self.relevance, first_row)
        if better.size == 0:
            raise ValueError(
                f"There is no pair to rank among n_samples = {self.relevance.size} rows in "
                f"{self.queries.n_queries} queries: no query has two rows of different relevance. "
                f"Give queries whose rows differ in y."
            )
        return PairView(instances, better, worse, first_row, self.queries.order)

    def instances(self, kernel: Kernel, memory_limit: Any) -> Any:
        """What a solver reads: rows for a linear model, else kernel values."""
        if not isinstance(kernel, Linear):
            store = KernelStore(self.X, memory_limit=memory_limit)
            return store.view(kernel, precision="float64")
        if sp.issparse(self.X):
            return LinearRows(self.X)
        # Differences do not see the mean, and keep more digits without it.
        return LinearRows(self.X - self.X.mean(axis=0))

    def raw_instances(self, kernel: Kernel) -> Any:
        """What a certificate reads."""
        return LinearRows(self.X) if isinstance(kernel, Linear) else RawRows(kernel, self.X)

    def weigh(self, view: PairView, kind: str | ArrayLike, C: float) -> FloatArray:
        """Weights of the pairs: C or C (2^y_i - 2^y_j), times those of both rows; or as given."""
        if not isinstance(kind, str):
            weights = np.asarray(kind, dtype=np.float64)
            if weights.shape != (view.n,):
                raise ValueError(
                    f"The weights of pairs have shape {weights.shape}; there are {view.n} pairs."
                )
            if not (np.isfinite(weights) & (weights >= 0.0)).all():
                raise ValueError("A weight of a pair is negative or not finite; all must be >= 0.")
            return weights
        if kind not in ("uniform", "gain"):
            raise ValueError(
                f"pair_weights is {kind!r}; it must be 'uniform', 'gain' or one number a pair."
            )
        unit = C * self.weights[view.better] * self.weights[view.worse]
        if kind == "gain":
            power = np.exp2(self.relevance)
            unit *= power[view.better] - power[view.worse]
        return np.asarray(unit)

    def problem(self, instances: Any, kind: str | ArrayLike, C: float) -> Problem:
        """The ranking problem of these rows."""
        view = self.pair_view(instances)
        return Problem.ranking(view, self.weigh(view, kind, C))


def group_rows(
    X: Any, relevance: FloatArray, weights: FloatArray, queries: Queries, is_matrix: bool
) -> RankRows:
    """Rows in the order of their queries; those of weight 0 are left out."""
    is_in = weights[queries.order] > 0.0
    if not is_in.all():
        ends = np.concatenate([[0], np.cumsum(is_in)])[queries.first_row]
        queries = Queries(queries.order[is_in], np.unique(ends).astype(np.int64))
    order = queries.order
    rows = X[np.ix_(order, order)] if is_matrix else X[order]
    return RankRows(rows, relevance[order], weights[order], queries)
