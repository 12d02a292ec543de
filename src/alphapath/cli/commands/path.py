"""Follow the exact solution in every fold along C, or along lambda of a quadratic-loss SVM.

The error on held-out rows is then known for every C (or lambda), not only on a grid: it is a step
function with exact steps or, for a regression, the squared error. The data must have two classes or
be those of a regression.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from ...estimators import QuadraticLossSVC
from ...model_selection import cross_validate_path
from ...output_files import write_file
from ...report.curve_record import record_curve
from ...report.displays.validation import SCORE_NAMES
from ...report.html.page import render_curve
from ...report.html.parts import seconds_text
from .. import options as opt
from ..facts import describe, warn_of_facts
from ..failure import CommandError
from ..files.data import Data, read_data
from ..files.scaling import FeatureScaler
from ..numbers import positive
from ..options import make_folds
from ..output import print_facts, print_table, working, write_json
from ..trace import check_traceable, trace_along_c

HELP = "exact validation error over all C, or all lambda"
EXAMPLE = "alphapath path two.svm -g 0.1 --report path.html"
#: Where the range begins and ends by default.
RANGES = {"C": (2.0**-5, 2.0**15), "lambda": (1e-4, np.inf)}
N_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    opt.add_model(parser, ability="path", is_supervised=True)
    parser.add_argument("-g", dest="gamma", type=positive, help="gamma (default 1 / features)")
    parser.add_argument(
        "--along",
        choices=tuple(RANGES),
        default="C",
        help="parameter to vary: C, or lambda of a quadratic-loss SVM without a bias (default C)",
    )
    parser.add_argument(
        "--least",
        type=positive,
        metavar="T",
        help="lower end (default: 2^-5 for C, 0.0001 for lambda)",
    )
    parser.add_argument(
        "--most", type=positive, metavar="T", help="upper end (default: 2^15 for C)"
    )
    opt.add_folds(parser)
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the curve as HTML")
    opt.add_json(parser)


def run(options: Any) -> int:
    data = read_data(options.file, options.kind, options.target, options.has_header)
    check_traceable(data, options.kind)
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    with working(f"following {options.along} in every fold"):
        model, found, n_events, seconds = trace(options, data, scale)
    record = record_curve(found, seconds=seconds)
    if options.kernel != "linear":
        record["fixed"] = {"gamma": model.gamma}
    title = f"{data.name}: every {options.along}"
    files = []
    if options.json is not None:
        write_json(options.json, {"data": data.name, "model": model.get_params(), **record})
        files.append(options.json)
    if options.report is not None:
        write_file(options.report, render_curve(record, title))
        files.append(options.report)
    show(describe(data, scale), model, record, n_events)
    if files:
        print_facts([("written           ", ", ".join(map(str, files)))])
    return 0


def trace(options: Any, data: Data, scale: str) -> tuple[Any, Any, int, float]:
    """The model, what was found, the events that were followed and the seconds."""
    gamma = options.gamma or 1.0 / data.X.shape[1]
    least, most = RANGES[options.along]
    least, most = options.least or least, options.most or most
    if options.along == "C":
        model = opt.make_estimator(options, gamma=gamma)
        traced = trace_along_c(model, data, scale, make_folds(options), (least, most))
        return model, traced, traced.n_events, traced.seconds
    if options.kind != "c-svc" or options.kernel not in ("rbf", "linear"):
        raise CommandError(
            f"--along lambda is for c-svc with the kernels rbf and linear, not {options.kind} with "
            f"{options.kernel}; --along C is for all of them."
        )
    if options.most is not None:
        raise CommandError("--most is for --along C; lambda starts where no set changes beyond.")
    # Scaled once by all rows, so that all folds share one kernel.
    X = data.X if scale == "none" else FeatureScaler(scale).fit_transform(data.X)
    model = QuadraticLossSVC(kernel=options.kernel, gamma=gamma)
    begin = time.perf_counter()
    found = cross_validate_path(model, X, data.y, cv=make_folds(options), lam_to=least)
    return model, found, sum(found.n_events), time.perf_counter() - begin


def show(words: str, model: Any, record: dict[str, Any], n_events: int) -> None:
    name, metric = record["name"], SCORE_NAMES[record["metric"]]
    value = np.minimum(record["first"], record["last"])
    found = np.flatnonzero(value <= value.min() * (1.0 + 1e-12))
    edges = record["edges"]
    found = found[np.argsort(-np.log(edges[found + 1] / edges[found]))][:N_SHOWN]
    print_table(
        (f"{name} from", "to", metric),
        [(f"{edges[k]:.6g}", f"{edges[k + 1]:.6g}", f"{value[k]:.5g}") for k in found],
        title=f"Where the {metric} is least",
    )
    best, simplest = record["best"], record["simplest"]
    print_facts(
        [
            ("data", words),
            ("model", str(model)),
            ("pieces, events", f"{len(value)}, {n_events}"),
            ("best", f"{name} = {best['t']:.6g}: {best['value']:.5g} +- {best['error']:.2g}"),
            ("one standard error", f"{name} = {simplest['t']:.6g}: {simplest['value']:.5g}"),
            ("time", seconds_text(record["seconds"])),
        ]
    )
