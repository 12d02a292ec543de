"""Mutated CSV files: fits and predictions as from a plain reader, or a sentence."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .cases import CaseError
from .formats import (
    TIME_LIMIT,
    Outcome,
    encode,
    encode_strangely,
    folder,
    mutate_text,
    read_number,
    run_command,
    text_mutations,
)
from .libsvm_oracle import Model, Unreadable

__all__ = ["TIME_LIMIT", "run_case"]

LARGEST = 1e150
MARKS = (",", ";", "\t")


@dataclass(frozen=True)
class Original:
    """A table, what separates its values, and a model that was trained on it."""

    text: str
    mark: str
    files: dict[str, bytes]


@functools.cache
def originals() -> tuple[Original, ...]:
    """Tables with classes of words or numbers, quoted names, and other marks."""
    rng = data.generator("csv files", 0)
    found = []
    for kind in range(4):
        mark = MARKS[kind % 3]
        names = ["width", "height", 'a "b"' if kind == 1 else "weight", "class"]
        if kind == 2:
            names = names[3:] + names[:3]
        lines = [mark.join(quote(name, mark) for name in names)]
        for k in range(16):
            row = np.round(rng.normal(size=3), 2)
            side = k % 2 if k < 4 else int(row[0] + row[1] > 0.0)
            words = (["no", "yes"], ["New\nYork", "a, b"], ["1", "2"], ["01", "1"])[kind]
            values = [f"{value:g}" for value in row]
            label = quote(words[side], mark)
            lines.append(mark.join([label, *values] if kind == 2 else [*values, label]))
        text = "\n".join(lines) + "\n"
        with folder() as place:
            (place / "x.csv").write_text(text)
            model = place / "own.model"
            run_command("fit", place / "x.csv", "-g", "0.5", "--model", model, "--scale", "minmax")
            files = {path.name: path.read_bytes() for path in place.glob("own.model*")}
        found.append(Original(text, mark, files))
    return tuple(found)


def quote(text: str, mark: str) -> str:
    if any(letter in text for letter in (mark, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


# -- the plain reader


def read_table(content: bytes) -> tuple[list[str], list[list[str]]]:
    """Names and rows of values; Unreadable where they are not whole."""
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    rows = split_rows(text, find_mark(text))
    if not rows:
        raise Unreadable("no rows")
    names, *values = rows
    values = [row for row in values if len(row) > 1 or row[0].strip()]
    if any(len(row) != len(names) for row in values) or not values:
        raise Unreadable("rows of other lengths")
    return [name.strip(" \t") for name in names], values


def find_mark(text: str) -> str:
    """The most frequent mark outside quotes in the first row."""
    counts, is_open = dict.fromkeys(MARKS, 0), False
    for letter in text:
        is_open ^= letter == '"'
        if letter in counts and not is_open:
            counts[letter] += 1
        if letter in "\r\n" and not is_open:
            break
    return max(MARKS, key=counts.__getitem__)


def split_rows(text: str, mark: str) -> list[list[str]]:
    text = text.rstrip("\r\n") + "\n" if not text.endswith("\n") else text
    rows: list[list[str]] = [[""]]
    state = "begin"  # begin, plain, quoted, closed
    for letter in text.replace("\r\n", "\n") if '"' not in text else text:
        if state == "quoted":
            if letter == '"':
                state = "closed"
            else:
                rows[-1][-1] += letter
        elif letter == '"' and state == "begin":
            state = "quoted"
        elif letter == '"' and state == "closed":
            rows[-1][-1] += letter
            state = "quoted"
        elif letter == mark:
            rows[-1].append("")
            state = "begin"
        elif letter in "\r\n":
            rows.append([""])
            state = "begin"
        elif state == "closed":
            raise Unreadable("a closed quote in the middle")
        else:
            rows[-1][-1] += letter
            state = "plain"
    if state == "quoted":
        raise Unreadable("an open quote")
    if len(rows) > 1 and rows[0] == [""]:
        raise Unreadable("no names")
    return rows[:1] + [row for row in rows[1:] if row != [""]]


def columns_of(names: list[str], rows: list[list[str]], wanted: list[int]) -> Any:
    """The numbers in some columns."""
    try:
        X = np.array([[read_number(row[k].strip()) for k in wanted] for row in rows])
    except ValueError as error:
        raise Unreadable(str(error)[:60]) from None
    if not np.all(np.abs(X) <= LARGEST):
        raise Unreadable("a value that is too large")
    return X


def find_columns(names: list[str], features: list[str], target: str) -> list[int]:
    """Where the columns of a model are."""
    own = [k for k, name in enumerate(names) if name != target or names.count(target) > 1]
    if [names[k] for k in own] == features:
        return own
    without = [k for k, name in enumerate(names) if k != find_target(names)]
    if [names[k] for k in without] == features:
        return without
    if any(names.count(name) != 1 for name in features):
        raise Unreadable("columns that are not there, or twice")
    return [names.index(name) for name in features]


def find_target(names: list[str]) -> int:
    usual = [k for k, name in enumerate(names) if name.lower() in ("target", "label", "class", "y")]
    return usual[0] if len(usual) == 1 else -1


# -- cases

MUTATIONS = {mark: text_mutations(mark) for mark in MARKS}


def prepare() -> None:
    originals()


def run_case(seed: int) -> str | None:
    rng = data.generator("csv files", seed + 1)
    own = originals()[int(rng.integers(4))]
    kind, is_alike = rng.random(), False
    if kind < 0.08:
        ends = str(data.pick(rng, ["\r\n", "\r"]))
        text = own.text if "\nYork" in own.text else own.text.replace("\n", ends)
        content, words = b"\xef\xbb\xbf" + text.encode(), "encoded alike"
        is_alike = True
    elif kind < 0.11:
        content, words = encode_strangely(own.text, rng), "encoded strangely"
    else:
        text, words = mutate_text(own.text, rng, MUTATIONS[own.mark])
        content = encode(text)
    check = check_fit if rng.random() < 0.3 else check_prediction
    with folder() as place:
        (place / "x.csv").write_bytes(content)
        try:
            outcome = check(place, content, own)
            if is_alike and not outcome.is_accepted:
                raise CaseError(f"refused: {outcome.said}")
        except Unreadable as error:
            return f"{words}: accepted, though not readable: {error}"
        except CaseError as error:
            return f"{words}: {error}"
    return None


def check_prediction(place: Path, content: bytes, own: Original) -> Outcome:
    for name, stored in own.files.items():
        (place / name).write_bytes(stored)
    outcome = run_command("predict", place / "x.csv", place / "own.model", place / "out.txt")
    if outcome.is_accepted and not content.lstrip().startswith((b"1 ", b"0 ", b"-1 ")):
        facts = json.loads(own.files["own.model.meta.json"])
        names, rows = read_table(content)
        columns = find_columns(names, facts["features"], facts["target"])
        X = columns_of(names, rows, columns)
        answers = predict_plainly(Model(own.files["own.model"]), facts, X)
        compare(place / "out.txt", answers)
    return outcome


def predict_plainly(model: Model, facts: Any, X: Any) -> list[str | None]:
    """Names of classes; None where rounding may decide."""
    low, high = (np.array(facts["scaling"][side]) for side in ("low", "high"))
    width = np.where(high > low, high - low, 1.0)
    scaled = np.where(high > low, 2.0 * (X - low) / width - 1.0, 0.0)
    answers: list[str | None] = []
    for row in scaled:
        answer = model.predict({k + 1: float(value) for k, value in enumerate(row)})
        if answer is None or not answer.is_sure:
            answers.append(None)
        else:
            number = int(answer.value)
            answers.append(facts["classes"][number] if facts["classes"] else str(number))
    return answers


def compare(path: Path, answers: list[str | None]) -> None:
    found = path.read_text(encoding="utf-8").split("\n")[:-1]
    if len(found) != len(answers):
        raise CaseError(f"{len(found)} predictions for {len(answers)} rows")
    for k, (value, answer) in enumerate(zip(found, answers, strict=True)):
        if answer is not None and not is_same_label(value, answer):
            raise CaseError(f"row {k + 1} is {value!r}, where {answer!r} is right")


def is_same_label(found: str, answer: str) -> bool:
    """Whether a printed label is the given one, written as a number or in quotes perhaps."""
    answer = answer.encode("utf-8", "backslashreplace").decode()  # of a companion that was forged
    if found == answer or (found[:1] == '"' and json.loads(found) == answer):
        return True
    try:
        return read_number(found) == read_number(answer)
    except ValueError:
        return False


def check_fit(place: Path, content: bytes, own: Original) -> Outcome:
    """Predictions on the training rows are those of a fit on what the plain reader has."""
    from alphapath import SVC

    model = place / "new.model"
    options = ["-g", "0.5", "-e", "1e-8", "--model", model]
    outcome = run_command("fit", place / "x.csv", *options)
    if not outcome.is_accepted or content.lstrip().startswith((b"1 ", b"0 ", b"-1 ")):
        return outcome
    names, rows = read_table(content)
    place_of_target = find_target(names)
    if place_of_target < 0:
        raise Unreadable("no target")
    X = columns_of(names, rows, [k for k in range(len(names)) if k != place_of_target])
    labels = [row[place_of_target].strip(" \t") for row in rows]
    if "" in labels:
        raise Unreadable("a row without a class")
    names = sorted(set(labels))  # NumPy's own strings lose a NUL at their end
    expected: Any = SVC(gamma=0.5, tol=1e-8).fit(X, np.array([names.index(one) for one in labels]))
    values = expected.decision_function(X)
    if values.ndim > 1:
        values = np.diff(np.sort(values, axis=1)[:, -2:], axis=1).ravel()
    if not run_command("predict", place / "x.csv", model, place / "out.txt").is_accepted:
        raise CaseError("the file of a fit is refused by predict")
    answers = [
        names[label] if abs(value) > 1e-3 else None
        for label, value in zip(expected.predict(X), values, strict=True)
    ]
    compare(place / "out.txt", answers)
    return outcome
