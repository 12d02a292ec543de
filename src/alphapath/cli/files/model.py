"""A model on disk: LIBSVM's model file and, beside it, what that format has no place for.

`NAME` is the model, which LIBSVM's own programs read. `NAME.meta.json` says how features are
scaled and what features and classes are called; it holds the SHA-256 of the model and of itself,
so that files of two models, or half of one, are refused and never mixed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...estimators.common.declaration import models_by_file_type
from ...estimators.exchange.libsvm_file import LibsvmModel, parse_model
from ...output_files import find_target, write_files
from ...version import __version__
from ..failure import CommandError
from .scaling import FeatureScaler, Range, read_range, widen
from .text import LARGEST, Source, open_bytes, open_text

#: What makes a companion one of ours, and its layout.
FORMAT, LAYOUT = "alphapath model", 1
ENDING = ".meta.json"
#: What a companion says; null where it does not apply.
FIELDS = frozenset({"n_features", "index_base", "features", "target", "classes", "scaling"})
#: What older versions wrote beside a model.
FORMER_ENDINGS = (".range", ".classes")


@dataclass(frozen=True)
class ModelFacts:
    """What a model needs in addition to its LIBSVM file to be used as it was trained."""

    n_features: int
    #: Where its LIBSVM data began to count features; None for other data.
    index_base: int | None = None
    #: Names of the columns and of the target, where it was trained on a CSV file with a header.
    features: tuple[str, ...] | None = None
    target: str | None = None
    #: Names of the classes 0, 1, ... where they are words.
    classes: tuple[str, ...] | None = None
    range: Range | None = None


def facts_of(data: Any, scaler: FeatureScaler | None) -> ModelFacts:
    """The facts of a model that was trained on `data` (Data or RankData)."""
    return ModelFacts(
        data.X.shape[1],
        data.index_base,
        getattr(data, "features", None),
        getattr(data, "target", None),
        getattr(data, "classes", None),
        None if scaler is None else scaler.range_,
    )


@dataclass(frozen=True)
class StoredModel:
    """What `predict` needs; without `facts` nothing but the LIBSVM file is known."""

    path: Source
    content: LibsvmModel
    facts: ModelFacts | None

    @property
    def model(self) -> Any:
        """The class of models that reads the file."""
        return models_by_file_type()[self.content.svm_type]

    @property
    def n_known(self) -> int:
        """Features up to the last one that the model is known to have."""
        found = 0 if self.content.kernel_type == "precomputed" else self.content.vectors.shape[1]
        return int(found if self.facts is None else self.facts.n_features)

    @property
    def classes(self) -> tuple[str, ...] | None:
        return None if self.facts is None else self.facts.classes

    @property
    def labels(self) -> list[int]:
        """The numbers of the classes; none for other models."""
        return sorted(self.content.labels)

    def predict(self, X: Any, range: Range | None = None) -> Any:
        """Labels (words, where the classes have names) or values; `range` is a scaling by hand."""
        own = range or (None if self.facts is None else self.facts.range)
        if own is not None:
            X = own.transform(X)
        # LIBSVM's files reach as far as their last nonzero value: rows may be wider.
        width = max(X.shape[1], self.n_known)
        model = self.model._from_libsvm(self.content, width)
        X = widen(X, width) if X.shape[1] < width else X
        if self.content.kernel_type == "precomputed" and hasattr(X, "tocsr"):
            X = X.toarray()
        found = model.predict(X)
        if self.classes is None:
            return found
        return np.array([self.classes[k] for k in found], dtype=object)


# -- writing


def companion_of(path: Path) -> Path:
    """Where the facts of a model are kept; beside the file itself if `path` is a link to it."""
    target = Path(os.path.realpath(path))
    return target.with_name(target.name + ENDING)


def save_model(
    path: Path, model: Any, facts: ModelFacts, save_range: Path | None = None
) -> list[Path]:
    """Write the model, its companion and, where asked for, a range file; returns their paths."""
    text = io.StringIO()
    model.save_libsvm(text)
    content = text.getvalue().encode("ascii")
    contents: dict[Path, str | bytes] = {path: content}
    if find_target(path) is not None:
        companion = companion_of(path) if path.is_symlink() else path.with_name(path.name + ENDING)
        contents[companion] = format_facts(facts, content)
    elif facts.range is not None or facts.classes is not None:
        warnings.warn(
            f"{path} is not a file that can be replaced, so the scaling and the names of the "
            f"model are not saved.",
            stacklevel=2,
        )
    if save_range is not None:
        assert facts.range is not None, "refused before the training"
        contents[save_range] = facts.range.as_text()
    write_files(contents)
    return list(contents)


def format_facts(facts: ModelFacts, model: bytes) -> str:
    """The companion of the model file with this content."""
    record: dict[str, Any] = {
        "format": FORMAT,
        "layout": LAYOUT,
        "version": __version__,
        "model_sha256": hashlib.sha256(model).hexdigest(),
        "n_features": facts.n_features,
        "index_base": facts.index_base,
        "features": facts.features,
        "target": facts.target,
        "classes": facts.classes,
        "scaling": None,
    }
    if facts.range is not None:
        bounds = (facts.range.low, facts.range.high)
        low, high = ([float(value) for value in side] for side in bounds)
        record["scaling"] = {"low": low, "high": high}
    return json.dumps({**record, "checksum": checksum(record)}, indent=1, allow_nan=False) + "\n"


def checksum(record: dict[str, Any]) -> str:
    """The SHA-256 of all else in a companion."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


