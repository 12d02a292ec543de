"""Cross-validation: every seed against a cold start and scikit-learn, on the same folds.

Tables 1 and 3 and figure 2 of Wen et al. 2017, on the real data. Seconds are those of the whole
call, kernel and scores included. Iterations are those of all folds and, where a seed begins from
it, of the solution on all data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.folds.cases import CASES, Case
from benchmarks.harness.measure import JobFailed
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

COLUMNS = {
    "case": "case",
    "k": "folds",
    "solver": "free-set solves",
    "seeding": "seeding",
    "n_iter": "iterations",
    "iter_ratio": "x cold's iterations",
    "seed_seconds": "seconds for seeds",
    "seconds": "seconds (median)",
    "time_ratio": "x cold's time",
    "solving_ratio": "x cold's, seeds and solves alone",
    "peer_ratio": "scikit-learn's time / this",
    "accuracy": "accuracy",
    "n_label_differences": "labels unlike cold's",
    "objective_difference": "objective, largest difference",
    "n_cold": "cold folds",
    "note": "note",
}


def run(options: Options) -> Report:
    report = Report("cross_validation", COLUMNS)
    for case in CASES:
        if options.is_quick and not case.is_small:
            continue
        if options.wants(case.name):
            for k in case.ks if not options.is_quick else case.ks[:2]:
                report.rows += run_case(case, k, options)
    report.failures += [
        f"{row['case']}, k={row['k']}, {row['seeding']}: {row['n_label_differences']} labels, "
        f"objective {row['objective_difference']}"
        for row in report.rows
        if (row.get("n_label_differences") or 0) > 0
        or (row.get("objective_difference") or 0.0) > 1e-3
    ]
    report.notes += [
        f"C and gamma as in the case, tolerance 1e-3, one core, {options.repeats} repeats, each "
        "in a fresh process; short calls are repeated inside it, all seedings in turn (median).",
        "Labels are compared where the cold decision value is at least 2e-3; 'loo' is "
        "leave-one-out, its first rounds only where the note says so.",
        *summarise(report.rows),
    ]
    return report


def run_case(case: Case, k: int | str, options: Options) -> list[dict[str, Any]]:
    """Rows of one case and one number of folds: scikit-learn, then every seeding."""
    rows: list[dict[str, Any]] = []
    title = f"{case.name} ({case.setting.C:g}, {case.setting.gamma:g})"
    base: dict[str, Any] = {"case": title, "k": k}
    note = case.note
    if k == "loo" and case.rounds is not None:
        note = f"{note}; first {case.rounds} rounds".lstrip("; ")
    peer = run_peer(case, k, options)
    if peer is not None:
        peer_note = "; ".join(filter(None, [note, peer["note"]]))
        rows.append(base | peer | {"seeding": "scikit-learn", "solver": "-", "note": peer_note})
    seedings = ["none", "auto", "greedy", *case.seedings]
    is_binary = "classes" not in case.name
    for free_set in (True, False) if is_binary else (True,):
        runs = []
        for _ in range(options.repeats):
            arguments = {"case": case.as_dict(), "k": k, "seedings": seedings}
            arguments |= {"free_set": free_set, "folder": options.data}
            arguments["at_least"] = 0.05 if options.is_quick else 0.5
            runs.append(options.runner.call("benchmarks.folds.jobs:run_ours", arguments, pin=True))
            print(f"{title} k={k}: {[round(row['seconds'], 4) for row in runs[-1]]}", flush=True)
        solver = "on" if free_set else "off"
        found = [merge(same) for same in zip(*runs, strict=True)]
        for row in found:
            row |= base | {"solver": solver, "note": note}
            row["iter_ratio"] = row["n_iter"] / max(found[0]["n_iter"], 1)
            row["time_ratio"] = row["seconds"] / found[0]["seconds"]
            row["solving_ratio"] = solving_seconds(row) / solving_seconds(found[0])
            row["peer_ratio"] = None if peer is None else peer["seconds"] / row["seconds"]
        rows += found
    return rows


def run_peer(case: Case, k: int | str, options: Options) -> dict[str, Any] | None:
    """scikit-learn on the same folds; None where it is not wanted."""
    is_slow = case.peer_folds is not None
    if options.peers == "none" or (is_slow and options.skip_slow_peers):
        return None
    arguments = {"case": case.as_dict(), "k": k, "folder": options.data}
    try:
        peer: dict[str, Any] = options.runner.call(
            "benchmarks.folds.jobs:run_sklearn", arguments, pin=True
        )
    except JobFailed as error:
        print(error, flush=True)
        return None
    return peer


def merge(repeats: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One row from the repeats: median times, everything else as first found."""
    row = dict(repeats[0])
    row["all_seconds"] = [repeat["seconds"] for repeat in repeats]
    for name in ("seconds", "seed_seconds", "solve_seconds"):
        row[name] = median(repeat[name] for repeat in repeats)
    return row


def solving_seconds(row: dict[str, Any]) -> float:
    """What seeding can change: without kernel, checks and scores, which all runs share."""
    seconds: float = row["seed_seconds"] + row["solve_seconds"]
    return seconds


def summarise(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The geometric mean over the sets of what "auto" saves at ten folds."""
    own = [
        row for row in rows if row["seeding"] == "auto" and row["k"] == 10 and row["solver"] == "on"
    ]
    if not own:
        return []
    means = {}
    for name in ("time_ratio", "solving_ratio"):
        means[name] = math.exp(sum(math.log(row[name]) for row in own) / len(own))
    worst = max(row["time_ratio"] for row in own)
    return [
        f"'auto' at ten folds takes {means['time_ratio']:.3g} x cold's time (geometric mean of "
        f"{len(own)} sets, worst {worst:.3g}), of seeds and solves alone "
        f"{means['solving_ratio']:.3g} x."
    ]
