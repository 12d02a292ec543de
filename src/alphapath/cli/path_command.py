"""Follow the exact path over lambda of a quadratic-loss SVM in every fold.

The error on held-out rows is then known for every lambda, not on a grid: a step function with exact
steps. For two classes; lambda is 1 / C in units of the summed loss.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from ..estimators import QuadraticLossSVC
from ..model_selection import cross_validate_path
from . import options as opt
from .cv_command import make_folds
from .data import read_data
from .facts import describe, warn_of_facts
from .failure import CommandError
from .output import print_facts, print_table, seconds_text, write_json
from .scaling import FeatureScaler

HELP = "exact validation error over all lambda of a quadratic-loss SVM"
EXAMPLE = "alphapath path two.svm -g 0.1 --json path.json"
N_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    parser.add_argument("-g", dest="gamma", type=opt.positive, help="gamma (default 1 / features)")
    parser.add_argument("-t", dest="kernel", choices=("rbf", "linear"), default="rbf")
    parser.add_argument(
        "--least", type=opt.positive, default=1e-4, metavar="LAMBDA", help="default 0.0001"
    )
    opt.add_folds(parser)
    opt.add_json(parser)
    parser.set_defaults(kind="c-svc")


def run(options: Any) -> int:
    data = read_data(options.file, "c-svc", options.target)
    if len(np.unique(data.y)) != 2:
        raise CommandError(
            f"{data.name} has {len(np.unique(data.y))} classes; a path is followed for two."
        )
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    # Scaled once by all rows: one kernel serves all folds.
    X = data.X if scale == "none" else FeatureScaler(scale).fit_transform(data.X)
    gamma = options.gamma or 1.0 / X.shape[1]
    model = QuadraticLossSVC(kernel=options.kernel, gamma=gamma)
    begin = time.perf_counter()
    result = cross_validate_path(model, X, data.y, cv=make_folds(options), lam_to=options.least)
    seconds = time.perf_counter() - begin
    curve = result.curve_
    ranges = sorted(curve.best_ranges_, key=lambda ends: ends[0] / ends[1])
    print_table(
        ("lambda from", "to", "error"),
        [(f"{low:.6g}", f"{high:.6g}", f"{curve.best_:.4f}") for low, high in ranges[:N_SHOWN]],
        title="Where the error is least",
    )
    print_facts(
        [
            ("data", describe(data, scale)),
            ("model", str(model)),
            ("steps of the curve", len(curve.values)),
            ("set changes", sum(result.n_events_)),
            ("best lambda", f"{result.best_lambda_:.6g} (C = {1.0 / result.best_lambda_:.6g})"),
            ("time", seconds_text(seconds)),
        ]
    )
    if options.json is not None:
        record = {"data": data.name, "model": model.get_params(), "edges": curve.edges}
        record |= {"error": curve.values, "best_lambda": result.best_lambda_, "seconds": seconds}
        write_json(options.json, record)
    return 0
