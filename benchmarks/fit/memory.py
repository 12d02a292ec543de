"""Resident memory over many fits in one process: it must not grow."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.measure import resident_kilobytes
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

WARM_UP = 500
LIMIT_MEGABYTES = 2.0

COLUMNS = {"n_fits": "fits", "megabytes": "resident MB", "growth": "MB since the warm-up"}


def fit_many(folder: str, n_fits: int) -> list[dict[str, Any]]:
    """Job: SVC, SVR and OneClassSVM in turn on heart_scale, dense and sparse."""
    from scipy import sparse

    from alphapath import SVC, SVR, OneClassSVM

    X, y = load(DataSpec("heart_scale"), Path(folder))
    inputs = (X, sparse.csr_matrix(X))
    models = (
        lambda k: SVC(C=1.0 + k % 7, gamma=0.1),
        lambda k: SVR(C=1.0 + k % 5, gamma=0.2),
        lambda k: OneClassSVM(nu=0.1 + 0.1 * (k % 3), gamma=0.1),
    )
    rows = []
    for k in range(1, n_fits + 1):
        model = models[k % 3](k)
        features = inputs[k // 3 % 2]
        model.fit(features, y) if k % 3 != 2 else model.fit(features)
        model.predict(features[:10])
        if k % max(1, n_fits // 20) == 0 or k == WARM_UP:
            gc.collect()
            rows.append({"n_fits": k, "megabytes": resident_kilobytes() / 1024.0})
    return rows


def run(options: Options) -> Report:
    report = Report("memory", COLUMNS)
    n_fits = 2_000 if options.is_quick else 10_000
    arguments = {"folder": options.data, "n_fits": n_fits}
    report.rows = options.runner.call("benchmarks.fit.memory:fit_many", arguments, pin=True)
    base = next(row["megabytes"] for row in report.rows if row["n_fits"] >= WARM_UP)
    for row in report.rows:
        row["growth"] = row["megabytes"] - base if row["n_fits"] >= WARM_UP else None
    growth = report.rows[-1]["growth"]
    report.notes.append(
        f"Growth from fit {WARM_UP} to fit {n_fits:,}: {growth:.2f} MB "
        f"(must be below {LIMIT_MEGABYTES:g})."
    )
    if not growth < LIMIT_MEGABYTES:
        report.failures.append(f"Resident memory grew by {growth:.2f} MB over {n_fits:,} fits.")
    return report
