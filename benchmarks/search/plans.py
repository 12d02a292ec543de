"""Plans of a search with one value of C and many gammas: counted work and seconds of each plan."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

SETS = (
    DataSpec("heart_scale"),
    DataSpec("diabetes_scale"),
    DataSpec("german.numer", is_scaled=True),
    DataSpec("svmguide3"),
)
PLANS = ("independent", "linked_folds", "auto")
VALUES_OF_C = (1.0, 128.0, 2048.0)
#: Exponents of 2: the guide's gammas, and twice as many between its useful ones.
GAMMAS = {"guide": np.arange(-15, 4, 2.0), "fine": np.arange(-9, 1.5, 1.0)}

COLUMNS = {
    "case": "case",
    "gammas": "gammas",
    "C": "C",
    **{f"work_{plan}": f"{plan}, work in ms" for plan in PLANS},
    **{f"seconds_{plan}": f"{plan}, seconds" for plan in PLANS},
    "largest_difference": "largest difference of a score, in rows",
}


def run(options: Options) -> Report:
    report = Report("search_plans", COLUMNS)
    for spec in SETS:
        if not options.wants(spec.title) or (options.is_quick and spec.name != "heart_scale"):
            continue
        for gammas in GAMMAS:
            job = {"name": spec.name, "is_scaled": spec.is_scaled, "gammas": gammas}
            given = job | {"folder": options.data, "repeats": options.repeats}
            report.rows += options.runner.call("benchmarks.search.plans:run_set", given, pin=True)
    report.failures += [
        f"{row['case']}, C={row['C']:g}: a score differs by {row['largest_difference']:g} rows."
        for row in report.rows
        if row["largest_difference"] > 1.0 + 1e-6
    ]
    report.notes.append(
        "Five folds, no refit, the plans by turns in one process; least seconds of the repeats. "
        "Work is counted: nanoseconds by the solver's model, seeds and links included."
    )
    return report


def run_set(
    name: str, is_scaled: bool, gammas: str, folder: str, repeats: int
) -> list[dict[str, Any]]:
    """Job: one data set by every plan."""
    from sklearn.model_selection import StratifiedKFold

    from alphapath import SVC
    from alphapath.model_selection import SVMSearchCV

    spec = DataSpec(name, is_scaled=is_scaled)
    X, y = load(spec, Path(folder))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    rows = []
    for C in VALUES_OF_C:
        row: dict[str, Any] = {"case": spec.title, "gammas": gammas, "C": C}
        scores: dict[str, Any] = {}
        for _ in range(max(repeats, 1)):
            for plan in PLANS:
                grid = {"gamma": 2.0 ** GAMMAS[gammas]}
                search = SVMSearchCV(SVC(C=C), grid, cv=folds, plan=plan, refit=False)
                begin = perf_counter()
                search.fit(X, y)
                seconds = perf_counter() - begin
                key = f"seconds_{plan}"
                row[key] = min(row.get(key, seconds), seconds)
                work = sum(float(part.sum()) for part in search.plan_.work.values())
                row[f"work_{plan}"] = work / 1e6
                scores[plan] = search.cv_results_["mean_test_score"]
        off = max(np.abs(scores[plan] - scores["independent"]).max() for plan in PLANS)
        row["largest_difference"] = float(off * len(y))
        rows.append(row)
    return rows
