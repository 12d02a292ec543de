"""The pieces of the benchmark of updates, each run in a process of its own."""

from __future__ import annotations

import gzip
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.data import DataSpec, load


def two_gaussians(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The artificial set of section 3.4.1: a mixture of two Gaussians against one."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    tilt = np.array([[0.5, -0.1], [-0.1, 0.5]])
    X = rng.multivariate_normal([1.0, 1.0], tilt, n)
    first = rng.multivariate_normal([0.0, 0.0], tilt, n)
    second = rng.multivariate_normal([0.0, 2.0], np.abs(tilt), n)
    mixture = np.where((rng.random(n) < 0.5)[:, None], first, second)
    return np.where((y > 0.0)[:, None], mixture, X), y


def count_breakpoints(m: int, n: int, n_seeds: int, removes: bool) -> dict[str, Any]:
    """Breakpoints of one multiple update of m rows at the bound, and of m single ones."""
    from alphapath import SVC

    multiple = single = 0
    seconds = {"multiple": 0.0, "single": 0.0}
    for seed in range(n_seeds):
        X, y = two_gaussians(n + 2 * m, seed)
        full = SVC(C=10.0, gamma=1.0, tol=1e-6).fit(X, y)
        at_bound = full.support_[np.abs(full.dual_coef_[0]) == 10.0]
        chosen = np.random.default_rng(seed).permutation(at_bound)[:m]
        rest = np.delete(np.arange(len(y)), chosen)
        for way in ("multiple", "single"):
            parts = [chosen] if way == "multiple" else chosen[:, None]
            start = np.concatenate([chosen, rest]) if removes else rest
            model = SVC(C=10.0, gamma=1.0).partial_fit(X[start], y[start])
            model.forget([len(start) - 1])  # the kernel and the factor are there
            begin = perf_counter()
            count = 0
            for part in parts:
                if removes:
                    model.forget(np.arange(len(part)))
                else:
                    model.partial_fit(X[part], y[part])
                count += model.solve_info_[0].n_breakpoints
            seconds[way] += perf_counter() - begin
            if way == "multiple":
                multiple += count
            else:
                single += count
    return {"multiple": multiple, "single": single, "seconds": seconds}


def time_swap(
    data: dict[str, Any], n: int, C: float, gamma: float, folder: str, n_moves: int = 10
) -> dict[str, Any]:
    """10 rows in, 10 out (with nonzero betas): ours at once and singly, warm SMO, a refit."""
    from sklearn.svm import SVC as PeerSVC

    from alphapath import SVC
    from alphapath.kernels import KernelStore, Rbf
    from alphapath.problem import Problem
    from alphapath.seeds import SEEDS
    from alphapath.solvers import smo

    X, y = load(DataSpec(**data), Path(folder))
    order = np.random.default_rng(0).permutation(len(y))[: n + n_moves]
    X, y = X[order], np.where(y[order] > 0, 1.0, -1.0)
    full = SVC(C=C, gamma=gamma).fit(X, y)
    support = np.random.default_rng(1).permutation(full.support_)
    come, go = support[:n_moves], support[n_moves : 2 * n_moves]
    before = np.delete(np.arange(len(y)), come)
    positions = np.flatnonzero(np.isin(before, go))
    after = np.concatenate([np.delete(before, positions), come])

    seconds: dict[str, float] = {}
    base = SVC(C=C, gamma=gamma).partial_fit(X[before], y[before])
    # There and back: what comes is appended, so after the first way back all that moves is last.
    base.update(X[come], y[come], forget=positions)
    last = np.arange(len(after) - n_moves, len(after))
    times, walks = [], []
    for _ in range(7):
        base.update(X[go], y[go], forget=last)
        begin = perf_counter()
        base.update(X[come], y[come], forget=last)
        times.append(perf_counter() - begin)
        walks.append(base.solve_info_[0].solve_time)
    seconds["multiple"], seconds["walk"] = float(np.median(times)), float(np.median(walks))
    single = SVC(C=C, gamma=gamma).partial_fit(X[before], y[before])
    n_single = 0
    begin = perf_counter()
    for position in positions[::-1]:
        n_single += int(single.forget([position]).n_iter_.sum())
    for i in come:
        n_single += int(single.partial_fit(X[i : i + 1], y[i : i + 1]).n_iter_.sum())
    seconds["single"] = perf_counter() - begin

    view = KernelStore(X).view(Rbf(gamma), precision="float64")
    weights = np.full(len(y), C)
    problem = Problem.classification(view, y, weights)
    is_out, is_new = np.isin(np.arange(len(y)), go), np.isin(np.arange(len(y)), come)
    parent = smo.solve(problem.with_held_out(is_new), tol=1e-6)
    target = problem.with_held_out(is_out)
    begin = perf_counter()
    warm = smo.solve(target, SEEDS["greedy"](parent, target), tol=1e-6)
    seconds["warm"] = perf_counter() - begin

    begin = perf_counter()
    peer = PeerSVC(C=C, gamma=gamma, tol=1e-6, cache_size=1000).fit(X[after], y[after])
    seconds["refit"] = perf_counter() - begin
    own = base.decision_function(X)
    return {
        "seconds": seconds,
        "n_events": int(base.n_iter_.sum()),
        "n_single": n_single,
        "n_warm": warm.info.n_iter,
        "n_refit": int(peer.n_iter_[0]),
        "n_margin": int(np.sum(np.abs(base.dual_coef_[0]) < C)),
        "kkt": float(base.certify(X[after], y[after]).kkt_violation),
        "difference": float(np.abs(own - peer.decision_function(X)).max()),
        "fallbacks": sum(info.n_fallbacks for info in base.solve_info_),
    }


def read_series(name: str, folder: str) -> np.ndarray:
    path = Path(folder) / f"{name}.csv.gz"
    with gzip.open(path, "rt") as file:
        return np.genfromtxt(file, delimiter=",", skip_header=1)[:, 1:]


def make_windows(name: str, folder: str) -> tuple[np.ndarray, np.ndarray]:
    """Lagged values in [0, 1]; +1 where the first column rises."""
    values = read_series(name, folder)
    n_lags = 7 if values.shape[1] > 1 else 12
    X = np.stack([values[i : i + n_lags].ravel() for i in range(len(values) - n_lags)])
    y = np.where(values[n_lags:, 0] > values[n_lags - 1 : -1, 0], 1.0, -1.0)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0), y


