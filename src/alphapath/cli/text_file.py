"""Text files, plain or compressed, with the line number of whatever is wrong in them."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .failure import CommandError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The file as text; a folder, a missing file and binary content are refused in a sentence."""
    if path.is_dir():
        raise CommandError(f"{path} is a folder; a LIBSVM or CSV file is needed.")
    opener = OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            yield file
    except FileNotFoundError:
        raise CommandError(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{path} is not a text file: byte {error.start} of a block is "
            f"{error.object[error.start]:#04x}, and the file must be UTF-8."
        ) from None
    except (EOFError, gzip.BadGzipFile) as error:
        raise CommandError(f"{path} can not be unpacked: {error}.") from None
    except OSError as error:
        raise CommandError(f"{path} can not be read: {error.strerror or error}.") from None


def fault(path: Path, line: int, what: str) -> CommandError:
    """The error for one line of a file."""
    return CommandError(f"{path}, line {line}: {what}.")
