"""Search C and gamma by cross-validation, by default on the grid of LIBSVM's guide.

The command writes the selected model as a LIBSVM model file, the results as JSON and a report as
one HTML file. Ctrl-C keeps the finished work; with --journal, running the same command again
resumes a search that was killed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ...model_selection import SearchProgress, SVMSearchCV, one_standard_error
from ...output_files import write_file
from ...report.curve_record import record_curve
from ...report.displays.validation import SCORE_NAMES
from ...report.html.page import render
from ...report.html.parts import n_splits, params_text, seconds_text
from ...report.record import record_search
from .. import options as opt
from ..facts import certificate_of, describe, warn_of_facts
from ..failure import INTERRUPTED, REFUSED
from ..files.data import Data, read_data
from ..files.model import ENDING, facts_of, save_model
from ..files.scaling import FeatureScaler
from ..options import add_grid, make_folds, make_grid
from ..output import print_facts, print_table, working, write_json
from ..trace import check_traceable, trace_along_c

HELP = "search C and gamma by cross-validation: the main job"
EXAMPLE = "alphapath search train.svm --log2c -3,9,2 --log2g -9,1,2 --report report.html"
N_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    opt.add_model(parser, ability="folds", is_supervised=True)
    add_grid(parser)
    opt.add_folds(parser)
    opt.add_run(parser)
    parser.add_argument(
        "--rule",
        choices=("best", "1se"),
        default="best",
        help="select the best mean score, or the simplest model within one standard error of it",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="file that records finished work, to resume from",
    )
    parser.add_argument(
        "--count-cold",
        action="store_true",
        help="repeat the search with cold starts, to count the iterations that were saved "
        "(always done for the embedded data)",
    )
    parser.add_argument(
        "--path",
        action="store_true",
        help="also follow C exactly through its range, with the other selected parameters (two "
        "classes or a regression; always done for the embedded data)",
    )
    files = parser.add_argument_group("files")
    opt.add_model_files(files)
    files.add_argument(
        "--json", type=Path, metavar="FILE", help="results as JSON (default: NAME.json)"
    )
    files.add_argument(
        "--report",
        type=Path,
        default=Path("report.html"),
        help="HTML report (default: report.html)",
    )
    parser.set_defaults(default_outputs={"model": ".model", "json": ".json"})


def run(options: Any) -> int:
    data = read_data(options.file, options.kind, options.target, options.has_header)
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    if options.path:
        check_traceable(data, options.kind)
    search = make_search(options, scale)
    begin = time.perf_counter()
    code = 0
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            search.fit(data.X, data.y)
    except KeyboardInterrupt:
        code = INTERRUPTED
        if not hasattr(search, "cv_results_"):
            raise
    seconds = time.perf_counter() - begin - getattr(search, "refit_time_", 0.0)
    extra = write_model(options, data, search) if hasattr(search, "best_estimator_") else {}
    if code == 0:
        try:
            add_extras(options, data, scale, search, extra)
        except KeyboardInterrupt:  # the results of the search must still be written
            code = INTERRUPTED
    record = record_search(
        search,
        X=data.X,
        y=data.y,
        name=data.name,
        is_scaled=scale != "none",
        seconds=seconds,
        tol=options.tol,
        scale=scale,
        **extra,
    )
    write_json(options.json, record)
    write_file(options.report, render(record))
    files = [*record.get("files", {}).values(), str(options.json), str(options.report)]
    show(data, scale, record, files)
    if "best" not in record:
        return code or REFUSED
    return code


def make_search(options: Any, scale: str) -> Any:
    """The search; scaling is a step of a pipeline, fitted on the training rows of each fold."""
    estimator: Any = opt.make_estimator(options)
    prefix = ""
    if scale != "none":
        estimator = Pipeline([("scale", FeatureScaler(scale)), ("svm", estimator)])
        prefix = "svm__"
    search = SVMSearchCV(
        estimator,
        make_grid(options, prefix),
        cv=make_folds(options),
        refit=one_standard_error if options.rule == "1se" else True,
        n_jobs=options.n_jobs,
        journal=options.journal,
        memory_limit=options.memory_limit,
        time_limit=options.time_limit,
    )
    search.set_callbacks(SearchProgress())
    return search


def write_model(options: Any, data: Data, search: Any) -> dict[str, Any]:
    """Save the selected model and certify it; return its entries of the record."""
    fitted = search.best_estimator_
    scaler, model = (fitted[0], fitted[-1]) if isinstance(fitted, Pipeline) else (None, fitted)
    files = save_model(options.model, model, facts_of(data, scaler), options.save_range)
    X = data.X if scaler is None else scaler.transform(data.X)
    return {
        "certificate": certificate_of(model, X, data.y),
        "n_support": len(model.support_),
        "files": {file_kind(k, file): str(file) for k, file in enumerate(files)},
    }


def file_kind(k: int, file: Path) -> str:
    """What the k-th file of a saved model is, for the report."""
    return "model" if k == 0 else "facts" if file.name.endswith(ENDING) else "range"


def add_extras(options: Any, data: Data, scale: str, search: Any, extra: dict[str, Any]) -> None:
    """Add the requested extras of a search; the embedded data show all of them."""
    if options.count_cold or data.is_embedded:
        with working("counting the iterations of a search from zero"):
            extra["n_iter_cold"] = count_cold(search, data)
    if (options.path or data.is_embedded) and hasattr(search, "best_params_"):
        with working("following C in every fold"):
            extra["validation_path"] = trace_path(options, data, scale, search.best_params_)


def count_cold(search: Any, data: Data) -> int:
    """Iterations of the same search with only cold starts."""
    cold = clone(search).set_params(seeding="none", refit=False, journal=None, time_limit=None)
    return int(np.sum(cold.fit(data.X, data.y).cv_results_["n_iter"]))


def trace_path(
    options: Any, data: Data, scale: str, chosen: dict[str, Any]
) -> dict[str, Any] | None:
    """The exact error along C at the chosen gamma; None where the grid has one C only."""
    C_values = next(iter(make_grid(options).values()))
    if min(C_values) == max(C_values):
        return None
    fixed = {name.rpartition("__")[2]: value for name, value in chosen.items()}
    fixed.pop("C")
    model = opt.make_estimator(options, **fixed)
    limits = (min(C_values), max(C_values))
    traced = trace_along_c(model, data, scale, make_folds(options), limits)
    return record_curve(traced, fixed=fixed, seconds=traced.seconds)


def show(data: Data, scale: str, record: dict[str, Any], files: list[str]) -> None:
    """The best cells, what was chosen and what was written."""
    results = record["cv_results"]
    order = sorted(
        (i for i, mean in enumerate(results["mean_test_score"]) if mean is not None),
        key=lambda i: (-results["mean_test_score"][i], i),
    )
    if order:
        show_best(results, order, n_splits(record))
    n_done = results.get("n_splits_done", [n_splits(record)] * len(results["params"]))
    n_solved = int(np.sum(n_done))
    n_iter = int(np.sum(results["n_iter"]))
    rows = [
        ("data", describe(data, scale)),
        ("search", f"{n_solved} SVMs, {n_iter} iterations in {seconds_text(record['seconds'])}"),
    ]
    if not order:
        rows.append(("best", f"none of the {len(results['params'])} cells was finished"))
    if "best_so_far" in record:
        best = record["best_so_far"]
        of = f"{best['n_splits']} of {n_splits(record)} folds"
        rows.append(("best so far", f"{params_text(best['params'])}: {best['mean']:.4f} on {of}"))
    if "n_iter_cold" in record:
        rows.append(("iterations from zero", record["n_iter_cold"]))
    if "best" in record:
        for name, words in (("best", "best"), ("simplest", "one standard error")):
            own = record[name]
            score = f"{own['mean']:.4f} +- {own['error']:.4f}"
            rows.append((words, f"{params_text(own['params'])}: {score}"))
    if "path" in record:
        least = record["path"]["best"]
        rows.append(("every C", f"C = {least['t']:.4g}: {least['value']:.4f} {words_of(record)}"))
    if "certificate" in record:
        own = record["certificate"]
        chosen = params_text(record["chosen"]["params"])
        rows.append(("chosen", f"{chosen}; {record['n_support']} support vectors"))
        quality = f"KKT violation {own['kkt_violation']:.2e}, duality gap {own['duality_gap']:.2e}"
        rows.append(("certificate", f"{quality} (recomputed from the raw data)"))
    print_facts([*rows, ("written", ", ".join(files))])


def show_best(results: dict[str, Any], order: list[int], n_folds: int) -> None:
    print_table(
        ("parameters", "score", "deviation", "iterations", "seconds", "status"),
        [
            (
                params_text(results["params"][i]),
                f"{results['mean_test_score'][i]:.4f}",
                f"{results['std_test_score'][i]:.4f}",
                results["n_iter"][i],
                f"{n_folds * results['mean_fit_time'][i]:.3f}",
                results["status"][i],
            )
            for i in order[:N_SHOWN]
        ],
        title=f"The best {min(N_SHOWN, len(order))} of {len(results['params'])} cells",
    )


def words_of(record: dict[str, Any]) -> str:
    """The metric of the path and what it cost."""
    path = record["path"]
    took = seconds_text(path["seconds"])
    return f"{SCORE_NAMES[path['metric']]}, exact on {len(path['first'])} pieces in {took}"
