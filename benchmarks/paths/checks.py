"""Checks of C paths: against fresh solves at random C, and certified at every breakpoint."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.paths.jobs import C_MAX, C_MIN, KERNELS, load_signs

#: Betas held at once (8 MiB of doubles).
BLOCK_VALUES = 1 << 20
#: What the rounding of K beta may come to before it is summed in extended precision.
LOST_AT_MOST = 1e-10


def check_c_path(
    data: dict[str, Any], kernel: str, repeats: str, n_checks: int, time_limit: float, folder: str
) -> dict[str, Any]:
    """Fresh solves at random C for `time_limit` seconds, and the certificate of all breakpoints."""
    from alphapath import SVC
    from alphapath.paths import c_path

    X, y = load_signs(data, folder, repeats)
    path = c_path(SVC(**KERNELS[kernel]), X, y, C_MIN, C_MAX)
    violations = breakpoint_violations(path)
    worst = int(np.argmax(violations))
    return {
        "n_events": path.n_events,
        "n_gaps": len(path.gaps),
        **compare_with_solves(path, n_checks, time_limit),
        "kkt": float(violations[worst]),
        "worst_C": float(path.breakpoints_[worst]),
        "n_breakpoints": int(violations.size),
    }


def compare_with_solves(path: Any, n_checks: int, time_limit: float) -> dict[str, Any]:
    """How far objective and decision values are off those of solves from nothing."""
    from alphapath.paths import polish
    from alphapath.solvers import smo

    begin = perf_counter()
    objective = values = 0.0
    n_solved = n_unsolved = 0
    for C in 2.0 ** np.random.default_rng(0).uniform(-5.0, 15.0, n_checks):
        if perf_counter() - begin > time_limit:
            break
        own = path.at(float(C))
        # The solver alone is far from these tolerances where C is large: polished, then certified.
        fresh = smo.solve(own.problem, tol=1e-6, time_limit=2.0)
        if fresh.info.status.name != "SOLVED":
            n_unsolved += 1
            continue
        fresh = polish(fresh)
        n_solved += 1
        scale = max(abs(fresh.info.objective), 1e-300)
        objective = max(objective, abs(own.info.objective - fresh.info.objective) / scale)
        size = np.abs(own.beta) / C
        is_free = (size > 1e-12) & (size < 1.0 - 1e-12)
        difference = own.decision_values - fresh.decision_values
        if not is_free.any():  # the bias may be anything in an interval
            difference = difference - difference.mean()
        values = max(values, float(np.abs(difference).max()))
    return {
        "n_solved": n_solved,
        "n_unsolved": n_unsolved,
        "objective": objective,
        "values": values,
    }


def breakpoint_violations(path: Any) -> np.ndarray:
    """The KKT violation at every breakpoint, by kernel values recomputed from raw data.

    A block of betas is one matrix product. What `alphapath.certify` says of one beta, in NumPy.
    """
    view, targets = path.problem.kernel, path.problem.targets
    spots = path.breakpoints_
    lower_scale, upper_scale = path.problem.lower_scale, path.problem.upper_scale
    everybody = np.arange(view.n)
    has_way = view.exact_multiply(everybody, np.zeros(view.n)) is not None
    K = None if has_way else view.exact_rows(everybody)
    found = np.empty(spots.size)
    step = max(1, BLOCK_VALUES // view.n)
    for first in range(0, spots.size, step):
        block = spots[first : first + step]
        betas = np.stack([path.beta_at(float(t)) for t in block])
        if K is None:
            product = np.stack([view.exact_multiply(everybody, beta) for beta in betas])
        else:
            product = multiply(betas, K)
        gradient = product - targets
        weights = np.stack([path.weights_at(float(t)) for t in block])
        down = np.where(betas > lower_scale * weights, gradient, -np.inf).max(axis=1)
        up = np.where(betas < upper_scale * weights, gradient, np.inf).min(axis=1)
        found[first : first + step] = np.maximum(down - up, 0.0)
    return found


def multiply(betas: np.ndarray, K: np.ndarray) -> np.ndarray:
    """betas K for symmetric K, in extended precision where the rounding of doubles would show."""
    used = np.flatnonzero(betas.any(axis=0))
    betas, rows = betas[:, used], K[used]
    size = float(np.abs(betas).sum(axis=1).max()) * float(np.abs(K).max())
    if size * np.finfo(np.float64).eps <= LOST_AT_MOST:
        return betas @ rows
    # Without a library for it the inner loop runs along the last axis of both.
    columns = np.ascontiguousarray(rows.T.astype(np.longdouble))
    return np.asarray(betas.astype(np.longdouble) @ columns.T, dtype=np.float64)