# -- reading


def load_model(path: Source) -> StoredModel:
    """Read a model and what belongs to it; files that do not belong together are refused."""
    with open_bytes(path) as file:
        content = file.read()
    model = parse_model(str(path), content)
    companion = find_companion(path)
    if companion is None:
        return StoredModel(path, model, None)
    facts = FactsReader(companion).read(content, str(path))
    check_facts(companion, facts, model)
    return StoredModel(path, model, facts)


def find_companion(path: Source) -> Path | None:
    """The companion beside a model, or beside the file that a link leads to."""
    if not isinstance(path, Path):
        return None
    beside = path.with_name(path.name + ENDING)
    for candidate in (beside, companion_of(path)):
        if candidate.exists():
            return candidate
    for ending in FORMER_ENDINGS:
        former = path.with_name(path.name + ending)
        if former.exists():
            what = "--range gives it to predict" if ending == ".range" else "train the model again"
            raise CommandError(
                f"{former} lies beside {path}, and it is unknown whether they belong together: "
                f"older versions wrote such files. If they do, {what}; otherwise move it away."
            )
    return None


def read_hand_range(path: Source, stored: StoredModel, n_features: int) -> Range:
    """The range file that a user gives for a model; one that leaves out its features is refused."""
    if stored.facts is not None and stored.facts.range is not None:
        raise CommandError(
            f"{stored.path} has its own scaling in {stored.path}{ENDING}; omit --range."
        )
    if stored.content.kernel_type == "precomputed":
        raise CommandError("--range is for features, and the kernel of the model is precomputed.")
    found = read_range(path, max(n_features, stored.n_known))
    used = np.unique(stored.content.vectors.tocsr().indices)
    lacking = used[~(found.high[used] > found.low[used])]
    if lacking.size:
        raise CommandError(
            f"{path} has no range for feature {lacking[0] + 1}, which the model uses: it is "
            f"incomplete or belongs to other data."
        )
    return found


