"""Mutated companions, range files and columns: the right predictions, or a sentence."""

from __future__ import annotations

import csv
import functools
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .cases import CaseError
from .data import Generator
from .formats import (
    TIME_LIMIT,
    any_place,
    any_word,
    encode,
    encode_strangely,
    folder,
    mutate_text,
    read_integer,
    read_number,
    run_command,
    text_mutations,
)

__all__ = ["TIME_LIMIT", "run_case"]

HEADER = ("a b", "b\nc", "c,d", "\u2028", "target")
NAMES = ("one\ntwo", "1", "01")
MUTATIONS = text_mutations()
LETTERS = "ab019+-.,;:_\"'#\\/<>&{} "


@functools.cache
def originals() -> dict[str, bytes]:
    """Files of three models by name, rows to predict, and what is predicted for them."""
    rng = data.generator("companions", 0)
    X = np.round(rng.normal(size=(30, 4)) * [1.0, 10.0, 100.0, 1.0] + [0.0, 5.0, 0.0, 0.0], 3)
    y = np.digitize(X[:, 0], [-0.4, 0.4])
    found: dict[str, bytes] = {}
    with folder() as place:
        (place / "x.csv").write_bytes(
            as_csv(HEADER, [[*row, NAMES[k]] for row, k in zip(X, y, strict=True)])
        )
        (place / "x.svm").write_bytes(as_svmlight(X, y))
        train(place, "x.csv", "named.model", "--scale", "minmax", "-c", "10")
        train(place, "x.svm", "plain.model", "--scale", "standard", "--save-range", place / "r")
        train(place, "x.svm", "other.model", "--scale", "minmax", "-c", "100")
        for model, rows in (("named", "x.csv"), ("plain", "x.svm")):
            predict(place, rows, f"{model}.model", f"{model}.txt")
        for path in place.iterdir():
            found[path.name] = path.read_bytes()
    return found


