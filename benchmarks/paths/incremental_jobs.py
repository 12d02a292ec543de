"""The pieces of the benchmark of updates, each run in a process of its own."""

from __future__ import annotations

import gzip
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load


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
    """`size` rows in and out of `n` to the end of the series; then again, every step checked."""
    from sklearn.svm import SVC as PeerSVC

    from alphapath import SVC

    X, y = make_windows(name, folder)
    firsts = range(n, len(y) - size + 1, size)
    parameters = {"C": C, "gamma": gamma}

    def begin_model(n_rows: int) -> Any:
        return SVC(**parameters, window=n_rows).partial_fit(X[:n_rows], y[:n_rows])

    def time_passes(step: Any, model: Any) -> float:
        begin = perf_counter()
        for first in firsts:
            step(model, first)
        return perf_counter() - begin

    def update(model: Any, first: int) -> None:
        model.partial_fit(X[first : first + size], y[first : first + size])

    def refit(_: Any, first: int) -> None:
        rows = slice(first + size - n, first + size)
        PeerSVC(**parameters, tol=1e-6, cache_size=1000).fit(X[rows], y[rows])

    # Twice each, the first time also for what a process does only once.
    ours = min(time_passes(update, begin_model(n)) for _ in range(2))
    theirs = min(time_passes(refit, None) for _ in range(2))
    model = begin_model(n)
    worst = kkt = 0.0
    n_steps = n_events = 0
    for first in firsts:
        update(model, first)
        rows = slice(first + size - n, first + size)
        fresh = SVC(**parameters, tol=1e-9).fit(X[rows], y[rows])
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


def time_svr(library: str, n: int = 800, n_rounds: int = 120) -> dict[str, Any]:
    """SVR: one row in, the oldest out, `n_rounds` times; "alphapath" or "pyonlinesvr"."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + n_rounds, 5))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=len(X))
    parameters = {"C": 10.0, "gamma": 0.2, "epsilon": 0.1, "kernel": "rbf"}
    model: Any
    if library == "alphapath":
        from alphapath import SVR

        model = SVR(**parameters)
    else:
        from pyonlinesvr import OnlineSVR

        model = OnlineSVR(**parameters)
    model.partial_fit(X[:n], y[:n])
    adds, forgets, n_events = [], [], 0
    for k in range(n, n + n_rounds):
        begin = perf_counter()
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        middle = perf_counter()
        n_events += model.n_iter_ if library == "alphapath" else 0
        again = perf_counter()
        model.forget([0])
        forgets.append(perf_counter() - again)
        adds.append(middle - begin)
    return {
        "add": adds,
        "forget": forgets,
        "n_events": n_events / n_rounds,
        "values": model.predict(X).tolist(),
    }


def leave_out(C: float, size: int, folder: str) -> dict[str, Any]:
    """Leave-l-out on diabetes by decrement and by scikit-learn's refits on the same folds."""
    from sklearn.svm import SVC as PeerSVC

    from alphapath import SVC
    from alphapath.paths.incremental import Decrement
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
