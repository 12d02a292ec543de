"""Files that are replaced atomically or not at all; every output file is written here.

New content goes to a temporary file in the same directory, is flushed to the disk and then renamed
over the old file. A full disk, an error or a kill leaves the old content; nothing reads half a
file. Devices and pipes, which cannot be replaced, are written to as they are.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Any

import numpy as np

#: How temporary files begin; only a kill leaves one.
PREFIX = ".alphapath-"


def write_file(path: str | PathLike[str], content: str | bytes) -> None:
    """Replace one file; text is written as UTF-8."""
    write_files({Path(path): content})


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Replace several files that belong together: none is touched until all are on the disk."""
    waiting: list[tuple[Path, Path]] = []
    try:
        for path, content in contents.items():
            data = as_bytes(content)
            with naming(path):
                target = find_target(path)
                if target is None:
                    path.write_bytes(data)
                else:
                    waiting.append((make_temporary(target), target))
                    fill(waiting[-1][0], target, data)
        while waiting:
            with naming(waiting[0][1]):
                os.replace(*waiting[0])
            sync_folder(waiting.pop(0)[1].parent)
    finally:
        for temporary, _ in waiting:
            with contextlib.suppress(OSError):
                temporary.unlink()


def write_arrays(path: str | PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Replace a compressed .npz file; the ending is added where it is missing, as numpy does."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    target = os.fspath(path)
    write_file(target if target.endswith(".npz") else f"{target}.npz", stream.getvalue())


def as_bytes(content: str | bytes) -> bytes:
    """Encode as UTF-8; file names may contain invalid text, which is escaped."""
    return content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")


def find_target(path: Path) -> Path | None:
    """The file to replace, links followed; None for what must be written to as it is."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    # A file that is also the standard output goes on being written to after this.
    if not S_ISREG(found.st_mode) or any(is_open_as(number, found) for number in (1, 2)):
        return None
    return Path(os.path.realpath(path))


def is_open_as(descriptor: int, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), found)
    except OSError:
        return False


def make_temporary(target: Path) -> Path:
    """A new empty file beside `target`."""
    while True:
        temporary = target.with_name(f"{PREFIX}{secrets.token_hex(8)}.tmp")
        with contextlib.suppress(FileExistsError):
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return temporary


def fill(temporary: Path, target: Path, data: bytes) -> None:
    """Write the content to the disk, with the rights and the owner of the file it replaces."""
    with temporary.open("wb") as file:
        file.write(data)
        if target.exists() and sys.platform != "win32":
            old = target.stat()
            with contextlib.suppress(OSError):
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
            with contextlib.suppress(OSError):
                os.fchmod(file.fileno(), S_IMODE(old.st_mode))
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush a renaming to disk, if directories can be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def naming(path: Path) -> Any:
    """An error names the file that could not be written, and not a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