def as_csv(header: Any, rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows([header, *rows])
    return text.getvalue().encode()


def as_svmlight(X: Any, y: Any) -> bytes:
    lines = (
        f"{label} " + " ".join(f"{k + 1}:{float(value)!r}" for k, value in enumerate(row))
        for row, label in zip(X, y, strict=True)
    )
    return ("\n".join(lines) + "\n").encode()


def train(place: Path, rows: str, model: str, *options: object) -> None:
    outcome = run_command("fit", place / rows, "--model", place / model, *options)
    if not outcome.is_accepted:
        raise CaseError(f"the fit was refused: {outcome.said}")


def predict(place: Path, rows: str, model: str, output: str, *options: object) -> bytes | None:
    """What was predicted; None if it was refused, in a sentence."""
    outcome = run_command("predict", place / rows, place / model, place / output, *options)
    return (place / output).read_bytes() if outcome.is_accepted else None


def run_case(seed: int) -> str | None:
    rng = data.generator("companions", seed + 1)
    files = originals()
    case = data.pick(rng, CASES, [3.0, 4.0, 1.0, 2.0, 4.0, 4.0])
    with folder() as place:
        for name, content in files.items():
            if not name.endswith(".txt"):
                (place / name).write_bytes(content)
        try:
            words = case(place, rng)
        except CaseError as error:
            return f"{case.__name__}: {error}"
    return None if words is None else f"{case.__name__}: {words}"


def check_same(place: Path, rows: str, model: str) -> str | None:
    """The predictions of the files before the mutation, or a sentence."""
    found = predict(place, rows, f"{model}.model", "out.txt")
    if found is None or found == originals()[f"{model}.txt"]:
        return None
    return f"other predictions: {found[:200]!r}"


# -- cases


def mutated_companion(place: Path, rng: Generator) -> str | None:
    model, rows = (("named", "x.csv"), ("plain", "x.svm"))[any_place(rng, 2)]
    path = place / f"{model}.model.meta.json"
    text, words = mutate_text(path.read_text(), rng, MUTATIONS)
    path.write_bytes(encode(text) if rng.random() < 0.95 else encode_strangely(text, rng))
    wrong = check_same(place, rows, model)
    return wrong and f"{words}: {wrong}"


def mixed_files(place: Path, rng: Generator) -> str | None:
    """Files of other models, or damaged ones, in the places of those that belong together."""
    model, rows = (("named", "x.csv"), ("plain", "x.svm"))[any_place(rng, 2)]
    source = place / str(data.pick(rng, sorted(path.name for path in place.iterdir())))
    content = source.read_bytes()
    if rng.random() < 0.3:
        content = content[: any_place(rng, len(content))]
    ending = str(data.pick(rng, ["", ".meta.json"]))
    (place / f"{model}.model{ending}").write_bytes(content)
    wrong = check_same(place, rows, model)
    return wrong and f"{source.name}: {wrong}"


def sealed_companion(place: Path, rng: Generator) -> str | None:
    """Other content under a right checksum: no answer is known, but it ends well."""
    from alphapath.cli.files.model import checksum

    model, rows = (("named", "x.csv"), ("plain", "x.svm"))[any_place(rng, 2)]
    path = place / f"{model}.model.meta.json"
    record = json.loads(path.read_text())
    del record["checksum"]
    key = str(data.pick(rng, sorted(record)))
    values: list[Any] = [None, True, 0, -1, 10**30, 1.5, "", "x" * 1000, [], {}, [None], [[1.0]]]
    value: Any = data.pick(rng, range(len(values) + 2))
    if value >= len(values) and isinstance(record[key], list):
        items = record[key]
        items[any_place(rng, len(items))] = values[any_place(rng, len(values))]
    elif value >= len(values) and isinstance(record[key], dict):
        side = record[key][str(data.pick(rng, ["low", "high"]))]
        side[any_place(rng, len(side))] = data.pick(rng, [None, 1, -1e300, 1e300, "1", 5.0])
    else:
        record[key] = values[min(int(value), len(values) - 1)]
    record["checksum"] = checksum(record)
    path.write_text(json.dumps(record))
    predict(place, rows, f"{model}.model", "out.txt")
    return None


def mutated_columns(place: Path, rng: Generator) -> str | None:
    """Columns in another order, missing, added, twice or renamed."""
    table = list(csv.reader(io.StringIO((place / "x.csv").read_text(), newline="")))
    columns = [list(column) for column in zip(*table, strict=True)]
    for _ in range(1 + any_place(rng, 3)):
        k = any_place(rng, len(columns))
        change = any_place(rng, 6)
        if change == 0 and len(columns) > 1:
            del columns[k]
        elif change == 1:
            columns.insert(any_place(rng, len(columns) + 1), ["more", *["1"] * (len(table) - 1)])
        elif change == 2:
            columns.insert(any_place(rng, len(columns) + 1), list(columns[k]))
        elif change == 3:
            columns[k][0] = any_word(rng)[:1000]
        else:
            columns = [columns[j] for j in rng.permutation(len(columns))]
    changed = list(zip(*columns, strict=True))
    (place / "x.csv").write_bytes(as_csv(changed[0], changed[1:]))
    wrong = check_same(place, "x.csv", "named")
    return wrong and f"columns {changed[0]!r:.200}: {wrong}"


def mutated_range(place: Path, rng: Generator) -> str | None:
    """A range file by hand, against rows that a plain reader of the file has scaled."""
    text, words = mutate_text((place / "r").read_text(), rng, MUTATIONS)
    (place / "r").write_bytes(encode(text))
    (place / "plain.model.meta.json").unlink()
    found = predict(place, "x.svm", "plain.model", "out.txt", "--range", place / "r")
    if found is None:
        return None
    try:
        bounds, limits = read_range(text)
    except ValueError as error:
        return f"{words}: accepted, though {error}"
    rows, labels = [], []
    for line in (place / "x.svm").read_text().splitlines():
        label, *entries = line.split()
        values = [float(entry.partition(":")[2]) for entry in entries]
        labels.append(label)
        rows.append([scale(v, limits.get(k + 1), bounds) for k, v in enumerate(values)])
    (place / "scaled.svm").write_bytes(as_svmlight(rows, labels))
    expected = predict(place, "scaled.svm", "plain.model", "expected.txt")
    if expected is None:
        return None
    n_other = sum(a != b for a, b in zip(found.split(), expected.split(), strict=True))
    return None if n_other == 0 else f"{words}: {n_other} rows are predicted otherwise"


def read_range(text: str) -> tuple[tuple[float, float], dict[int, tuple[float, float]]]:
    lines = [line.split() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    if lines[0] != ["x"]:
        raise ValueError("it does not begin with x")
    low, high = (read_number(word) for word in lines[1])
    limits = {
        read_integer(words[0]): (read_number(words[1]), read_number(words[2]))
        for words in lines[2:]
        if words
    }
    return (low, high), limits


def scale(value: float, limits: tuple[float, float] | None, bounds: tuple[float, float]) -> float:
    if limits is None:
        return 0.0
    share = (value - limits[0]) / (limits[1] - limits[0])
    return float(bounds[0] + (bounds[1] - bounds[0]) * share)


def any_names(place: Path, rng: Generator) -> str | None:
    """Classes and columns called anything: predictions give the names back."""
    prefix = "n" if rng.random() < 0.7 else ""
    n_classes = 2 + any_place(rng, 3)
    classes = sorted({prefix + any_text(rng) for _ in range(n_classes)} - {""})
    header = [prefix + any_text(rng) for _ in range(2)]
    if len(classes) < 2 or len(set(header)) < 2 or "" in header:
        return None
    labels = [classes[k % len(classes)] for k in range(12)]
    table = [[10.0 * (k % len(classes)) + k / 100, -k, labels[k]] for k in range(12)]
    target = str(data.pick(rng, ["target", "n" + any_text(rng)]))
    if target in header:
        return None
    (place / "n.csv").write_bytes(as_csv([*header, target], table))
    model = place / "n.model"
    options = ("--target", target, "-c", "1e4", "-g", "1", "--model", model)
    outcome = run_command("fit", place / "n.csv", *options)
    if not outcome.is_accepted:
        return f"refused: {outcome.said}" if prefix else None
    order = rng.permutation(3)
    rows = [[[*header, target][j] for j in order], *([row[j] for j in order] for row in table)]
    (place / "m.csv").write_bytes(as_csv(rows[0], rows[1:]))
    found = predict(place, "m.csv", "n.model", "out.txt")
    if found is None:
        return "the prediction was refused"
    lines = found.decode().splitlines()
    names = [json.loads(line) if line[:1] == '"' else line for line in lines]
    if names != labels and (
        prefix or [float(name) for name in names] != [float(x) for x in labels]
    ):
        return f"classes {classes!r} are predicted as {sorted(set(names))!r}"
    return None


def any_text(rng: Generator) -> str:
    """A few letters of the kinds that some program takes for a separator or a number."""
    letters = [*LETTERS, "\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "é"]
    text = "".join(str(data.pick(rng, letters)) for _ in range(any_place(rng, 5)))
    return text.strip(" ")


CASES = (
    any_names,
    mutated_companion,
    mixed_files,
    sealed_companion,
    mutated_columns,
    mutated_range,
)
