"""LIBSVM's model files: text, one `key values` line per header entry, then the support vectors.

    svm_type c_svc
    kernel_type rbf
    gamma 0.5
    nr_class 2
    total_sv 2
    rho 0.25
    label 1 -1
    nr_sv 1 1
    SV
    1 1:0.5 3:-1
    -1 2:0.75

A file is not trusted: every number is checked before use, and nothing is allocated from a count
that the header claims. Numbers are written with 17 digits, so a model survives the way out and in.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from ...errors import ModelFileError
from ...kernels.base import KERNELS, libsvm_kernels
from ...output_files import write_file
from ...problem.box_problem import FloatArray
from ..common.declaration import models_by_file_type

#: Other ways to state what is minimised; the decision function of the model is the same, and a
#: type without a model of its own is read as the other.
NU_TYPES = {"nu_svc": "c_svc", "nu_svr": "epsilon_svr"}
#: Parameters of kernels, in the order of the header.
NUMBERS = ("degree", "gamma", "coef0")
#: Header entries that each kernel must have.
KERNEL_NUMBERS = {
    theirs.name: tuple(name for name in NUMBERS if name in KERNELS[ours].parameters)
    for ours, theirs in libsvm_kernels().items()
}
#: Probability estimates of other programs: read over, since the decision values do not need them.
IGNORED = ("probA", "probB", "prob_density_marks")
MAX_INDEX = 2**31 - 1

#: Where a model is written to.
ModelTarget = str | PathLike[str] | IO[str]

#: What no text in ASCII has.
NOT_TEXT = re.compile(rb"[^\t\n\v\f\r -~]")
LINE_END = re.compile(r"\r\n|\n|\r")
INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?\Z")


@dataclass
class LibsvmModel:
    """The content of a model file, in LIBSVM's own order and signs.

    `coef` has shape (nr_class - 1, total_sv); `vectors` is CSR with one row per support vector, for
    a precomputed kernel a single column with the number of the training sample, counted from 1.
    """

    svm_type: str
    kernel_type: str
    rho: FloatArray
    coef: FloatArray
    vectors: Any
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    labels: list[int] = field(default_factory=list)
    n_support: list[int] = field(default_factory=list)


def write_model(model: LibsvmModel, target: ModelTarget) -> None:
    """Write `model` so that LIBSVM's svm-predict reads it, to a file or an open stream of text."""
    text = "".join(f"{line}\n" for line in format_model(model))
    if isinstance(target, str | PathLike):
        write_file(target, text)
    else:
        target.write(text)


def format_model(model: LibsvmModel) -> Iterator[str]:
    """The lines of the file."""
    n_classes = len(model.labels) or 2
    yield f"svm_type {model.svm_type}"
    yield f"kernel_type {model.kernel_type}"
    for name in KERNEL_NUMBERS[model.kernel_type]:
        yield f"{name} {getattr(model, name):.17g}"
    yield f"nr_class {n_classes}"
    yield f"total_sv {model.coef.shape[1]}"
    yield "rho " + join_numbers(model.rho)
    if model.labels:
        yield "label " + " ".join(str(label) for label in model.labels)
        yield "nr_sv " + " ".join(str(count) for count in model.n_support)
    yield "SV"
    first_index = 0 if model.kernel_type == "precomputed" else 1
    X = model.vectors
    for k in range(X.shape[0]):
        own = slice(X.indptr[k], X.indptr[k + 1])
        pairs = zip(X.indices[own].tolist(), X.data[own].tolist(), strict=True)
        entries = (f"{index + first_index}:{value:.17g}" for index, value in pairs)
        yield " ".join([join_numbers(model.coef[:, k]), *entries])


def join_numbers(values: Iterable[float]) -> str:
    """Numbers with 17 significant digits, which is enough to restore every double."""
    return " ".join(f"{value:.17g}" for value in values)


