"""The data of a command: a file, or a data set included in scikit-learn."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

from ...estimators.common.declaration import models_by_command
from ...estimators.common.inputs import are_like_numbers
from ..failure import CommandError
from .csv import read_csv
from .svmlight import is_svmlight_line, read_svmlight
from .text import Source, fault, open_text, parse_number

#: At this share of nonzero values or above, a sparse file becomes a dense array.
DENSE_SHARE = 0.25
#: Labels of LIBSVM's model files are integers of 32 bits.
LABEL_LIMIT = 2**31


@dataclass(frozen=True)
class Data:
    """Rows and targets. `classes` are the names of classes 0, 1, ... where they are words."""

    name: str
    X: Any
    y: Any
    classes: tuple[str, ...] | None = None
    is_embedded: bool = False
    #: Where a LIBSVM file begins to count features; None for other data.
    index_base: int | None = None
    #: The names of the columns of a CSV file with a header, and that of its target.
    features: tuple[str, ...] | None = None
    target: str | None = None

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.X, "tocsr")


def targets_of(kind: str) -> str:
    """What the targets of a model are, by the value of -s; "ranking" has relevances."""
    if kind == "ranking":
        return "relevance"
    targets: str = models_by_command()[kind]._declaration.targets
    return targets


def read_data(
    path: Source | None, kind: str, target: str | None = None, has_header: bool = True
) -> Data:
    """Read `path`, or load an embedded set where it is None; `kind` as in `targets_of`."""
    if path is None:
        return embedded_data(kind)
    if looks_like_svmlight(path):
        if target is not None:
            raise CommandError(
                f"--target is {target!r}, but {path} is a LIBSVM file: its targets come first in "
                f"each line."
            )
        X, y, index_base = read_svmlight(path)
        if targets_of(kind) == "labels":
            y = integer_labels(path, y)
            warn_of_many_classes(y)
        if X.nnz >= DENSE_SHARE * X.shape[0] * X.shape[1]:
            X = X.toarray()
        return Data(stem(path), X, y, index_base=index_base)
    rows = read_csv(path, target, targets_of(kind) != "ignored", has_header)
    y, classes = None, None
    if rows.targets is not None and targets_of(kind) != "labels":
        y = numbers(path, rows.targets)
    elif rows.targets is not None:
        y, classes = encode_labels(path, rows.targets)
        warn_of_many_classes(y)
    return Data(stem(path), rows.X, y, classes, features=rows.features, target=rows.target)


def embedded_data(kind: str) -> Data:
    """Breast cancer (two classes) or, for regression, diabetes."""
    if targets_of(kind) == "numbers":
        X, y = load_diabetes(return_X_y=True)
        return Data(data_name(None, kind), X, y, is_embedded=True)
    X, y = load_breast_cancer(return_X_y=True)
    return Data(data_name(None, kind), X, y, is_embedded=True)


def data_name(path: Source | None, kind: str) -> str:
    """By this files are named that are made from the data."""
    if path is not None:
        return stem(path)
    return "diabetes" if targets_of(kind) in ("numbers", "relevance") else "breast_cancer"


def looks_like_svmlight(path: Source) -> bool:
    """By the first line that is not empty; neither format is refused in a sentence."""
    with open_text(path) as file:
        lines = ((k, line) for k, line in enumerate(file, 1) if line.partition("#")[0].strip())
        number, line = next(lines, (1, ""))
    if not line:
        raise fault(path, 1, "the file is empty")
    if is_svmlight_line(line):
        return True
    if any(mark in line for mark in ',;\t"') or ".csv" in Path(path.name).suffixes[:1]:
        return False
    raise fault(
        path,
        number,
        f"{line.strip()[:40]!r} is neither a LIBSVM line (target index:value ...) nor the header "
        f"of a CSV file",
    )


def integer_labels(path: Source, y: Any) -> Any:
    """Class labels as integers, as LIBSVM has them."""
    is_whole = y == np.floor(y)
    if not is_whole.all():
        first = int(np.argmin(is_whole))
        raise CommandError(
            f"{path}: the target of row {first + 1} is {y[first]:g}, not the number of a class; "
            f"for regression, pass -s epsilon-svr."
        )
    is_small = np.abs(y) < LABEL_LIMIT
    if not is_small.all():
        first = int(np.argmin(is_small))
        raise CommandError(
            f"{path}: the target of row {first + 1} is {y[first]:.17g}; class labels must "
            f"be below 2^31, as in LIBSVM's model files."
        )
    return y.astype(np.int64)


def warn_of_many_classes(labels: Any) -> None:
    """Warn of targets that may be those of a regression."""
    n_classes = len(np.unique(labels))
    if are_like_numbers(n_classes, len(labels)):
        warnings.warn(
            f"The targets have {n_classes} different values in {len(labels)} rows, each taken as a "
            f"class; for regression, pass -s epsilon-svr.",
            stacklevel=2,
        )


def encode_labels(path: Source, texts: list[str]) -> tuple[Any, tuple[str, ...] | None]:
    """Whole numbers as integers; words as 0, 1, ... in alphabetical order, with the words.

    Words are also what no integer gives back, such as 01 (a postcode) or 1_0.
    """
    known = {text: label_number(text) for text in set(texts)}
    if any(value is None for value in known.values()):
        classes = sorted(known)
        number = {name: k for k, name in enumerate(classes)}
        return np.array([number[text] for text in texts]), tuple(classes)
    text_of: dict[float | None, str] = {}
    for text, value in sorted(known.items()):
        if text_of.setdefault(value, text) != text:
            raise CommandError(
                f"{path}: the targets {text_of[value]!r} and {text!r} are the same number; write "
                f"the labels of a class in the same way."
            )
    return integer_labels(path, np.array([known[text] for text in texts])), None


def label_number(text: str) -> float | None:
    """The number that a label stands for; None for a word."""
    value = parse_number(text)
    if value is None or re.match(r"[+-]?0[0-9]", text):
        return None
    return value if abs(value) < LABEL_LIMIT else None


def numbers(path: Source, texts: list[str]) -> Any:
    """Targets of a regression; the row that is no number is named."""
    values = np.empty(len(texts))
    for k, text in enumerate(texts):
        value = parse_number(text)
        if value is None:
            raise CommandError(
                f"{path}: the target of row {k + 1} is {text[:40]!r}, which is not a finite "
                f"number; for classes, pass -s c-svc."
            )
        values[k] = value
    return values


def stem(path: Source) -> str:
    """The name of a file without its ending and that of its compression."""
    name = path.name
    for ending in (".gz", ".bz2"):
        name = name.removesuffix(ending)
    return name.rpartition(".")[0] or name
