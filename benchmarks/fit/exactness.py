"""The same optimum: alphapath against an exact reference and against scikit-learn.

Checks, for every set, C and gamma:
  at tol 1e-3, a dual objective at least as good as scikit-learn's within 1e-4 relative, and the
  reference's labels wherever the reference's |f| >= 2e-3;
  at tol 1e-8, decision values within 1e-5 of the reference;
  the reference itself is certified from raw data, and a general QP solver agrees on small sets.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.data import DataSpec
from benchmarks.harness.measure import JobFailed
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

C_VALUES = [2.0**-5, 1.0, 2.0**5, 2.0**10]
GAMMAS = [2.0**-9, 2.0**-3, 2.0]
OBJECTIVE_LIMIT = 1e-4
TIGHT_LIMIT = 1e-5
CERTIFICATE_LIMIT = 1e-7
QP_LIMIT = 1e-6

COLUMNS = {
    "case": "set",
    "C": "C",
    "gamma": "gamma",
    "objective": "objective",
    "objective_excess": "ours - sklearn's, relative",
    "n_label_differences": "wrong labels",
    "their_label_differences": "sklearn's wrong labels",
    "error_loose": "max error of f, tol 1e-3",
    "their_error": "sklearn's",
    "error_tight": "max error of f, tol 1e-8",
    "reference_kkt": "reference KKT violation",
    "reference_gap": "reference gap, relative",
    "reference_status": "reference status",
    "qp_objective": "reference - QP, relative",
    "qp_error": "max error of f, QP",
    "n_iter_loose": "iterations, 1e-3",
    "n_iter_tight": "iterations, 1e-8",
    "verdict": "verdict",
}


@dataclass(frozen=True)
class Set:
    data: DataSpec
    is_small: bool = False
    is_regression: bool = False


SETS = [
    Set(DataSpec("usps")),
    Set(DataSpec("madelon", is_scaled=True)),
    Set(DataSpec("madelon")),
    Set(DataSpec("a2a", is_sparse=True)),
    Set(DataSpec("german.numer", is_scaled=True)),
    Set(DataSpec("diabetes_scale")),
    Set(DataSpec("australian_scale")),
    Set(DataSpec("breast-cancer_scale"), is_small=True),
    Set(DataSpec("housing", is_scaled=True), is_small=True, is_regression=True),
    Set(DataSpec("housing"), is_small=True, is_regression=True),
    Set(DataSpec("heart_scale"), is_small=True),
    Set(DataSpec("sonar_scale"), is_small=True),
]


def verdict(row: dict[str, Any]) -> list[str]:
    """What a row fails, as sentences."""
    limits = [
        ("objective_excess", OBJECTIVE_LIMIT, "dual objective worse than scikit-learn's"),
        ("n_label_differences", 0, "labels unlike the reference where |f| >= 2e-3"),
        ("error_tight", TIGHT_LIMIT, "decision values at tol 1e-8 away from the reference"),
        ("reference_kkt", CERTIFICATE_LIMIT, "KKT violation of the reference"),
    ]
    faults = [
        f"{text}: {row[key]:.3g} (at most {limit:g})"
        for key, limit, text in limits
        if row[key] is not None and not row[key] <= limit
    ]
    if row["qp_objective"] is not None and not abs(row["qp_objective"]) <= QP_LIMIT:
        faults.append(f"general QP solver's objective differs by {row['qp_objective']:.3g}")
    return faults


def run(options: Options) -> Report:
    report = Report("exactness", COLUMNS)
    places = {"data": options.data, "cache": str(options.out / "cache")}
    jobs = [
        {
            "data": entry.data.as_dict(),
            "is_regression": entry.is_regression,
            "gamma": gamma,
            "C_values": C_VALUES,
            "places": places,
        }
        for entry in SETS
        if (entry.is_small or not options.is_quick) and options.wants(entry.data.title)
        for gamma in GAMMAS
    ]

    def examine(job: dict[str, Any]) -> list[dict[str, Any]]:
        place = f"{job['data']['name']} gamma={job['gamma']:g}"
        try:
            rows = options.runner.call("benchmarks.fit.exactness_case:examine", job, pin=False)
        except JobFailed as error:
            report.failures.append(f"{place}: no result, {str(error).splitlines()[-1]}")
            rows = []
        print(f"{place}: {len(rows)} cases done", flush=True)
        return rows

    # Nothing is timed here, so several processes may run at once.
    with ThreadPoolExecutor(options.n_jobs) as pool:
        for rows in pool.map(examine, jobs):
            report.rows += rows
    for row in report.rows:
        faults = verdict(row)
        row["verdict"] = "; ".join(faults) if faults else "ok"
        place = f"{row['case']} C={row['C']:g} gamma={row['gamma']:g}"
        report.failures += [f"{place}: {fault}" for fault in faults]
    report.notes = summary(report.rows)
    return report


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """The worst case of every check."""
    notes = [f"{sum(row['verdict'] == 'ok' for row in rows)} of {len(rows)} cases pass."]
    for key in ("objective_excess", "n_label_differences", "error_tight", "reference_kkt"):
        known = [row for row in rows if row[key] is not None]
        if known:
            worst = max(known, key=lambda row: row[key])
            notes.append(
                f"Worst {COLUMNS[key]}: {worst[key]:.3g} ({worst['case']}, C={worst['C']:g}, "
                f"gamma={worst['gamma']:g})."
            )
    notes.append(
        "Errors and labels are over all rows and, with several classes, over all pairs; "
        "objectives are the worst pair's."
    )
    return notes
