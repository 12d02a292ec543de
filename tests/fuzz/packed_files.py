"""Mutated .gz and .bz2 files: the content that is packed in them, or a sentence."""

from __future__ import annotations

import bz2
import functools
import gzip
import zlib
from collections.abc import Callable

from . import data, svmlight_files
from .cases import CaseError
from .data import Generator
from .formats import TIME_LIMIT, encode, folder, mutate_text, run_command
from .libsvm_oracle import Model

__all__ = ["TIME_LIMIT", "run_case"]

ENDINGS = ("gz", "bz2")


def pack(content: bytes, ending: str, rng: Generator) -> bytes:
    level = int(rng.integers(1, 10))
    if ending == "bz2":
        return bz2.compress(content, level)
    packed = gzip.compress(content, level, mtime=int(rng.integers(2**31)))
    if rng.random() < 0.5:
        return packed
    # A name, a comment or another field in the head.
    flags, more = data.pick(rng, [(8, b"x.svm\0"), (16, b"made here\0"), (4, b"\x02\0ab")])
    return packed[:3] + bytes([flags]) + packed[4:10] + more + packed[10:]


def unpack_gz(content: bytes) -> bytes:
    """All parts of a file, zeros after the last one left out; zlib.error where one is damaged."""
    found = b""
    while True:
        part = zlib.decompressobj(wbits=31)
        found += part.decompress(content)
        if not part.eof:
            raise EOFError
        content = part.unused_data.lstrip(b"\0")
        if not content:
            return found


def unpack_bz2(content: bytes) -> bytes:
    found = b""
    while True:
        part = bz2.BZ2Decompressor()
        found += part.decompress(content)
        if not part.eof:
            raise EOFError
        content = part.unused_data
        if not content:
            return found


# -- mutations of bytes


def flip_bytes(content: bytes, rng: Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def set_bytes(content: bytes, rng: Generator) -> bytes:
    changed = bytearray(content)
    width = int(rng.integers(1, 9))
    place = int(rng.integers(len(changed))) if rng.random() < 0.5 else int(rng.integers(20))
    changed[place : place + width] = bytes([int(data.pick(rng, [0, 255, 1, 127]))]) * width
    return bytes(changed)


def cut(content: bytes, rng: Generator) -> bytes:
    return content[: int(rng.integers(len(content)))]


def cut_out(content: bytes, rng: Generator) -> bytes:
    first, last = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[:first] + content[last:]


def add_bytes(content: bytes, rng: Generator) -> bytes:
    more = data.pick(rng, [b"\0" * 20, b"\n", rng.bytes(9), content[: len(content) // 2], b"\x1f"])
    return content + more if rng.random() < 0.8 else more + content


def repeat(content: bytes, rng: Generator) -> bytes:
    return content * int(rng.integers(2, 4))


def damage_second(content: bytes, rng: Generator) -> bytes:
    return content + flip_bytes(content, rng)


def change_end(content: bytes, rng: Generator) -> bytes:
    """The checksum or the size at the end."""
    changed = bytearray(content)
    changed[-1 - int(rng.integers(min(8, len(changed))))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


MUTATIONS: list[Callable[[bytes, Generator], bytes]] = [
    flip_bytes,
    set_bytes,
    cut,
    cut_out,
    add_bytes,
    repeat,
    damage_second,
    change_end,
]


@functools.cache
def bomb(ending: str, kind: int) -> bytes:
    """A small file with much in it: one line that hardly ends, or many that are empty."""
    n_bytes, letter = ((8 << 20), b" ") if kind else ((1 << 20), b"\n")
    content = b"1 1:1" + letter * n_bytes
    return bz2.compress(content) if ending == "bz2" else gzip.compress(content)


def prepare() -> None:
    svmlight_files.originals()
    svmlight_files.trained()


def run_case(seed: int) -> str | None:
    rng = data.generator("packed files", seed)
    ending = ENDINGS[seed % 2]
    text = str(data.pick(rng, svmlight_files.originals()))
    words, kind = "", rng.random()
    if kind < 0.2:
        text, words = mutate_text(text, rng, svmlight_files.MUTATIONS)
    content = pack(encode(text), ending, rng)
    if kind < 0.005:
        content, words = bomb(ending, int(rng.integers(2))), "bomb"
    elif kind < 0.02:
        content, words = pack(content, str(data.pick(rng, ENDINGS)), rng), "packed twice"
    elif kind > 0.25:
        for _ in range(int(rng.integers(1, 3))):
            if content:
                mutate = data.pick(rng, MUTATIONS)
                content = mutate(content, rng)
                words += f" {mutate.__name__}"
    name = "x.svm." + str(data.pick(rng, [ending, ending.upper(), "txt", "gz"]))
    try:
        check(content, name, must_read=not words)
    except CaseError as error:
        return f"{name}, {words}: {error}"
    return None


def check(content: bytes, name: str, must_read: bool) -> None:
    with folder() as place:
        (place / name).write_bytes(content)
        (place / "own.model").write_bytes(svmlight_files.trained())
        outcome = run_command("predict", place / name, place / "own.model", place / "out.txt")
        if not outcome.is_accepted:
            if must_read:
                raise CaseError(f"refused: {outcome.said}")
            return
        try:
            packed = content.startswith((b"\x1f\x8b", b"BZh"))
            unpack = unpack_bz2 if content.startswith(b"BZh") else unpack_gz
            found = unpack(content) if packed else content
        except (EOFError, OSError, zlib.error) as error:
            raise CaseError(f"accepted, though damaged: {error!r}") from None
        _, rows, _ = svmlight_files.read_plainly(found)
        model = Model(svmlight_files.trained())
        svmlight_files.compare(place / "out.txt", [model.predict(row) for row in rows])
