"""The record of a search: everything that a report shows, as JSON values.

A record is made once from a fitted (or interrupted) search. The page and the command line read only
the record, so a report can be made again, later and elsewhere, without the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from os import PathLike
from typing import Any

import numpy as np

from ..search.chain import NEIGHBOUR
from ..search.journal.digest import fingerprint
from ..search.journal.outline import JournaledSearch, describe_search, one_line, read_search
from ..search.one_standard_error import mean_and_error, one_standard_error
from ..search.table import find_best_so_far
from ..version import __version__
from .curve_record import record_curve
from .data_facts import find_facts
from .record_check import check_fields
from .score_grid import choose_metric

#: What makes a file one of ours, and its layout.
FORMAT, LAYOUT = "alphapath search", 1


def record_search(
    search: Any,
    *,
    X: Any = None,
    y: Any = None,
    name: str = "data",
    metric: str | None = None,
    validation_path: Any = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the record of a search with `cv_results_`; with X and y also facts about the data.

    `search` may also be the path of a journal, of a search that is running, was killed or finished.
    `metric` selects the scorer if there are several; by default, the one used for `refit`.
    `validation_path` is a result of `cross_validate_path`, shown beside the grid. `more` holds
    further entries ("seconds", "certificate", "files", ...), stored unchanged.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import SVMSearchCV
    >>> from alphapath.report import record_search
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVMSearchCV(SVC(gamma=0.1), {"C": [0.1, 1.0, 10.0]}).fit(X, y)
    >>> record_search(search, X=X, y=y)["best"]["params"]
    {'C': 1.0}
    """
    if isinstance(search, str | PathLike):
        search = read_search(search)
    results = search.cv_results_
    if X is not None:
        check_data(search, X, y)
    metric = choose_metric(search, metric)
    record: dict[str, Any] = {"format": FORMAT, "layout": LAYOUT, "version": __version__}
    record["created"] = datetime.now(UTC).isoformat(timespec="seconds")
    record["metric"] = metric
    is_journal = isinstance(search, JournaledSearch)
    record["search"] = search.description if is_journal else describe_search(search)
    facts = None if X is None else find_facts(X, y, is_scaled=bool(more.pop("is_scaled", False)))
    record["data"] = {"name": name} | ({} if facts is None else vars(facts))
    record["cv_results"] = results
    if not np.all(np.isnan(np.asarray(results[f"mean_test_{metric}"], dtype=float))):
        mean, _ = mean_and_error(results, metric)
        record["best"] = candidate(results, int(np.nanargmax(mean)), metric)
        record["simplest"] = candidate(results, one_standard_error(results, metric=metric), metric)
        if hasattr(search, "best_index_"):
            record["chosen"] = candidate(results, int(search.best_index_), metric)
    elif f"partial_mean_test_{metric}" in results:
        record |= best_so_far(results, metric)
    if validation_path is not None:
        found = validation_path
        record["path"] = found if isinstance(found, dict) else record_curve(found)
    if hasattr(search, "refit_time_"):
        record["refit_seconds"] = search.refit_time_
    if hasattr(search, "plan_"):
        record["trees"] = record_trees(search.plan_)
    plain_record: dict[str, Any] = plain(record | more)
    return plain_record


def check_data(search: Any, X: Any, y: Any) -> None:
    """Reject data that are not those of the search."""
    given = fingerprint(X, y)
    known = dict(getattr(search, "_fingerprint", {}))
    if not known and hasattr(search, "n_features_in_"):  # of scikit-learn
        known["features"] = search.n_features_in_
    for name, value in known.items():
        if name not in given or given[name] == value:
            continue
        what = "other targets" if name == "targets" else f"{given[name]} {name}"
        was = "" if name == "targets" else f", not {value}"
        raise ValueError(
            f"X and y have {what}{was} as in the search; give the data that the search was fitted "
            f"on."
        )


def record_trees(plan: Any) -> list[dict[str, Any]]:
    """One tree per kernel and fold: its solves in order, each with its parent and cost."""
    found = []
    labels = {chain.key: chain.label for chain in plan.chains}
    for chain in plan.chains:
        work = plan.work.get(chain.key)
        for h, fold in enumerate(chain.folds):
            steps = []
            for k, step in enumerate(chain.steps):
                if step.fold != fold:
                    continue
                parent = None if step.parent < 0 else chain.steps[step.parent]
                is_next = parent is not None and step.parent == k - 1 and parent.fold == fold
                own = {"C": chain.factors[step.factor], "seed": step.seed}
                if parent is not None and not is_next:
                    own["from"] = f"fold {parent.fold}, C = {chain.factors[parent.factor]:g}"
                elif step.parent == NEIGHBOUR:
                    own["from"] = f"{labels[chain.after]}, C = {own['C']:g}"
                own["work"] = None if work is None else float(work[h, step.factor])
                steps.append(own)
            found.append({"label": chain.label, "fold": fold, "steps": steps})
    return found


def candidate(results: Mapping[str, Any], index: int, metric: str) -> dict[str, Any]:
    """One candidate with its score."""
    mean, error = mean_and_error(results, metric)
    own = {"index": index, "params": results["params"][index]}
    return own | {"mean": float(mean[index]), "error": float(error[index])}


def best_so_far(results: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """The best of candidates none of which is complete; empty where none has a score."""
    mean, n_done = results[f"partial_mean_test_{metric}"], results["n_splits_done"]
    best = find_best_so_far(n_done, mean)
    if best is None:
        return {}
    own = {"index": best, "params": results["params"][best], "mean": float(mean[best])}
    return {"best_so_far": own | {"n_splits": int(n_done[best])}}


def check_record(record: Any, name: str) -> dict[str, Any]:
    """Reject anything that is not a record, in one sentence."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{name} does not hold the results of 'alphapath search'.")
    if record.get("layout") != LAYOUT:
        raise ValueError(
            f"{name} has layout {record.get('layout')!r:.40}; this version of alphapath reads "
            f"{LAYOUT}."
        )
    check_fields(record, name)
    return record


def results_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """`cv_results_` of a record: numbers as arrays, with nan where there is none."""
    results: dict[str, Any] = {}
    for key, values in record["cv_results"].items():
        if key.startswith(("mean_", "std_", "split", "rank_", "n_iter", "duality_gap")):
            results[key] = np.array([math.nan if v is None else v for v in values], dtype=float)
        else:
            results[key] = values
    return results


def plain(value: Any) -> Any:
    """Convert a value to JSON values: nan and infinities become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ma.MaskedArray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return one_line(value)
