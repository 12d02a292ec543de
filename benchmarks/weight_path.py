"""Table 4.1 of the paper: the weight path against warm SMO at every breakpoint."""

from __future__ import annotations

from statistics import mean

from benchmarks.registry import Options
from benchmarks.report import Report

COLUMNS = {
    "case": "case",
    "seconds": "seconds, path",
    "smo_seconds": "seconds, warm SMO (1e-6) at every breakpoint",
    "ratio": "ratio",
    "n_events": "events",
    "mean_margin": "margin set, mean",
    "n_iter": "SMO iterations",
    "paper": "paper: path, SMO, events, margin set",
}

PAPER = {
    400: "0.03, 0.39, 326.7, 3.07",
    800: "0.08, 2.84, 635.3, 3.27",
    1200: "0.19, 10.63, 997.6, 3.38",
    1600: "0.35, 28.11, 1424.0, 3.50",
}


def run(options: Options) -> Report:
    report = Report("weight_path", COLUMNS)
    n_seeds = 2 if options.is_quick else 10
    for n, paper in PAPER.items():
        found = [
            options.runner.call(
                "benchmarks.path_jobs:time_weight_path",
                {"n": n, "seed": seed, "n_solves": 400 if options.is_quick else 100_000},
                pin=True,
            )
            for seed in range(n_seeds)
        ]
        row = {key: mean(one[key] for one in found) for key in found[0]}
        if row.pop("difference") > 1e-6:
            report.failures.append(f"n={n}: path and SMO disagree")
        ratio = row["smo_seconds"] / row["seconds"]
        report.rows.append(
            {"case": f"C_1 from 0 to 10, n={n}", **row, "ratio": ratio, "paper": paper}
        )
        print(f"n={n}: {ratio:.1f}x, {row['n_events']:.0f} events", flush=True)
    report.notes.append(
        f"Means over {n_seeds} data sets of equation 4.27; one core. With --quick the solver is "
        "timed at the first 400 breakpoints and extrapolated."
    )
    return report
