"""The pieces of the benchmarks of paths, each run in a process of its own."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load

KERNELS: dict[str, dict[str, Any]] = {
    "rbf 2^-9": {"gamma": 2.0**-9},
    "rbf 2^-5": {"gamma": 2.0**-5},
    "rbf 2^-1": {"gamma": 2.0**-1},
    "rbf 2^3": {"gamma": 2.0**3},
    "linear": {"kernel": "linear"},
    "quadratic": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
}
#: On which R's svmpath was measured.
SVMPATH_KERNEL: dict[str, dict[str, Any]] = {"rbf 0.2": {"gamma": 0.2}}
C_MIN, C_MAX = 2.0**-5, 2.0**15
#: Of the grid's values of C, powers of 2.
EXPONENTS = tuple(range(-5, 16, 2))


def load_signs(data: dict[str, Any], folder: str, repeats: str = "") -> tuple[Any, np.ndarray]:
    """X and +-1; `repeats`: rows again, "equal" or "opposite" labels."""
    X, y = load(DataSpec(**data), Path(folder))
    y = np.where(y > 0, 1.0, -1.0)
    if repeats:
        sign = 1.0 if repeats == "equal" else -1.0
        half = len(y) // 2
        X, y = np.concatenate([X, X[:half]]), np.concatenate([y, sign * y[:half]])
    return X, y


def time_c_path(
    data: dict[str, Any], kernel: str, repeats: str, n_repeats: int, n_checks: int, folder: str
) -> dict[str, Any]:
    """The whole path, kernel and start included; certified at breakpoints and random C."""
    from alphapath import SVC, certify
    from alphapath.paths import c_path

    X, y = load_signs(data, folder, repeats)
    seconds = []
    for _ in range(n_repeats):
        begin = perf_counter()
        path = c_path(SVC(**(KERNELS | SVMPATH_KERNEL)[kernel]), X, y, C_MIN, C_MAX)
        seconds.append(perf_counter() - begin)
    rng = np.random.default_rng(0)
    spots = np.concatenate(
        [rng.choice(path.breakpoints_, n_checks), 2.0 ** rng.uniform(-5.0, 15.0, n_checks)]
    )
    relative = absolute = gap = 0.0
    for t in spots:
        solution = path.at(float(t))
        found = certify(solution.problem, solution.beta, path.bias_at(float(t)))
        size = float(np.abs(solution.beta).sum()) * float(np.abs(solution.gradient).max() + 1.0)
        relative = max(relative, found.kkt_violation / max(1e-8, 1e-15 * size))
        absolute = max(absolute, found.kkt_violation)
        gap = max(gap, found.duality_gap / max(1.0, abs(found.objective)))
    sizes = np.diff(np.append(path.pieces["first"], path.pieces["members"].size))
    return {
        "seconds": min(seconds),
        "n_events": path.n_events,
        "n_gaps": len(path.gaps),
        "mean_margin": float(sizes.mean()),
        "max_margin": int(sizes.max()),
        "kkt": absolute,
        "kkt_in_floors": relative,
        "gap": gap,
    }


def compare_cross_validation(
    data: dict[str, Any], kernel: str, folder: str, time_limit: float
) -> dict[str, Any]:
    """cross_validate_path against 11 values of C, each solved from the last, on the same folds.

    All ways by turns, three times, and the least of each; those that take seconds once.
    """
    from sklearn.model_selection import StratifiedKFold

    from alphapath import SVC
    from alphapath.model_selection import cross_validate_path

    X, y = load_signs(data, folder)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    model = SVC(**KERNELS[kernel])
    limits = {"C_min": C_MIN, "C_max": C_MAX}
    turns: list[dict[str, Any]] = []
    for _ in range(3):
        result = cross_validate_path(model, X, y, folds, **limits)
        auto = cross_validate_path(model, X, y, folds, method="auto", **limits)
        turn = {"seconds": result.seconds, "auto_seconds": auto.seconds}
        turn["chain_seconds"], is_chain_cut = time_chain(X, y, folds, kernel, time_limit)
        if not turns or turns[0]["grid_seconds"] < 2.0:
            turn["grid_seconds"], grid, n_iter = time_grid(X, y, folds, kernel, time_limit)
        turns.append(turn)
    curve = np.array([float(result.curve(2.0**exponent)) for exponent in EXPONENTS])
    is_cut = bool(np.isnan(grid).any())
    return {
        **{key: min(turn[key] for turn in turns if key in turn) for key in turns[0]},
        "is_chain_cut": is_chain_cut,
        "auto_choice": "path" if auto.is_exact else "grid",
        "is_cut": is_cut,
        "n_events": result.n_events,
        "n_iter": n_iter,
        "best": result.best_score,
        "best_C": result.best_C,
        "grid_best": None if is_cut else float(grid.min()),
        "difference": None if is_cut else float(np.max(np.abs(grid - curve))),
    }


def time_grid(
    X: Any, y: np.ndarray, folds: list[Any], kernel: str, time_limit: float
) -> tuple[float, np.ndarray, int]:
    """(seconds, mean error at each C, iterations) of the grid, one solve after the other."""
    from alphapath import SVC
    from alphapath.problem import Start
    from alphapath.solvers import smo

    begin = perf_counter()
    problem = SVC(**KERNELS[kernel], tol=1e-6).to_problem(X, y)
    errors = np.full((len(folds), len(EXPONENTS)), np.nan)
    n_iter = 0
    for h, (train, test) in enumerate(folds):
        start = None
        for k, exponent in enumerate(EXPONENTS):
            if perf_counter() - begin > time_limit:
                break
            weights = np.zeros(len(y))
            weights[train] = 2.0**exponent
            solution = smo.solve(problem.with_weights(weights), start, tol=1e-6)
            start = Start(solution.beta, solution.gradient)
            n_iter += solution.info.n_iter
            wrong = (solution.decision_values[test] >= 0.0) != (y[test] > 0.0)
            errors[h, k] = wrong.mean()
    return perf_counter() - begin, errors.mean(axis=0), n_iter


def time_chain(
    X: Any, y: np.ndarray, folds: list[Any], kernel: str, time_limit: float
) -> tuple[float, bool]:
    """(seconds, whether the limit cut it) of the same grid in one native call."""
    from alphapath import SVC
    from alphapath.solvers.sequence.along_c import solve_chain

    begin = perf_counter()
    problem = SVC(**KERNELS[kernel], tol=1e-6).to_problem(X, y)
    masks = np.zeros((len(folds), len(y)))
    for h, (train, _) in enumerate(folds):
        masks[h, train] = 1.0
    factors = 2.0 ** np.array(EXPONENTS, dtype=float)
    chain = solve_chain(problem, factors, weights=masks, tol=1e-6, total_time_limit=time_limit)
    return perf_counter() - begin, len(chain) < masks.shape[0] * factors.size


def costly_classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equation 4.27: four Gaussians of n / 4 rows in [0, 1]^2; labels; which rows cost 1."""
    rng = np.random.default_rng(seed)
    parts = [
        ([1.0, 0.0], [1.0, 0.5]),
        ([0.0, 0.0], [0.5, 0.5]),
        ([0.0, 1.0], [1.0, 0.5]),
        ([1.0, 1.0], [0.5, 0.5]),
    ]
    X = np.concatenate([rng.normal(m, np.sqrt(v), (n // 4, 2)) for m, v in parts])
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    quarter = np.repeat(np.arange(4), n // 4)
    return X, np.where(quarter < 2, 1.0, -1.0), quarter % 2 == 0


def time_weight_path(n: int, seed: int, n_solves: int) -> dict[str, Any]:
    """Table 4.1: C_1 from 0 to 10 by the path, and by warm SMO at every breakpoint."""
    from alphapath import SVC
    from alphapath.paths import weight_path
    from alphapath.problem import Start
    from alphapath.solvers import smo

    X, y, is_cheap = costly_classes(n, seed)
    old, new = np.where(is_cheap, 0.0, 10.0), np.full(n, 10.0)
    seconds = []
    for _ in range(3):
        begin = perf_counter()
        path = weight_path(SVC(gamma=1.0), X, y, old, new)
        seconds.append(perf_counter() - begin)
    spots = path.breakpoints_[1:][:n_solves]
    solution = smo.solve(path.problem.with_weights(path.weights_at(spots[0])), tol=1e-6)
    n_iter = 0
    worst = 0.0
    begin = perf_counter()
    for t in spots:
        problem = path.problem.with_weights(path.weights_at(float(t)))
        start = Start(np.clip(solution.beta, problem.lower, problem.upper), solution.gradient)
        solution = smo.solve(problem, solution.as_start() if t == spots[0] else start, tol=1e-6)
        n_iter += solution.info.n_iter
    smo_seconds = (perf_counter() - begin) * (path.breakpoints_.size - 1) / spots.size
    exact = path.at(float(spots[-1])).info.objective
    worst = abs(exact - solution.info.objective) / abs(exact)
    sizes = np.diff(np.append(path.pieces["first"], path.pieces["members"].size))
    return {
        "seconds": min(seconds),
        "smo_seconds": smo_seconds,
        "n_events": path.n_events,
        "mean_margin": float(sizes.mean()),
        "n_iter": n_iter,
        "difference": worst,
    }
