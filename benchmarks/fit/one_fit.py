"""One SVC fit, kernel computation included, at the same tolerance, on one core.

Every repeat of every peer is a fresh process, pinned to one core, and the peers take turns. The
objective and the labels are computed from each answer by the same plain code (judge.py), so that
a peer that stops early or late is seen.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.judge import classification_objective, kernel_times, probe_rows
from benchmarks.harness.measure import JobFailed, peak_megabytes, time_calls
from benchmarks.harness.peers import PEERS, Setting, chosen_peers
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report, installed_version

COLUMNS = {
    "case": "case",
    "peer": "library",
    "seconds": "seconds (median)",
    "spread": "min - max",
    "ratio": "x alphapath's time",
    "n_iter": "iterations",
    "n_rows_computed": "kernel rows",
    "n_free_set_solves": "free-set solves",
    "n_support": "support vectors",
    "objective": "objective",
    "excess": "relative to the best",
    "n_label_differences": "labels unlike alphapath's",
    "peak_megabytes": "peak MB",
    "note": "note",
}


@dataclass(frozen=True)
class Case:
    name: str
    data: DataSpec
    setting: Setting
    is_small: bool = False
    slow_peers: tuple[str, ...] = ()  # take minutes
    gigabytes: float = 0.0  # memory the host must have handed out before anything is timed


CASES = [
    Case("heart_scale C=1", DataSpec("heart_scale"), Setting(1.0, 0.1), is_small=True),
    Case("heart_scale C=2182", DataSpec("heart_scale"), Setting(2182.0, 0.2), is_small=True),
    Case("diabetes_scale C=1", DataSpec("diabetes_scale"), Setting(1.0, 0.125), is_small=True),
    Case("diabetes_scale C=128", DataSpec("diabetes_scale"), Setting(128.0, 0.5), is_small=True),
    Case("4000x20 C=2^15", DataSpec("4000x20", is_scaled=True), Setting(2.0**15, 2.0**-5)),
    Case("5000x100 C=100", DataSpec("5000x100", is_scaled=True), Setting(100.0, 0.5)),
    Case(
        "a9a C=100",
        # The training part of one fold of ten; sparse, as the file is loaded.
        DataSpec("a9a", is_sparse=True, n_rows=29305),
        Setting(100.0, 0.5),
        slow_peers=("sklearn", "sklearnex", "libsvm"),
        gigabytes=4.0,
    ),
]


def fit_once(peer: str, data: dict, setting: dict, folder: str, judge: bool) -> dict[str, Any]:
    """Job: time one peer on one case; with `judge`, also say what its answer is worth."""
    X, y = load(DataSpec(**data), Path(folder))
    wanted, library = Setting(**setting), PEERS[peer]
    tiny = np.unique(y, return_index=True)[1]
    tiny = np.unique(np.concatenate([tiny, np.arange(20)]))
    library.prepare(X[tiny], y[tiny], wanted)()  # imports and first-call set-up
    timed = time_calls(library.prepare(X, y, wanted))
    result: dict[str, Any] = {"seconds": timed["seconds"], "peak_megabytes": peak_megabytes()}
    result["version"] = installed_version(library.distribution)
    if judge:
        fitted = library.read(timed["value"])
        rows = probe_rows(len(y))
        f = kernel_times(X, rows, fitted.support, fitted.beta, wanted.gamma) + fitted.bias
        result |= fitted.counts
        result["n_support"] = len(fitted.support)
        result["objective"] = classification_objective(X, fitted.support, fitted.beta, wanted.gamma)
        result["signs"] = (f > 0).astype(int).tolist()
    return result


def run(options: Options) -> Report:
    report = Report("fit", COLUMNS)
    names = chosen_peers(options.peers)
    python = {name: options.runner.interpreter_with(PEERS[name].module) for name in names}
    cases = [case for case in CASES if not options.is_quick or case.is_small]
    for case in cases:
        if options.wants(case.name):
            report.rows += run_case(case, names, python, options)
    report.notes += [
        "Ratios above 1 mean that alphapath is faster. A fit includes everything between the "
        "arrays and the fitted model; LIBSVM's conversion of the input is left out.",
        f"All runs pinned to one core, one thread, {options.repeats} interleaved repeats, each in "
        "a fresh process; fits shorter than half a second are repeated inside it (median).",
        "Before a large case another process touches as much memory, for every library alike: the "
        "first touch on a virtual machine waits for its host.",
        "Kernel rows and free-set solves are known for alphapath only. scikit-learn-intelex "
        "counts iterations over blocks of working sets, so its number is not comparable.",
    ]
    report.notes += [
        f"{PEERS[name].title} ({PEERS[name].distribution}): not installed."
        for name in names
        if python[name] is None
    ]
    return report


def run_case(
    case: Case, names: list[str], python: dict[str, str | None], options: Options
) -> list[dict[str, Any]]:
    """Rows of one case, one per library."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    notes = {name: "not installed" for name in names if python[name] is None}
    if options.skip_slow_peers:
        notes |= {name: "skipped (slow)" for name in case.slow_peers if name not in notes}
    for repeat in range(options.repeats):
        for name in names:
            if name in notes:
                continue
            arguments = {
                "peer": name,
                "data": case.data.as_dict(),
                "setting": asdict(case.setting),
                "folder": options.data,
                "judge": repeat == 0,
            }
            try:
                if case.gigabytes > 0.0:
                    touch = {"gigabytes": case.gigabytes}
                    options.runner.call("benchmarks.harness.measure:touch_memory", touch, pin=True)
                result = options.runner.call(
                    "benchmarks.fit.one_fit:fit_once", arguments, python=python[name], pin=True
                )
            except JobFailed as error:
                if name == "alphapath":
                    raise
                notes[name] = f"failed: {str(error).splitlines()[-1]}"
                continue
            runs[name].append(result)
            print(f"{case.name}: {name} {result['seconds']:.4g} s", flush=True)
    return compare(case, runs, notes)


def compare(
    case: Case, runs: dict[str, list[dict[str, Any]]], notes: dict[str, str]
) -> list[dict[str, Any]]:
    """One row per library, with what can be said only side by side."""
    rows: list[dict[str, Any]] = []
    answers = {name: results[0] for name, results in runs.items() if results}
    best = min(answer["objective"] for answer in answers.values())
    ours = answers["alphapath"]
    our_seconds = median(result["seconds"] for result in runs["alphapath"])
    for name, results in runs.items():
        row: dict[str, Any] = {"case": f"{case.name} gamma={case.setting.gamma:g}"}
        row |= {"data": case.data.title, "peer": PEERS[name].title, "note": notes.get(name)}
        if results:
            seconds = [result["seconds"] for result in results]
            answer = dict(answers[name])
            signs = answer.pop("signs")
            row |= answer
            row["peer"] += f" {answer['version']}"
            row |= {
                "seconds": median(seconds),
                "all_seconds": seconds,
                "spread": f"{min(seconds):.3g} - {max(seconds):.3g}",
                "ratio": median(seconds) / our_seconds,
                "excess": (answer["objective"] - best) / abs(best),
                "n_label_differences": int(np.sum(np.not_equal(signs, ours["signs"]))),
                "peak_megabytes": max(result["peak_megabytes"] for result in results),
            }
        rows.append(row)
    return rows
