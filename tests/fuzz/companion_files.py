"""Mutated companions and range files: models used as they were trained, or a sentence."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import csv_files, data, result_files
from .cases import CaseError
from .data import Generator
from .formats import (
    TIME_LIMIT,
    encode,
    encode_alike,
    encode_strangely,
    folder,
    mutate_text,
    read_integer,
    read_number,
    run_command,
    text_mutations,
)
from .libsvm_oracle import Model, Row, Unreadable, lines_of, read_data, words_of

__all__ = ["TIME_LIMIT", "run_case"]

COMPANION = "own.model.meta.json"
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2, 3, 1.5, 1e150, 1e308, 2**31 - 1, 2**31, 10**30, 10**400),
    *("", "x", "width", "\ud800", "a\nb", "\u2028", [], {}, [None], [1], ["a"], {"low": []}),
)


def prepare() -> None:
    csv_files.originals()
    trained()


def run_case(seed: int) -> str | None:
    rng = data.generator("companion files", seed)
    return (run_range if rng.random() < 0.4 else run_companion)(rng)


# -- companions


def run_companion(rng: Generator) -> str | None:
    own = csv_files.originals()[int(rng.integers(4))]
    text = own.files[COMPANION].decode()
    kind, is_alike = rng.random(), False
    if kind < 0.1:
        content, words, is_alike = encode_alike(text, rng), "encoded alike", True
    elif kind < 0.13:
        content, words = encode_strangely(text, rng), "encoded strangely"
    elif kind < 0.5:
        text, words = mutate_text(text, rng, text_mutations(" "))
        content = encode(text)
    else:
        text, words = change_facts(text, rng)
        content = encode(text)
    with folder() as place:
        for name, stored in own.files.items():
            (place / name).write_bytes(stored)
        (place / COMPANION).write_bytes(content)
        (place / "x.csv").write_text(own.text)
        try:
            check_companion(place, own, content, is_alike)
        except Unreadable as error:
            return f"{words}: accepted, though not readable: {error}"
        except CaseError as error:
            return f"{words}: {error}"
    return None


def change_facts(text: str, rng: Generator) -> tuple[str, str]:
    """Values of the companion changed, with or without the checksum that fits them."""
    from alphapath.cli.files.model import checksum

    record = json.loads(text)
    is_forged = rng.random() < 0.7
    for _ in range(int(rng.integers(1, 3))):
        node, key = result_files.any_node(record, rng)
        kind = rng.random()
        if kind < 0.2:
            del node[key]
        elif kind < 0.4 and isinstance(node, list):
            node.insert(key, node[key])
        else:
            node[key] = VALUES[int(rng.integers(len(VALUES)))]
    if is_forged:
        rest = {key: value for key, value in record.items() if key != "checksum"}
        try:
            record["checksum"] = checksum(rest)
        except ValueError:
            is_forged = False
    return json.dumps(record), "forged" if is_forged else "changed"


def check_companion(place: Path, own: csv_files.Original, content: bytes, is_alike: bool) -> None:
    outcome = run_command("predict", place / "x.csv", place / "own.model", place / "out.txt")
    if not outcome.is_accepted:
        if is_alike:
            raise CaseError(f"refused: {outcome.said}")
        return
    facts = json.loads(content.decode("utf-8-sig"))
    names, rows = csv_files.read_table((place / "x.csv").read_bytes())
    features = facts["features"]
    if features is None:
        columns = [k for k in range(len(names)) if k != csv_files.find_target(names)]
    else:
        columns = csv_files.find_columns(names, features, facts["target"])
    X = csv_files.columns_of(names, rows, columns)
    if facts["scaling"] is None:
        facts["scaling"] = {"low": [-1.0] * len(columns), "high": [1.0] * len(columns)}
    with np.errstate(over="ignore", invalid="ignore"):
        answers = csv_files.predict_plainly(Model(own.files["own.model"]), facts, X)
    csv_files.compare(place / "out.txt", answers)


# -- range files


@dataclass(frozen=True)
class Trained:
    """A model of svm-train's kind, the range file that it needs, and rows."""

    model: bytes
    range: str
    rows: str


@functools.cache
def trained() -> Trained:
    from alphapath import SVC

    rng = data.generator("range files", 0)
    X = np.round(rng.normal(size=(20, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 0.0], 3)
    y = np.where(X[:, 0] > 0.0, 1, -1)
    low, high = X.min(axis=0), X.max(axis=0)
    scaled = (X - low) / (high - low)
    with folder() as place:
        SVC(gamma=2.0).fit(scaled, y).save_libsvm(place / "own.model")
        content = (place / "own.model").read_bytes()
    lines = [f"{k + 1} {low[k]:.17g} {high[k]:.17g}" for k in range(4)]
    rows = [
        f"{label} " + " ".join(f"{k + 1}:{value:g}" for k, value in enumerate(row))
        for label, row in zip(y, X, strict=True)
    ]
    return Trained(content, "\n".join(["x", "0 1", *lines]) + "\n", "\n".join(rows) + "\n")


def run_range(rng: Generator) -> str | None:
    own, is_alike = trained(), False
    kind = rng.random()
    if kind < 0.08:
        content, words = b"\xef\xbb\xbf" + own.range.replace("\n", "\r\n").encode(), "alike"
        is_alike = True
    elif kind < 0.11:
        content, words = encode_strangely(own.range, rng), "encoded strangely"
    else:
        text, words = mutate_text(own.range, rng, text_mutations(" "))
        content = encode(text)
    with folder() as place:
        (place / "own.model").write_bytes(own.model)
        (place / "own.range").write_bytes(content)
        (place / "x.svm").write_text(own.rows)
        try:
            check_range(place, content, own, is_alike)
        except Unreadable as error:
            return f"range, {words}: accepted, though not readable: {error}"
        except CaseError as error:
            return f"range, {words}: {error}"
    return None


def read_range(content: bytes) -> tuple[float, float, dict[int, tuple[float, float]]]:
    lines = [words_of(line) for line in lines_of(content)]
    if len(lines) < 2 or lines[0] != ["x"]:
        raise Unreadable("no x")
    try:
        (lower, upper), *rest = [words for words in lines[1:] if words]
        bounds = read_number(lower), read_number(upper)
        found: dict[int, tuple[float, float]] = {}
        for index, low, high in rest:
            number = read_integer(index)
            if number in found or number < 1:
                raise Unreadable("an index twice")
            found[number] = read_number(low), read_number(high)
    except ValueError as error:
        raise Unreadable(str(error)[:60]) from None
    return *bounds, found


def check_range(place: Path, content: bytes, own: Trained, is_alike: bool) -> None:
    files = (place / "x.svm", place / "own.model", place / "out.txt")
    outcome = run_command("predict", *files, "--range", place / "own.range")
    if not outcome.is_accepted:
        if is_alike:
            raise CaseError(f"refused: {outcome.said}")
        return
    lower, upper, ranges = read_range(content)
    _, rows = read_data(own.rows.encode())
    model = Model(own.model)
    answers: list[str | None] = []
    for row in rows:
        scaled: Row = {}
        for index, (low, high) in ranges.items():
            if high != low:
                share = (row.get(index, 0.0) - low) / (high - low)
                scaled[index] = lower + share * (upper - lower)
        # The library's scaling is to [-1, 1] inside, so that digits can be lost in between.
        if any(not abs(value) < 1e12 for value in scaled.values()):
            answers.append(None)
            continue
        answer = model.predict(scaled)
        answers.append(str(int(answer.value)) if answer and answer.is_sure else None)
    csv_files.compare(files[2], answers)
