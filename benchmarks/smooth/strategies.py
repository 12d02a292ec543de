"""Smooth SVM: leave-one-out and 10 folds by strategy, against scikit-learn's models.

The tables 2 and 3 of the rank-r paper: seconds from the model on all rows on (the peers have none
to start from), accuracies, and how far every fold is from a fresh fit.
"""

from __future__ import annotations

from typing import Any

from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report
from benchmarks.smooth.cases import CASES, Case
from benchmarks.smooth.jobs import WHOLE_CALL

COLUMNS = {
    "case": "case",
    "task": "task",
    "who": "who",
    "seconds": "seconds",
    "ratio": "this / auto",
    "n_solves": "systems or steps",
    "accuracy": "accuracy %",
    "error": "theta or values off by",
    "note": "note",
}
#: Fold models within this of a fresh fit, relative to |theta|; LIBLINEAR's within the second.
MODEL_LIMIT, LIBLINEAR_LIMIT = 1e-8, 1e-5


def run_case(case: Case, options: Options) -> list[dict[str, Any]]:
    arguments = {"title": case.title, "folder": options.data, "repeats": options.repeats}
    jobs = ["time_ours", "time_in_turn"]
    if options.peers != "none":
        jobs.append("time_peers")
    rows: list[dict[str, Any]] = []
    for job in jobs:
        rows += options.runner.call(f"benchmarks.smooth.jobs:{job}", arguments, pin=True)
    best = {row["task"]: row["seconds"] for row in rows if row["who"] == "auto"}
    for row in rows:
        row["case"] = case.title
        if row["task"] in best and row.get("seconds") is not None:
            row["ratio"] = row["seconds"] / best[row["task"]]
        print(
            {key: row.get(key) for key in ("case", "task", "who", "seconds", "ratio")}, flush=True
        )
    return rows


def find_failures(rows: list[dict[str, Any]]) -> list[str]:
    """Unequal models, and strategies of one model with different accuracies."""
    failures = []
    for row in rows:
        limit = LIBLINEAR_LIMIT if row["who"].startswith("LIBLINEAR") else MODEL_LIMIT
        if row.get("error") is not None and row["error"] > limit:
            failures.append(
                f"{row['case']}, {row['task']}, {row['who']}: off by {row['error']:.2g}."
            )
    accuracies: dict[tuple[str, str], set[float]] = {}
    for row in rows:
        if row.get("is_ours") and row.get("accuracy") is not None and row["note"] == "":
            key = (row["case"], row["task"])
            accuracies.setdefault(key, set()).add(round(row["accuracy"], 9))
    failures += [
        f"{case}, {task}: accuracies {sorted(found)}."
        for (case, task), found in accuracies.items()
        if len(found) > 1
    ]
    return failures


def summarise(rows: list[dict[str, Any]]) -> str:
    """The ratios that matter of one case, in one sentence."""
    seconds = {(row["task"], row["who"]): row["seconds"] for row in rows}

    def times(task: str, who: str) -> str | None:
        found, own = seconds.get((task, who)), seconds.get((task, "auto"))
        return None if found is None or own is None else f"{task} {found / own:.3g}x over {who}"

    parts = [
        times(task, who)
        for task in ("leave-one-out", "10 folds", WHOLE_CALL)
        for who in ("LinearSVC", "SVC", "auto, cold")
    ]
    moved = seconds["c * 1.1", "auto"] / seconds["fit", "auto"]
    turns = [
        (seconds[task, "auto"] / found, task)
        for (task, who), found in seconds.items()
        if who.startswith("the better")
    ]
    worst, task = max(turns)
    errors = [row["error"] for row in rows if row.get("is_ours") and row.get("error") is not None]
    parts += [
        f"c * 1.1 for {moved:.0%} of a fit",
        f"auto at most {worst:.3g} of the better strategy ({task})",
        f"models within {max(errors):.1e} of fresh ones",
    ]
    return f"{rows[0]['case']}: {'; '.join(part for part in parts if part)}."


def run(options: Options) -> Report:
    report = Report("smooth", COLUMNS)
    for case in CASES:
        if options.wants(case.title) and not (options.is_quick and case.is_large):
            rows = run_case(case, options)
            report.rows += rows
            report.notes.append(summarise(rows))
    report.failures += find_failures(report.rows)
    report.notes += [
        "c = 1; one thread on one core; the least of the repeats. Leave-one-out and folds of our "
        "strategies start from the model on all rows, whose fit is a row of its own; 'cold' folds "
        "start from zero. 'estimated' rows time that many refits, spread evenly, and scale up.",
        "'whole call' is cross_validate with its checks, the kernel and the model on all rows.",
        "LinearSVC is the primal squared hinge at C = c/2 and its default tolerance; SVC is at "
        "C = c. LIBLINEAR's row compares the model on all rows at tolerance 1e-10.",
        "'in turn': calls of 'auto' and the better strategy alternate, so that a busy machine hits "
        "both; the note has the ratio of their medians.",
        "The column 'off by' compares theta of every fold (or, for leave-one-out, decision values "
        "of 20 rows) with a fit from zero whose Hessian is formed anew at every step.",
    ]
    return report
