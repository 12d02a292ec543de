"""Time and kernel rows computed when less and less of the kernel matrix fits in memory."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.measure import peak_megabytes
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

SHARES = [1.0, 0.75, 0.5, 0.25, 0.1]
C, GAMMA, TOL = 10.0, 0.5, 1e-3

COLUMNS = {
    "share": "share of the matrix",
    "megabytes": "limit MB",
    "seconds": "seconds (median)",
    "ratio": "x the whole matrix",
    "n_rows_computed": "kernel rows computed",
    "rows_per_n": "rows / n",
    "n_iter": "iterations",
    "objective": "objective",
    "peak_megabytes": "peak MB",
}


def solve_within(share: float, n_rows: int, folder: str) -> dict[str, Any]:
    """Job: solve with `share` of the float32 matrix as the memory limit."""
    from alphapath import Problem
    from alphapath.kernels import KernelStore, Rbf
    from alphapath.solvers import SOLVERS

    X, y = load(DataSpec("8000x20", is_scaled=True, n_rows=n_rows), Path(folder))
    limit = int(share * 4 * len(y) * len(y))
    if share == 1.0:
        limit = 2 * limit  # room for the padding of rows and the store's own arrays
    start = perf_counter()
    store = KernelStore(X, memory_limit=limit)
    view = store.view(Rbf(GAMMA), precision="float32", tol=TOL)
    problem = Problem.classification(view, y, np.full(len(y), C))
    solution = SOLVERS["smo"](problem, tol=TOL)
    return {
        "seconds": perf_counter() - start,
        "megabytes": share * 4e-6 * len(y) * len(y),
        "n_rows_computed": store.counts.rows_computed,
        "rows_per_n": store.counts.rows_computed / len(y),
        "n_iter": solution.info.n_iter,
        "objective": solution.info.objective,
        "peak_megabytes": peak_megabytes(),
    }


def run(options: Options) -> Report:
    report = Report("row_cache", COLUMNS)
    n_rows = 2000 if options.is_quick else 8000
    runs: dict[float, list[dict[str, Any]]] = {share: [] for share in SHARES}
    for _ in range(options.repeats):
        for share in SHARES:
            arguments = {"share": share, "n_rows": n_rows, "folder": options.data}
            result = options.runner.call(
                "benchmarks.fit.row_cache:solve_within", arguments, pin=True
            )
            runs[share].append(result)
            print(f"{share:.0%}: {result['seconds']:.3g} s", flush=True)
    whole = median(result["seconds"] for result in runs[1.0])
    for share, results in runs.items():
        seconds = median(result["seconds"] for result in results)
        row = results[0] | {"share": f"{share:.0%}", "seconds": seconds, "ratio": seconds / whole}
        report.rows.append(row)
    report.notes.append(
        f"{n_rows:,} x 20 generated, C={C:g}, gamma={GAMMA:g}, float32, one core; the kernel is "
        "included in the seconds."
    )
    return report
