"""The kernel on differences of pairs, for ranking, without any matrix or row over pairs.

A pair p = (i, j) has the image phi_i - phi_j. Sums over pairs are sums over instances with
alpha_i = the sum of beta over pairs in which i is the better, minus those in which it is worse.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import KernelError
from .base import FloatArray, Kernel
from .limits import check_decision_values
from .linear import Linear
from .precomputed import Precomputed

IntArray = NDArray[np.int64]

#: Kernel values held at once while scores are recomputed (32 MiB of doubles).
BLOCK_VALUES = 1 << 22


class LinearRows:
    """The instances of a linear model, as rows without a kernel matrix.

    The caller should centre dense rows, which does not change differences.
    """

    def __init__(self, X: Any) -> None:
        self.kernel: Kernel = Linear()
        self._X = X
        self.n: int = X.shape[0]

    def multiply(self, idx: ArrayLike, coef: ArrayLike) -> FloatArray:
        """Compute K[:, idx] @ coef via w."""
        return np.asarray(self._X @ (self._X[idx].T @ np.asarray(coef)))


class PairView:
    """The kernel on pairs (better, worse) of instances.

    Parameters
    ----------
    instances : KernelView (in float64) or LinearRows
    better, worse : int arrays of shape (n_pairs,)
        The two instances of each pair, from one query; pairs are in the order of the queries.
    first_row : int array of shape (n_queries + 1,)
        Start of the instances of each query, followed by their total number.
    order : int array of shape (n_instances,) or None
        The row of the caller's data for each instance; None means the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath.kernels import PairView, pairs_within
    >>> from alphapath.kernels.pair_differences import LinearRows
    >>> X = np.array([[2.0], [1.0], [0.0]])
    >>> view = PairView(LinearRows(X), *pairs_within([2, 1, 0], [0, 3]), [0, 3])
    >>> view.multiply([1], [1.0])          # pairs (0, 1), (0, 2), (1, 2)
    array([2., 4., 2.])
    """

    def __init__(
        self,
        instances: Any,
        better: ArrayLike,
        worse: ArrayLike,
        first_row: ArrayLike,
        order: ArrayLike | None = None,
    ) -> None:
        self.instances = instances
        self.better = np.ascontiguousarray(better, dtype=np.int64)
        self.worse = np.ascontiguousarray(worse, dtype=np.int64)
        self.first_row = np.ascontiguousarray(first_row, dtype=np.int64)
        self.order = np.arange(instances.n) if order is None else np.asarray(order)
        self.n: int = self.better.size
        if self.n == 0:
            raise KernelError(
                "There is no pair to rank: no query has two rows of different relevance. Give "
                "queries with rows that differ in relevance."
            )

    @property
    def kernel(self) -> Kernel:
        """The kernel on instances."""
        kernel: Kernel = self.instances.kernel
        return kernel

    @property
    def is_linear(self) -> bool:
        return isinstance(self.instances, LinearRows)

    @property
    def _X(self) -> Any:
        return self.instances._X

    def kernel_with(self, X: Any, rows: Any) -> FloatArray:
        """Compute K(X, instances[rows]) for new rows X."""
        if isinstance(self.kernel, Precomputed):
            return np.asarray(X)[:, self.order[rows]]
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.kernel.evaluate(X, self._X[rows])
        return check_decision_values(values, self.kernel)

    def aggregate(self, beta: FloatArray) -> FloatArray:
        """Aggregate beta on all pairs to alpha on instances; its sum is 0."""
        return self._alpha_of(slice(None), beta)

    def differences(self, scores: FloatArray) -> FloatArray:
        """Return f_better - f_worse for every pair."""
        return np.asarray(scores[self.better] - scores[self.worse])

    def multiply(self, idx: ArrayLike, coef: ArrayLike) -> FloatArray:
        """Compute K[:, idx] @ coef over pairs, via the instances."""
        alpha = self._alpha_of(idx, coef)
        support = np.flatnonzero(alpha)
        return self.differences(self.instances.multiply(support, alpha[support]))

    def exact_multiply(self, idx: ArrayLike, coef: ArrayLike) -> FloatArray:
        """Compute the same from the raw data, without store or native code."""
        alpha = self._alpha_of(idx, coef)
        support = np.flatnonzero(alpha)
        if self.is_linear:
            return self.differences(self.instances.multiply(support, alpha[support]))
        scores = np.zeros(self.instances.n)
        step = max(1, BLOCK_VALUES // self.instances.n)
        for first in range(0, support.size, step):
            rows = support[first : first + step]
            scores += alpha[rows] @ self.instances.exact_rows(rows)
        return self.differences(scores)

    def exact_rows(self, indices: Any) -> FloatArray:
        """Compute rows of the kernel on pairs from the raw data; meant for few pairs."""
        idx = np.asarray(indices, dtype=np.int64).reshape(-1)
        return np.stack([self.exact_multiply([p], [1.0]) for p in idx])

    def _alpha_of(self, idx: Any, coef: ArrayLike) -> FloatArray:
        pairs = idx if isinstance(idx, slice) else np.asarray(idx, dtype=np.int64)
        values = np.asarray(coef, dtype=np.float64)
        n = self.instances.n
        gained = np.bincount(self.better[pairs], weights=values, minlength=n)
        return np.asarray(gained - np.bincount(self.worse[pairs], weights=values, minlength=n))


def pairs_within(levels: ArrayLike, first_row: ArrayLike) -> tuple[IntArray, IntArray]:
    """All pairs (i, j) within a query with levels_i > levels_j, in the order of the queries.

    Examples
    --------
    >>> better, worse = pairs_within([1, 0, 1, 0, 0], [0, 2, 5])
    >>> better.tolist(), worse.tolist()
    ([0, 2, 2], [1, 3, 4])
    """
    values = np.asarray(levels, dtype=np.float64)
    starts = np.asarray(first_row, dtype=np.int64)
    better: list[IntArray] = []
    worse: list[IntArray] = []
    for first, end in pairwise(starts):
        own = values[first:end]
        i, j = np.nonzero(own[:, None] > own[None, :])
        better.append(i + first)
        worse.append(j + first)
    return np.concatenate(better), np.concatenate(worse)
