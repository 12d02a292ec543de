"""Predict with a LIBSVM model file, written by alphapath or svm-train.

MODEL.meta.json (scaling, names of columns and classes) is used if it exists. The columns of a CSV
file are matched by name. One line is written per row; the name of a class is written as a JSON
string if it contains a line break or a separator, or starts with a quote.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ...output_files import write_file
from ..failure import CommandError
from ..files.csv import WantedColumns, read_csv
from ..files.data import integer_labels, label_number, looks_like_svmlight, numbers
from ..files.model import StoredModel, load_model, read_hand_range
from ..files.svmlight import read_svmlight
from ..files.text import Source, input_file
from ..options import add_columns

HELP = "predict with a LIBSVM model file"
EXAMPLE = "alphapath predict test.svm train.model predictions.txt"
#: Whatever some program takes for the end of a line or of a value.
SEPARATORS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029\0,;\t]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=input_file, metavar="FILE", help="LIBSVM or CSV file, or -")
    parser.add_argument("trained", type=input_file, metavar="MODEL", help="LIBSVM model file")
    parser.add_argument(
        "output",
        nargs="?",
        type=output_file,
        metavar="OUTPUT",
        help="output file (default: standard output)",
    )
    add_columns(parser, "column of a CSV file to compare the predictions with, if any")
    parser.add_argument(
        "--range",
        type=input_file,
        metavar="FILE",
        help="range file of svm-scale to scale the rows; models of alphapath contain their scaling",
    )


def output_file(text: str) -> Path | None:
    """Where predictions go; None is the standard output."""
    return None if text in ("-", "/dev/stdout") else Path(text)


def run(options: Any) -> int:
    stored = load_model(options.trained)
    X, targets = read_rows(options.file, options.target, options.has_header, stored)
    by_hand = None if options.range is None else read_hand_range(options.range, stored, X.shape[1])
    found = stored.predict(X, by_hand)
    lines = "".join(f"{label}\n" for label in as_texts(found))
    if options.output is None:
        write_standard_output(lines)
    else:
        write_file(options.output, lines)
    if targets is not None:
        report(options.file, stored, found, targets)
    return 0


def write_standard_output(lines: str) -> None:
    """Write names of classes unchanged, or fail."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        lines.encode(encoding)
    except UnicodeEncodeError as error:
        raise CommandError(
            f"The standard output is in {encoding}, which cannot encode "
            f"{error.object[error.start]!r} in the names of the classes; pass a file "
            f"as OUTPUT, which is written in UTF-8."
        ) from None
    sys.stdout.write(lines)


def read_rows(
    path: Source, target: str | None, has_header: bool, stored: StoredModel
) -> tuple[Any, Any]:
    """Rows with the columns of the model, and targets where the file has them."""
    facts = stored.facts
    if looks_like_svmlight(path):
        if target is not None:
            raise CommandError(
                f"--target is {target!r}, but {path} is a LIBSVM file: its targets come first in "
                f"each line."
            )
        X, y, index_base = read_svmlight(path, None if facts is None else facts.index_base)
        if stored.content.kernel_type == "precomputed" and index_base == 0:
            X = X[:, 1:]  # LIBSVM has the number of the row itself at index 0
        if facts is not None and facts.index_base is None and X.shape[1] > facts.n_features:
            raise CommandError(
                f"{path} has {X.shape[1]} features, and the model was trained on "
                f"{facts.n_features} columns."
            )
        return X, y
    wanted = None if facts is None else WantedColumns(facts.features, facts.target)
    rows = read_csv(path, target, needs_target=False, has_header=has_header, wanted=wanted)
    check_width(path, rows.X.shape[1], stored)
    return rows.X, rows.targets


def check_width(path: Source, width: int, stored: StoredModel) -> None:
    """Columns without names are identified by position only, so their number must match."""
    is_exact = stored.facts is not None
    if width < stored.n_known or (is_exact and width > stored.n_known):
        raise CommandError(
            f"{path} has {width} columns in addition to the target, and the model was trained on "
            f"{'' if is_exact else 'at least '}{stored.n_known}. Name the column of the target by "
            f"--target, if there is one."
        )


def as_texts(found: Any) -> list[str]:
    """Labels as they are, numbers with all their digits; each without a line break."""
    if found.dtype.kind == "f" and not np.all(found == np.floor(found)):
        return [f"{value:.17g}" for value in found]
    if found.dtype.kind == "O":
        written = {name: as_line(name) for name in set(found)}
        return [written[name] for name in found]
    return [str(int(value)) if abs(value) < 2**53 else f"{value:.17g}" for value in found]


def as_line(name: str) -> str:
    """The name of a class in one line, and so that no other name looks the same."""
    return json.dumps(name) if SEPARATORS.search(name) or name[:1] == '"' else name


def report(path: Source, stored: StoredModel, found: Any, given: Any) -> None:
    """How well the predictions fit the targets of the file, on the standard error stream."""
    if stored.model._declaration.targets == "numbers":
        y = numbers(path, given) if isinstance(given, list) else given
        with np.errstate(over="ignore"):  # of a model or targets near the largest number
            error = float(np.mean((found - y) ** 2))
        print(f"mean squared error {error:.6g}", file=sys.stderr)
        return
    if isinstance(given, list):
        known = {text: class_of(text, stored) for text in set(given)}
        y = [known[text] for text in given]
    elif stored.classes is not None:
        # A LIBSVM file has the numbers of the classes and not their names.
        names = dict(enumerate(stored.classes))
        y = [names.get(k) for k in integer_labels(path, given).tolist()]
    else:
        y = integer_labels(path, given).tolist()
    n_right = sum(one == other for one, other in zip(found.tolist(), y, strict=True))
    print(f"accuracy {n_right / len(y):.6g} ({n_right} of {len(y)})", file=sys.stderr)


def class_of(text: str, stored: StoredModel) -> Any:
    """The class that a label of a CSV file stands for; None for one that is not the model's."""
    if stored.classes is not None:
        return text if text in stored.classes else None
    value = label_number(text)
    return None if value is None or value % 1.0 else int(value)
