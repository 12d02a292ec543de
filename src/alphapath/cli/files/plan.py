"""All files of a command, known before its work: what it reads, what it writes, what may be lost.

An output is never one of the inputs, and never another output, by whatever names or links. An
existing file is overwritten if it looks like an earlier output of the same kind; any other only
with --force.
"""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISFIFO, S_ISREG

from ..failure import CommandError
from ..output import RESULTS_MARK
from .data import data_name
from .model import companion_of
from .svmlight import is_svmlight_line
from .text import Source, Stream

#: Options that name a file to read, and what it is.
INPUTS = {
    "file": "the input file",
    "valid": "the file of --valid",
    "test": "the file of --test",
    "trained": "the model file",
    "range": "the file of --range",
}
#: Options that name a file to write, and how users call it.
OUTPUTS = {
    "model": "--model",
    "save_range": "--save-range",
    "json": "--json",
    "report": "--report",
    "output": "the output",
    "journal": "--journal",
}
#: Files that SQLite keeps beside a journal, and the one by which a search reserves it.
JOURNAL_ENDINGS = ("-wal", "-shm", "-journal", "-lock")
#: What the head of every report has.
REPORT_MARK = b'<meta name="generator" content="alphapath '
#: How much of an existing file is looked at.
HEAD = 4096


@dataclass(frozen=True)
class PlannedFile:
    """A file of a command; `option` is its key in OUTPUTS or INPUTS."""

    option: str
    words: str
    path: Path


def plan_files(options: Namespace) -> None:
    """Fill in default names of outputs, and refuse outputs by which something would be lost."""
    for option, ending in getattr(options, "default_outputs", {}).items():
        if getattr(options, option) is None:
            name = data_name(options.file, options.kind)
            setattr(options, option, Path(f"{name}{ending}"))
    check_range_is_there(options)
    outputs = list(find_outputs(options))
    for output in outputs:
        check_place(output)
    taken = {key: words for key, words in find_inputs(options)}
    for output in outputs:
        key = identity(output.path)
        if key in taken:
            raise CommandError(
                f"{output.words} is {output.path}, which is {taken[key]}; choose another name."
            )
        taken[key] = f"also {output.words}"
    for output in outputs:
        check_content(output, is_forced=getattr(options, "force", False))


def check_range_is_there(options: Namespace) -> None:
    """Refuse --save-range where nothing is scaled."""
    if getattr(options, "save_range", None) is None:
        return
    if options.scale == "none" or (options.scale is None and options.file is not None):
        raise CommandError("--save-range requires a scaling; pass --scale minmax or standard.")


def find_inputs(options: Namespace) -> Iterator[tuple[Hashable, str]]:
    """What an output must not be, with the words for it; one stream is not read twice."""
    streams = set()
    for option, words in INPUTS.items():
        source: Source | None = getattr(options, option, None)
        if source is None:
            continue
        if isinstance(source, Stream):
            key = identity_of_stream(source)
            if key in streams:
                raise CommandError(f"{source} can be read only once, but was given twice.")
            streams.add(key)
            yield key, words
            continue
        yield identity(source), words
        if option == "trained":
            yield identity(companion_of(source)), "the companion of the model file"
        if option == "file":
            for ending in JOURNAL_ENDINGS:
                yield identity(source.with_name(source.name + ending)), "a part of the input file"
    state = os.fstat(1) if is_open(1) else None
    if state is not None and S_ISREG(state.st_mode):
        yield (state.st_dev, state.st_ino), "the file to which the standard output goes"


def find_outputs(options: Namespace) -> Iterator[PlannedFile]:
    """What the command will write, companions included."""
    for option, words in OUTPUTS.items():
        path = getattr(options, option, None)
        if path is None:
            continue
        yield PlannedFile(option, getattr(options, "words", {}).get(option, words), path)
        if option == "model" and not is_device(path):
            yield PlannedFile("facts", "the companion of --model", companion_of(path))
        if option == "journal":
            for ending in JOURNAL_ENDINGS:
                part = path.with_name(path.name + ending)
                yield PlannedFile("part", "a part of --journal", part)


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def is_device(path: Path) -> bool:
    """Whether it exists and cannot be replaced by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


def identity(path: Path) -> Hashable:
    """The same for all names of one file; devices are never the same as anything."""
    try:
        state = path.stat()
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    if S_ISREG(state.st_mode) or S_ISFIFO(state.st_mode):
        return state.st_dev, state.st_ino
    return object()


def identity_of_stream(stream: Stream) -> Hashable:
    if stream.path is not None:
        return identity(stream.path)
    if not is_open(0):
        return "standard input"
    state = os.fstat(0)
    return (state.st_dev, state.st_ino) if S_ISREG(state.st_mode) else "standard input"


def check_place(output: PlannedFile) -> None:
    """Refuse what could not be written, before the work and not after it."""
    path, folder = output.path, output.path.parent
    if not folder.is_dir():
        raise CommandError(f"Cannot write {path.name}: directory {folder} does not exist.")
    if path.is_dir():
        raise CommandError(f"{path} is a directory; a file name is required.")
    target = Path(os.path.realpath(path)).parent
    if not is_device(path) and not os.access(target, os.W_OK):
        raise CommandError(f"{path} cannot be written: the directory {target} is read-only.")
    if path.exists() and not os.access(path, os.W_OK):
        raise CommandError(f"{path} cannot be written: it is read-only.")


def check_content(output: PlannedFile, is_forced: bool) -> None:
    """Refuse to overwrite what is no output of the same kind."""
    recognise = RECOGNISERS.get(output.option)
    if recognise is None or is_forced or not output.path.is_file():
        return
    try:
        with output.path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        head = b"\0"
    if head and not recognise(head):
        raise CommandError(
            f"{output.path} exists and is not a {KINDS[output.option]} of alphapath; choose "
            f"another name for {output.words}, or pass --force to overwrite it."
        )


def are_labels_or_values(head: bytes) -> bool:
    """Whether these are predictions: a word, a number or a JSON string in each line."""
    try:
        text = head[: head.rfind(b"\n") + 1].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(text) and all(
        line[:1] == '"' or not (re.search(r"[,;\t\0{}<>]", line) or is_data_line(line))
        for line in text.removesuffix("\n").split("\n")
    )


def is_data_line(line: str) -> bool:
    return ":" in line and is_svmlight_line(line)


RECOGNISERS: dict[str, Callable[[bytes], bool]] = {
    "model": lambda head: head.startswith(b"svm_type "),
    "facts": lambda head: b'"format": "alphapath model"' in head[:200],
    "json": lambda head: RESULTS_MARK in head[:200],
    "report": lambda head: REPORT_MARK in head,
    "output": are_labels_or_values,
    "save_range": lambda head: head.startswith(b"x\n"),
}
KINDS = {
    "model": "model file",
    "facts": "companion of a model",
    "json": "JSON file",
    "report": "report",
    "output": "text output",
    "save_range": "range file",
}
