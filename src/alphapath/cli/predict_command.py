"""Predict with a LIBSVM model file, of ours or of svm-train.

MODEL.range (scaling) and MODEL.classes (names of classes) are used where they exist.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .csv_file import read_csv
from .data import encode_labels, integer_labels, looks_like_svmlight, numbers
from .model_file import StoredModel, load_model
from .options import add_columns
from .svmlight_file import read_svmlight
from .text_file import Source, input_file

HELP = "predict with a LIBSVM model file"
EXAMPLE = "alphapath predict test.svm train.model predictions.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=input_file, metavar="FILE", help="LIBSVM or CSV file, or -")
    parser.add_argument("trained", type=input_file, metavar="MODEL", help="LIBSVM model file")
    parser.add_argument(
        "output", nargs="?", type=Path, metavar="OUTPUT", help="default: the standard output"
    )
    add_columns(parser, "the column of a CSV file to compare with, if any")


def run(options: Any) -> int:
    X, texts = read_rows(options.file, options.target, options.has_header)
    stored = load_model(options.trained, X.shape[1])
    found = stored.predict(X)
    lines = "".join(f"{label}\n" for label in as_texts(found))
    if options.output is None:
        sys.stdout.write(lines)
    else:
        options.output.write_text(lines, encoding="utf-8")
    if texts is not None:
        report(options, stored, found, texts)
    return 0


def read_rows(path: Source, target: str | None, has_header: bool) -> tuple[Any, Any]:
    """Rows, and targets where the file has them."""
    if looks_like_svmlight(path):
        X, y, _ = read_svmlight(path)
        return X, y
    return read_csv(path, target, needs_target=False, has_header=has_header)


def as_texts(found: Any) -> list[str]:
    """Labels as they are, numbers with all their digits."""
    if found.dtype.kind == "f" and not np.all(found == np.floor(found)):
        return [f"{value:.17g}" for value in found]
    return [str(value) if found.dtype.kind in "US" else f"{value:g}" for value in found]


def report(options: Any, stored: StoredModel, found: Any, given: Any) -> None:
    """How well the predictions fit the targets of the file, on the standard error stream."""
    is_regression = hasattr(stored.model, "epsilon")
    if is_regression:
        y = numbers(options.file, given) if isinstance(given, list) else given
        error = float(np.mean((found - y) ** 2))
        rows = [("mean squared error", f"{error:.6g}")]
    else:
        if stored.classes is not None and not isinstance(given, list):
            # A LIBSVM file has the numbers of the classes and not their names.
            names = dict(enumerate(stored.classes))
            y = np.array([names.get(k, "") for k in integer_labels(options.file, given).tolist()])
        elif stored.classes is not None:
            y = np.asarray(given)
        elif isinstance(given, list):
            y = encode_labels(options.file, given)[0]
        else:
            y = integer_labels(options.file, given)
        n_right = int(np.sum(found == y))
        rows = [("accuracy", f"{n_right / len(y):.6g} ({n_right} of {len(y)})")]
    for name, value in rows:
        print(f"{name} {value}", file=sys.stderr)
