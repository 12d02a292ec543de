"""The journal of a search: what is solved survives the process, and the search resumes from it.

An SQLite file with one record a chain, written in one transaction when the chain is finished. A
process killed at any moment leaves the chains before it whole and nothing of the one it was at
(write-ahead log; what was committed is safe from the death of the process, and a crash of the
machine can at most lose the last records). Threads and processes may share one file.

Arrays are stored in numpy's own format and never as pickles: a journal can not run code.
"""

from __future__ import annotations

import hashlib
import io
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import JournalError
from ..version import __version__

T = TypeVar("T")
Arrays = dict[str, NDArray[Any]]

#: Marks an SQLite file as ours ("alph"), and the layout of its tables.
APPLICATION, LAYOUT = 0x616C7068, 2
#: Seconds to wait for another process that is writing.
PATIENCE = 60.0

TABLES = """
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE outline (text TEXT NOT NULL);
CREATE TABLE chain (key TEXT PRIMARY KEY, checksum BLOB NOT NULL, arrays BLOB NOT NULL);
"""


class Journal:
    """Finished chains by key, in a file.

    `bind` says which search the file belongs to; then `get` and `put` are a dictionary of chains.
    The object may be used by several threads, pickled, and used in a forked process.

    Parameters
    ----------
    path : path of the file; it is made by the first use.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(f"{folder.name}/search.db") as journal:
    ...     journal.bind({"data": "0c9f", "grid": "77ab"})
    ...     journal.put(("rbf", 0.5, 0), {"score": np.array([0.9, 0.8])})
    ...     journal.get(("rbf", 0.5, 0))["score"]
    array([0.9, 0.8])
    >>> folder.cleanup()
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None
        self._owner = 0
        self._lock = threading.RLock()

    # -- what the runner uses

    def bind(self, facts: Mapping[str, str], outline: str = "") -> None:
        """Claim a new file for the search that `facts` describe, or check that it is its file.

        `facts` are digests by name ("data", "splits", ...); the version of this library is added.
        `outline` is kept for whoever reads the file without the search (outline.py).
        """
        own = {**facts, "version of alphapath": __version__}
        with self._transaction() as connection:
            found = dict(connection.execute("SELECT name, value FROM fact"))
            if not found:
                connection.executemany("INSERT INTO fact VALUES (?, ?)", own.items())
                connection.execute("INSERT INTO outline VALUES (?)", (outline,))
                return
        changed = sorted(name for name in {*own, *found} if own.get(name) != found.get(name))
        if changed:
            details = "; ".join(
                f"{name}: {found.get(name, 'nothing')} there, {own.get(name, 'nothing')} now"
                for name in changed
            )
            raise JournalError(
                f"{self.path} belongs to another search ({details}). A journal is resumed only "
                f"with the same data, splits, parameters and version; give another file, or "
                f"delete this one."
            )

    def get(self, key: Hashable) -> Arrays | None:
        """The arrays of a finished chain; None where it is not there."""
        row = self._read("SELECT checksum, arrays FROM chain WHERE key = ?", (key_text(key),))
        if not row:
            return None
        checksum, blob = row[0]
        if hashlib.blake2b(blob, digest_size=16).digest() != checksum:
            raise JournalError(
                f"{self.path} is damaged: the record of chain {key_text(key)} does not match its "
                f"checksum. Delete the file to begin the search again."
            )
        return unpack(blob)

    def put(self, key: Hashable, arrays: Mapping[str, Any]) -> None:
        """Keep the arrays of a finished chain; one that is already there stays as it is."""
        blob = pack(arrays)
        record = (key_text(key), hashlib.blake2b(blob, digest_size=16).digest(), blob)
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO chain VALUES (?, ?, ?)", record)

    # -- besides

    @property
    def outline(self) -> str:
        """What `bind` was told about the search; empty where it has not begun."""
        found = self._read("SELECT text FROM outline")
        return str(found[0][0]) if found else ""

    def __len__(self) -> int:
        """How many chains are finished."""
        return int(self._read("SELECT count(*) FROM chain")[0][0])

    def __contains__(self, key: Hashable) -> bool:
        return bool(self._read("SELECT 1 FROM chain WHERE key = ?", (key_text(key),)))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    # -- SQLite

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._lock, self._sentences():
            return self._open().execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._sentences():
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        # A connection must not be used across a fork.
        if self._connection is None or self._owner != os.getpid():
            connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._owner = connection, os.getpid()
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Check that the file is ours, and make its tables where it is new."""
        self._is_new(connection)  # another program's file is refused before it is touched
        # SQLite does not wait for a lock when the mode is changed.
        retry(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self._is_new(connection):
                for statement in TABLES.strip().split("\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is empty; one that is neither empty nor ours is refused."""
        if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
            return True
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION:
            raise JournalError(
                f"{self.path} is an SQLite file of another program (application id "
                f"{application:#x}); give a new file name for the journal."
            )
        if layout != LAYOUT:
            raise JournalError(
                f"{self.path} is a journal of layout {layout}; this version of alphapath reads "
                f"layout {LAYOUT}. Give a new file name for the journal."
            )
        return False

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """SQLite's errors as sentences."""
        try:
            yield
        except sqlite3.OperationalError as error:
            hint = ""
            if "unable to open" in str(error):
                hint = " The folder must exist and be writable."
            raise JournalError(f"The journal {self.path} can not be used: {error}.{hint}") from None
        except sqlite3.DatabaseError as error:
            raise JournalError(
                f"{self.path} is no journal, or a damaged one: {error}. Give another file; if it "
                f"was a journal, delete it to begin the search again."
            ) from None


def retry(action: Callable[[], T]) -> T:
    """`action` once no other process is in its way."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def key_text(key: Hashable) -> str:
    """The text by which a key is found again: plain values and tuples of them, written exactly."""
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, tuple):
        return "(" + ", ".join(key_text(item) for item in key) + ")"
    if key is None or isinstance(key, str | bytes | bool | int | float):
        return repr(key)
    raise TypeError(
        f"The key of a chain has {key!r} of type {type(key).__name__}; it may be made of tuples, "
        f"strings, numbers and None only."
    )


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Named arrays as bytes: their names, then each in numpy's .npy format."""
    stream = io.BytesIO()
    np.save(stream, np.array(list(arrays), dtype=str), allow_pickle=False)
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise TypeError(
                f"The array {name!r} has dtype {array.dtype}; a journal keeps numbers and strings "
                f"of fixed length."
            )
        np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def unpack(blob: bytes) -> Arrays:
    """The inverse of `pack`."""
    stream = io.BytesIO(blob)
    names = np.load(stream, allow_pickle=False)
    return {str(name): np.load(stream, allow_pickle=False) for name in names}