class FactsReader:
    """Reads and checks one companion."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, model: bytes, model_name: str) -> ModelFacts:
        record = self._parse()
        if record.get("format") != FORMAT:
            raise self._refuse(f"it is not of the format {FORMAT!r}")
        if record.get("layout") != LAYOUT:
            raise self._refuse(
                f"its layout is {record.get('layout')!r:.20}, and this version reads {LAYOUT}"
            )
        known = checksum({key: value for key, value in record.items() if key != "checksum"})
        if record.get("checksum") != known:
            raise self._refuse("it was changed after it was written")
        if record.get("model_sha256") != hashlib.sha256(model).hexdigest():
            raise CommandError(
                f"{self.path} belongs to another model than {model_name}, or one of the two was "
                f"changed. Train again to write both; delete {self.path.name} only if the model "
                f"needs neither a scaling nor names."
            )
        return self._facts(record)

    def _parse(self) -> dict[str, Any]:
        with open_text(self.path) as file:
            text = file.read()
        try:
            record = json.loads(
                text,
                object_pairs_hook=self._pairs,
                parse_constant=self._number,
                parse_float=self._number,
            )
        except json.JSONDecodeError as error:
            raise self._refuse(f"line {error.lineno} is not JSON: {error.msg}") from None
        except (RecursionError, ValueError):
            raise self._refuse("it is nested too deeply, or a number is too long") from None
        if not isinstance(record, dict):
            raise self._refuse("it does not hold an object")
        return record

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise self._refuse("an entry is given twice")
        return found

    def _number(self, word: str) -> float:
        value = float(word)
        if not math.isfinite(value):
            raise self._refuse(f"{word[:40]} is not a finite number")
        return value

    def _facts(self, record: dict[str, Any]) -> ModelFacts:
        lacking = sorted(FIELDS - set(record))
        if lacking:
            raise self._refuse(f"it has no {lacking[0]}")
        n_features, base = record.get("n_features"), record.get("index_base")
        if type(n_features) is not int or not 0 < n_features < 2**31:
            raise self._refuse("n_features is not a number of features")
        if base not in (None, 0, 1) or isinstance(base, bool | float):
            raise self._refuse("index_base is not 0, 1 or null")
        target = record.get("target")
        if not isinstance(target, str | None):
            raise self._refuse("target is not a name")
        scaling = record.get("scaling")
        return ModelFacts(
            n_features,
            base,
            self._names(record.get("features"), "features", n_features),
            target,
            self._names(record.get("classes"), "classes", None),
            None if scaling is None else self._range(scaling, n_features),
        )

    def _names(self, given: Any, what: str, count: int | None) -> tuple[str, ...] | None:
        if given is None:
            return None
        is_list = isinstance(given, list) and all(isinstance(name, str) for name in given)
        if not is_list or (count is not None and len(given) != count):
            raise self._refuse(f"{what} are not {'all the' if count is None else count} names")
        return tuple(given)

    def _range(self, scaling: Any, n_features: int) -> Range:
        sides = [scaling.get(name) for name in ("low", "high")] if type(scaling) is dict else []
        if len(sides) != 2 or not all(is_bound_list(side, n_features) for side in sides):
            raise self._refuse(f"scaling is not a low and a high for each of {n_features} features")
        low, high = (np.array(side, dtype=float) for side in sides)
        if not np.all(low <= high):
            raise self._refuse("scaling has a low above its high")
        return Range(low, high)

    def _refuse(self, what: str) -> CommandError:
        return CommandError(f"{self.path} does not hold the facts of a model: {what}.")


def is_bound_list(given: Any, count: int) -> bool:
    """Whether it is `count` finite numbers."""
    return (
        isinstance(given, list)
        and len(given) == count
        and all(type(value) is float and math.isfinite(value) for value in given)
        and all(abs(value) <= 4.0 * LARGEST for value in given)
    )


def check_facts(companion: Path, facts: ModelFacts, model: LibsvmModel) -> None:
    """Refuse facts that cannot be those of the model."""
    if model.kernel_type != "precomputed" and model.vectors.shape[1] > facts.n_features:
        raise CommandError(
            f"{companion} describes {facts.n_features} features, and the model uses "
            f"{model.vectors.shape[1]}."
        )
    n_classes = None if facts.classes is None else len(facts.classes)
    if n_classes is not None and sorted(model.labels) != list(range(n_classes)):
        raise CommandError(
            f"{companion} names {n_classes} classes, and the labels of the model are "
            f"{sorted(model.labels)[:10]}."
        )
