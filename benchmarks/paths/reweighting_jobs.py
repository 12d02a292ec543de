"""Weights that move again and again: windows of the NASDAQ index, noise that varies (housing).

Each update by an exact walk from the last solution, by SMO from the last solution, and by SMO from
nothing, on one kernel matrix; solvers to TOL.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load

TOL = 1e-6
#: Rows of a window, rows that come (and go) with an update, updates.
WINDOW, N_SWAPPED, N_UPDATES = 2200, 5, 5
#: Updates of the weights at most, and the mean relative change of residuals that ends them.
MAX_ROUNDS, RESIDUAL_CHANGE = 30, 1e-3


def load_nasdaq(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Table 4.2: EMA15 and four lagged RDP in [0, 1]; the sign of RDP+5; by day."""
    with gzip.open(folder / "nasdaq_composite_daily_2001_2009.csv.gz", "rt") as file:
        price = np.array([float(row["close"]) for row in csv.DictReader(file)])

    def average(k: int) -> np.ndarray:
        mean = np.empty_like(price)
        mean[0] = price[0]
        for i in range(1, price.size):
            mean[i] = mean[i - 1] + 2.0 / (k + 1.0) * (price[i] - mean[i - 1])
        return mean

    days = np.arange(20, price.size - 5)
    smooth = average(3)
    ahead = (smooth[days + 5] - smooth[days]) / smooth[days]
    lags = [(price[days] - price[days - k]) / price[days - k] * 100.0 for k in (5, 10, 15, 20)]
    lags = [np.clip(lag, -2.0 * lag.std(), 2.0 * lag.std()) for lag in lags]
    X = np.column_stack([(price - average(15))[days], *lags])
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return X, np.where(ahead > 0.0, 1.0, -1.0)


class Solves:
    """SMO at each of a row of weightings, each begun from the last solution or from nothing."""

    def __init__(self, problem: Any, is_warm: bool) -> None:
        self.problem, self.is_warm = problem, is_warm
        self.solution: Any = None
        self.n_iter = 0

    def __call__(self, weights: np.ndarray) -> Any:
        from alphapath.paths.walker import make_feasible
        from alphapath.problem import Start
        from alphapath.solvers import smo

        problem, start = self.problem.with_weights(weights), None
        if self.is_warm and self.solution is not None:
            start = Start(make_feasible(self.solution.beta, problem.lower, problem.upper))
        self.solution = smo.solve(problem, start, tol=TOL)
        self.n_iter += self.solution.info.n_iter
        return self.solution


class Walks:
    """The same by one walker."""

    def __init__(self, problem: Any) -> None:
        from alphapath.paths.walker import Walker

        self.walker = Walker.of_problem(problem)
        self.is_begun = False

    def __call__(self, weights: np.ndarray) -> Any:
        from alphapath.paths.walker import NOBODY, Work

        walker = self.walker
        if self.is_begun:
            adds = np.flatnonzero((walker.weights == 0.0) & (weights > 0.0))
            gone = np.flatnonzero((walker.weights > 0.0) & (weights == 0.0))
            stays = np.where(walker.weights > 0.0, weights, 0.0)
            walker.move(stays, adds, weights[adds], gone if gone.size else NOBODY)
        else:
            walker.weights = weights.copy()
            walker.solve()
            self.is_begun = True
        return walker.solution(walker.problem, Work(0, 0, 0, walker.n_fallbacks, 0.0))

    @property
    def n_events(self) -> int:
        return int(self.walker.native.counts.n_events)


def compare(problem: Any, run: Callable[[Any], list[Any]]) -> dict[str, Any]:
    """`run(solve)` with each way; seconds without the first solve, which run leaves out."""
    found: dict[str, Any] = {}
    walks = Walks(problem)
    ways = {
        "path": walks,
        "warm": Solves(problem, is_warm=True),
        "cold": Solves(problem, is_warm=False),
    }
    ends = {}
    for name, way in ways.items():
        seconds, ends[name], found["n_updates"] = run(way)
        found[f"{name}_seconds"] = seconds
    exact = ends["path"].info
    objective = ends["cold"].info.objective
    return found | {
        "n_events": walks.n_events,
        "n_iter": ways["warm"].n_iter,
        "kkt": exact.kkt_violation,
        "objective": abs(exact.objective - objective) / abs(objective),
    }


def time_nasdaq(C: float, gamma: float, folder: str) -> dict[str, Any]:
    """Figure 4.9: weights fade into the past; five days come and five go, five times."""
    from alphapath import SVC
    from alphapath.paths import time_weights

    X, y = load_nasdaq(Path(folder))
    last = WINDOW + N_SWAPPED * N_UPDATES
    problem = SVC(C=C, gamma=gamma, tol=1e-9).to_problem(X[:last], y[:last])
    problem.kernel.gram.offset()

    def run(solve: Any) -> Any:
        seconds = 0.0
        for k in range(N_UPDATES + 1):
            weights = np.zeros(last)
            first = N_SWAPPED * k
            weights[first : first + WINDOW] = C * time_weights(WINDOW)
            begin = perf_counter()
            solution = solve(weights)
            seconds += (perf_counter() - begin) * (k > 0)
        return seconds, solution, N_UPDATES

    return compare(problem, run)


def time_housing(C: float, gamma: float, seed: int, folder: str) -> dict[str, Any]:
    """Figure 4.11: weights by the residuals (equation 4.30) until these stand still."""
    from alphapath import SVR
    from alphapath.paths import residual_weights

    X, y = load(DataSpec("housing", is_scaled=True), Path(folder))
    rows = np.random.default_rng(seed).permutation(len(y))[:404]
    X, y = X[rows], (y[rows] - y[rows].mean()) / y[rows].std()
    problem = SVR(C=C, gamma=gamma, epsilon=0.05, tol=1e-9).to_problem(X, y)
    problem.kernel.gram.offset()

    def run(solve: Any) -> Any:
        seconds, n_rounds = 0.0, 0
        solution = solve(np.full(len(y), C))
        old = y - solution.decision_values
        while n_rounds < MAX_ROUNDS:
            n_rounds += 1
            weights = C * residual_weights(old)
            begin = perf_counter()
            solution = solve(weights)
            seconds += perf_counter() - begin
            new = y - solution.decision_values
            if np.mean(np.abs(new - old) / np.abs(old)) <= RESIDUAL_CHANGE:
                break
            old = new
        return seconds, solution, n_rounds

    return compare(problem, run)
