"""The data of a command: a file, or a set that scikit-learn brings along."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

from ..estimators.labels import are_like_numbers
from .csv_file import read_csv
from .failure import CommandError
from .svmlight_file import is_svmlight_line, read_svmlight
from .text_file import Source, fault, open_text

#: At this share of nonzero values or above, a sparse file becomes a dense array.
DENSE_SHARE = 0.25


@dataclass(frozen=True)
class Data:
    """Rows and targets. `classes` are the names of classes 0, 1, ... where they are words."""

    name: str
    X: Any
    y: Any
    classes: tuple[str, ...] | None = None
    is_embedded: bool = False
    #: Where a LIBSVM file begins to count features.
    index_base: int = 1

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.X, "tocsr")


def read_data(
    path: Source | None, kind: str, target: str | None = None, has_header: bool = True
) -> Data:
    """Read `path`, or load an embedded set where it is None; `kind` as in options.KINDS."""
    if path is None:
        return embedded_data(kind)
    if looks_like_svmlight(path):
        if target is not None:
            raise CommandError(
                f"--target is {target!r}, but {path} is a LIBSVM file: its targets come first in "
                f"each line."
            )
        X, y, index_base = read_svmlight(path)
        if kind == "c-svc":
            y = integer_labels(path, y)
            warn_of_many_classes(y)
        if X.nnz >= DENSE_SHARE * X.shape[0] * X.shape[1]:
            X = X.toarray()
        return Data(stem(path), X, y, index_base=index_base)
    X, texts = read_csv(path, target, kind != "one-class", has_header)
    if texts is None:
        return Data(stem(path), X, None)
    if kind != "c-svc":
        return Data(stem(path), X, numbers(path, texts))
    labels, classes = encode_labels(path, texts)
    warn_of_many_classes(labels)
    return Data(stem(path), X, labels, classes)


def embedded_data(kind: str) -> Data:
    """Breast cancer (two classes) or, for regression, diabetes."""
    if kind == "epsilon-svr":
        X, y = load_diabetes(return_X_y=True)
        return Data("diabetes", X, y, is_embedded=True)
    X, y = load_breast_cancer(return_X_y=True)
    return Data("breast_cancer", X, y, is_embedded=True)


def looks_like_svmlight(path: Source) -> bool:
    """By the first line that is not empty; neither format is refused in a sentence."""
    with open_text(path) as file:
        lines = ((k, line) for k, line in enumerate(file, 1) if line.partition("#")[0].strip())
        number, line = next(lines, (1, ""))
    if not line:
        raise fault(path, 1, "the file is empty")
    if is_svmlight_line(line):
        return True
    if any(mark in line for mark in ",;\t") or ".csv" in Path(path.name).suffixes[:1]:
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
            f"for regression give -s epsilon-svr."
        )
    return y.astype(np.int64)


def warn_of_many_classes(labels: Any) -> None:
    """Warn of targets that may be those of a regression."""
    n_classes = len(np.unique(labels))
    if are_like_numbers(n_classes, len(labels)):
        warnings.warn(
            f"The targets have {n_classes} different values in {len(labels)} rows, each taken as a "
            f"class; for regression give -s epsilon-svr.",
            stacklevel=2,
        )


def encode_labels(path: Source, texts: list[str]) -> tuple[Any, tuple[str, ...] | None]:
    """Whole numbers as integers; words as 0, 1, ... in alphabetical order, with the words."""
    try:
        return np.array([int(text) for text in texts]), None
    except ValueError:
        values = as_finite_numbers(texts)
        if values is not None:
            return integer_labels(path, values), None
        classes, labels = np.unique(np.array(texts), return_inverse=True)
        return labels, tuple(str(name) for name in classes)


def as_finite_numbers(texts: list[str]) -> Any:
    """Decimal numbers; None where one of the texts is none."""
    try:
        values = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def numbers(path: Source, texts: list[str]) -> Any:
    """Targets of a regression; the row that is no number is named."""
    values = np.empty(len(texts))
    for k, text in enumerate(texts):
        try:
            values[k] = float(text)
        except ValueError:
            raise CommandError(
                f"{path}: the target of row {k + 1} is {text[:40]!r}, which is not a number; for "
                f"classes give -s c-svc."
            ) from None
    return values


def stem(path: Source) -> str:
    """The name of a file without its ending and that of its compression."""
    name = path.name
    for ending in (".gz", ".bz2"):
        name = name.removesuffix(ending)
    return name.rpartition(".")[0] or name
