"""A model on disk: LIBSVM's model file and, beside it, how features were scaled and classes called.

`NAME` is the model, `NAME.range` the scaling (svm-scale reads it), `NAME.classes` the names of
classes 0, 1, ... where they are words.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelFileError
from ..estimators import SVC, SVR, OneClassSVM
from .failure import CommandError
from .scaling import Range, read_range, widen
from .text_file import open_text

READERS = (SVC, SVR, OneClassSVM)


@dataclass(frozen=True)
class StoredModel:
    """What `predict` needs."""

    model: Any
    range: Range | None
    classes: tuple[str, ...] | None

    def predict(self, X: Any) -> Any:
        """Labels (words, where the classes have names) or values."""
        if self.range is not None:
            X = self.range.transform(X)
        n_features = self.model.n_features_in_
        X = widen(X, n_features) if X.shape[1] < n_features else X[:, :n_features]
        found = self.model.predict(X)
        return found if self.classes is None else np.array(self.classes)[found]


def save_model(path: Path, model: Any, scaler: Any, classes: tuple[str, ...] | None) -> list[Path]:
    """Write the files; returns their paths."""
    model.save_libsvm(path)
    written = [path]
    for ending, content in ((".range", scaler), (".classes", classes)):
        beside = path.with_name(path.name + ending)
        beside.unlink(missing_ok=True)  # of an older model with the same name
        if content is None:
            continue
        if ending == ".range":
            scaler.range_.write(beside)
        else:
            beside.write_text("".join(f"{name}\n" for name in content), encoding="utf-8")
        written.append(beside)
    return written


def load_model(path: Path, n_features: int) -> StoredModel:
    """Read the files for rows of `n_features`."""
    scale = path.with_name(path.name + ".range")
    names = path.with_name(path.name + ".classes")
    own_range = read_range(scale) if scale.exists() else None
    classes = None
    if names.exists():
        with open_text(names) as file:
            classes = tuple(file.read().splitlines())
    with open_text(path):
        pass
    return StoredModel(read_any(path, n_features), own_range, classes)


def read_any(path: Path, n_features: int) -> Any:
    """The model, of whichever type it is."""
    for reader in READERS:
        try:
            narrow = reader.load_libsvm(path)
        except ModelFileError as error:
            if "reads" in str(error) and "svm_type" in str(error):
                continue
            raise
        # A file reaches as far as its last nonzero value; the data may be wider.
        wide = max(n_features, narrow.n_features_in_)
        return reader.load_libsvm(path, n_features=wide)
    raise CommandError(f"{path} holds a model of a type that this program does not read.")
