"""Paths between weightings: table 4.1, windows of the NASDAQ index (4.9), housing (4.11)."""

from __future__ import annotations

from statistics import mean
from typing import Any

from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

COLUMNS = {
    "case": "case",
    "seconds": "seconds, path",
    "smo_seconds": "seconds, warm SMO (1e-6)",
    "ratio": "warm SMO / path",
    "cold_seconds": "seconds, SMO from nothing",
    "cold_ratio": "from nothing / path",
    "n_events": "events",
    "n_updates": "updates",
    "mean_margin": "margin set, mean",
    "n_iter": "iterations of warm SMO",
    "kkt": "KKT violation",
    "paper": "paper: path, SMO, events, margin set",
}

PAPER = {
    400: "0.03, 0.39, 326.7, 3.07",
    800: "0.08, 2.84, 635.3, 3.27",
    1200: "0.19, 10.63, 997.6, 3.38",
    1600: "0.35, 28.11, 1424.0, 3.50",
}
#: Relative difference of objectives at which path and solver disagree.
LIMIT = 1e-6


def run_table(options: Options, report: Report) -> None:
    n_seeds = 2 if options.is_quick else 10
    for n, paper in PAPER.items():
        case = f"C_1 from 0 to 10, n={n}"
        if not options.wants(case):
            continue
        found = [
            options.runner.call(
                "benchmarks.paths.jobs:time_weight_path",
                {"n": n, "seed": seed, "n_solves": 400 if options.is_quick else 100_000},
                pin=True,
            )
            for seed in range(n_seeds)
        ]
        row = {key: mean(one[key] for one in found) for key in found[0]}
        if row.pop("difference") > LIMIT:
            report.failures.append(f"{case}: path and SMO disagree")
        ratio = row["smo_seconds"] / row["seconds"]
        report.rows.append({"case": case, **row, "ratio": ratio, "paper": paper})
        print(f"{case}: {ratio:.1f}x, {row['n_events']:.0f} events", flush=True)
    report.notes.append(
        f"C_1 from 0 to 10: means over {n_seeds} data sets of equation 4.27, warm SMO at every "
        "breakpoint. With --quick the solver is timed at the first 400 breakpoints and "
        "extrapolated."
    )


def run_updates(options: Options, report: Report) -> None:
    """Weights that move again and again; one row a C and gamma."""
    n_seeds = 2 if options.is_quick else 10
    jobs = {
        "NASDAQ, 5 of 2,200 days changed": ("time_nasdaq", [{}]),
        "housing, weights by residuals": ("time_housing", [{"seed": s} for s in range(n_seeds)]),
    }
    for name, (job, draws) in jobs.items():
        for gamma in (10.0, 1.0, 0.1):
            for C in (1.0, 10.0, 1e2, 1e3, 1e4):
                case = f"{name}: C={C:g} gamma={gamma:g}"
                if options.wants(case):
                    report.rows.append({"case": case, **update_row(options, job, C, gamma, draws)})
                    last = report.rows[-1]
                    print(f"{case}: {last['ratio']:.1f}x, {last['cold_ratio']:.1f}x", flush=True)
                    if last.pop("objective") > LIMIT:
                        report.failures.append(f"{case}: path and SMO disagree")
    report.notes.append(
        "NASDAQ: weights of equation 4.28 with a = 3, five updates in which five days come and "
        "five go. Housing: SVR on 404 rows (epsilon 0.05, targets of variance 1), weights of "
        f"equation 4.30 until residuals change by less than 1e-3; sums, means over {n_seeds} draws."
    )


def update_row(
    options: Options, job: str, C: float, gamma: float, draws: list[dict[str, Any]]
) -> dict[str, Any]:
    found = [
        options.runner.call(
            f"benchmarks.paths.reweighting_jobs:{job}",
            {"C": C, "gamma": gamma, "folder": options.data, **draw},
            pin=True,
        )
        for draw in draws
    ]
    row = {key: mean(one[key] for one in found) for key in found[0]}
    row |= {key: max(one[key] for one in found) for key in ("kkt", "objective")}
    row["seconds"], row["smo_seconds"] = row.pop("path_seconds"), row.pop("warm_seconds")
    row["ratio"] = row["smo_seconds"] / row["seconds"]
    row["cold_ratio"] = row["cold_seconds"] / row["seconds"]
    return row


def run(options: Options) -> Report:
    report = Report("weight_path", COLUMNS)
    run_table(options, report)
    run_updates(options, report)
    report.notes.append("One core; solvers to 1e-6.")
    return report
