"""LIBSVM's data files: `target index:value ...`, one row a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from ..failure import CommandError
from .text import (
    LARGEST,
    Source,
    fault,
    is_number,
    lines_of,
    open_bytes,
    open_text,
    too_large,
    words_of,
)

ENTRY = re.compile(r"([0-9]+):(\S+)\Z")
ROW_WITH_QUERY = re.compile(rb"\s*[^\s#]+\s+qid:[+-]?[0-9]{1,18}(\s|#|\Z)")
QUERY = re.compile(r"qid:[+-]?[0-9]{1,18}\Z")
#: Indices of sparse arrays are of 32 bits.
MAX_INDEX = 2**31 - 2


def is_svmlight_line(line: str) -> bool:
    """Whether a line has the form `target index:value ...`."""
    words = words_of(line.partition("#")[0])
    return bool(words) and is_number(words[0]) and all(":" in word for word in words[1:])


def read_svmlight(path: Source, index_base: int | None = None) -> tuple[Any, Any, int]:
    """(rows as CSR, targets, the first index: 0 or 1); a bad line is named.

    LIBSVM counts features from 1, some programs from 0: without `index_base` a file that has an
    index 0 is taken to count from 0. scikit-learn's reader is fast but does not say where it
    stumbled: only then the file is read again, line by line.
    """
    X, y, _ = load_rows(path, has_queries=False)
    smallest = int(X.indices.min()) if X.indices.size else 1
    if index_base is None:
        index_base = min(smallest, 1)
    if smallest < index_base:
        raise CommandError(
            f"{path} has the index 0, but the rows of the model count features from 1; write its "
            f"indices from 1 too."
        )
    if index_base == 1 and X.shape[1] > 1:
        X = type(X)((X.data, X.indices - 1, X.indptr), shape=(X.shape[0], X.shape[1] - 1))
    return X, y, index_base


def read_queries(path: Source) -> Any:
    """The query of each row of a file that `read_svmlight` has read."""
    return load_rows(path, has_queries=True)[2]


class Lines:
    """The lines of a file for scikit-learn's reader, which takes 1_0 for 10.

    It knows no line ends but those of Unix and Windows, and no byte order mark.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        #: Whether a line has an underscore, which may be in a comment, or an odd query, which the
        #: reader passes over where queries are not asked for.
        self.is_odd = False

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def __iter__(self) -> Iterator[bytes]:
        for line in lines_of(self._file):
            if b"_" in line or (b"qid" in line and not ROW_WITH_QUERY.match(line)):
                self.is_odd = True
            yield line


def load_rows(path: Source, has_queries: bool) -> tuple[Any, Any, Any]:
    """(rows with indices as they are, targets, queries or None)."""
    queries = None
    try:
        with open_bytes(path) as file:
            lines = Lines(file)
            if has_queries:
                X, y, queries = load_svmlight_file(lines, zero_based=True, query_id=True)
            else:
                X, y = load_svmlight_file(lines, zero_based=True)
        is_sound = bool(
            X.shape[0]
            and np.all(np.isfinite(y))
            and np.all(np.abs(X.data) <= LARGEST)  # nan is not
            and X.shape[1] <= MAX_INDEX + 1
        )
    except (ValueError, OSError, OverflowError, EOFError):
        is_sound = False
    if not is_sound or lines.is_odd:
        find_fault(path)
    if not is_sound:
        raise fault(path, 1, "the file is not in LIBSVM's format")
    return X, y, queries


def find_fault(path: Source) -> None:
    """Raise for the first line that is not `target index:value ...` with rising indices."""
    n_rows = 0
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            words = words_of(line.partition("#")[0])
            if not words:
                continue
            n_rows += 1
            if not is_number(words[0]):
                raise fault(path, number, f"the target {words[0][:40]!r} is not a finite number")
            previous = -1
            for word in words[1:]:
                if word.startswith("qid:"):
                    if not QUERY.match(word):
                        raise fault(path, number, f"{word[:40]!r} is not of the form qid:number")
                    continue
                match = ENTRY.match(word)
                if match is None:
                    raise fault(path, number, f"{word[:40]!r} is not of the form index:value")
                if not is_number(match[2]):
                    raise fault(path, number, f"{match[2][:40]!r} is not a finite number")
                if abs(float(match[2])) > LARGEST:
                    raise fault(path, number, too_large(match[2]))
                if len(match[1]) > 10 or int(match[1]) > MAX_INDEX:
                    raise fault(path, number, f"index {match[1][:20]} is above {MAX_INDEX}")
                if int(match[1]) <= previous:
                    raise fault(
                        path, number, f"index {match[1]} is not larger than the previous one"
                    )
                previous = int(match[1])
    if n_rows == 0:
        raise fault(path, 1, "the file has no rows")
