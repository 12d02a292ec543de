"""Timed pieces of the cross-validation benchmark; each runs in a fresh process on one core."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.folds.cases import Case
from benchmarks.harness.measure import peak_megabytes, time_in_turns

#: Labels are compared where the decision value is not closer to zero than this.
MARGIN = 2e-3

#: What a row keeps of its run besides.
KEPT = ("n_iter", "seed_seconds", "solve_seconds", "violation", "n_cold")


def read_labels(f: np.ndarray, n_classes: int) -> np.ndarray:
    """Class numbers from decision values: the sign, or the most votes of the pairs."""
    if n_classes == 2:
        return (f > 0.0).astype(int)
    from alphapath.estimators.common.one_vs_one import count_votes

    return np.argmax(count_votes(f, n_classes), axis=1)


def run_public(X: Any, y: np.ndarray, case: Case, splits: Any, seeding: str) -> dict[str, Any]:
    """cross_validate as a user calls it."""
    from alphapath import SVC
    from alphapath.model_selection import cross_validate

    setting = case.setting
    model = SVC(C=setting.C, gamma=setting.gamma, tol=setting.tol, decision_function_shape="ovo")
    found = cross_validate(model, X, y, cv=splits, seeding=seeding)
    return {
        "n_iter": int(found["n_iter"].sum()) + found["shared"]["n_iter"],
        "seed_seconds": float(found["seed_time"].sum()),
        "solve_seconds": float(found["solve_time"].sum()) + found["shared"]["solve_time"],
        "f": found["decision_function"],
        "objectives": found["certificate"]["objective"],
        "violation": float(found["certificate"]["kkt_violation"].max()),
        "n_cold": int(np.sum(found["seed"] == "cold")),
    }


def run_plain_smo(X: Any, y: np.ndarray, case: Case, splits: Any, seeding: str) -> dict[str, Any]:
    """The same folds without exact solves of the free set, as in the paper."""
    from alphapath import SVC
    from alphapath.search import solve_folds

    setting = case.setting
    problem = SVC(C=setting.C, gamma=setting.gamma, tol=setting.tol).to_problem(X, y)
    masks = [np.isin(np.arange(len(y)), test) for _, test in splits]
    run = solve_folds(problem, masks, seeding=seeding, free_set=False, tol=setting.tol)
    f = np.full(len(y), np.nan)
    for solution, mask in zip(run.solutions, masks, strict=True):
        f[mask] = solution.decision_values[mask]
    infos = [solution.info for solution in run.solutions]
    return {
        "n_iter": sum(info.n_iter for info in infos) + (run.full.info.n_iter if run.full else 0),
        "seed_seconds": sum(info.seed_time for info in infos),
        "solve_seconds": sum(info.solve_time for info in infos)
        + (run.full.info.solve_time if run.full else 0.0),
        "f": f,
        "objectives": np.array([info.objective for info in infos]),
        "violation": max(info.kkt_violation for info in infos),
        "n_cold": sum(info.seed == "cold" for info in infos),
    }


def run_ours(
    case: dict, k: int | str, seedings: list[str], free_set: bool, folder: str, at_least: float
) -> list[dict[str, Any]]:
    """Job: every seeding on one case, compared with the cold run, which comes first."""
    own = Case.from_dict(case)
    X, y = own.load(Path(folder))
    splits = own.split(X, y, k)
    held_out = np.unique(np.concatenate([test for _, test in splits]))
    classes, codes = np.unique(y, return_inverse=True)
    rows: list[dict[str, Any]] = []
    cold: dict[str, Any] = {}
    function = run_public if free_set else run_plain_smo
    # The first run would pay for the first touch of the kernel's memory.
    function(X, y, own, splits[:1], "none")
    parts: dict[str, list[dict[str, Any]]] = {seeding: [] for seeding in seedings}

    def call(seeding: str) -> dict[str, Any]:
        found = function(X, y, own, splits, seeding)
        parts[seeding].append({name: found[name] for name in ("seed_seconds", "solve_seconds")})
        return found

    calls = [partial(call, seeding) for seeding in seedings]
    for seeding, timed in zip(seedings, time_in_turns(calls, at_least), strict=True):
        found = timed["value"] | median_of(parts[seeding])
        cold = cold or found
        f, reference = found["f"][held_out], cold["f"][held_out]
        labels, expected = read_labels(f, len(classes)), read_labels(reference, len(classes))
        is_clear = np.abs(reference.reshape(len(held_out), -1)).min(axis=1) >= MARGIN
        scale = np.abs(cold["objectives"])
        rows.append(
            {
                "seeding": seeding,
                "seconds": timed["seconds"],
                "accuracy": float(np.mean(labels == codes[held_out])),
                "n_label_differences": int(np.sum((labels != expected) & is_clear)),
                "objective_difference": float(
                    np.max(np.abs(found["objectives"] - cold["objectives"]) / scale)
                ),
                **{name: found[name] for name in KEPT},
                "peak_megabytes": peak_megabytes(),
            }
        )
    return rows


def median_of(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians of what was measured in each call, the first left out where there are more."""
    warm = calls[1:] or calls
    return {name: median(one[name] for one in warm) for name in calls[0]}


def run_sklearn(case: dict, k: int | str, folder: str) -> dict[str, Any]:
    """Job: scikit-learn's SVC on the first folds; the seconds are scaled to all of them."""
    from sklearn.svm import SVC

    own = Case.from_dict(case)
    X, y = own.load(Path(folder))
    splits = own.split(X, y, k)
    setting = own.setting
    n_folds = min(own.peer_folds or len(splits), len(splits))
    n_right = n_held_out = n_iter = 0
    begin = perf_counter()
    for train, test in splits[:n_folds]:
        model = SVC(C=setting.C, gamma=setting.gamma, tol=setting.tol).fit(X[train], y[train])
        n_right += int(np.sum(model.predict(X[test]) == y[test]))
        n_held_out += len(test)
        n_iter += int(np.sum(model.n_iter_))
    seconds = perf_counter() - begin
    scale = len(splits) / n_folds
    return {
        "seconds": seconds * scale,
        "n_iter": int(n_iter * scale),
        "accuracy": n_right / n_held_out,
        "note": "" if scale == 1.0 else f"from {n_folds} of {len(splits)} folds",
    }
