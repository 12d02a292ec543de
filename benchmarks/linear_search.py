"""The search over C of a linear SVM: linear_c_search against LIBLINEAR's -C.

Squared hinge, no offset, five folds: those that LIBLINEAR draws, and the C that it visits. Every
C's solution on the first fold is compared with LIBLINEAR's at its default tolerance, by objective.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.linear_data import load_linear
from benchmarks.registry import Options
from benchmarks.report import Report

COLUMNS = {
    "data": "data",
    "peer": "library",
    "seconds": "seconds (best)",
    "ratio": "x alphapath's time",
    "n_C": "values of C",
    "best_C": "best C",
    "best_rate": "rate",
    "largest_gap": "largest gap / objective",
    "worst_excess": "largest objective excess over LIBLINEAR's",
    "exact_best_C": "best C at a gap of 1e-9",
}
CASES = ("ijcnn1", "w8a", "reuters_moneyfx", "covtype", "covtype part", "mnist odd")
#: LIBLINEAR takes minutes there: only ours, on the C it would visit.
ALONE = ("covtype",)
#: There it takes more than half an hour at a tolerance of CLOSE, or was not tried.
NEVER_CLOSE = ("mnist odd", "covtype part")
N_FOLDS = 5
#: The tolerance at which LIBLINEAR's search no longer stops at the start it is given.
CLOSE = 1e-6


def liblinear_folds(n: int) -> np.ndarray:
    """The fold of each row, as LIBLINEAR's first shuffle in a process gives it."""
    libc = ctypes.CDLL(None)
    libc.srand(1)
    order = np.arange(n)
    for i in range(n):
        j = i + libc.rand() % (n - i)
        order[i], order[j] = order[j], order[i]
    fold = np.empty(n, dtype=int)
    for k in range(N_FOLDS):
        fold[order[k * n // N_FOLDS : (k + 1) * n // N_FOLDS]] = k
    return fold


def peer_search(name: str, folder: str, eps: float = 0.01) -> dict[str, Any]:
    """Job: LIBLINEAR's search. What it visits is only printed, so it runs in a child."""
    code = "from benchmarks.linear_search import print_peer; import sys; print_peer(*sys.argv[1:])"
    command = [sys.executable, "-c", code, name, folder, str(eps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.findall(r"log2c=\s*(-?[\d.]+)\s+rate=\s*([\d.]+)", done.stdout)
    seconds = float(re.findall(r"seconds=([\d.]+)", done.stdout)[0])
    rates = [float(rate) for _, rate in found]
    return {
        "log2_C": [float(value) for value, _ in found],
        "best_rate": max(rates) / 100.0,
        "best_C": 2.0 ** float(found[int(np.argmax(rates))][0]),
        "seconds": seconds,
    }


def print_peer(name: str, folder: str, eps: str) -> None:
    from liblinear.liblinearutil import parameter, problem, train

    X, y = load_linear(name, folder, "float64")
    data = problem(y, X)
    began = perf_counter()
    train(data, parameter(f"-C -s 2 -v {N_FOLDS} -e {eps}"))
    print(f"\nseconds={perf_counter() - began}")


def own_search(
    name: str, folder: str, log2_C: list[float], repeats: int, compares: bool
) -> dict[str, Any]:
    """Job: ours on the same folds and C."""
    from alphapath import LinearSVC
    from alphapath.model_selection import linear_c_search

    X, y = load_linear(name, folder, "float64")
    fold = liblinear_folds(len(y))
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(N_FOLDS)]
    model, grid = LinearSVC(fit_intercept=False), np.exp2(log2_C)
    seconds = []
    for _ in range(repeats):
        began = perf_counter()
        found = linear_c_search(model, X, y, C=grid, cv=cv, refit=False)
        seconds.append(perf_counter() - began)
    result: dict[str, Any] = {
        "seconds": min(seconds),
        "best_C": found.best_C,
        "best_rate": float(np.average(found.mean_scores[found.best_index])),
        "largest_gap": float((found.duality_gap / found.objective).max()),
    }
    if compares:
        exact = linear_c_search(model.set_params(tol=1e-9), X, y, C=grid, cv=cv, refit=False)
        result["exact_best_C"] = exact.best_C
        result["worst_excess"] = compare_objectives(X, y, cv[0][0], grid, found.objective[:, 0, 0])
    return result


def compare_objectives(
    X: Any, y: np.ndarray, train_rows: np.ndarray, grid: np.ndarray, ours: np.ndarray
) -> float:
    """The largest (ours - LIBLINEAR's) / LIBLINEAR's objective over the C, on one fold."""
    from liblinear.liblinearutil import parameter, problem, train

    X, y = X[train_rows], y[train_rows]
    data = problem(y, X)
    excess = []
    for C, objective in zip(grid, ours, strict=True):
        fitted = train(data, parameter(f"-s 2 -c {float(C)!r} -q"))
        w = np.ctypeslib.as_array(fitted.w, (X.shape[1],)) * fitted.label[0]
        theirs = 0.5 * w @ w + C * np.square(np.maximum(1.0 - y * (X @ w), 0.0)).sum()
        excess.append((objective - theirs) / theirs)
    return float(max(excess))


def run(options: Options) -> Report:
    report = Report("linear_search", COLUMNS)
    repeats = 1 if options.is_quick else options.repeats
    for name in CASES:
        if not options.wants(name):
            continue
        base = {"name": name, "folder": options.data}
        if name in ALONE:
            peer: dict[str, Any] = {"log2_C": list(np.arange(-20.0, 11.0))}
        else:
            runs = [
                options.runner.call("benchmarks.linear_search:peer_search", base, pin=True)
                for _ in range(1 if options.skip_slow_peers else min(2, repeats))
            ]
            peer = min(runs, key=lambda run: run["seconds"])
        compares = name not in ALONE
        arguments = {**base, "log2_C": peer["log2_C"], "repeats": repeats, "compares": compares}
        ours = options.runner.call("benchmarks.linear_search:own_search", arguments, pin=True)
        common = {"data": name, "n_C": len(peer.pop("log2_C"))}
        report.rows.append({**common, "peer": "alphapath", "ratio": 1.0, **ours})
        if peer:
            ratio = peer["seconds"] / ours["seconds"]
            report.rows.append({**common, "peer": "LIBLINEAR -C", "ratio": ratio, **peer})
        if compares and name not in NEVER_CLOSE and not options.skip_slow_peers:
            arguments = {**base, "eps": CLOSE}
            close = options.runner.call("benchmarks.linear_search:peer_search", arguments, pin=True)
            common["n_C"] = len(close.pop("log2_C"))
            ratio = close["seconds"] / ours["seconds"]
            line = {**common, "peer": f"LIBLINEAR -C -e {CLOSE:g}", "ratio": ratio}
            report.rows.append({**line, **close})
        print(name, ours, peer, flush=True)
    report.notes += [
        "Ratios above 1 mean that alphapath is faster; one thread, float64, data in memory, no "
        "final fit on all rows.",
        "The rate of alphapath is the mean over the folds, LIBLINEAR's that of all rows together.",
    ]
    return report
