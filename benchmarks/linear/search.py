"""The search over C of a linear SVM: linear_c_search against LIBLINEAR's -C.

Squared hinge, no offset, five folds: those that LIBLINEAR draws, and the C that it visits. What
the two find, linear_quality compares.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report
from benchmarks.linear.data import load_linear

COLUMNS = {
    "data": "data",
    "peer": "library",
    "seconds": "seconds (best)",
    "ratio": "x alphapath's time",
    "n_C": "values of C",
    "best_C": "best C",
    "best_rate": "rate",
    "largest_gap": "largest gap / objective",
}
CASES = ("ijcnn1", "w8a", "reuters_moneyfx", "covtype", "covtype part", "mnist odd")
#: LIBLINEAR takes minutes there: only ours, on these C.
ALONE = {"covtype": [float(k) for k in range(-20, 11)]}
N_FOLDS = 5


def liblinear_splits(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(train, test) of each fold, as LIBLINEAR's first shuffle in a process gives them.

    In its order: on covtype sums in another order lead its steps elsewhere.
    """
    libc = ctypes.CDLL(None)
    libc.srand(1)
    order = np.arange(n)
    for i in range(n):
        j = i + libc.rand() % (n - i)
        order[i], order[j] = order[j], order[i]
    bounds = [k * n // N_FOLDS for k in range(N_FOLDS + 1)]
    return [
        (np.concatenate([order[:begin], order[end:]]), order[begin:end])
        for begin, end in pairwise(bounds)
    ]


def peer_search(name: str, folder: str) -> dict[str, Any]:
    """Job: LIBLINEAR's search. What it visits is only printed, so it runs in a child."""
    code = "from benchmarks.linear.search import print_peer; import sys; print_peer(*sys.argv[1:])"
    command = [sys.executable, "-c", code, name, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.findall(r"log2c=\s*(-?[\d.]+)\s+rate=\s*([\d.]+)", done.stdout)
    seconds = float(re.findall(r"seconds=([\d.]+)", done.stdout)[0])
    rates = [float(rate) for _, rate in found]
    return {
        "log2_C": [float(value) for value, _ in found],
        "rates": [rate / 100.0 for rate in rates],
        "best_rate": max(rates) / 100.0,
        "best_C": 2.0 ** float(found[int(np.argmax(rates))][0]),
        "seconds": seconds,
    }


def print_peer(name: str, folder: str) -> None:
    from liblinear.liblinearutil import parameter, problem, train

    X, y = load_linear(name, folder, "float64")
    data = problem(y, X)
    began = perf_counter()
    train(data, parameter(f"-C -s 2 -v {N_FOLDS}"))
    print(f"\nseconds={perf_counter() - began}")


def own_search(name: str, folder: str, log2_C: list[float], repeats: int) -> dict[str, Any]:
    """Job: ours on the same folds and C."""
    from alphapath import LinearSVC
    from alphapath.model_selection import linear_c_search

    X, y = load_linear(name, folder, "float64")
    model, grid = LinearSVC(fit_intercept=False), np.exp2(log2_C)
    cv = [(np.sort(train), np.sort(test)) for train, test in liblinear_splits(len(y))]
    seconds = []
    for _ in range(repeats):
        began = perf_counter()
        found = linear_c_search(model, X, y, C=grid, cv=cv, refit=False)
        seconds.append(perf_counter() - began)
    return {
        "seconds": min(seconds),
        "best_C": found.best_C,
        "best_rate": found.best_score,
        "largest_gap": float((found.duality_gap / found.objective).max()),
    }


def take_turns(options: Options, name: str, repeats: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """LIBLINEAR's best run and ours, by turns: what else the machine does meets both."""
    base = {"name": name, "folder": options.data}
    peers: list[dict[str, Any]] = []
    ours: list[dict[str, Any]] = []
    for _ in range(1 if options.skip_slow_peers or name in ALONE else min(2, repeats)):
        if name in ALONE:
            peers.append({"log2_C": ALONE[name], "seconds": None})
        else:
            job = "benchmarks.linear.search:peer_search"
            peers.append(options.runner.call(job, base, pin=True))
        arguments = {**base, "log2_C": peers[0]["log2_C"], "repeats": repeats}
        ours.append(options.runner.call("benchmarks.linear.search:own_search", arguments, pin=True))
    return min(peers, key=lambda run: run["seconds"]), min(ours, key=lambda run: run["seconds"])


def run(options: Options) -> Report:
    report = Report("linear_search", COLUMNS)
    repeats = 1 if options.is_quick else options.repeats
    for name in CASES:
        if not options.wants(name):
            continue
        peer, ours = take_turns(options, name, repeats)
        common = {"data": name, "n_C": len(peer.pop("log2_C"))}
        report.rows.append({**common, "peer": "alphapath", "ratio": 1.0, **ours})
        if name not in ALONE:
            ratio = peer["seconds"] / ours["seconds"]
            report.rows.append({**common, "peer": "LIBLINEAR -C", "ratio": ratio, **peer})
        print(name, ours, peer, flush=True)
    report.notes += [
        "Ratios above 1 mean that alphapath is faster; one thread, float64, data in memory, no "
        "final fit on all rows.",
        "The rate of alphapath is the mean over the folds, LIBLINEAR's that of all rows together.",
    ]
    return report
