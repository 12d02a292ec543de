"""NDCG@k of scores, and exactly along a path, where it changes only where two scores cross.

Gains are exponential, 2^y - 1, as in LETOR and most work on ranking; discounts are
1 / log2(position + 1). The values therefore agree with scikit-learn's ndcg_score(2**y - 1, scores):
equal scores share their mean gain, and a query without a relevant row counts as 0. Scores are
considered equal if they differ by no more than 1e-9 of the largest score of their query, so that
rounding never ranks rows; `ndcg`, the curves of paths and `RankSVM.score` share this rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...problem.box_problem import FloatArray
from ..validation_curve import ValidationCurve

IntArray = NDArray[np.int64]

#: Relevance beyond which 2^y is no longer worth the name of a number.
MAX_RELEVANCE = 500.0


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows grouped by query.

    Parameters
    ----------
    order : int array of shape (n,)
        Indices of the rows, sorted by query; the rows of a query keep their order.
    first_row : int array of shape (n_queries + 1,)
        Start of each query in that order, followed by n.
    """

    order: IntArray
    first_row: IntArray

    @property
    def n_queries(self) -> int:
        return self.first_row.size - 1


def read_queries(n: int, qid: ArrayLike | None = None, group: ArrayLike | None = None) -> Queries:
    """The queries of n rows, from row labels or sizes; without either, all rows form one query.

    With `qid`, the rows of a query need not be contiguous; `group` holds the sizes of consecutive
    queries, as in LightGBM and XGBoost.

    Examples
    --------
    >>> read_queries(4, qid=["b", "a", "b", "a"]).order.tolist()
    [1, 3, 0, 2]
    >>> read_queries(4, group=[1, 3]).first_row.tolist()
    [0, 1, 4]
    """
    if qid is not None and group is not None:
        raise ValueError("Both qid and group were given; pass only one of them.")
    if group is not None:
        sizes = np.asarray(group)
        if sizes.ndim != 1 or not np.issubdtype(sizes.dtype, np.integer):
            raise ValueError(
                f"group has shape {sizes.shape} and dtype {sizes.dtype}; it must be a list of "
                f"whole numbers, the rows of each query."
            )
        if sizes.size == 0 or sizes.min() < 1 or sizes.sum() != n:
            raise ValueError(
                f"The sizes in group sum to {int(sizes.sum())} and the least is "
                f"{int(sizes.min()) if sizes.size else 0}; they must be positive and sum to the "
                f"{n} rows of X."
            )
        return Queries(np.arange(n), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    if qid is None:
        return Queries(np.arange(n), np.array([0, n], dtype=np.int64))
    labels = np.asarray(qid)
    if labels.shape != (n,):
        raise ValueError(
            f"qid has shape {labels.shape}; there must be one query id for each of {n} rows."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        i = int(np.argmin(np.isfinite(labels)))
        raise ValueError(f"qid[{i}] is {labels[i]}; every row must have a query id.")
    order = np.argsort(labels, kind="stable").astype(np.int64)
    _, first = np.unique(labels[order], return_index=True)
    return Queries(order, np.append(first, n).astype(np.int64))


def check_relevance(y: ArrayLike, n: int) -> FloatArray:
    """Finite numbers, one per row, none so large that 2^y is out of range."""
    relevance = np.asarray(y, dtype=np.float64)
    if relevance.shape != (n,):
        raise ValueError(f"y has shape {relevance.shape}; there must be one number for {n} rows.")
    bad = ~(relevance <= MAX_RELEVANCE)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"y[{i}] is {relevance[i]}; gains are 2^y - 1, so relevance must be at most "
            f"{MAX_RELEVANCE:g} (levels such as 0, 1, 2 are usual)."
        )
    return relevance


def ndcg(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | None = 10,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean NDCG@k over queries; gains are 2^y - 1.

    Parameters
    ----------
    y : array of shape (n,)
        Relevance; higher is better.
    scores : array of shape (n,)
        Scores that differ by at most 1e-9 of the largest of their query share their mean gain.
    qid : array of shape (n,) or None
        The query of each row. Without `qid` and `group`, all rows belong to one query.
    k : int or None
        Number of positions that count; None for all.
    group : list of int or None
        Sizes of consecutive queries, instead of `qid`.
    sample_weight : array of shape (n,) or None
        Each query is weighted by the mean weight of its rows.

    Examples
    --------
    >>> ndcg([2, 1, 0, 1, 0], [3.0, 2.0, 1.0, 0.1, 0.9], [1, 1, 1, 2, 2]).__round__(4)
    0.8155
    """
    values = np.asarray(scores, dtype=np.float64)
    relevance = check_relevance(y, values.size)
    queries = read_queries(values.size, qid, group)
    found = ndcg_of_queries(relevance, values, queries, k)
    if sample_weight is None:
        return float(np.mean(found))
    weights = np.asarray(sample_weight, dtype=np.float64)[queries.order]
    shares = np.add.reduceat(weights, queries.first_row[:-1]) / np.diff(queries.first_row)
    return float(np.average(found, weights=shares))


def ndcg_of_queries(
    relevance: FloatArray, scores: FloatArray, queries: Queries, k: int | None
) -> FloatArray:
    """NDCG@k of every query."""
    gains = np.exp2(relevance[queries.order]) - 1.0
    values = scores[queries.order]
    found = np.zeros(queries.n_queries)
    for q, (first, end) in enumerate(
        zip(queries.first_row[:-1], queries.first_row[1:], strict=True)
    ):
        discount = 1.0 / np.log2(np.arange(end - first) + 2.0)
        discount[check_k(k, end - first) :] = 0.0
        own = gains[first:end]
        best = float(np.sort(own)[::-1] @ discount)
        if best > 0.0:
            found[q] = _dcg(own, values[first:end], discount) / best
    return found


def check_k(k: int | None, n: int) -> int:
    """k as a number of positions."""
    if k is None:
        return int(n)
    if k < 1:
        raise ValueError(f"k is {k}; at least one position must count, or None for all.")
    return int(k)


def _dcg(gains: FloatArray, scores: FloatArray, discount: FloatArray) -> float:
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    width = _core.TIE_SHARE * float(np.abs(scores).max())
    place = np.concatenate([[0], np.cumsum(falling[:-1] - falling[1:] > width)])
    mean_gain = np.bincount(place, gains[order]) / np.bincount(place)
    return float(mean_gain[place] @ discount)


class NdcgCurve(ValidationCurve):
    """NDCG@k over t, which is piecewise constant; the best value is the highest.

    Rows whose scores are equal on an interval share their mean gain there, as in `ndcg`; where two
    scores only cross, the single t at which they meet is ignored.

    Examples
    --------
    >>> curve = path.validate(X_new, y_new, qid_new, k=10)          # doctest: +SKIP
    >>> curve.best_t, curve.best_value                              # doctest: +SKIP
    """

    @property
    def best(self) -> tuple[float, float]:
        """(t, NDCG) at the maximum, in the middle of the widest maximising interval."""
        t, value = self._turned.best
        return t, -value

    @property
    def best_ranges(self) -> list[tuple[float, float]]:
        """The intervals on which the NDCG attains its maximum."""
        return self._turned.best_ranges

    @property
    def _turned(self) -> ValidationCurve:
        """The same with the sign of a loss."""
        return ValidationCurve(
            self.starts, self.end, -self.value, self.slope, self.curvature, self.name
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot the curve as steps with matplotlib."""
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        ax.stairs(self.value, np.append(self.starts, self.end), baseline=None)
        ax.plot(*([value] for value in self.best), "o")
        ax.set(xlabel=self.name, ylabel=self.metric)
        return ax


class NdcgRecorder:
    """NDCG along scores that are affine between times, given block by block."""

    def __init__(self, relevance: FloatArray, queries: Queries, k: int | None) -> None:
        gains = np.exp2(relevance[queries.order]) - 1.0
        self.queries = queries
        self.k = check_k(k, relevance.size)
        self._walk = _core.NdcgWalk(gains, queries.first_row, self.k)
        self._changes: list[tuple[FloatArray, IntArray, FloatArray]] = []

    def add(self, times: FloatArray, values: FloatArray) -> None:
        """Add the scores at some times: one row per time, one column per row of the data."""
        self._changes.append(
            self._walk.run(times, np.ascontiguousarray(values[:, self.queries.order]))
        )

    def curve(self, end: float, name: str) -> NdcgCurve:
        """The mean over queries."""
        times, which, values = (
            np.concatenate([change[part] for change in self._changes]) for part in range(3)
        )
        own = np.lexsort((times, which))
        step = np.diff(values[own], prepend=0.0)
        is_first = np.diff(which[own], prepend=-1) != 0
        step[is_first] = values[own][is_first]
        order = np.argsort(times[own], kind="stable")
        where = times[own][order]
        total = np.round(np.cumsum(step[order]) / self.queries.n_queries, 12)
        # What changes at one t in several queries does so a little earlier or later, by rounding.
        is_last = np.append(np.diff(where) > _core.SHORTEST_STRETCH * np.abs(where[1:]), True)
        where, total = where[is_last], total[is_last]
        changes = np.concatenate([[True], total[1:] != total[:-1]])
        where, total = where[changes], total[changes]
        zeros = np.zeros_like(total)
        return NdcgCurve(where, end, total, zeros, zeros, name, f"NDCG@{self.k}")