def slide_window(
    name: str, C: float, gamma: float, n: int, size: int, folder: str
) -> dict[str, Any]:
    """`size` rows in and out of `n`, to the end of the series; every step checked by a fit."""
    from sklearn.svm import SVC as PeerSVC

    from alphapath import SVC

    X, y = make_windows(name, folder)
    model = SVC(C=C, gamma=gamma, window=n).partial_fit(X[:n], y[:n])
    ours = theirs = worst = 0.0
    kkt = 0.0
    n_steps = n_events = 0
    for first in range(n, len(y) - size + 1, size):
        begin = perf_counter()
        model.partial_fit(X[first : first + size], y[first : first + size])
        ours += perf_counter() - begin
        rows = slice(first + size - n, first + size)
        begin = perf_counter()
        PeerSVC(C=C, gamma=gamma, tol=1e-6, cache_size=1000).fit(X[rows], y[rows])
        theirs += perf_counter() - begin
        fresh = SVC(C=C, gamma=gamma, tol=1e-9).fit(X[rows], y[rows])
        difference = np.abs(fresh.decision_function(X) - model.decision_function(X)).max()
        worst = max(worst, float(difference))
        kkt = max(kkt, float(model.certify(X[rows], y[rows]).kkt_violation))
        n_steps += 1
        n_events += int(model.n_iter_.sum())
    return {
        "seconds": {"multiple": ours, "refit": theirs},
        "n_events": n_events,
        "n_steps": n_steps,
        "difference": worst,
        "kkt": kkt,
    }


def time_svr(n: int = 800, n_rounds: int = 120, n_blocks: int = 6) -> dict[str, Any]:
    """SVR: one row in, one row out; the best of several medians, pyonlinesvr where installed."""
    from alphapath import SVR

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n_rounds, 5))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=len(X))
    parameters = {"C": 10.0, "gamma": 0.2, "epsilon": 0.1}
    model = SVR(**parameters).fit(X[:n], y[:n])
    model.forget([0]).partial_fit(X[:1], y[:1])
    adds, forgets, n_events = [], [], 0
    for k in range(n, n + n_rounds):
        begin = perf_counter()
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        middle = perf_counter()
        n_events += model.n_iter_
        model.forget([0])
        adds.append(middle - begin)
        forgets.append(perf_counter() - middle)
    result = {
        name: float(np.median(np.reshape(times, (n_blocks, -1)), axis=1).min())
        for name, times in (("add", adds), ("forget", forgets))
    }
    try:
        from pyonlinesvr import OnlineSVR
    except ImportError:
        return result | {"n_events": n_events / n_rounds, "peer": None}
    peer = OnlineSVR(C=10.0, epsilon=0.1, kernel="rbf", gamma=0.2)
    peer.partial_fit(X[:n], y[:n])
    begin = perf_counter()
    peer.partial_fit(X[n : n + 1], y[n : n + 1])
    middle = perf_counter()
    peer.forget([0])
    return result | {
        "n_events": n_events / n_rounds,
        "peer": {"add": middle - begin, "forget": perf_counter() - middle},
    }


def leave_out(C: float, size: int, folder: str) -> dict[str, Any]:
    """Leave-l-out on diabetes by decrement and by scikit-learn's refits on the same folds."""
    from sklearn.svm import SVC as PeerSVC

    from alphapath import SVC
    from alphapath.paths import Decrement
    from alphapath.solvers import smo

    X, y = load(DataSpec("diabetes_scale"), Path(folder))
    X, y = X[:500], y[:500]
    problem = SVC(C=C, gamma=0.1, tol=1e-6).to_problem(X, y)
    full = smo.solve(problem, tol=1e-6)
    folds = np.array_split(np.random.default_rng(0).permutation(500), 500 // size)
    begin = perf_counter()
    decrement = Decrement(full)
    n_events = 0
    values = np.empty(500)
    for fold in folds:
        mask = np.zeros(500, dtype=bool)
        mask[fold] = True
        solution = decrement.without(problem.with_held_out(mask))
        values[fold] = solution.decision_values[fold]
        n_events += solution.info.n_iter
    ours = perf_counter() - begin
    some = folds[: max(1, min(len(folds), 20))]
    begin = perf_counter()
    worst = 0.0
    for fold in some:
        rest = np.delete(np.arange(500), fold)
        peer = PeerSVC(C=C, gamma=0.1, tol=1e-6).fit(X[rest], y[rest])
        worst = max(worst, float(np.abs(peer.decision_function(X[fold]) - values[fold]).max()))
    theirs = (perf_counter() - begin) * len(folds) / len(some)
    return {
        "seconds": {"multiple": ours, "refit": theirs},
        "n_events": n_events,
        "difference": worst,
    }
