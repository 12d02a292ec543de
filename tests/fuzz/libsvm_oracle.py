"""LIBSVM's files read and evaluated in the plainest way, with dictionaries for rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .formats import read_integer, read_number, split_words

Row = dict[int, float]
#: Header entries with the numbers that a kernel has.
KERNELS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
TYPES = {
    "c_svc": "labels",
    "nu_svc": "labels",
    "epsilon_svr": "values",
    "nu_svr": "values",
    "one_class": "side",
}


class Unreadable(ValueError):
    """What no reader should accept."""


@dataclass(frozen=True)
class Answer:
    """A prediction, and whether rounding could not change it."""

    value: float
    is_sure: bool = True


def lines_of(content: bytes) -> list[str]:
    """Lines of text in UTF-8, by any of the usual ends."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def read_entries(words: list[str], first: int) -> Row:
    row: Row = {}
    previous = first - 1
    for word in words:
        index, colon, value = word.partition(":")
        number = read_integer(index)
        if not colon or number <= previous:
            raise Unreadable(word)
        row[number] = read_number(value)
        previous = number
    return row


def words_of(line: str) -> list[str]:
    return [word for word in split_words(line) if word]


# -- data


def read_data(content: bytes) -> tuple[list[float], list[Row]]:
    """Targets and rows, by the indices that the file has."""
    targets, rows = [], []
    for line in lines_of(content):
        words = words_of(line.partition("#")[0])
        if not words:
            continue
        try:
            targets.append(read_number(words[0]))
            if words[1:] and words[1].startswith("qid:"):
                read_integer(words[1][4:])
                del words[1]
            rows.append(read_entries(words[1:], 0))
        except ValueError:
            raise Unreadable(line[:60]) from None
    return targets, rows


# -- models


class Model:
    """A model file; Unreadable where it says nothing, or two things."""

    def __init__(self, content: bytes) -> None:
        self.header: dict[str, list[str]] = {}
        lines = lines_of(content)
        try:
            start = self.read_header(lines)
            self.read_vectors(lines[start:])
        except (ValueError, KeyError, IndexError, OverflowError) as error:
            raise Unreadable(f"{type(error).__name__} {error}"[:80]) from None

    def read_header(self, lines: list[str]) -> int:
        for k, line in enumerate(lines):
            words = words_of(line)
            if not words:
                continue
            if words[0] == "SV":
                return k + 1
            if words[0] in self.header:
                raise Unreadable(f"{words[0]} twice")
            self.header[words[0]] = words[1:]
        raise Unreadable("no SV")

    def read_vectors(self, lines: list[str]) -> None:
        (self.kind,) = (TYPES[word] for word in self.header["svm_type"])
        (self.kernel,) = self.header["kernel_type"]
        self.numbers = {name: self.number(name) for name in KERNELS[self.kernel]}
        self.n_classes = int(self.number("nr_class"))
        if self.kind != "labels" and self.n_classes != 2:
            raise Unreadable("nr_class")
        n_pairs = self.n_classes * (self.n_classes - 1) // 2
        self.rho = [read_number(word) for word in self.header["rho"]]
        self.coefs: list[list[float]] = []
        self.vectors: list[Row] = []
        first = 0 if self.kernel == "precomputed" else 1
        for line in lines:
            words = words_of(line)
            if words:
                if len(words) < self.n_classes - 1:
                    raise Unreadable("coefficients")
                self.coefs.append([read_number(word) for word in words[: self.n_classes - 1]])
                self.vectors.append(read_entries(words[self.n_classes - 1 :], first))
        if len(self.rho) != n_pairs or len(self.coefs) != read_integer(self.header["total_sv"][0]):
            raise Unreadable("counts")
        self.labels, self.counts = [], []
        if self.kind == "labels":
            self.labels = [read_integer(word) for word in self.header["label"]]
            self.counts = [read_integer(word) for word in self.header["nr_sv"]]
            is_whole = len(self.labels) == len(self.counts) == self.n_classes
            if not is_whole or sum(self.counts) != len(self.coefs) or min(self.counts) < 0:
                raise Unreadable("classes")

    def number(self, name: str) -> float:
        (word,) = self.header[name]
        return read_integer(word) if name in ("degree", "nr_class") else read_number(word)

    def kernel_value(self, x: Row, z: Row) -> float:
        if self.kernel == "precomputed":
            return x.get(int(z[0]), 0.0)
        dot = math.fsum(value * z[index] for index, value in x.items() if index in z)
        own = self.numbers
        if self.kernel == "linear":
            return dot
        if self.kernel == "polynomial":
            return float((own["gamma"] * dot + own["coef0"]) ** int(own["degree"]))
        if self.kernel == "sigmoid":
            return math.tanh(own["gamma"] * dot + own["coef0"])
        squares = ((x.get(i, 0.0) - z.get(i, 0.0)) ** 2 for i in {*x, *z})
        return math.exp(-own["gamma"] * math.fsum(squares))

    def predict(self, x: Row) -> Answer | None:
        """The answer for a row; None where numbers overflow."""
        try:
            values = [self.kernel_value(x, z) for z in self.vectors]
            if self.kind == "labels":
                return self.vote(values)
            terms = [coef[0] * value for coef, value in zip(self.coefs, values, strict=True)]
            total = math.fsum([*terms, -self.rho[0]])
        except (OverflowError, ValueError):
            return None
        scale = math.fsum(map(abs, [*terms, self.rho[0]]))
        if not math.isfinite(scale) or scale > 1e290:
            return None
        if self.kind == "values":
            return Answer(total)
        return Answer(1.0 if total > 0.0 else -1.0, abs(total) > 1e-9 * scale)

    def vote(self, values: list[float]) -> Answer | None:
        starts = [sum(self.counts[:k]) for k in range(self.n_classes)]
        votes = [0] * self.n_classes
        is_sure, pair = True, 0
        for i in range(self.n_classes):
            for j in range(i + 1, self.n_classes):
                own = [(k, j - 1) for k in range(starts[i], starts[i] + self.counts[i])]
                own += [(k, i) for k in range(starts[j], starts[j] + self.counts[j])]
                terms = [self.coefs[k][row] * values[k] for k, row in own] + [-self.rho[pair]]
                total, scale = math.fsum(terms), math.fsum(map(abs, terms))
                if not math.isfinite(scale) or scale > 1e290:
                    return None
                is_sure &= abs(total) > 1e-9 * scale
                votes[i if total > 0.0 else j] += 1
                pair += 1
        best = max(votes)
        return Answer(float(self.labels[votes.index(best)]), is_sure and votes.count(best) == 1)


def agrees(answer: Answer | None, found: str, scale: Any = 1.0) -> bool:
    """Whether a printed prediction is the answer, where that is sure."""
    if answer is None or not answer.is_sure:
        return True
    value = float(found)
    return abs(value - answer.value) <= 1e-6 * max(1.0, abs(answer.value)) * scale
