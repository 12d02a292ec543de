"""Paths over C of SVC and SVR against the dual from raw data, at breakpoints and between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import data, models, quality
from .cases import CaseError, Skip
from .data import FloatArray, Generator, Rows
from .quality import Dual, Quality

#: A path says SOLVED up to this violation, relative to the targets.
PROMISED = 1e-3
N_POINTS = 5


def run_case(seed: int) -> str | None:
    rng = data.generator("c_paths", seed)
    rows, model, epsilon = make_problem(rng)
    C_min = data.power(rng, -4, 2)
    C_max = C_min * data.power(rng, 0.5, 4)
    path = follow(model, rows, C_min, C_max)
    K, error = models.raw_gram(rows)
    for C in choose_points(rng, path):
        check_point(path, dual_at(replace(rows, C=C), K, error, epsilon), C)
    return None


def make_problem(rng: Generator) -> tuple[Rows, Any, float | None]:
    """Rows, an estimator on them, and the tube of a regression (None: classification)."""
    from alphapath import SVC, SVR

    if rng.random() < 0.5:
        rows = data.make_set(rng, "labels", n=(4, 40))
        return rows, SVC(**rows.kernel.parameters), None
    rows = data.make_set(rng, "numbers", n=(4, 40))
    epsilon = float(data.pick(rng, [0.1, 0.0, 0.5, 1e-6, 10.0]))
    return rows, SVR(epsilon=epsilon, **rows.kernel.parameters), epsilon


def follow(model: Any, rows: Rows, C_min: float, C_max: float) -> Any:
    from alphapath.paths import c_path

    if not rows.kernel.is_convex:
        raise Skip("paths are for kernels that are positive semi-definite.")
    try:
        return c_path(model, rows.X, rows.y, C_min, C_max, sample_weight=rows.weights)
    except Exception as error:
        models.refuse(error)


def dual_at(rows: Rows, K: Any, error: float, epsilon: float | None) -> Dual:
    if epsilon is not None:
        return models.regression_dual(rows, K, error, epsilon)
    ((_, dual),) = models.class_duals(rows, K, error)
    return dual


def choose_points(rng: Generator, path: Any) -> FloatArray:
    low = max(path.start, 1e-3 * path.end)
    points = np.exp(rng.uniform(np.log(low), np.log(path.end), N_POINTS))
    points = np.concatenate([points, rng.choice(path.breakpoints_, 2), [path.start, path.end]])
    return np.clip(points, path.start, path.end)


def check_point(path: Any, dual: Dual, t: float) -> Quality:
    """What `at` returns at one t, and says of it."""
    solution = path.at(float(t))
    found = quality.measure(dual, np.asarray(solution.beta), float(solution.bias))
    quality.check_feasible(dual, found)
    size = float(np.abs(dual.targets).max())
    status, said = int(solution.info.status), solution.info.kkt_violation
    if status == 0 and found.violation > 10.0 * PROMISED * size + found.floor:
        raise CaseError(
            f"{path.name} = {t:.8g} is called solved, certified violation {found.violation:.3g} "
            f"(floor {found.floor:.2g}, said {said:.3g})"
        )
    if status not in (0, 5):
        raise CaseError(f"the status at {path.name} = {t:.8g} is {status}")
    if not found.violation <= 1.1 * said + 10.0 * found.floor + 1e-6 * size:
        raise CaseError(
            f"the violation at {path.name} = {t:.8g} is said to be {said:.3g}, raw data say "
            f"{found.violation:.3g} (floor {found.floor:.2g})"
        )
    return found
