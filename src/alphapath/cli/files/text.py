"""Text files and streams, plain or compressed, with the line of whatever is wrong in them."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import math
import os
import re
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, Any

from ..failure import CommandError

#: Beyond this the square of a value overflows, and so does every kernel.
LARGEST = 1e150
#: How compressed content begins; the name of a file does not decide.
GZIP = re.compile(rb"\x1f\x8b")
BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")
COMPRESSED = (".gz", ".bz2")
#: Bytes of a compressed file that are read at a time.
PIECE = 1 << 16


class Stream:
    """Standard input, a pipe or a device: what can be read only once.

    Its bytes are kept in a temporary file at the first use, because readers look at a file several
    times. `str()` is its name for users.
    """

    def __init__(self, path: Path | None) -> None:
        #: None is the standard input.
        self.path = path
        self._copy: IO[bytes] | None = None

    def __str__(self) -> str:
        return "standard input" if self.path is None else str(self.path)

    @property
    def name(self) -> str:
        """By this files are named that are made from it."""
        is_named = self.path is not None and not is_descriptor(self.path)
        return self.path.name if is_named and self.path is not None else "data"

    def open(self) -> IO[bytes]:
        """All its bytes, from the beginning."""
        if self._copy is None:
            copy = tempfile.TemporaryFile()  # noqa: SIM115
            weakref.finalize(self, copy.close)
            with self._source() as source:
                shutil.copyfileobj(source, copy, 1 << 20)
            copy.flush()
            self._copy = copy
        file = os.fdopen(os.dup(self._copy.fileno()), "rb")
        file.seek(0)
        return file

    @contextmanager
    def _source(self) -> Iterator[IO[bytes]]:
        if self.path is None:
            yield sys.stdin.buffer
            return
        with self.path.open("rb") as file:
            yield file


#: What commands read.
Source = Path | Stream


def input_file(text: str) -> Source:
    """The file or stream of a command-line argument; "-" is the standard input."""
    path = Path(text)
    if text == "-" or path == Path("/dev/stdin"):
        return Stream(None)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path  # refused, in a sentence, by whoever opens it
    is_file = (S_ISREG(mode) and not is_descriptor(path)) or S_ISDIR(mode)
    return path if is_file else Stream(path)


def is_descriptor(path: Path) -> bool:
    """Whether a name stands for an open file of this process, which may not reopen at its start."""
    return path.parts[:2] == ("/", "dev") or path.parts[:2] == ("/", "proc")


@contextmanager
def open_bytes(path: Source) -> Iterator[IO[bytes]]:
    """The uncompressed bytes; what cannot be read is refused in a sentence."""
    if isinstance(path, Path) and path.is_dir():
        raise CommandError(f"{path} is a directory; a LIBSVM or CSV file is required.")
    try:
        packed = path.open("rb") if isinstance(path, Path) else path.open()
        with packed, unpack(path, packed) as file:
            check_encoding(path, file)
            yield file
    except FileNotFoundError:
        raise CommandError(f"There is no file {path}.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CommandError(f"{path} cannot be unpacked: {error}.") from None
    except OSError as error:
        verb = "unpacked" if error.errno is None else "read"  # bzip2's own have no number
        raise CommandError(f"{path} cannot be {verb}: {error.strerror or error}.") from None


def check_encoding(path: Source, file: Any) -> None:
    """Name UTF-16 and UTF-32, of which a reader would only say what it stumbled over."""
    head = file.peek(4)[:4]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head:
        raise CommandError(
            f"{path} begins with {head.hex(' ')}: it is in UTF-16 or UTF-32, or not a text file; "
            f"save it in UTF-8."
        )


def unpack(path: Source, packed: IO[bytes]) -> Any:
    """The content of a file that may be compressed, by how it begins."""
    head = packed.read(16)
    packed.seek(0)
    if GZIP.match(head):
        return gzip.open(packed, "rb")
    if BZIP2.match(head):
        return io.BufferedReader(Bzip2Content(packed))
    if head and isinstance(path, Path) and path.suffix.lower() in COMPRESSED:
        kind = path.suffix.lower()[1:]
        raise CommandError(f"{path} cannot be unpacked: its content is not in the format {kind}.")
    return packed


class Bzip2Content(io.RawIOBase):
    """What a bzip2 file holds; the standard library takes a damaged second part for its end."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._begin()

    def _begin(self) -> None:
        self._packed.seek(0)
        self._unpacker = bz2.BZ2Decompressor()
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if offset == 0 and whence == io.SEEK_SET:
            self._begin()
        elif (offset, whence) not in ((0, io.SEEK_CUR), (self._place, io.SEEK_SET)):
            raise io.UnsupportedOperation("The content is read from its beginning.")
        return self._place

    def readinto(self, buffer: Any) -> int:
        content = b""
        while not content:
            if self._unpacker.eof:
                packed = self._unpacker.unused_data or self._packed.read(PIECE)
                if not packed:
                    return 0
                self._unpacker = bz2.BZ2Decompressor()
            else:
                packed = self._packed.read(PIECE) if self._unpacker.needs_input else b""
                if self._unpacker.needs_input and not packed:
                    raise EOFError("it ends in the middle")
            content = self._unpacker.decompress(packed, len(buffer))
        buffer[: len(content)] = content
        self._place += len(content)
        return len(content)


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """Lines that end as on any system, without a byte order mark."""
    is_first = True
    for line in file:
        if is_first:
            line, is_first = line.removeprefix(codecs.BOM_UTF8), False
        if b"\r" in line.rstrip(b"\r\n"):
            yield from line.splitlines(keepends=True)
        else:
            yield line


def words_of(line: str) -> list[str]:
    """The words of a line between blanks of ASCII, as C programs tell them."""
    return [word.decode("utf-8", "replace") for word in line.encode("utf-8", "replace").split()]


@contextmanager
def open_text(path: Source) -> Iterator[IO[str]]:
    """The file as text; a folder, a missing file and binary content are refused in a sentence."""
    try:
        # "-sig": a spreadsheet's byte order mark is no part of the first name.
        with (
            open_bytes(path) as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text,
        ):
            yield text
    except UnicodeDecodeError as error:
        byte = f"{error.object[error.start]:#04x}"
        raise fault(
            path,
            bad_line(path),
            f"this is not a text file in UTF-8, byte {byte} cannot be part of one",
        ) from None


def parse_number(word: str) -> float | None:
    """The finite number that a word is, as every program writes one; None for anything else.

    Python also reads 1_0 as 10, and the digits of other scripts.
    """
    try:
        value = float(word)
    except ValueError:
        return None
    is_plain = math.isfinite(value) and "_" not in word and word.strip().isascii()
    return value if is_plain else None


def is_number(word: str) -> bool:
    """Whether a word is a finite number."""
    return parse_number(word) is not None


def too_large(word: str) -> str:
    return (
        f"{word.strip()[:40]} is too large, since its square overflows; values up to {LARGEST:g} "
        f"are accepted"
    )


def bad_line(path: Source) -> int:
    """The first line that is not UTF-8."""
    with open_bytes(path) as file:
        for number, line in enumerate(lines_of(file), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def fault(path: Source, line: int, what: str) -> CommandError:
    """The error for one line of a file."""
    return CommandError(f"{path}, line {line}: {what}.")
