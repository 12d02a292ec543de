"""LIBSVM's data files: `target index:value ...`, one row a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from .text_file import LARGEST, fault, is_number, open_text, too_large

ENTRY = re.compile(r"(\d+):(\S+)\Z")
#: Indices of sparse arrays are of 32 bits.
MAX_INDEX = 2**31 - 2


def is_svmlight_line(line: str) -> bool:
    """Whether a line has the form `target index:value ...`."""
    words = line.partition("#")[0].split()
    return bool(words) and is_number(words[0]) and all(":" in word for word in words[1:])


def read_svmlight(path: Path) -> tuple[Any, Any, bool]:
    """(rows as CSR, targets, whether indices begin at 0); a bad line is named.

    scikit-learn's reader is fast but does not say where it stumbled: only then the file is read
    again, line by line.
    """
    with open_text(path):
        pass
    try:
        X, y = load_svmlight_file(str(path), zero_based="auto")
        is_sound = bool(
            X.shape[0]
            and np.all(np.isfinite(y))
            and np.all(np.abs(X.data) <= LARGEST)  # nan is not
            and X.shape[1] <= MAX_INDEX
        )
    except (ValueError, OSError, OverflowError, EOFError):
        is_sound = False
    if not is_sound:
        find_fault(path)
        raise fault(path, 1, "the file is not in LIBSVM's format")
    return X, y, begins_at_zero(path, X)


def begins_at_zero(path: Path, X: Any) -> bool:
    """Whether any index is 0: LIBSVM counts from 1, some programs write from 0."""
    if X.shape[1] == 0:
        return False
    shifted, _ = load_svmlight_file(str(path), zero_based=True)
    return bool(shifted.shape[1] == X.shape[1])


def find_fault(path: Path) -> None:
    """Raise for the first line that is not `target index:value ...` with rising indices."""
    n_rows = 0
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            n_rows += 1
            if not is_number(words[0]):
                raise fault(path, number, f"the target {words[0][:40]!r} is not a finite number")
            previous = -1
            for word in words[1:]:
                if word.startswith("qid:"):
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
                    raise fault(path, number, f"index {match[1]} is not larger than the one before")
                previous = int(match[1])
    if n_rows == 0:
        raise fault(path, 1, "the file has no rows")
