"""Leave-one-out by every seed against refits without each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import data, folds, models, quality
from .cases import CaseError, quiet
from .data import FloatArray, Generator, Rows

#: Both solutions are far better than what they may differ by.
TOL = 1e-11
#: Values of two solutions agree within this times their size, beyond what their gaps and rounding
#: leave open.
VALUES_AGREE = 1e-6

SEEDINGS = ("auto", "none", "decremental", "avg", "top", "greedy", "mir", "sir", "ato")


def run_case(seed: int) -> str | None:
    from alphapath.model_selection import leave_one_out

    rng = data.generator("leave_one_out", seed)
    rows, model = make_case(rng)
    seeding = data.pick(rng, SEEDINGS, [6, 2, 2, 1, 1, 1, 1, 1, 1])
    is_classifier = hasattr(model, "class_weight")
    options: dict[str, Any] = {"seeding": seeding, "sample_weight": rows.weights}
    options["only_errors"] = bool(is_classifier and rng.random() < 0.15)
    with quiet():
        try:
            found = leave_one_out(model, rows.X, rows.y, **options)
        except Exception as error:
            models.refuse(error)
            raise
    values = np.asarray(found.decision_function_).reshape(rows.n, -1)
    if not np.isfinite(values).all():
        raise CaseError("values are not finite, and nothing stopped the run")
    if found.n_refits_ > rows.n * values.shape[1]:
        raise CaseError(f"{found.n_refits_} refits of {rows.n} rows")
    check_equal_rows(rows, values)
    check_score(rows, model, found)
    for row in range(rows.n):
        check_row(rows, model, row, values[row], options["only_errors"])
    return None


def make_case(rng: Generator) -> tuple[Rows, Any]:
    from alphapath import SVC, SVR, OneClassSVM

    kind = data.pick(rng, [SVC, SVR, OneClassSVM], [6, 4, 1])
    task = {SVR: "numbers", OneClassSVM: "none"}.get(kind, "labels")
    rows = data.make_set(rng, task, n=(5, 24), most_classes=3)
    rows = folds.repeat_rows(rng, rows)
    if rng.random() < 0.2:  # a few small whole numbers: ties everywhere
        rows = replace(rows, X=(tiny := make_tiny(rng, rows.n)), values=tiny, kernel=tiny_kernel())
    kernel = rows.kernel
    if not callable(kernel.name) and kernel.name not in ("linear", "precomputed"):
        # "scale" is derived from all rows, once.
        rows = replace(rows, kernel=replace(kernel, gamma=models.gamma_of(rows)))
    rows = replace(rows, C=float(np.clip(rows.C, 1e-3, 1e3)), tol=TOL)
    parameters = dict(rows.kernel.parameters) | {"max_iter": folds.MOST_STEPS}
    if kind is OneClassSVM:
        nu = float(data.pick(rng, [0.5, 0.1, 0.9]))
        return rows, OneClassSVM(nu=nu, tol=TOL, **parameters)
    if kind is SVR:
        epsilon = float(data.pick(rng, [0.1, 0.0, 0.5]))
        return rows, SVR(C=rows.C, epsilon=epsilon, tol=TOL, **parameters)
    shape = "ovo" if np.unique(np.asarray(rows.y)).size > 2 else "ovr"
    return rows, SVC(C=rows.C, tol=TOL, decision_function_shape=shape, **parameters)


def make_tiny(rng: Generator, n: int) -> FloatArray:
    return rng.integers(0, 3, size=(n, int(rng.integers(1, 3)))).astype(float)


def tiny_kernel() -> data.KernelChoice:
    return data.KernelChoice("rbf", 0.5)


# -- checks


def check_equal_rows(rows: Rows, values: FloatArray) -> None:
    """Without either of two rows that are equal in everything the model is the same."""
    dense = rows.values + 0.0
    if rows.kernel.name == "precomputed":
        return  # equal only where those of the other rows are, which is what refits check
    keys = [dense, rows.unit_weights[:, None]]
    if rows.y is not None:
        keys.append(np.unique(np.asarray(rows.y), return_inverse=True)[1].reshape(-1, 1))
    ids = np.unique(np.hstack(keys), axis=0, return_inverse=True)[1].ravel()
    folds.check_equal_rows(values, ids, "leave-one-out")


def check_score(rows: Rows, model: Any, found: Any) -> None:
    """The score is that of the predictions."""
    from sklearn.metrics import r2_score

    predictions = np.asarray(found.predictions_)
    with quiet():
        if hasattr(model, "epsilon"):
            expected = r2_score(np.asarray(rows.y, dtype=float), predictions)
        elif hasattr(model, "nu"):
            expected = float(np.mean(predictions == 1))
        else:
            expected = float(np.mean(predictions == np.asarray(rows.y)))
    if not abs(found.score_ - expected) <= 1e-9 * max(1.0, abs(expected)):
        raise CaseError(f"score_ is {found.score_:.12g}, the predictions give {expected:.12g}")


def check_row(rows: Rows, model: Any, row: int, found: FloatArray, only_signs: bool) -> None:
    """The values at a row are those of a refit without it."""
    from sklearn.base import clone

    others = np.delete(np.arange(rows.n), row)
    own = folds.take(rows, others)
    if rows.y is not None and not hasattr(model, "epsilon"):
        used = np.asarray(own.y)[own.unit_weights > 0.0]
        if np.unique(used).size < np.unique(np.asarray(rows.y)).size:
            return  # another number of pairs
    with quiet():
        try:
            refit = clone(model).fit(own.X, own.y, sample_weight=own.weights)
        except Exception:
            return  # such as rows of weight 0 alone
    x = folds.as_array(rows.X)[[row]]
    if rows.kernel.name == "precomputed":
        x = np.asarray(x)[:, others]
    elif sp.issparse(own.X):
        x = sp.csr_array(x)
    predict = refit.decision_function if hasattr(refit, "decision_function") else refit.predict
    with quiet():
        expected = np.asarray(predict(x)).ravel()
    if expected.shape != found.shape:
        raise CaseError(f"row {row}: {found.size} values, a refit has {expected.size}")
    for number in range(found.size):
        low, high, off = value_range(rows, model, refit, own, (row, others, number))
        low, high = min(low, expected[number]) - off, max(high, expected[number]) + off
        value = float(found[number])
        if only_signs:
            if (low > 0.0 and value < 0.0) or (high < 0.0 and value > 0.0):
                raise CaseError(f"row {row}: the sign of {value:.3g} is not that of {low:.3g}")
        elif not low <= value <= high:
            raise CaseError(
                f"row {row}, problem {number}: {value:.12g}, a refit has {expected[number]:.12g} "
                f"(allowed {low:.12g} to {high:.12g})"
            )


def value_range(
    rows: Rows, model: Any, refit: Any, own: Rows, where: tuple[int, NDArray[np.intp], int]
) -> tuple[float, float, float]:
    """The values that biases of the refit allow which are as good, and what values may be off."""
    row, others, number = where
    gamma = models.gamma_of(rows)
    K_all = quality.gram(rows.kernel, rows.values, gamma)
    K = K_all[np.ix_(others, others)]
    error = models.raw_gram(own, gamma)[1]
    betas = models.betas_of(refit, own.n)
    members, dual = list(duals_of(model, own, K, error))[number]
    beta, bias = betas[number][members], float(refit.intercept_[number])
    found = quality.measure(dual, beta, bias)
    if not rows.kernel.is_convex or fits_badly(found, dual):
        return -np.inf, np.inf, 0.0
    product = float(K_all[row][others] @ betas[number].astype(np.longdouble))
    largest = float(np.sqrt(np.abs(np.diagonal(K_all)).astype(float).max()))
    # w is within sqrt(2 gap) of the optimum, in both solutions, with gaps of at most TOL a box.
    box = np.maximum(np.abs(dual.lower), np.abs(dual.upper)).sum()
    gap = abs(found.gap) + TOL * float(box)
    off = VALUES_AGREE * max(1.0, float(np.abs(found.values).max())) + 2.0 * found.floor
    off += 4.0 * np.sqrt(2.0 * gap) * largest
    low, high = sorted((found.bias_low, found.bias_high))
    return product + low, product + high, off


def fits_badly(found: quality.Quality, dual: quality.Dual) -> bool:
    """Whether rounding decides: then values say nothing."""
    size = float(np.abs(dual.targets).max()) or 1.0
    return found.floor > 1e-3 * size


def duals_of(model: Any, own: Rows, K: Any, error: float) -> Any:
    if hasattr(model, "epsilon"):
        return [(slice(None), models.regression_dual(own, K, error, model.epsilon))]
    if hasattr(model, "nu"):
        return [(slice(None), models.one_class_dual(own, K, error, model.nu))]
    return models.class_duals(own, K, error)
