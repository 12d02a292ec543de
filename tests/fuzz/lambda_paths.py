"""Paths over lambda against the dual from raw data: at breakpoints, between, and their curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import data, models, quality
from .cases import CaseError
from .data import FloatArray, Generator, Rows
from .quality import Dual, Quality

#: What `at` promises, relative to the targets, and decision values of kept fractions.
ENOUGH, SHARE = 1e-6, 1e-5
N_POINTS = 6


def run_case(seed: int) -> str | None:
    rng = data.generator("lambda_paths", seed)
    loss = data.pick(rng, ["squared_hinge", "modified_huber", "huber", (0.5, 1e-3), (1.0, 1.0)])
    rows = make_rows(rng)
    path = follow(rng, rows, loss)
    if path.info_.status != 0:
        raise CaseError(f"the path ended with {path.info_.status!r} at {path.range_[1]:.6g}")
    K, error = models.raw_gram(rows)
    if not np.isfinite(K.astype(float)).all():
        raise CaseError("a path was followed on kernel values that are not finite")
    curves = [path.validate(rows.X, rows.y, metric) for metric in ("error", "squared")]
    for lam in choose_points(rng, path):
        dual = models.quadratic_dual(rows, K, error, loss, lam)
        found = check_solution(path, rows, dual, lam)
        if found.violation > 10.0 * ENOUGH or is_open(path, lam):
            continue
        check_kept(path, rows, found, lam)
        check_curves(curves, rows, found, lam)
    return None


def make_rows(rng: Generator) -> Rows:
    """Rows with positive weights, often of two sizes that are far apart."""
    rows = data.make_set(rng, "labels", n=(4, 40), zero_weights=False)
    if rng.random() < 0.3:
        weights = np.where(rng.random(rows.n) < 0.5, 0.01, 100.0)
        return Rows(rows.X, rows.values, rows.y, weights, rows.kernel, rows.C, rows.tol)
    return rows


def follow(rng: Generator, rows: Rows, loss: Any) -> Any:
    from alphapath import QuadraticLossSVC

    ends = data.pick(rng, [(None, 1e-5), (None, data.power(rng, -6, 2)), (1e-4, None)], [4, 3, 2])
    model = QuadraticLossSVC(loss=loss, **rows.kernel.parameters)
    options = {"lam_from": ends[0], "lam_to": ends[1], "sample_weight": rows.weights}
    try:
        return model.lambda_path(rows.X, rows.y, **options)
    except Exception as error:
        models.refuse(error)


def is_open(path: Any, lam: float) -> bool:
    """Whether the path says that it does not know this lambda exactly."""
    return any(low <= lam <= high for low, high in path.gaps_)


def choose_points(rng: Generator, path: Any) -> FloatArray:
    low, high = sorted(path.range_)
    points = np.exp(rng.uniform(np.log(low), np.log(high), N_POINTS))
    if path.breakpoints_.size:
        points = np.append(points, rng.choice(path.breakpoints_, 3))
    return np.clip(points, low, high)


def check_solution(path: Any, rows: Rows, dual: Dual, lam: float) -> Quality:
    """What `at` returns and says of it."""
    try:
        solution = path.at(lam)
    except Exception as error:
        if rows.kernel.is_convex and has_digits(path, dual, lam):
            raise
        models.refuse(error)
    found = quality.measure(dual, np.asarray(solution.beta))
    quality.check_feasible(dual, found)
    tol = ENOUGH * float(np.abs(dual.targets).max())
    status, said = int(solution.info.status), solution.info.kkt_violation
    if status == 0:
        found.check(tol, f"at lambda = {lam:.6g}")
    elif status != 5:
        raise CaseError(f"the status at lambda = {lam:.6g} is {status}")
    elif not rows.kernel.is_convex or not has_digits(path, dual, lam):
        pass  # nothing is promised
    elif found.violation > 1e3 * found.floor + 10.0 * tol:
        raise CaseError(
            f"STALLED at lambda = {lam:.6g} with violation {found.violation:.3g}, far above "
            f"rounding {found.floor:.3g}"
        )
    # The matrix is stored about a common origin, so its rounding is that of the largest rows; it is
    # part of what is said where it exceeds the tolerance.
    if not found.violation <= 1.1 * said + 10.0 * found.floor + tol:
        raise CaseError(
            f"the violation at lambda = {lam:.6g} is said to be {said:.3g}, raw data say "
            f"{found.violation:.3g} (floor {found.floor:.2g})"
        )
    return found


def has_digits(path: Any, dual: Dual, lam: float) -> bool:
    """Whether solves with the free block have any: its condition is at most |Q| / lambda."""
    size = float(np.abs(np.diag(dual.K)).max()) * float(path.model.weights.max())
    return size * quality.EPS < 0.01 * lam


def check_kept(path: Any, rows: Rows, found: Quality, lam: float) -> None:
    """The fractions themselves, without another solve, by their decision values."""
    values = path.decision_function(rows.X, lam)
    size = 1.0 + float(np.abs(found.values).max())
    within = SHARE * size + 100.0 * found.floor
    models.check_agrees(values, found.values, within, f"decision values at lambda = {lam:.6g}")


def check_curves(curves: list[Any], rows: Rows, found: Quality, lam: float) -> None:
    """Error and squared error of the training rows, by the solution's own decision values."""
    labels = np.asarray(rows.y)
    signs = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    size = 1.0 + float(np.abs(found.values).max())
    near = 1e-6 * size + 100.0 * found.floor
    is_wrong = (found.values >= 0.0) != (signs > 0.0)
    n_open = int((np.abs(found.values) <= near).sum())
    error, squared = (float(curve(lam)) for curve in curves)
    if abs(error * rows.n - is_wrong.sum()) > n_open + 1e-6:
        raise CaseError(
            f"the error curve at lambda = {lam:.6g} is {error:.6g}, the solution has "
            f"{is_wrong.mean():.6g} ({n_open} rows near 0)"
        )
    expected = float(np.mean((found.values - signs) ** 2))
    if abs(squared - expected) > 1e-5 * (1.0 + expected) + 4.0 * near * size:
        raise CaseError(
            f"the squared curve at lambda = {lam:.6g} is {squared:.9g}, the solution has "
            f"{expected:.9g}"
        )
