"""One-vs-one: the pairs of classes, LIBSVM's layout of their dual coefficients, the votes.

Classes are numbered 0 .. k-1, pairs (i, j) with i < j in lexical order. For k > 2 the positive
side of pair (i, j) is class i (LIBSVM's rule); for k = 2 it is class 1 (scikit-learn's rule).

Layout of dual_coef, shape (k - 1, n_support), columns grouped by class: a support vector of class
i has its coefficient of the pair with class j in row j - 1 if j > i, else in row j.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.box_problem import FloatArray

#: Decision values of which votes are quicker counted without a loop over the classes.
FEW_VALUES = 1 << 12

#: The rows with beta != 0, and those beta.
SparseBeta = tuple[NDArray[np.intp], FloatArray]


@cache
def class_pairs(n_classes: int) -> tuple[tuple[int, int], ...]:
    """(0, 1), (0, 2), ..., (k-2, k-1)."""
    return tuple(combinations(range(n_classes), 2))


@cache
def pair_ends(n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first classes of all pairs, and the second ones."""
    first, second = np.array(class_pairs(n_classes), dtype=np.intp).T
    return first, second


def pair_members(codes: FloatArray, n_classes: int) -> list[NDArray[np.intp]]:
    """The rows of each pair of classes: those of the first, then those of the second."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, n_classes))
    rows = np.split(order, ends)
    return [np.concatenate([rows[i], rows[j]]) for i, j in class_pairs(n_classes)]


def pair_signs(
    codes: FloatArray, pair: tuple[int, int], n_classes: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """+-1 for every row, and which rows belong to the pair (the others get -1 and no weight)."""
    first, second = pair
    positive = second if n_classes == 2 else first
    return np.where(codes == positive, 1.0, -1.0), (codes == first) | (codes == second)


def class_slices(n_support: NDArray[np.int32]) -> list[slice]:
    """The columns of each class."""
    ends = np.cumsum(n_support)
    return [slice(int(e - n), int(e)) for n, e in zip(n_support, ends, strict=True)]


class PairBetas(NamedTuple):
    """The nonzero beta of all pairs: rows, values, and the number of the pair of each."""

    rows: NDArray[np.intp]
    values: FloatArray
    pairs: NDArray[np.intp]

    @classmethod
    def join(cls, betas: Sequence[SparseBeta]) -> PairBetas:
        if len(betas) == 1:
            rows, values = betas[0]
            return cls(rows, values, np.zeros(rows.size, dtype=np.intp))
        rows, values = (np.concatenate(part) for part in zip(*betas, strict=True))
        sizes = [own.size for own, _ in betas]
        return cls(rows, values, np.repeat(np.arange(len(betas)), sizes))

    def sum_repeats(self) -> PairBetas:
        """The same with each row once in a pair."""
        order = np.lexsort((self.rows, self.pairs))
        rows, values, pairs = self.rows[order], self.values[order], self.pairs[order]
        is_first = np.ones(rows.size, dtype=bool)
        is_first[1:] = (rows[1:] != rows[:-1]) | (pairs[1:] != pairs[:-1])
        starts = np.flatnonzero(is_first)
        sums = np.add.reduceat(values, starts) if starts.size else values
        return PairBetas(rows[starts], sums, pairs[starts])

    def lengths(self, n_pairs: int) -> FloatArray:
        """The length of the beta of each pair."""
        return np.sqrt(np.bincount(self.pairs, self.values**2, minlength=n_pairs))


def group_support(
    betas: Sequence[PairBetas], codes: NDArray[Any], n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(support, n_support): the rows with a beta in any of these, by class."""
    is_support = np.zeros(codes.size, dtype=bool)
    for own in betas:
        is_support[own.rows] = True
    support = np.flatnonzero(is_support)
    classes = codes[support].astype(np.intp)
    n_support = np.bincount(classes, minlength=n_classes).astype(np.int32)
    return support[np.argsort(classes, kind="stable")].astype(np.int32), n_support


def fill_coefficients(
    betas: PairBetas, codes: NDArray[Any], n_classes: int, support: NDArray[np.int32]
) -> FloatArray:
    """dual_coef; `support` has the rows, by class."""
    column_of = np.zeros(codes.size, dtype=np.intp)
    column_of[support] = np.arange(support.size)
    first, second = np.array(class_pairs(n_classes))[betas.pairs].T
    dual_coef = np.zeros((n_classes - 1, support.size))
    row = np.where(codes[betas.rows] == first, second - 1, first)
    dual_coef[row, column_of[betas.rows]] = betas.values
    return dual_coef


