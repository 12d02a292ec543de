"""Exact leave-one-out: predict each row by the model trained without it."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

import numpy as np

from ...model_selection.leave_one_out import leave_one_out
from ...output_files import write_file
from ...report.html.parts import seconds_text
from .. import options as opt
from ..facts import describe, warn_of_facts
from ..failure import INTERRUPTED
from ..files.data import read_data
from ..files.scaling import FeatureScaler
from ..options import fixed_gamma
from ..output import print_facts, working, write_json

HELP = "exact leave-one-out values of one SVM"
EXAMPLE = "alphapath loo train.svm -c 10 -g 0.05 --output values.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    opt.add_data(parser)
    opt.add_model(parser, ability="folds")
    opt.add_c_and_gamma(parser)
    opt.add_run(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the decision value of every row"
    )
    opt.add_json(parser)


def run(options: Any) -> int:
    data = read_data(options.file, options.kind, options.target, options.has_header)
    scale = options.scale or ("standard" if data.is_embedded else "none")
    warn_of_facts(data, scale)
    # Scaled once by all rows: with a separate scaling per row, nothing could be shared.
    X = data.X if scale == "none" else FeatureScaler(scale).fit_transform(data.X)
    model = opt.model_of(options)
    model.set_params(gamma=fixed_gamma(model, X))
    code = 0
    try:
        with working("leaving out one row after the other"):
            result = leave_one_out(model, X, data.y)
    except KeyboardInterrupt as interrupt:
        if not hasattr(interrupt, "partial"):  # before the first row
            raise
        result, code = interrupt.partial, INTERRUPTED
    values = result.decision_function_
    if options.output is not None:
        text = io.StringIO()
        np.savetxt(text, values, fmt="%.17g")
        write_file(options.output, text.getvalue())
    if options.json is not None:
        record = {"data": data.name, "model": model.get_params(), "score": result.score_}
        record |= {"n_refits": result.n_refits_, "n_iter": result.n_iter_}
        write_json(options.json, {**record, "decision_function": values})
    n_done = int(np.sum(~np.isnan(values).reshape(len(values), -1)[:, 0]))
    print_facts(
        [
            ("data", describe(data, scale)),
            ("model", str(model)),
            ("rows done", f"{n_done} of {len(values)}"),
            ("score", f"{result.score_:.4f}"),
            ("refits", f"{result.n_refits_} of {n_done} rows"),
            ("iterations", result.n_iter_),
            ("time", seconds_text(result.full_time_ + result.refit_time_)),
        ]
    )
    return code
