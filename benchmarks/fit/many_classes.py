"""Many classes, one against one: fits, predictions, folds and grids against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.measure import peak_megabytes
from benchmarks.harness.registry import Options
from benchmarks.harness.report import Report

#: Generated sets as (classes, rows of each); 26 x 200 is small letter recognition.
CLOUDS = ((3, 500), (10, 200), (26, 200), (100, 50))
SETTING = {"C": 10.0, "gamma": 0.05}
USPS_SETTING = {"C": 10.0, "gamma": 2.0**-7}
GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1]}

COLUMNS = {
    "case": "case",
    "n_rows": "rows",
    "job": "job",
    "seconds": "seconds",
    "peer_seconds": "seconds, scikit-learn",
    "ratio": "ratio",
    "n_different": "rows with another label, or largest difference of a score in rows",
    "megabytes": "MB, ours",
}


def run(options: Options) -> Report:
    report = Report("many_classes", COLUMNS)
    cases = [f"{k} classes of {m} rows" for k, m in CLOUDS] + ["usps"]
    for number, case in enumerate(cases):
        if not options.wants(case) or (options.is_quick and number > 1):
            continue
        given = {"number": number, "folder": options.data, "repeats": options.repeats}
        ours, peer = (
            options.runner.call("benchmarks.fit.many_classes:run_library", given | one, pin=True)
            for one in ({"library": "alphapath"}, {"library": "sklearn.svm"})
        )
        for job in ours["seconds"]:
            own, other = ours["answers"][job], peer["answers"][job]
            row = {"case": case, "n_rows": ours["n_rows"], "job": job}
            row |= {"seconds": ours["seconds"][job], "peer_seconds": peer["seconds"][job]}
            row["ratio"] = row["peer_seconds"] / row["seconds"]
            row["n_different"] = compare(job, own, other, ours["n_rows"])
            row["megabytes"] = ours["megabytes"]
            report.rows.append(row)
            print(f"{case}, {job}: {row['ratio']:.3g}x", flush=True)
    report.failures += [
        f"{row['case']}, {row['job']}: {row['n_different']:.3g} rows differ."
        for row in report.rows
        if row["n_different"] > 0.002 * row["n_rows"]
    ]
    report.notes.append(
        "Gaussian clouds in 16 dimensions, C=10, gamma=0.05 (usps: 2^-7); five folds; the grid has "
        "4 C and 2 gamma. One thread on one core, the least of the repeats, tolerance 1e-3."
    )
    return report


def compare(job: str, own: list[float], other: list[float], n_rows: int) -> float:
    """Labels that differ, or the largest difference of a mean score in rows."""
    if job in ("fit", "predict"):
        return float(np.sum(np.not_equal(own, other)))
    return float(np.max(np.abs(np.subtract(own, other)))) * n_rows


def make_data(number: int, folder: str) -> tuple[Any, np.ndarray]:
    if number == len(CLOUDS):
        return load(DataSpec("usps"), Path(folder))
    n_classes, n_each = CLOUDS[number]
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(n_classes), n_each))
    centres = 1.5 * rng.normal(size=(n_classes, 16))
    return centres[y] + rng.normal(size=(y.size, 16)), y


def run_library(number: int, folder: str, repeats: int, library: str) -> dict[str, Any]:
    """Job: everything by one library, the least seconds of each piece and its answer."""
    X, y = make_data(number, folder)
    setting = USPS_SETTING if number == len(CLOUDS) else SETTING
    jobs = our_jobs(X, y, setting) if library == "alphapath" else peer_jobs(X, y, setting)
    seconds: dict[str, float] = {}
    answers: dict[str, Any] = {}
    for name, job in jobs.items():
        for _ in range(repeats):
            begin = perf_counter()
            answer = job()
            taken = perf_counter() - begin
            seconds[name] = min(taken, seconds.get(name, taken))
            if taken > 10.0:
                break
        if name == "fit":
            answer = answer.predict(X)
        answers[name] = np.asarray(answer, dtype=float).tolist()
    found = {"seconds": seconds, "answers": answers, "n_rows": len(y)}
    return found | {"megabytes": peak_megabytes()}


def our_jobs(X: Any, y: np.ndarray, setting: dict[str, float]) -> dict[str, Callable[[], Any]]:
    from alphapath import SVC
    from alphapath.model_selection import SVMSearchCV, cross_validate

    fitted = SVC(**setting).fit(X, y)
    return {
        "fit": lambda: SVC(**setting).fit(X, y),
        "predict": lambda: fitted.predict(X),
        "five folds": lambda: cross_validate(SVC(**setting), X, y, cv=5)["test_score"],
        "grid": lambda: scores_of(SVMSearchCV(SVC(), GRID, cv=5).fit(X, y)),
    }


def peer_jobs(X: Any, y: np.ndarray, setting: dict[str, float]) -> dict[str, Callable[[], Any]]:
    from sklearn.model_selection import GridSearchCV, cross_validate
    from sklearn.svm import SVC

    fitted = SVC(**setting).fit(X, y)
    return {
        "fit": lambda: SVC(**setting).fit(X, y),
        "predict": lambda: fitted.predict(X),
        "five folds": lambda: cross_validate(SVC(**setting), X, y, cv=5)["test_score"],
        "grid": lambda: scores_of(GridSearchCV(SVC(), GRID, cv=5).fit(X, y)),
    }


def scores_of(search: Any) -> Any:
    return search.cv_results_["mean_test_score"]
