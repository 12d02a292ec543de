"""Leave-one-out: ours against scikit-learn's refits, on one core, kernel included."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.measure import time_calls
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

COLUMNS = {
    "case": "case",
    "who": "who",
    "seconds": "seconds (median)",
    "ratio": "scikit-learn's time / this",
    "n_rounds": "rounds",
    "n_refits": "refits",
    "n_iter": "iterations",
    "accuracy": "accuracy",
    "n_label_differences": "labels unlike scikit-learn's",
    "note": "note",
}


@dataclass(frozen=True)
class Case:
    data: DataSpec
    C: float
    gamma: float
    n_rounds: int | None = None  # None: every row
    n_peer_rounds: int | None = None  # rounds scikit-learn does; the rest is extrapolated

    @property
    def title(self) -> str:
        return f"{self.data.title} C={self.C:g} gamma={self.gamma:g}"


CASES = [
    Case(DataSpec("heart_scale"), 2182.0, 0.2),
    Case(DataSpec("diabetes_scale"), 1.0, 0.125),
    Case(DataSpec("diabetes_scale"), 128.0, 0.5),
    Case(DataSpec("german.numer", is_scaled=True), 32.0, 2.0**-5),
    Case(DataSpec("w8a", is_sparse=True), 64.0, 7.8125, n_rounds=30, n_peer_rounds=1),
]


def rounds_of(n: int, n_rounds: int | None) -> np.ndarray:
    """The rows left out: all, or evenly spaced ones."""
    return np.arange(n) if n_rounds is None else np.linspace(0, n - 1, n_rounds).astype(np.intp)


def time_ours(
    data: dict[str, Any], C: float, gamma: float, n_rounds: int | None, folder: str
) -> dict[str, Any]:
    """Job: decision values at the rows left out."""
    from alphapath import SVC
    from alphapath.solvers import smo
    from alphapath.solvers.sequence.leave_one_out import leave_out

    X, y = load(DataSpec(**data), Path(folder))
    rows = rounds_of(len(y), n_rounds)

    def call() -> dict[str, Any]:
        full = smo.solve(SVC(C=C, gamma=gamma).to_problem(X, y))
        values = full.decision_values
        refits = rows[full.beta[rows] != 0.0]
        done = leave_out(full, refits)
        values[refits] = done.values
        return {
            "values": values[rows].tolist(),
            "n_refits": len(refits),
            "n_iter": int(done.n_iter.sum()) + full.info.n_iter,
        }

    timed = time_calls(call)
    return timed.pop("value") | timed


def time_theirs(
    data: dict[str, Any], C: float, gamma: float, rows: list[int], folder: str
) -> dict[str, Any]:
    """Job: one fit of scikit-learn's SVC for each row left out."""
    from sklearn.svm import SVC

    X, y = load(DataSpec(**data), Path(folder))
    start = perf_counter()
    values, n_iter = [], 0
    for i in rows:
        rest = np.delete(np.arange(len(y)), i)
        model = SVC(C=C, gamma=gamma).fit(X[rest], y[rest])
        values.append(float(model.decision_function(X[[i]])[0]))
        n_iter += int(model.n_iter_.sum())
    return {"values": values, "seconds": perf_counter() - start, "n_iter": n_iter}


def run_case(case: Case, options: Options) -> list[dict[str, Any]]:
    shared = {
        "data": case.data.as_dict(),
        "C": case.C,
        "gamma": case.gamma,
        "folder": options.data,
    }
    ours = [
        options.runner.call(
            "benchmarks.folds.leave_one_out:time_ours",
            shared | {"n_rounds": case.n_rounds},
            pin=True,
        )
        for _ in range(options.repeats)
    ]
    _, y = load(case.data, Path(options.data))
    rows = rounds_of(len(y), case.n_rounds)
    peer_rows = rows[: case.n_peer_rounds]
    theirs = options.runner.call(
        "benchmarks.folds.leave_one_out:time_theirs",
        shared | {"rows": peer_rows.tolist()},
        pin=True,
    )
    seconds = median(result["seconds"] for result in ours)
    peer_seconds = theirs["seconds"] * len(rows) / len(peer_rows)
    values, peer_values = np.array(ours[0]["values"]), np.array(theirs["values"])
    both = values[: len(peer_rows)]
    is_clear = np.abs(both) >= 2e-3
    note = f"{len(peer_rows)} of {len(rows)} rounds measured" if case.n_peer_rounds else ""
    print(f"{case.title}: {seconds:.3g} s, scikit-learn {peer_seconds:.3g} s", flush=True)
    return [
        {
            "case": case.title,
            "who": "alphapath",
            "seconds": seconds,
            "ratio": peer_seconds / seconds,
            "n_rounds": len(rows),
            "n_refits": ours[0]["n_refits"],
            "n_iter": ours[0]["n_iter"],
            "accuracy": float(np.mean(np.where(values >= 0.0, 1.0, -1.0) == y[rows])),
            "n_label_differences": int(np.sum(is_clear & ((both >= 0) != (peer_values >= 0)))),
        },
        {
            "case": case.title,
            "who": "scikit-learn",
            "seconds": peer_seconds,
            "n_rounds": len(rows),
            "n_refits": len(peer_rows),
            "n_iter": theirs["n_iter"],
            "accuracy": float(
                np.mean(np.where(peer_values >= 0.0, 1.0, -1.0) == y[rows[: len(peer_values)]])
            ),
            "note": note,
        },
    ]


def run(options: Options) -> Report:
    report = Report("leave_one_out", COLUMNS)
    for case in CASES:
        if options.wants(case.title) and not (options.is_quick and case.n_rounds is not None):
            report.rows += run_case(case, options)
    report.failures += [
        f"{row['case']}: {row['n_label_differences']} labels unlike scikit-learn's"
        for row in report.rows
        if row.get("n_label_differences")
    ]
    report.notes.append(
        "Tolerance 1e-3, one core, kernel and the solution on all data included; labels are "
        "compared where |f| >= 2e-3."
    )
    return report
