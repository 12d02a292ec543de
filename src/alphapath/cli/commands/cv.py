"""Cross-validate one SVM, with each fold warm-started from an existing solution."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.pipeline import make_pipeline

from ...model_selection.cross_validation import cross_validate
from ...report.html.parts import seconds_text
from ...seeds import SEEDS
from .. import options as opt
from ..facts import describe, warn_of_facts
from ..failure import INTERRUPTED
from ..files.data import read_data
from ..files.scaling import FeatureScaler
from ..options import fixed_gamma, make_folds
from ..output import print_facts, print_table, working, write_json

HELP = "cross-validate one SVM"
EXAMPLE = "alphapath cv train.svm -c 10 -g 0.05 -v 10"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    opt.add_model(parser, ability="folds", is_supervised=True)
    opt.add_c_and_gamma(parser)
    opt.add_folds(parser)
    opt.add_run(parser)
    parser.add_argument(
        "--seeding",
        default="auto",
        choices=("auto", "none", *SEEDS),
        help="how folds are warm-started (default auto)",
    )
    opt.add_json(parser)


def run(options: Any) -> int:
    data = read_data(options.file, options.kind, options.target, options.has_header)
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    model = opt.model_of(options)
    cv = make_folds(options)
    begin = time.perf_counter()
    code = 0
    if scale == "none":
        model.set_params(gamma=fixed_gamma(model, data.X))
        try:
            with working("cross-validating"):
                results = cross_validate(
                    model, data.X, data.y, cv=cv, n_jobs=options.n_jobs, seeding=options.seeding
                )
        except KeyboardInterrupt as interrupt:
            if not hasattr(interrupt, "partial"):  # before the first fold
                raise
            results, code = interrupt.partial, INTERRUPTED
    else:  # every fold is scaled by its own training rows, so no kernel is shared
        pipeline = make_pipeline(FeatureScaler(scale), model)
        with working("cross-validating"):
            results = sklearn_cross_validate(
                pipeline, data.X, data.y, cv=cv, n_jobs=options.n_jobs, return_estimator=True
            )
        fitted = [pipe[-1] for pipe in results.pop("estimator")]
        results["n_iter"] = np.array([int(np.sum(one.n_iter_)) for one in fitted])
        results["seed"] = np.array(["cold"] * len(fitted))
    seconds = time.perf_counter() - begin
    if options.json is not None:
        write_json(options.json, {"data": data.name, "model": model.get_params(), **results})
    show(data, scale, model, results, seconds)
    return code


def show(data: Any, scale: str, model: Any, results: dict[str, Any], seconds: float) -> None:
    scores = np.asarray(results["test_score"], dtype=float)
    print_table(
        ("fold", "score", "iterations", "seed", "time"),
        [
            (
                k + 1,
                f"{scores[k]:.4f}",
                int(results["n_iter"][k]),
                results["seed"][k],
                seconds_text(float(results["fit_time"][k])),
            )
            for k in range(len(scores))
        ],
    )
    done = scores[~np.isnan(scores)]
    error = done.std(ddof=1) / np.sqrt(done.size) if done.size > 1 else float("nan")
    print_facts(
        [
            ("data", describe(data, scale)),
            ("model", str(model)),
            ("score", f"{done.mean() if done.size else float('nan'):.4f} +- {error:.4f}"),
            ("iterations", int(np.sum(results["n_iter"]))),
            ("time", seconds_text(seconds)),
        ]
    )
