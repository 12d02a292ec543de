"""Train one SVM, certify it from the raw data and write it as a LIBSVM model file.

MODEL.meta.json, written beside it, records the scaling and the names of features and classes.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from ...problem.solution import Status
from ...report.html.parts import seconds_text
from .. import options as opt
from ..facts import certificate_of, describe, warn_of_facts
from ..failure import DIFFERENT
from ..files.data import read_data, targets_of
from ..files.model import facts_of, save_model
from ..files.scaling import FeatureScaler
from ..output import print_facts, working, write_json

HELP = "train one SVM and write a LIBSVM model file"
EXAMPLE = "alphapath fit train.svm -c 10 -g 0.05 --scale minmax --model train.model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    opt.add_model(parser)
    opt.add_c_and_gamma(parser)
    opt.add_run(parser)
    opt.add_model_files(parser)
    opt.add_json(parser)
    parser.set_defaults(default_outputs={"model": ".model"})


def run(options: Any) -> int:
    data = read_data(options.file, options.kind, options.target, options.has_header)
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    scaler = None if scale == "none" else FeatureScaler(scale).fit(data.X)
    X = data.X if scaler is None else scaler.transform(data.X)
    model = opt.model_of(options)
    begin = time.perf_counter()
    with working("training"):
        model.fit(X, data.y)
    seconds = time.perf_counter() - begin
    certificate = certificate_of(model, X, data.y)
    files = save_model(options.model, model, facts_of(data, scaler), options.save_range)
    if options.json is not None:
        record = {"data": data.name, "model": model.get_params(), "certificate": certificate}
        write_json(options.json, {**record, "seconds": seconds, "files": list(map(str, files))})
    is_optimal = certificate["kkt_violation"] <= 1.05 * options.tol
    rows = [
        ("data", describe(data, scale)),
        ("model", str(model)),
        ("status", Status(model.fit_status_).name.lower()),
        ("iterations", int(np.sum(model.n_iter_))),
        ("time", seconds_text(seconds)),
        ("support vectors", len(model.support_)),
    ]
    if targets_of(options.kind) != "ignored":
        rows.append(("training score", f"{model.score(X, data.y):.4f}"))
    rows.append(("written", ", ".join(map(str, files))))
    print_facts(rows)
    print_facts(
        [(name.replace("_", " "), f"{value:.6g}") for name, value in certificate.items()],
        title="Certificate, recomputed from the raw data outside the solver",
    )
    verdict = "Optimal" if is_optimal else "NOT optimal"
    print(f"{verdict} to a KKT violation of {options.tol:g}.")
    return 0 if is_optimal else DIFFERENT
