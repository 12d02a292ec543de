"""Mutated journals: resumed rightly or refused in a sentence, never with other scores."""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .cases import CaseError, Skip, describe
from .data import Generator
from .formats import TIME_LIMIT, limit_memory

__all__ = ["TIME_LIMIT", "run_case"]

GRID = {"C": [5.0], "gamma": [0.01, 0.1, 1.0, 2.0]}
#: Numbers at which fields of files change their meaning.
NUMBERS = (0, 1, -1, 2, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63))
TEXTS = ("", "x", "\x00", "0.0.0", "nan", "[]", "{}", "\u2028", "\U0001f600", "a" * 5000)


def prepare() -> None:
    originals()


def run_case(seed: int) -> str | None:
    rng = data.generator("journals", seed)
    limit_memory()
    base = originals()
    content = base.partial if rng.random() < 0.7 else base.complete
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.db"
        path.write_bytes(content)
        words = []
        for _ in range(int(rng.integers(1, 4))):
            mutate = data.pick(rng, MUTATIONS, [share for share, _ in SHARES])
            with contextlib.suppress(sqlite3.Error, UnicodeError):  # damaged already
                mutate(path, rng)
                words.append(mutate.__name__)
        try:
            check_report(path, base)
            check_resume(path, base)
        except CaseError as error:
            return f"{', '.join(words)}: {error}"
    return None


# -- the journals before they are mutated


@dataclass(frozen=True)
class Originals:
    """A search, the journal of it and of a part of it."""

    complete: bytes
    partial: bytes
    results: dict[str, Any]


@functools.cache
def problem() -> tuple[Any, Any]:
    rng = data.generator("journals", 0)
    X = rng.normal(size=(40, 3))
    return X, np.where(X[:, 0] + rng.normal(size=40) > 0.0, 1, -1)


def make_search(path: Path | None) -> Any:
    from alphapath import SVC
    from alphapath.model_selection import SVMSearchCV

    return SVMSearchCV(SVC(), GRID, cv=2, plan="linked_kernels", refit=False, journal=path)


def results_of(search: Any) -> dict[str, Any]:
    """What must be the same on every run."""
    found = search.cv_results_.items()
    return {key: np.asarray(value).tolist() for key, value in found if "_time" not in key}


@functools.cache
def originals() -> Originals:
    from alphapath.search.journal import Journal

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.db"
        search = make_search(path).fit(*problem())
        complete = path.read_bytes()
        path.unlink()
        put, kept = Journal.put, []

        def put_two(self: Journal, *given: Any, **more: Any) -> None:
            if len(kept) == 2:
                raise KeyboardInterrupt
            kept.append(given)
            put(self, *given, **more)

        Journal.put = put_two  # type: ignore[method-assign]
        with warnings.catch_warnings(), contextlib.suppress(KeyboardInterrupt):
            warnings.simplefilter("ignore")
            make_search(path).fit(*problem())
        Journal.put = put  # type: ignore[method-assign]
        return Originals(complete, path.read_bytes(), results_of(search))


# -- what must hold afterwards


def check_resume(path: Path, base: Originals) -> None:
    search = make_search(path)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        if not is_accepted(lambda: search.fit(*problem())):
            return
    for warning in seen:
        if "The search goes on" not in str(warning.message):
            raise CaseError(f"warned {warning.category.__name__}: {warning.message}")
    found = results_of(search)
    for key, expected in base.results.items():
        if not is_same(found[key], expected):
            raise CaseError(f"{key} is {found[key]}, where it was {expected}")


def check_report(path: Path, base: Originals) -> None:
    from alphapath.report.html.page import render
    from alphapath.report.record import record_search

    records: list[Any] = []
    if not is_accepted(lambda: records.append(record_search(path))):
        return
    json.dumps(records[0], allow_nan=False)
    is_accepted(lambda: render(records[0]))


def is_accepted(action: Callable[[], Any]) -> bool:
    """Whether it is done, or else refused in a sentence."""
    from alphapath.errors import JournalError

    try:
        action()
    except JournalError as error:
        if not str(error).endswith("."):
            raise CaseError(f"no sentence: {describe(error)}") from None
        return False
    except Exception as error:
        raise CaseError(describe(error)) from None
    return True


