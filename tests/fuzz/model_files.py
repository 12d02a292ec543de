"""Mutated LIBSVM model files: predictions as a plain reader has them, or a sentence."""

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
    encode,
    encode_alike,
    encode_strangely,
    folder,
    mutate_text,
    on_lines,
    run_command,
    text_mutations,
)
from .libsvm_oracle import Model, Unreadable, agrees, read_data

__all__ = ["TIME_LIMIT", "run_case"]

N_ROWS = 8


@functools.cache
def originals() -> tuple[tuple[str, ...], str]:
    """Texts of models of every kind, and of rows to predict."""
    from alphapath import SVC, SVR, OneClassSVM

    rng = data.generator("model files", 0)
    X = np.round(rng.normal(size=(24, 4)), 3) * (rng.random((24, 4)) < 0.8)
    y = np.where(X[:, 0] + X[:, 1] > 0.0, 1, -1)
    labels = np.digitize(X[:, 0], [-0.5, 0.5]) * 3 - 2
    models: list[Any] = [
        SVC(gamma=0.5).fit(X, y),
        SVC(kernel="poly", gamma=0.5, coef0=1.0, degree=2).fit(X, labels),
        SVC(kernel="linear").fit(X, labels),
        SVC(kernel="precomputed").fit(X @ X.T, y),
        SVR(kernel="sigmoid", gamma=0.1, coef0=-0.5).fit(X, X[:, 0]),
        SVR(gamma=0.5).fit(X, X[:, 1] * 10.0),
        OneClassSVM(gamma=0.5, nu=0.4).fit(X),
    ]
    texts = []
    with folder() as place:
        for model in models:
            model.save_libsvm(place / "own.model")
            texts.append((place / "own.model").read_text())
    rows = np.round(rng.normal(size=(N_ROWS, 24)), 2)
    rows[:, 4:] *= 0.1
    lines = [
        "1 " + " ".join(f"{k + 1}:{value:g}" for k, value in enumerate(row) if value)
        for row in rows
    ]
    return tuple(texts), "\n".join(lines) + "\n"


def double_header(lines: list[str], rng: Generator) -> None:
    """A header entry once more, elsewhere, with another value."""
    n = next((k for k, line in enumerate(lines) if line == "SV"), 1)
    words = lines[int(rng.integers(max(1, n)))].split(" ")
    words[-1] = str(data.pick(rng, ["1", "2", "rbf", "linear", "0.25", "c_svc"]))
    lines.insert(int(rng.integers(n + 1)), " ".join(words))


def other_kind(lines: list[str], rng: Generator) -> None:
    kinds = ["svm_type nu_svc", "svm_type epsilon_svr", "svm_type one_class", "svm_type nu_svr"]
    kinds += ["kernel_type linear", "kernel_type rbf", "kernel_type precomputed", "svm_type x"]
    line = str(data.pick(rng, kinds))
    for k, old in enumerate(lines):
        if old.split(" ")[0] == line.split(" ")[0]:
            lines[k] = line


MUTATIONS = [*text_mutations(), (2.0, on_lines(double_header)), (1.5, on_lines(other_kind))]


def prepare() -> None:
    originals()


def run_case(seed: int) -> str | None:
    rng = data.generator("model files", seed + 1)
    texts, rows = originals()
    text = str(data.pick(rng, texts))
    kind = rng.random()
    if kind < 0.08:
        content, words = encode_alike(text, rng), "encoded alike"
    elif kind < 0.11:
        content, words = encode_strangely(text, rng), "encoded strangely"
    else:
        changed, words = mutate_text(text, rng, MUTATIONS)
        content = encode(changed)
    with folder() as place:
        (place / "x.svm").write_text(rows)
        (place / "own.model").write_bytes(content)
        try:
            check(place, content, must_read=words == "encoded alike")
        except CaseError as error:
            return f"{words}: {error}"
    return None


def check(place: Path, content: bytes, must_read: bool) -> None:
    output = place / "out.txt"
    outcome = run_command("predict", place / "x.svm", place / "own.model", output)
    if not outcome.is_accepted:
        if must_read:
            raise CaseError(f"refused: {outcome.said}")
        return
    try:
        model = Model(content)
    except Unreadable as error:
        raise CaseError(f"accepted, though not readable: {error}") from None
    found = output.read_text().split("\n")[:-1]
    _, expected = read_data((place / "x.svm").read_bytes())
    if len(found) != len(expected):
        raise CaseError(f"{len(found)} predictions for {len(expected)} rows")
    for k, (row, value) in enumerate(zip(expected, found, strict=True)):
        answer = model.predict(row)
        if not agrees(answer, value):
            raise CaseError(f"row {k + 1} is {value}, where {answer} is right")
