"""Mutated LIBSVM data files: fits and predictions as from a plain reader, or a sentence."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .cases import CaseError
from .data import Generator
from .formats import (
    TIME_LIMIT,
    Outcome,
    encode,
    encode_alike,
    encode_strangely,
    folder,
    mutate_text,
    on_words,
    run_command,
    text_mutations,
)
from .libsvm_oracle import Answer, Model, Row, Unreadable, agrees, read_data

__all__ = ["TIME_LIMIT", "run_case"]

#: Beyond this a value is refused, since its square overflows.
LARGEST = 1e150
MAX_INDEX = 2**31 - 2


@functools.cache
def originals() -> tuple[str, ...]:
    """Texts of data: dense, sparse, with comments, counted from 0, with queries."""
    rng = data.generator("svmlight files", 0)
    texts = []
    for kind in range(5):
        first = 0 if kind == 3 else 1
        lines = ["# a comment"] if kind == 2 else []
        for k in range(14):
            row = np.round(rng.normal(size=6), 2) * (rng.random(6) < (1.0 if kind == 0 else 0.6))
            label = 1 if row[:3].sum() + 0.3 * rng.normal() > 0.0 else -1
            if k < 2:
                label = 1 - 2 * k
            words = [f"{label:+d}" if kind == 1 else str(label)]
            words += ["qid:1"] if kind == 4 else []
            words += [f"{j + first}:{value:g}" for j, value in enumerate(row) if value]
            lines.append(" ".join(words) + (" # last" if kind == 2 and k % 3 == 0 else ""))
        texts.append("\n".join(lines) + "\n")
    return tuple(texts)


@functools.cache
def trained() -> bytes:
    """A model without a companion, as svm-train writes it."""
    with folder() as place:
        (place / "x.svm").write_text(originals()[0])
        run_command("fit", place / "x.svm", "-g", "0.5", "-c", "2", "--model", place / "own.model")
        return (place / "own.model").read_bytes()


def raise_index(words: list[str], rng: Generator) -> None:
    """A last index that is far out, or all indices of a line further out."""
    step = int(data.pick(rng, [1, 5, 100, 10**6, 2**24, 2**31 - 20, 2**31 - 2, 2**31]))
    is_last = rng.random() < 0.5
    for k in range(len(words) - 1 if is_last else 1, len(words)):
        index, mark, value = words[k].partition(":")
        if mark and index.isascii() and index.isdigit():
            words[k] = f"{int(index) + step}:{value}"


MUTATIONS = [*text_mutations(), (3.0, on_words(raise_index))]


def prepare() -> None:
    originals()
    trained()


def run_case(seed: int) -> str | None:
    rng = data.generator("svmlight files", seed + 1)
    text = str(data.pick(rng, originals()))
    kind = rng.random()
    if kind < 0.1:
        content, words = encode_alike(text, rng), "encoded alike"
    elif kind < 0.13:
        content, words = encode_strangely(text, rng), "encoded strangely"
    else:
        changed, words = mutate_text(text, rng, MUTATIONS)
        content = encode(changed)
    check = check_fit if rng.random() < 0.3 else check_prediction
    with folder() as place:
        (place / "x.svm").write_bytes(content)
        try:
            outcome = check(place, content)
            if words == "encoded alike" and not outcome.is_accepted:
                raise CaseError(f"refused: {outcome.said}")
        except CaseError as error:
            return f"{words}: {error}"
    return None


def read_plainly(content: bytes) -> tuple[list[float], list[Row], int]:
    """Targets, rows with features from 1 on, and the first index of the file."""
    try:
        targets, rows = read_data(content)
    except Unreadable as error:
        raise CaseError(f"accepted, though not readable: {error}") from None
    values = [value for row in rows for value in row.values()] + targets
    is_finite = all(abs(value) < np.inf for value in values)
    if (
        not rows
        or not is_finite
        or max((abs(v) for v in values[: -len(rows)]), default=0) > LARGEST
    ):
        raise CaseError("accepted, though without rows or with values that are too large")
    base = 0 if any(0 in row for row in rows) else 1
    if max((index for row in rows for index in row), default=0) > MAX_INDEX:
        raise CaseError("accepted, though an index is too large")
    return (
        targets,
        [{index - base + 1: value for index, value in row.items()} for row in rows],
        base,
    )


def check_prediction(place: Path, content: bytes) -> Outcome:
    (place / "own.model").write_bytes(trained())
    outcome = run_command("predict", place / "x.svm", place / "own.model", place / "out.txt")
    if outcome.is_accepted:
        _, rows, _ = read_plainly(content)
        model = Model(trained())
        compare(place / "out.txt", [model.predict(row) for row in rows])
    return outcome


def compare(path: Path, answers: list[Answer | None]) -> None:
    found = path.read_text().split("\n")[:-1]
    if len(found) != len(answers):
        raise CaseError(f"{len(found)} predictions for {len(answers)} rows")
    for k, (value, answer) in enumerate(zip(found, answers, strict=True)):
        if not agrees(answer, value):
            raise CaseError(f"row {k + 1} is {value}, where {answer} is right")


def check_fit(place: Path, content: bytes) -> Outcome:
    """The model of a fit decides as one on the rows of the plain reader, in a dense array."""
    from alphapath import SVC

    model = place / "new.model"
    outcome = run_command("fit", place / "x.svm", "-g", "0.5", "-e", "1e-8", "--model", model)
    if not outcome.is_accepted:
        if model.exists():
            raise CaseError("a model was written though the fit was refused")
        return outcome
    targets, rows, _ = read_plainly(content)
    if any(target != int(target) for target in targets) or len(set(targets)) < 2:
        raise CaseError(f"accepted the classes {sorted(set(targets))[:5]}")
    used = sorted({index for row in rows for index in row}) or [1]
    X = np.array([[row.get(index, 0.0) for index in used] for row in rows])
    expected: Any = SVC(gamma=0.5, tol=1e-8).fit(X, np.array(targets, dtype=int))
    found = Model(model.read_bytes())
    answers = expected.predict(X)
    values = expected.decision_function(X)
    if values.ndim > 1:
        values = np.diff(np.sort(values, axis=1)[:, -2:], axis=1).ravel()
    for k, row in enumerate(rows):
        answer = found.predict(row)
        if answer is not None and abs(values[k]) > 1e-3 and answer.value != answers[k]:
            raise CaseError(f"row {k + 1} is {answers[k]}, and by the model file {answer.value}")
    return outcome
