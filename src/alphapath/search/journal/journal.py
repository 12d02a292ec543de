"""The journal of a search: what is solved survives the process, and the search resumes from it.

An SQLite file with one record per chain, written in one transaction when the chain is finished. A
process killed at any moment leaves the chains before it whole and nothing of the one it was at
(write-ahead log; what was committed is safe from the death of the process, and a crash of the
machine can at most lose the last records). Threads and processes may share one file.

A chain that another one begins from leaves what that one needs, until that one is finished too.

Arrays are stored in numpy's own format and never as pickles: a journal cannot run code. The
checksum of a record covers its key and what the search depends on, so that a record is taken for
that of no other chain.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import JournalError
from ...version import __version__

T = TypeVar("T")
Arrays = dict[str, NDArray[Any]]

#: Marks an SQLite file as ours ("alph"), and the layout of its tables.
APPLICATION, LAYOUT = 0x616C7068, 4
#: Seconds to wait for another process that is writing.
PATIENCE = 60.0

RECORD = "key TEXT PRIMARY KEY, checksum BLOB NOT NULL, arrays BLOB NOT NULL"
#: The tables by name; `legacy` has what finished chains leave to the next.
TABLES = {
    "fact": "CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "outline": "CREATE TABLE outline (text TEXT NOT NULL)",
    "chain": f"CREATE TABLE chain ({RECORD})",
    "legacy": f"CREATE TABLE legacy ({RECORD})",
}


class Journal:
    """Finished chains by key, in a file.

    `bind` says which search the file belongs to; then `get` and `put` are a dictionary of chains.
    The object may be used by several threads, pickled, and used in a forked process.

    Parameters
    ----------
    path : path of the file; it is made by the first use.
    is_read_only : whether the file is only looked at; it may then lie in a read-only folder.

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

    def __init__(self, path: str | PathLike[str], is_read_only: bool = False) -> None:
        self.path = Path(path)
        self.is_read_only = is_read_only
        self._reservation: tuple[sqlite3.Connection, int] | None = None
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
        self._check()
        with self._transaction() as connection:
            found = self._facts(connection)
            if not found:
                connection.executemany("INSERT INTO fact VALUES (?, ?)", own.items())
                connection.execute("INSERT INTO outline VALUES (?)", (outline,))
                return
        names = sorted({*own, *found}, key=str)
        changed = [name for name in names if own.get(name) != found.get(name)]
        if changed:
            details = "; ".join(
                f"{name!s:.40}: {found.get(name, 'nothing')!s:.40} there, "
                f"{own.get(name, 'nothing')} now"
                for name in changed
            )
            raise JournalError(
                f"{self.path} belongs to another search ({details}). A journal is resumed only "
                f"with the same data, splits, parameters and version; give another file, or "
                f"delete this one."
            )

    def get(self, key: Hashable) -> Arrays | None:
        """The arrays of a finished chain; None where it is not there."""
        return self._get("chain", key)

    def get_legacy(self, key: Hashable) -> Arrays | None:
        """What a finished chain left to the next; None where that one is finished, or none is."""
        return self._get("legacy", key)

    def put(
        self,
        key: Hashable,
        arrays: Mapping[str, Any],
        *,
        legacy: Mapping[str, Any] | None = None,
        before: Hashable = None,
    ) -> None:
        """Keep the arrays of a finished chain; one that is already there stays as it is.

        `legacy` is what it leaves to the next chain, and `before` the chain whose legacy it used.
        """
        blob = pack(arrays)
        left = None if legacy is None else pack(legacy)
        with self._transaction() as connection:
            facts = self._facts(connection)
            record = (key_text(key), checksum("chain", key, facts, blob), blob)
            added = connection.execute("INSERT OR IGNORE INTO chain VALUES (?, ?, ?)", record)
            if added.rowcount and left is not None:
                record = (key_text(key), checksum("legacy", key, facts, left), left)
                connection.execute("INSERT OR REPLACE INTO legacy VALUES (?, ?, ?)", record)
            if added.rowcount and before is not None:
                connection.execute("DELETE FROM legacy WHERE key = ?", (key_text(before),))

    def reserve(self) -> None:
        """Keep the file for this search until `close`; refused where another search has it.

        The lock is that of a second, empty file, and ends with the process however that ends.
        """
        with self._sentences():
            lock = sqlite3.connect(
                self._lock_path, timeout=0.0, isolation_level=None, check_same_thread=False
            )
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                lock.close()
                if "locked" not in str(error):
                    raise
                raise JournalError(
                    f"{self.path} is in use: another search that keeps this journal is running. "
                    f"Wait until it ends, or give another file."
                ) from None
            self._reservation = lock, os.getpid()

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
            if self._reservation is not None and self._reservation[1] == os.getpid():
                with suppress(OSError):
                    self._lock_path.unlink(missing_ok=True)
                self._reservation[0].close()
            self._connection = self._reservation = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "is_read_only": self.is_read_only}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    # -- SQLite

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}-lock")

    def _get(self, table: str, key: Hashable) -> Arrays | None:
        with self._lock, self._sentences():
            connection = self._open()
            query = f"SELECT checksum, arrays FROM {table} WHERE key = ?"
            row = connection.execute(query, (key_text(key),)).fetchone()
            if row is None:
                return None
            facts = self._facts(connection)
        code, blob = row
        if not isinstance(blob, bytes) or code != checksum(table, key, facts, blob):
            raise self.damage(f"the record of chain {key_text(key)} does not match its checksum")
        try:
            return unpack(blob)
        except ValueError as error:
            raise self.damage(f"the record of chain {key_text(key)} {error}") from None

    def damage(self, what: str) -> JournalError:
        """The error of a journal in which something is wrong."""
        return JournalError(
            f"{self.path} is damaged: {what}. Delete the file to begin the search again."
        )

    def _check(self) -> None:
        """Refuse a file whose pages or tables are damaged, before anything is taken from it."""
        faults = [str(row[0]) for row in self._read("PRAGMA quick_check(1)")]
        if faults != ["ok"]:
            raise self.damage("; ".join(" ".join(fault.split()) for fault in faults))

    def _facts(self, connection: sqlite3.Connection) -> dict[Any, Any]:
        return dict(connection.execute("SELECT name, value FROM fact"))

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
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has ended it already
                    connection.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        # A connection must not be used across a fork.
        if self._connection is None or self._owner != os.getpid():
            connection = sqlite3.connect(
                self._address(),
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
                uri=self.is_read_only,
            )
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._owner = connection, os.getpid()
        return self._connection

    def _address(self) -> str | Path:
        if not self.is_read_only:
            return self.path
        # Whoever writes has a log beside the file; without one it does not change, and can be read
        # where no lock could be kept.
        log = self.path.with_name(f"{self.path.name}-wal")
        mode = "mode=ro" if log.exists() else "immutable=1"
        return f"{self.path.absolute().as_uri()}?{mode}"

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Check that the file is ours, and make its tables where it is new."""
        connection.execute("PRAGMA trusted_schema = OFF")
        is_new = self._is_new(connection)  # another program's file is refused before it is touched
        if self.is_read_only:
            if is_new:
                raise JournalError(f"{self.path} is a journal, but its search has not begun.")
            return
        # SQLite does not wait for a lock when the mode is changed.
        retry(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self._is_new(connection):
                for statement in TABLES.values():
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _is_new(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is empty; one that is neither empty nor ours is refused."""
        found = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
        if not found:
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
        if dict(found) != TABLES:
            raise self.damage("its tables are not those of a journal")
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
            elif "disk" in str(error):
                hint = " What it held before is still there."
            raise JournalError(f"The journal {self.path} cannot be used: {error}.{hint}") from None
        except (sqlite3.Error, MemoryError, OverflowError, UnicodeError) as error:
            what = str(error) or "a length in it is impossible"
            raise JournalError(
                f"{self.path} is no journal, or a damaged one: {what}. Give another file; if it "
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


def checksum(table: str, key: Hashable, facts: Mapping[Any, Any], blob: bytes) -> bytes:
    """Covers the record, whose it is and of which search."""
    place = repr((table, key_text(key), sorted(facts.items(), key=repr))).encode(
        "utf-8", "surrogatepass"
    )
    head = hashlib.blake2b(place, digest_size=16).digest()
    return hashlib.blake2b(blob, digest_size=16, key=head).digest()


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
    """The inverse of `pack`; a ValueError says what is wrong with the bytes."""
    stream = io.BytesIO(blob)
    names = read_array(stream)
    if names.ndim != 1 or names.dtype.kind != "U":
        raise ValueError("does not begin with the names of its arrays")
    arrays = {str(name): read_array(stream) for name in names}
    if stream.read(1):
        raise ValueError("has bytes after its last array")
    return arrays


def read_array(stream: io.BytesIO) -> NDArray[Any]:
    """One array, whose size is compared with the bytes that are there before memory is taken."""
    try:
        version = np.lib.format.read_magic(stream)
        reader = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, is_fortran, dtype = reader(stream)
    except Exception:  # numpy's parser raises much
        raise ValueError("has an array without a valid header") from None
    n_bytes = math.prod(shape) * dtype.itemsize
    content = stream.read(n_bytes) if dtype.kind in "biufcU" and n_bytes >= 0 else b""
    if dtype.kind not in "biufcU" or len(content) != n_bytes or min(shape, default=0) < 0:
        raise ValueError(f"has an array of shape {shape} and dtype {dtype} that is not whole")
    values = np.frombuffer(content, dtype) if n_bytes else np.zeros(math.prod(shape), dtype)
    return values.reshape(shape, order="F" if is_fortran else "C").copy()