def read_model(path: str | PathLike[str]) -> LibsvmModel:
    """Read a model file; anything wrong in it is a ModelFileError that names line and value."""
    return parse_model(str(path), Path(path).read_bytes())


def parse_model(name: str, content: bytes) -> LibsvmModel:
    """The model in the content of a file; `name` is for errors."""
    content = content.removeprefix(codecs.BOM_UTF8)
    strange = NOT_TEXT.search(content)
    if strange is not None:
        raise ModelFileError(
            f"{name} is not a LIBSVM model file: byte {strange.start()} is {strange[0][0]:#04x}, "
            f"and the file must be ASCII text."
        )
    return ModelReader(name, LINE_END.split(content.decode("ascii"))).read()


class ModelReader:
    """Parses the lines of one model file."""

    def __init__(self, name: str, lines: list[str]) -> None:
        self.name = name
        self.lines = lines
        self.position = 0
        self.header: dict[str, list[str]] = {}
        self.line_of: dict[str, int] = {}

    def read(self) -> LibsvmModel:
        self.read_header()
        models = models_by_file_type()
        svm_type = self.choice("svm_type", (*models, *(nu for nu in NU_TYPES if nu not in models)))
        svm_type = svm_type if svm_type in models else NU_TYPES[svm_type]
        kernel_type = self.choice("kernel_type", tuple(KERNEL_NUMBERS))
        is_classifier = models[svm_type]._declaration.targets == "labels"
        n_classes = self.integer("nr_class", 2, MAX_INDEX)
        if not is_classifier and n_classes != 2:
            raise self.fail(f"nr_class is {n_classes}; a {svm_type} model has 2", "nr_class")
        total = self.integer("total_sv", 0, MAX_INDEX)
        rho = self.numbers("rho", n_classes * (n_classes - 1) // 2)
        labels, n_support = self.read_classes(n_classes, total) if is_classifier else ([], [])
        coef, vectors = self.read_vectors(n_classes - 1, total, kernel_type == "precomputed")
        kernel_numbers = self.read_kernel_numbers(kernel_type)
        return LibsvmModel(
            svm_type,
            kernel_type,
            np.array(rho),
            coef,
            vectors,
            labels=labels,
            n_support=n_support,
            **kernel_numbers,
        )

    # -- header

    def read_header(self) -> None:
        known = {"svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv"}
        known |= {"rho", "label", "nr_sv", *IGNORED}
        for number, line in enumerate(self.lines, start=1):
            words = line.split()
            if not words:
                continue
            key, *values = words
            if key == "SV":
                self.position = number
                return
            if key not in known:
                raise self.fail(f"unknown header entry {key[:40]!r}", line=number)
            if key in self.header:
                raise self.fail(f"{key} is given twice", line=number)
            self.header[key] = values
            self.line_of[key] = number
        raise self.fail("the file ends before the line 'SV'", line=len(self.lines))

    def read_classes(self, n_classes: int, total: int) -> tuple[list[int], list[int]]:
        labels = self.integers("label", n_classes, -(2**31), MAX_INDEX)
        if len(set(labels)) != n_classes:
            raise self.fail(f"label {labels[:20]} names a class twice", "label")
        n_support = self.integers("nr_sv", n_classes, 0, MAX_INDEX)
        if sum(n_support) != total:
            raise self.fail(f"nr_sv sums to {sum(n_support)}, but total_sv is {total}", "nr_sv")
        return labels, n_support

    def read_kernel_numbers(self, kernel_type: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in KERNEL_NUMBERS[kernel_type]:
            if name == "degree":
                found[name] = self.integer(name, 0, MAX_INDEX)
            else:
                (found[name],) = self.numbers(name, 1)
        if "gamma" in found and not found["gamma"] > 0.0:
            raise self.fail(f"gamma is {found['gamma']}; it must be positive", "gamma")
        return found

    # -- support vectors

    def read_vectors(self, n_coef: int, total: int, is_given: bool) -> tuple[FloatArray, Any]:
        """Coefficients and vectors; memory follows the lines that exist, not what is claimed."""
        coef: list[list[float]] = []
        indices: list[int] = []
        data: list[float] = []
        indptr = [0]
        first_index = 0 if is_given else 1
        for number, line in enumerate(self.lines[self.position :], start=self.position + 1):
            words = line.split()
            if not words:
                continue
            if len(coef) == total:
                raise self.fail(f"more support vectors than total_sv {total}", line=number)
            if len(words) < n_coef:
                raise self.fail(f"{len(words)} coefficients instead of {n_coef}", line=number)
            coef.append([self.parse_number(word, number) for word in words[:n_coef]])
            previous = -1
            for word in words[n_coef:]:
                previous, value = self.parse_entry(word, number, previous, first_index)
                indices.append(previous)
                data.append(value)
            indptr.append(len(indices))
            if is_given:
                self.check_sample(indices[indptr[-2] :], data[indptr[-2] :], number)
        if len(coef) != total:
            raise self.fail(
                f"the file ends after {len(coef)} support vectors; total_sv is {total}",
                line=len(self.lines),
            )
        width = max(indices, default=-1) + 1
        vectors = sp.csr_array((data, indices, indptr), shape=(total, max(width, 1)))
        return np.array(coef).reshape(total, n_coef).T.copy(), vectors

    def parse_entry(self, word: str, line: int, previous: int, first: int) -> tuple[int, float]:
        """(index counted from 0, value) of one `index:value`; indices must rise in a line."""
        index, colon, value = word.partition(":")
        if not colon or not INTEGER.match(index):
            raise self.fail(f"{word[:40]!r} is not of the form index:value", line=line)
        if not first <= int(index) <= MAX_INDEX:
            raise self.fail(f"index {index} is not in {first} .. {MAX_INDEX}", line=line)
        if int(index) - first <= previous:
            raise self.fail(f"index {index} is not larger than the one before", line=line)
        return int(index) - first, self.parse_number(value, line)

    def check_sample(self, indices: list[int], entries: list[float], line: int) -> None:
        """A support vector of a precomputed kernel is the number of a training sample."""
        if indices != [0] or not entries[0].is_integer() or not 1 <= entries[0] <= MAX_INDEX:
            raise self.fail("a precomputed kernel needs one entry 0:sample", line=line)

    # -- values

    def values(self, key: str, count: int | None = None) -> list[str]:
        if key not in self.header:
            raise self.fail(f"the header has no {key}", line=self.position)
        found = self.header[key]
        if count is not None and len(found) != count:
            raise self.fail(f"{key} has {len(found)} values instead of {count}", key)
        return found

    def choice(self, key: str, valid: tuple[str, ...]) -> str:
        (value,) = self.values(key, 1)
        if value not in valid:
            raise self.fail(f"{key} is {value[:40]!r}; it must be one of {', '.join(valid)}", key)
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        return self.integers(key, 1, low, high)[0]

    def integers(self, key: str, count: int, low: int, high: int) -> list[int]:
        words = self.values(key, count)
        for word in words:
            if not INTEGER.match(word) or not low <= int(word) <= high:
                raise self.fail(f"{key} {word[:40]!r} is no integer in {low} .. {high}", key)
        return [int(word) for word in words]

    def numbers(self, key: str, count: int) -> list[float]:
        line = self.line_of.get(key, self.position)
        return [self.parse_number(word, line) for word in self.values(key, count)]

    def parse_number(self, word: str, line: int) -> float:
        if not NUMBER.match(word) or not math.isfinite(float(word)):
            raise self.fail(f"{word[:40]!r} is not a finite number", line=line)
        return float(word)

    def fail(self, what: str, key: str | None = None, line: int = 0) -> ModelFileError:
        line = self.line_of.get(key, line) if key is not None else line
        return ModelFileError(f"{self.name}, line {line}: {what}.")
