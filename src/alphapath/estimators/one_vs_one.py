"""One-vs-one: the pairs of classes, LIBSVM's layout of their dual coefficients, the votes.

Classes are numbered 0 .. k-1, pairs (i, j) with i < j in lexical order. For k > 2 the positive
side of pair (i, j) is class i (LIBSVM's rule); for k = 2 it is class 1 (scikit-learn's rule).

Layout of dual_coef, shape (k - 1, n_support), columns grouped by class: a support vector of class
i has its coefficient of the pair with class j in row j - 1 if j > i, else in row j.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..problem import FloatArray

#: The rows with beta != 0, and those beta.
SparseBeta = tuple[NDArray[np.intp], FloatArray]


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), ..., (k-2, k-1)."""
    return list(combinations(range(n_classes), 2))


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


def pack_pairs(
    betas: Sequence[SparseBeta], codes: FloatArray, n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    """(support, n_support, dual_coef) from the nonzero beta of each pair."""
    is_support = np.zeros(codes.size, dtype=bool)
    for rows, _ in betas:
        is_support[rows] = True
    members = [np.flatnonzero(is_support & (codes == c)) for c in range(n_classes)]
    support = np.concatenate(members)
    column_of = np.zeros(codes.size, dtype=np.intp)
    column_of[support] = np.arange(support.size)
    dual_coef = np.zeros((n_classes - 1, support.size))
    for (rows, values), (i, j) in zip(betas, class_pairs(n_classes), strict=True):
        dual_coef[np.where(codes[rows] == i, j - 1, i), column_of[rows]] = values
    n_support = np.array([rows.size for rows in members], dtype=np.int32)
    return support.astype(np.int32), n_support, dual_coef


def unpack_pairs(n_support: NDArray[np.int32], dual_coef: FloatArray) -> Iterator[FloatArray]:
    """One beta on the support vectors a pair."""
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
    """Decision values without the bias, one column a pair: K has one column a support vector.

    A class takes part in k - 1 pairs: its part in all of them is one product.
    """
    parts = [K[:, own] @ dual_coef[:, own].T for own in class_slices(n_support)]
    pairs = class_pairs(len(n_support))
    return np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)


def count_votes(values: FloatArray, n_classes: int) -> NDArray[np.intp]:
    """Votes of each class from pair decision values (k > 2); a value of 0 counts for class j."""
    votes = np.zeros((values.shape[0], n_classes), dtype=np.intp)
    for column, (i, j) in enumerate(class_pairs(n_classes)):
        wins = values[:, column] > 0.0
        votes[:, i] += wins
        votes[:, j] += ~wins
    return votes