def is_same(one: Any, other: Any) -> bool:
    equal: bool = np.array_equal(np.array(one, dtype=object), np.array(other, dtype=object))
    return equal


# -- mutations of bytes


def change_bytes(path: Path, rng: Generator) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 20))):
        content[int(rng.integers(len(content)))] = int(rng.integers(256))
    path.write_bytes(content)


def change_header(path: Path, rng: Generator) -> None:
    """The first hundred bytes of an SQLite file, or the head of one of its pages."""
    content = bytearray(path.read_bytes())
    start = 4096 * int(rng.integers(max(1, len(content) // 4096)))
    place = start + int(rng.integers(100))
    number = int(data.pick(rng, NUMBERS)) & 0xFFFFFFFF
    content[place : place + 4] = number.to_bytes(4, "big")
    path.write_bytes(content)


def cut(path: Path, rng: Generator) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(rng.integers(len(content) + 1))])


def blank(path: Path, rng: Generator) -> None:
    content = bytearray(path.read_bytes())
    first, last = np.sort(rng.integers(len(content) + 1, size=2)).tolist()
    content[first:last] = bytes([int(data.pick(rng, [0, 255]))]) * (last - first)
    path.write_bytes(content)


def move_page(path: Path, rng: Generator) -> None:
    """One page in the place of another."""
    content = bytearray(path.read_bytes())
    n_pages = len(content) // 4096
    if n_pages < 2:
        raise Skip("no pages")
    one, other = (4096 * int(k) for k in rng.choice(n_pages, 2, replace=False))
    content[one : one + 4096] = content[other : other + 4096]
    path.write_bytes(content)


def add_log(path: Path, rng: Generator) -> None:
    """A write-ahead log that belongs to nothing."""
    for ending in ("-wal", "-shm")[: int(rng.integers(1, 3))]:
        path.with_name(path.name + ending).write_bytes(rng.bytes(int(rng.integers(9000))))


# -- mutations of what is in the tables


def execute(path: Path, *statements: Any) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            text, *values = statement if isinstance(statement, tuple) else (statement,)
            connection.execute(text, *values)


#: What tells a row of a table from the others.
ROW_OF = {"fact": "name", "outline": "rowid", "chain": "rowid", "legacy": "rowid"}


def any_key(path: Path, table: str, rng: Generator) -> Any:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        keys = connection.execute(f"SELECT {ROW_OF[table]} FROM {table} ORDER BY 1").fetchall()
    return keys[int(rng.integers(len(keys)))][0] if keys else None


def any_value(rng: Generator) -> Any:
    options: list[Any] = [*NUMBERS, *TEXTS, 1e300, b"", rng.bytes(16), rng.bytes(400)]
    return options[int(rng.integers(len(options)))]


def change_value(path: Path, rng: Generator) -> None:
    columns = {
        "fact": ["name", "value"],
        "outline": ["text"],
        "chain": ["key", "checksum", "arrays"],
        "legacy": ["key", "checksum", "arrays"],
    }
    table = str(data.pick(rng, list(columns)))
    column = str(data.pick(rng, columns[table]))
    key = any_key(path, table, rng)
    statement = f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {ROW_OF[table]} IS ?"
    execute(path, (statement, (any_value(rng), key)))


def swap_records(path: Path, rng: Generator) -> None:
    """The record of one chain under the key of another, or in the other table."""
    source, target = (str(data.pick(rng, ["chain", "legacy"])) for _ in range(2))
    keys = any_key(path, "chain", rng), any_key(path, source, rng)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        find = "SELECT key FROM chain WHERE rowid IS ?"
        row = connection.execute(find, keys[:1]).fetchone()
    copy = f"SELECT ?, checksum, arrays FROM {source} WHERE rowid IS ?"
    if row is not None:
        execute(path, (f"INSERT OR REPLACE INTO {target} {copy}", (row[0], keys[1])))


def drop_rows(path: Path, rng: Generator) -> None:
    table = str(data.pick(rng, list(ROW_OF)))
    for _ in range(int(rng.integers(1, 3))):
        key = any_key(path, table, rng)
        execute(path, (f"DELETE FROM {table} WHERE {ROW_OF[table]} IS ?", (key,)))


def change_schema(path: Path, rng: Generator) -> None:
    table = str(data.pick(rng, list(ROW_OF)))
    statements = [
        f"DROP TABLE {table}",
        f"ALTER TABLE {table} RENAME TO other",
        f"ALTER TABLE {table} ADD COLUMN more",
        f"CREATE TABLE more_{table} (a)",
        f"CREATE VIEW seen AS SELECT * FROM {table}",
        f"CREATE TRIGGER late AFTER INSERT ON chain BEGIN DELETE FROM {table}; END",
        f"CREATE INDEX quick ON {table} ({'text' if table == 'outline' else 1})",
        f"PRAGMA user_version = {int(data.pick(rng, NUMBERS)) & 0x7FFFFFFF}",
        f"PRAGMA application_id = {int(data.pick(rng, NUMBERS)) & 0x7FFFFFFF}",
        "PRAGMA journal_mode = DELETE",
        "VACUUM",
    ]
    execute(path, str(data.pick(rng, statements)))


def change_outline(path: Path, rng: Generator) -> None:
    """A value anywhere in the outline, of any type."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        row = connection.execute("SELECT text FROM outline").fetchone()
    if row is None:
        return
    try:
        outline = json.loads(row[0])
    except (TypeError, ValueError, RecursionError):  # damaged already
        return
    node: Any = outline
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[int(rng.integers(len(keys)))]
        if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.2:
            values: list[Any] = [*NUMBERS, *TEXTS, None, True, 1.5, [], {}, [[]], float("inf")]
            values += ["<script>alert(1)</script>", 10**30]
            node[key] = values[int(rng.integers(len(values)))]
            break
        node = node[key]
    execute(path, ("UPDATE outline SET text = ?", (json.dumps(outline),)))


def nest_outline(path: Path, rng: Generator) -> None:
    depth = int(data.pick(rng, [10, 1000, 100_000]))
    execute(path, ("UPDATE outline SET text = ?", ("[" * depth + "]" * depth,)))


def forge_record(path: Path, rng: Generator) -> None:
    """Arrays of other shapes, types, names and statuses, with a checksum that fits."""
    from alphapath.search.journal import Journal
    from alphapath.search.journal.journal import checksum, pack, unpack

    table = str(data.pick(rng, ["chain", "chain", "legacy"]))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        row = connection.execute(f"SELECT key, arrays FROM {table}").fetchone()
        facts = dict(connection.execute("SELECT name, value FROM fact"))
    if row is None:
        return
    key = str(row[0]).strip("'")
    try:
        arrays = unpack(row[1])
    except (TypeError, ValueError):
        return
    name = list(arrays)[int(rng.integers(len(arrays)))]
    blob = pack(forge(arrays, name, rng))
    if rng.random() < 0.2:
        blob = blob.replace(b"(2, 1)", data.pick(rng, [b"(9, 9)", b"(-2, )", b"(2, 1 "]))
    with Journal(path):
        code = checksum(table, key, facts, blob)
    execute(path, (f"UPDATE {table} SET checksum = ?, arrays = ?", (code, blob)))


def forge(arrays: dict[str, Any], name: str, rng: Generator) -> dict[str, Any]:
    """Another shape, type or name of one array; numbers that could be right are left."""
    old = arrays[name]
    kind = int(rng.integers(5))
    if kind == 0:
        return {key: value for key, value in arrays.items() if key != name}
    if kind == 1:
        return {**arrays, name: np.zeros((7, *old.shape))}
    if kind == 2:
        return {**arrays, name: old.astype(str) if old.dtype.kind != "U" else np.zeros(old.shape)}
    if kind == 3 and "status" in arrays:
        return {**arrays, "status": np.full_like(arrays["status"], 77)}
    return {
        ("test_" if rng.random() < 0.5 else "") + name + "_": old,
        **arrays,
        name: old.ravel()[:0],
    }


SHARES: list[tuple[float, Callable[[Path, Generator], None]]] = [
    (3, change_bytes),
    (3, change_header),
    (1, cut),
    (1, blank),
    (1, move_page),
    (1, add_log),
    (4, change_value),
    (2, swap_records),
    (2, drop_rows),
    (2, change_schema),
    (4, change_outline),
    (0.3, nest_outline),
    (3, forge_record),
]
MUTATIONS = [mutation for _, mutation in SHARES]
