"""Exact updates against repeated single ones, our warm SMO and scikit-learn's refits."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import Any

from benchmarks.harness.data import DataSpec
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

COLUMNS = {
    "case": "case",
    "multiple": "seconds, at once",
    "walk": "of these, the walk",
    "single": "seconds, one by one",
    "warm": "seconds, warm SMO (1e-6)",
    "refit": "seconds, scikit-learn's refit (1e-6)",
    "ratio": "refit / at once",
    "n_events": "events",
    "n_single": "events, one by one",
    "n_warm": "iterations, warm SMO",
    "n_refit": "iterations, refit",
    "kkt": "KKT violation",
    "difference": "decision values off by",
    "note": "note",
}

JOBS = "benchmarks.paths.incremental_jobs:"

#: The sets of table 3.1 (covtype is left out by --quick: unscaled, its kernel is the identity).
SETS = [
    (DataSpec("diabetes_scale"), 500),
    (DataSpec("svmguide3"), 1000),
    (DataSpec("a2a"), 2000),
    (DataSpec("ijcnn1"), 4000),
]
#: Data sets over which breakpoints are averaged: ten leave the mean off by a tenth.
N_DRAWS = 60


def run_breakpoints(options: Options) -> list[dict[str, Any]]:
    rows = []
    for removes in (False, True):
        for m in (10, 25, 50):
            arguments = {"m": m, "n": 500, "n_seeds": N_DRAWS, "removes": removes}
            found = options.runner.call(JOBS + "count_breakpoints", arguments, pin=True)
            share = found["multiple"] / found["single"]
            law = math.sqrt(m) / m
            word = "out" if removes else "in"
            rows.append(
                {
                    "case": f"two Gaussians n=500 C=10 gamma=1, {m} {word}",
                    "multiple": found["seconds"]["multiple"] / N_DRAWS,
                    "single": found["seconds"]["single"] / N_DRAWS,
                    "n_events": found["multiple"] / N_DRAWS,
                    "n_single": found["single"] / N_DRAWS,
                    "note": f"{share:.3f} of the single breakpoints; sqrt(m)/m = {law:.3f} "
                    f"({share / law - 1:+.0%})",
                }
            )
            print(rows[-1]["case"], rows[-1]["note"], flush=True)
    return rows


def run_swaps(options: Options) -> list[dict[str, Any]]:
    rows = []
    for data, n in SETS:
        if options.only != "swap" and not options.wants(data.title):
            continue
        ratios, against_warm = [], []
        for C in (10.0, 100.0, 1000.0) if options.is_quick else (10.0, 1e2, 1e3, 1e4, 1e5):
            for gamma in (1e-3, 1e-2, 1e-1):
                arguments = {"data": data.as_dict(), "n": n, "C": C, "gamma": gamma}
                found = options.runner.call(
                    JOBS + "time_swap", arguments | {"folder": options.data}, pin=True
                )
                seconds = found.pop("seconds")
                ratio = seconds["refit"] / seconds["multiple"]
                ratios.append(ratio)
                against_warm.append(seconds["warm"] / seconds["walk"])
                case = f"{data.title} n={n} C={C:g} gamma={gamma:g}, 10 in, 10 out"
                note = f"{found.pop('n_margin')} on the margin, {found.pop('fallbacks')} fallbacks"
                rows.append({"case": case, **seconds, "ratio": ratio, **found, "note": note})
                print(f"{case}: {ratio:.1f}x, warm SMO {against_warm[-1]:.1f}x", flush=True)
        rows.append(
            {
                "case": f"{data.title}: median over C >= 10, gamma <= 0.1",
                "ratio": median(ratios),
                "note": f"warm SMO / the walk: {median(against_warm):.2f}",
            }
        )
    return rows


def run_windows(options: Options) -> list[dict[str, Any]]:
    rows = []
    windows = [
        ("fisher_river_daily", 1423, 30),  # the paper's: one step is left
        ("fisher_river_daily", 1000, 30),
        ("beer_australia_monthly", 451, 12),
        ("beer_australia_monthly", 300, 12),
    ]
    for name, n, size in windows:
        for C in (10.0, 100.0, 1000.0):
            arguments = {"name": name, "C": C, "gamma": 0.1, "n": n, "size": size}
            found = options.runner.call(
                JOBS + "slide_window", arguments | {"folder": options.data}, pin=True
            )
            seconds = found.pop("seconds")
            case = f"{name} n={n} C={C:g} gamma=0.1, {size} in, {size} out"
            note = f"{found.pop('n_steps')} steps"
            ratio = seconds["refit"] / seconds["multiple"]
            rows.append({"case": case, **seconds, "ratio": ratio, **found, "note": note})
            print(f"{case}: {ratio:.1f}x", flush=True)
    return rows


def run_svr(options: Options) -> list[dict[str, Any]]:
    found = options.runner.call(JOBS + "time_svr", {"library": "alphapath"}, pin=True)
    python = options.runner.interpreter_with("pyonlinesvr")
    peer = None
    if python is not None:
        job = {"library": "pyonlinesvr"}
        peer = options.runner.call(JOBS + "time_svr", job, python=python, pin=True)
    rows = []
    for word in ("add", "forget"):
        row = {
            "case": f"SVR n=800 d=5 C=10 gamma=0.2, one {word}, median of {len(found[word])}",
            "multiple": median(found[word]),
            "n_events": found["n_events"],
            "note": "pyonlinesvr is not installed; give its interpreter by --peer-python.",
        }
        if peer is not None:
            ratio, of_means = (f(peer[word]) / f(found[word]) for f in (median, fmean))
            pairs = zip(peer["values"], found["values"], strict=True)
            row |= {
                "ratio": ratio,
                "difference": max(abs(a - b) for a, b in pairs),
                "note": f"the refit is pyonlinesvr: {1e3 * median(peer[word]):.2f} ms, "
                f"{ratio:.1f}x; the ratio of the means is {of_means:.1f}x",
            }
        rows.append(row)
        print(row["case"], row["note"], flush=True)
    return rows


def run_folds(options: Options) -> list[dict[str, Any]]:
    rows = []
    for C in (1.0, 10.0, 100.0, 1000.0):
        for size in (1, 10, 50):
            arguments = {"C": C, "size": size, "folder": options.data}
            found = options.runner.call(JOBS + "leave_out", arguments, pin=True)
            seconds = found.pop("seconds")
            case = f"diabetes_scale n=500 C={C:g} gamma=0.1, leave {size} out"
            ratio = seconds["refit"] / seconds["multiple"]
            rows.append({"case": case, **seconds, "ratio": ratio, **found})
    return rows


def run(options: Options) -> Report:
    report = Report("incremental", COLUMNS)
    parts = {
        "breakpoints": run_breakpoints,
        "swap": run_swaps,
        "window": run_windows,
        "svr": run_svr,
        "folds": run_folds,
    }
    chosen = list(parts)
    if options.only is not None:
        chosen = [options.only] if options.only in parts else ["swap"]
    for part in chosen:
        report.rows += parts[part](options)
    report.notes.append(
        "One core. Updates include checks, kernel rows and all fitted attributes; warm SMO has its "
        "kernel already and is to be compared with the walk. --only breakpoints, swap, window, svr "
        "or folds runs one part."
    )
    return report
