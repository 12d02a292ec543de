"""Text files, plain or compressed, with the line number of whatever is wrong in them."""

from __future__ import annotations

import bz2
import gzip
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .failure import CommandError

#: Beyond this the square of a value overflows, and so does every kernel.
LARGEST = 1e150
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The file as text; a folder, a missing file and binary content are refused in a sentence."""
    if path.is_dir():
        raise CommandError(f"{path} is a folder; a LIBSVM or CSV file is needed.")
    opener = OPENERS.get(path.suffix.lower(), open)
    try:
        # "-sig": a spreadsheet's byte order mark is no part of the first name.
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError:
        raise CommandError(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise fault(
            path,
            bad_line(path, opener),
            f"this is not a text file in UTF-8, byte {byte} can not be part of one",
        ) from None
    except (EOFError, gzip.BadGzipFile) as error:
        raise CommandError(f"{path} can not be unpacked: {error}.") from None
    except OSError as error:
        raise CommandError(f"{path} can not be read: {error.strerror or error}.") from None


def is_number(word: str) -> bool:
    """Whether a word is a finite number."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def too_large(word: str) -> str:
    return f"{word.strip()[:40]} is too large, its square overflows; at most {LARGEST:g} is read"


def bad_line(path: Path, opener: Callable[..., Any]) -> int:
    """The first line that is not UTF-8."""
    with opener(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def fault(path: Path, line: int, what: str) -> CommandError:
    """The error for one line of a file."""
    return CommandError(f"{path}, line {line}: {what}.")