def pack_pairs(
    betas: PairBetas, codes: NDArray[Any], n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    """(support, n_support, dual_coef) from the nonzero beta of all pairs."""
    if n_classes == 2:
        classes = codes[betas.rows]
        order = np.lexsort((betas.rows, classes))
        n_second = int(np.count_nonzero(classes))
        n_support = np.array([classes.size - n_second, n_second], dtype=np.int32)
        return betas.rows[order].astype(np.int32), n_support, betas.values[order][np.newaxis]
    support, n_support = group_support([betas], codes, n_classes)
    return support, n_support, fill_coefficients(betas, codes, n_classes, support)


def unpack_pairs(n_support: NDArray[np.int32], dual_coef: FloatArray) -> Iterator[FloatArray]:
    """One beta per pair, on the support vectors."""
    if len(n_support) == 2:
        yield dual_coef[0]
        return
    columns = class_slices(n_support)
    for i, j in class_pairs(len(n_support)):
        beta = np.zeros(dual_coef.shape[1])
        beta[columns[i]] = dual_coef[j - 1, columns[i]]
        beta[columns[j]] = dual_coef[i, columns[j]]
        yield beta


def reorder_classes(
    n_support: Sequence[int], dual_coef: FloatArray, rho: FloatArray, rank: Sequence[int]
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Give class c the number rank[c]: (order of the columns, dual_coef, rho).

    On both sides the positive class of a pair is the one with the smaller number.
    """
    n_classes = len(rank)
    columns = class_slices(np.asarray(n_support, dtype=np.int32))
    result = np.empty_like(dual_coef)
    new_rho = np.empty_like(rho)
    pair_number = {pair: k for k, pair in enumerate(class_pairs(n_classes))}
    for (i, j), k in pair_number.items():
        sign = 1.0 if rank[i] < rank[j] else -1.0
        low, high = sorted((rank[i], rank[j]))
        new_rho[pair_number[low, high]] = sign * rho[k]
        for own, other in ((i, j), (j, i)):
            old_row = other - (other > own)
            new_row = rank[other] - (rank[other] > rank[own])
            result[new_row, columns[own]] = sign * dual_coef[old_row, columns[own]]
    classes = np.argsort(rank)
    order = np.concatenate([np.arange(columns[c].start, columns[c].stop) for c in classes])
    return order, result[:, order], new_rho


def combine_pairs(K: FloatArray, n_support: NDArray[np.int32], dual_coef: FloatArray) -> FloatArray:
    """Decision values without the bias, one column per pair; K has one column per support vector.

    A class takes part in k - 1 pairs: its part in all of them is one product.
    """
    n_classes = len(n_support)
    if n_classes == 2:
        split = int(n_support[0])
        coefs = dual_coef.T
        return K[:, :split] @ coefs[:split] + K[:, split:] @ coefs[split:]
    columns = class_slices(n_support)
    parts = np.empty((n_classes, n_classes - 1, K.shape[0]))
    if K.shape[1] > n_classes * (n_classes - 1):  # turn what is less
        for own, part in zip(columns, parts, strict=True):
            part[:] = (K[:, own] @ dual_coef[:, own].T).T
    else:
        support_first = np.ascontiguousarray(K.T)
        for own, part in zip(columns, parts, strict=True):
            np.matmul(dual_coef[:, own], support_first[own], out=part)
    values = np.empty((n_classes * (n_classes - 1) // 2, K.shape[0]))
    for i, pairs in enumerate(pair_slices(n_classes)):  # with all classes j > i
        np.add(parts[i, i:], parts[i + 1 :, i], out=values[pairs])
    return values.T


def pair_slices(n_classes: int) -> list[slice]:
    """For each class but the last, the pairs in which it comes first."""
    ends = np.cumsum(np.arange(n_classes - 1, 0, -1))
    return [
        slice(int(e - n), int(e)) for n, e in zip(range(n_classes - 1, 0, -1), ends, strict=True)
    ]


def count_votes(values: FloatArray, n_classes: int) -> NDArray[np.intp]:
    """Votes of each class from pair decision values (k > 2); a value of 0 counts for class j."""
    n_rows = values.shape[0]
    if values.size <= FEW_VALUES:
        first, second = pair_ends(n_classes)
        winners = np.where(values > 0.0, first, second)
        winners += n_classes * np.arange(n_rows)[:, np.newaxis]
        counts = np.bincount(winners.ravel(), minlength=n_rows * n_classes)
        return counts.reshape(n_rows, n_classes)
    wins = np.ascontiguousarray((values > 0.0).T)
    votes = np.zeros((n_classes, values.shape[0]), dtype=np.intp)
    for i, pairs in enumerate(pair_slices(n_classes)):
        votes[i] += np.count_nonzero(wins[pairs], axis=0)
        votes[i + 1 :] += ~wins[pairs]
    return votes.T


def score_classes(values: FloatArray, n_classes: int) -> FloatArray:
    """One column per class from pair decision values: its votes, plus less than a third of a vote
    for the sum of its values, bitwise as in scikit-learn's "ovr" shape."""
    columns = np.ascontiguousarray(values.T)
    sums = np.zeros((n_classes, values.shape[0]))
    for i, pairs in enumerate(pair_slices(n_classes)):
        # In the order of the pairs: first those in which a class comes second.
        sums[i] = np.add.reduce(np.vstack([sums[i : i + 1], columns[pairs]]), axis=0)
        sums[i + 1 :] -= columns[pairs]
    votes = np.zeros((n_classes, values.shape[0]))
    loses = columns < 0.0  # here a value of 0 counts for class i
    for i, pairs in enumerate(pair_slices(n_classes)):
        votes[i] += np.count_nonzero(~loses[pairs], axis=0)
        votes[i + 1 :] += loses[pairs]
    return np.asarray((votes + sums / (3 * (np.abs(sums) + 1))).T)
