"""What the estimators' definitions say: the dual problems of a training set, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import quality
from .cases import CaseError, Skip
from .data import FloatArray, Rows
from .quality import Dual, LongArray


def refuse(error: Exception) -> None:
    """Skip where the library refused in a sentence; anything else is raised on."""
    from alphapath.errors import AlphapathError

    text = str(error).strip()
    if isinstance(error, (AlphapathError, ValueError)) and text.endswith((".", "?")):
        raise Skip(text[:80]) from error
    raise error


def raw_gram(rows: Rows, gamma: float | None = None) -> tuple[LongArray, float]:
    """K from raw data, and the error of a value in double in units of eps."""
    if gamma is None:
        gamma = gamma_of(rows)
    K = quality.gram(rows.kernel, rows.values, gamma)
    if rows.kernel.name == "precomputed" or callable(rows.kernel.name):
        return K, rows.values.shape[1] + 4.0
    return K, rows.kernel.rounding(rows.values, gamma, not sp.issparse(rows.X))


def gamma_of(rows: Rows) -> float:
    if rows.kernel.name == "precomputed" or callable(rows.kernel.name):
        return 0.0
    used = rows.unit_weights > 0.0
    return rows.kernel.gamma_of(rows.values[used], rows.unit_weights[used])


def class_duals(
    rows: Rows, K: LongArray, error: float, class_weight: Any = None, classes: Any = None
) -> Iterator[tuple[NDArray[np.intp], Dual]]:
    """The members and the problem of each pair of classes, in the order of `intercept_`.

    `classes` are those that the model knows, if not all of them have rows.
    """
    classes = np.unique(np.asarray(rows.y)) if classes is None else classes
    codes = np.searchsorted(classes, np.asarray(rows.y))
    weights = rows.unit_weights
    scale = np.ones(len(classes))
    if isinstance(class_weight, str):
        counts = np.bincount(codes, weights=weights, minlength=len(classes))
        used = counts > 0.0  # an update may leave a class without rows
        scale[used] = weights.sum() / (np.count_nonzero(used) * counts[used])
    elif class_weight is not None:
        scale = np.array([class_weight.get(label, 1.0) for label in classes.tolist()])
    c = rows.C * scale[codes] * weights
    for i, j in combinations(range(len(classes)), 2):
        members = np.flatnonzero((codes == i) | (codes == j))
        first = -1.0 if len(classes) == 2 else 1.0
        signs = np.where(codes[members] == i, first, -first)
        own = c[members]
        lower, upper = np.where(signs < 0, -own, 0.0), np.where(signs > 0, own, 0.0)
        yield members, Dual(K[np.ix_(members, members)], signs, lower, upper, error=error)


def regression_dual(rows: Rows, K: LongArray, error: float, epsilon: float) -> Dual:
    c = rows.C * rows.unit_weights
    return Dual(K, np.asarray(rows.y, dtype=float), -c, c, epsilon=epsilon, error=error)


def one_class_dual(rows: Rows, K: LongArray, error: float, nu: float) -> Dual:
    c = rows.unit_weights
    return Dual(K, np.zeros(rows.n), np.zeros(rows.n), c, total=nu * float(c.sum()), error=error)


def quadratic_dual(rows: Rows, K: LongArray, error: float, loss: Any, lam: float) -> Dual:
    """Quadratic loss (rho, h) and penalty lam/2 |w|^2 without a bias."""
    rho, h = {
        "squared_hinge": (1.0, np.inf),
        "modified_huber": (1.0, 2.0),
        "huber": (1.1, 0.2),
    }.get(loss if isinstance(loss, str) else "", loss)
    labels = np.asarray(rows.y)
    signs = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    c = rows.unit_weights
    width = np.zeros(rows.n)
    ridge = np.zeros(rows.n)
    used = c > 0.0
    width[used], ridge[used] = h * c[used] / lam, lam / c[used]
    lower, upper = np.where(signs < 0, -width, 0.0), np.where(signs > 0, width, 0.0)
    return Dual(K, rho * signs, lower, upper, total=None, ridge=ridge, error=error)


def betas_of(model: Any, n: int) -> list[FloatArray]:
    """One beta on all n rows a problem, from LIBSVM's layout of dual_coef_."""
    coef = np.asarray(model.dual_coef_)
    support = np.asarray(model.support_)
    if coef.shape[0] == 1:
        beta = np.zeros(n)
        beta[support] = coef[0]
        return [beta]
    ends = np.cumsum(model.n_support_)
    n_classes = len(ends)
    betas = []
    for i, j in combinations(range(n_classes), 2):
        beta = np.zeros(n)
        for own, other in ((i, j), (j, i)):
            columns = np.arange(ends[own] - model.n_support_[own], ends[own])
            beta[support[columns]] = coef[other - (other > own), columns]
        betas.append(beta)
    return betas


def check_agrees(found: Any, expected: Any, within: Any, what: str) -> None:
    """Raise CaseError where arrays differ by more than `within`, or are not finite."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if found.shape != expected.shape:
        raise CaseError(f"{what}: shape {found.shape} instead of {expected.shape}")
    off = np.abs(found - expected)
    if not np.isfinite(found).all():
        raise CaseError(f"{what}: not finite")
    bad = off > within
    if bad.any():
        k = int(np.argmax(np.where(bad, off, -1.0)))
        limit = np.broadcast_to(within, off.shape).flat[k]
        raise CaseError(
            f"{what}: {found.flat[k]:.12g} instead of {expected.flat[k]:.12g} (value {k}, allowed "
            f"{limit:.2g})"
        )
