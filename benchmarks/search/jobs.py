"""Timed pieces of the grid-search benchmark; each runs in a fresh process on one core."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.harness.measure import time_calls
from benchmarks.search.cases import Case


def summarise(search: Any) -> dict[str, Any]:
    """What two searches are compared by."""
    results = search.cv_results_
    scores = [results[f"split{h}_test_score"].tolist() for h in range(search.n_splits_)]
    return {
        "scores": scores,
        "C": [float(value) for name, value in find_column(results, "C")],
        "best_params": {k: float(v) for k, v in search.best_params_.items()},
        "best_index": int(search.best_index_),
    }


def find_column(results: dict[str, Any], name: str) -> list[tuple[str, Any]]:
    """(parameter, value) of each candidate, whatever step the parameter belongs to."""
    return [
        next((key, value) for key, value in params.items() if key.split("__")[-1] == name)
        for params in results["params"]
    ]


def run_ours(case: dict, folder: str, at_least: float) -> dict[str, Any]:
    """Job: the search as a user calls it, refit included."""
    import alphapath
    from alphapath.model_selection import SVMSearchCV

    own = Case.from_dict(case)
    X, y = own.load(Path(folder))
    search = SVMSearchCV(own.estimator(alphapath), own.cells(), cv=own.folds())
    few = np.sort(np.concatenate([np.flatnonzero(y == label)[:12] for label in np.unique(y)[:40]]))
    search.fit(X[few], y[few])  # imports and lazy set-up
    timed = time_calls(lambda: search.fit(X, y), at_least)
    results = search.cv_results_
    return summarise(search) | {
        "seconds": timed["seconds"],
        "n_iter": int(results["n_iter"].sum()),
        "n_rows": len(y),
        "n_test": [len(test) for _, test in own.folds().split(X, y)],
        "n_solves": len(results["params"]) * search.n_splits_,
        "unsolved": sorted(set(results["status"]) - {"solved"}),
    }


def run_sklearn(case: dict, folder: str) -> dict[str, Any]:
    """Job: GridSearchCV on the same folds."""
    from sklearn import svm
    from sklearn.model_selection import GridSearchCV

    own = Case.from_dict(case)
    X, y = own.load(Path(folder))
    search = GridSearchCV(own.estimator(svm), own.cells(), cv=own.folds())
    begin = perf_counter()
    search.fit(X, y)
    return summarise(search) | {"seconds": perf_counter() - begin}


def run_reference(case: dict, folder: str) -> dict[str, Any]:
    """Job: the cells of large C to a KKT violation of 1e-7, in double precision."""
    import alphapath
    from alphapath.model_selection import SVMSearchCV

    own = Case.from_dict(case)
    X, y = own.load(Path(folder))
    model = own.estimator(alphapath, tol=1e-7)
    search = SVMSearchCV(model, own.cells("large"), cv=own.folds()).fit(X, y)
    found = summarise(search)
    found["unsolved"] = sorted(set(search.cv_results_["status"]) - {"solved"})
    return found
