"""Mutated files: what changes them, and how commands must answer.

A command gives a right answer or ends with a sentence; the answer is checked against a simple
reader of the format, which shares nothing with the library's, or against that for the file before
its mutation where that does not change what it says.
"""

from __future__ import annotations

import contextlib
import functools
import io
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import data
from .cases import CaseError, describe
from .data import Generator

#: Bytes that cases may take beyond those of the process as it begins.
MOST_BYTES = 2 << 30
#: Elapsed seconds that a case may take.
TIME_LIMIT = 10.0

#: Words that a number of a file may be replaced by.
NUMBERS = (
    "0",
    "-0",
    "1",
    "-1",
    "+1",
    "2",
    "3",
    "0.5",
    "1.",
    ".5",
    "1e0",
    "1E+2",
    "007",
    "1e308",
    "-1e308",
    "1e151",
    "1e400",
    "1e-320",
    "4.9e-324",
    "127",
    "2147483646",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "9" * 30,
    "9" * 400,
    "1" + "0" * 5000,
)
#: Words that are no numbers, or that only some programs take for one.
WORDS = (
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "1_0",
    "0x10",
    "1e",
    "--1",
    "1,5",
    "1..5",
    "..",
    "-",
    "+",
    "a",
    "None",
    "é",
    "\u0661",
    "\uff12",
    "\u00a0",
    "\u2028",
    "\x00",
    "\x0b",
    "\x1c",
    "\ufeff",
    '"',
    "'",
    "#",
    "# 1:1",
    ":",
    "1:1",
    "0:1",
    "-1:1",
    "1:",
    ":1",
    "1:1:1",
    "2147483646:1",
    "2147483647:1",
    "qid:1",
    "qid:x",
    "\x1f\x8b",
    "<script>",
    "a" * 200_000,
)


@functools.cache
def limit_memory() -> None:
    """Bound the memory of this process."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, hard))


# -- commands


@dataclass
class Outcome:
    """How a command ended; `said` is its standard error stream."""

    code: int
    output: str
    said: str
    warned: list[str] = field(default_factory=list)

    @property
    def is_accepted(self) -> bool:
        return self.code == 0


def run_command(*arguments: object) -> Outcome:
    """Run a command in this process; it must end well or in a sentence."""
    from alphapath import cli

    output, said = io.StringIO(), io.StringIO()
    warned: list[tuple[str, type]] = []

    def keep_warning(message: Warning | str, *place: object, **more: object) -> None:
        warned.append((str(message), type(message)))

    shown, cli.show_warning = cli.show_warning, keep_warning
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(said):
                code = cli.run_command([str(argument) for argument in arguments])
    except BaseException as error:
        raise CaseError(f"{arguments[0]} ended with {describe(error)}") from None
    finally:
        cli.show_warning = shown
    for message, kind in warned:
        is_strange = issubclass(kind, (RuntimeWarning, DeprecationWarning, FutureWarning))
        if is_strange or not message.rstrip().endswith((".", ")")):
            raise CaseError(f"{arguments[0]} warned {kind.__name__}: {message}")
    outcome = Outcome(code, output.getvalue(), said.getvalue(), [text for text, _ in warned])
    check_sentence(outcome)
    return outcome


def check_sentence(outcome: Outcome) -> None:
    """Exit code 0; 1 where numbers do not allow the tolerance; 2 with a sentence to be read."""
    if outcome.code == 0 or (outcome.code == 1 and "violation" in outcome.output):
        return
    lines = outcome.said.rstrip("\n").split("\n")
    if outcome.code != 2:
        raise CaseError(f"exit code {outcome.code}: {outcome.said[:200]!r}")
    is_sentence = lines[-1].startswith("alphapath: ") and lines[-1].endswith((".", "?", ")"))
    if len(lines) > 1 or not is_sentence:
        raise CaseError(f"no sentence: {outcome.said[:400]!r}")
    if len(lines[0]) > 1500 or "bad_alloc" in lines[0] or not lines[0].isprintable():
        raise CaseError(f"no sentence to be read: {lines[0][:400]!r}")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    limit_memory()
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


# -- mutations of text


Mutation = Callable[[str, Generator], str]


def any_word(rng: Generator) -> str:
    return str(data.pick(rng, NUMBERS if rng.random() < 0.6 else WORDS))


def any_place(rng: Generator, n: int) -> int:
    return int(rng.integers(n)) if n else 0


def on_lines(change: Callable[[list[str], Generator], None]) -> Mutation:
    def mutate(text: str, rng: Generator) -> str:
        lines = text.split("\n")
        if lines:
            change(lines, rng)
        return "\n".join(lines)

    mutate.__name__ = change.__name__
    return mutate


def on_words(change: Callable[[list[str], Generator], None], mark: str = " ") -> Mutation:
    """Changes the words of one line."""

    def mutate(text: str, rng: Generator) -> str:
        lines = text.split("\n")
        k = any_place(rng, len(lines))
        words = lines[k].split(mark)
        change(words, rng)
        lines[k] = mark.join(words)
        return "\n".join(lines)

    mutate.__name__ = change.__name__
    return mutate


def drop_line(lines: list[str], rng: Generator) -> None:
    del lines[any_place(rng, len(lines))]


def double_line(lines: list[str], rng: Generator) -> None:
    lines.insert(any_place(rng, len(lines)), lines[any_place(rng, len(lines))])


def cut_line(lines: list[str], rng: Generator) -> None:
    k = any_place(rng, len(lines))
    lines[k] = lines[k][: any_place(rng, len(lines[k]) + 1)]


def swap_lines(lines: list[str], rng: Generator) -> None:
    j, k = any_place(rng, len(lines)), any_place(rng, len(lines))
    lines[j], lines[k] = lines[k], lines[j]


def join_lines(lines: list[str], rng: Generator) -> None:
    k = any_place(rng, len(lines) - 1)
    if len(lines) > 1:
        lines[k] += str(data.pick(rng, ["", " ", ",", "\t", "\r", "\x0b", "\u2028"])) + lines[k + 1]
        del lines[k + 1]


def add_line(lines: list[str], rng: Generator) -> None:
    lines.insert(any_place(rng, len(lines) + 1), any_word(rng))


def drop_word(words: list[str], rng: Generator) -> None:
    del words[any_place(rng, len(words))]


def double_word(words: list[str], rng: Generator) -> None:
    words.insert(any_place(rng, len(words)), words[any_place(rng, len(words))])


def swap_words(words: list[str], rng: Generator) -> None:
    j, k = any_place(rng, len(words)), any_place(rng, len(words))
    words[j], words[k] = words[k], words[j]


def replace_word(words: list[str], rng: Generator) -> None:
    words[any_place(rng, len(words))] = any_word(rng)


def add_word(words: list[str], rng: Generator) -> None:
    words.insert(any_place(rng, len(words) + 1), any_word(rng))


def replace_part(words: list[str], rng: Generator) -> None:
    """The index or the value of an entry such as 3:0.5."""
    k = any_place(rng, len(words))
    parts = words[k].split(":")
    parts[any_place(rng, len(parts))] = any_word(rng)
    words[k] = ":".join(parts)


def cut_text(text: str, rng: Generator) -> str:
    return text[: any_place(rng, len(text) + 1)]


def change_letter(text: str, rng: Generator) -> str:
    k = any_place(rng, len(text))
    return text[:k] + chr(int(rng.integers(256))) + text[k + 1 :]


def add_letter(text: str, rng: Generator) -> str:
    k = any_place(rng, len(text) + 1)
    letter = str(data.pick(rng, ["\x00", " ", "\r", "\n", ":", ",", '"', "#", "_", "e", "-"]))
    return text[:k] + letter + text[k:]


def text_mutations(mark: str = " ") -> list[tuple[float, Mutation]]:
    """Shares and mutations of texts whose words are between marks."""
    words = (replace_word, drop_word, double_word, swap_words, add_word, replace_part)
    lines = (drop_line, double_line, cut_line, swap_lines, join_lines, add_line)
    found = [(4.0 if change in (replace_word, replace_part) else 1.5, change) for change in words]
    return [
        *((share, on_words(change, mark)) for share, change in found),
        *((1.0, on_lines(change)) for change in lines),
        (1.0, cut_text),
        (1.0, change_letter),
        (1.5, add_letter),
    ]


def mutate_text(
    text: str, rng: Generator, mutations: list[tuple[float, Mutation]]
) -> tuple[str, str]:
    """The text after one to three mutations, and their names."""
    names = []
    for _ in range(1 + int(rng.integers(3) * (rng.random() < 0.5))):
        mutate = data.pick(rng, [one for _, one in mutations], [share for share, _ in mutations])
        text = mutate(text, rng)
        names.append(mutate.__name__)
    return text, ", ".join(names)


# -- other bytes for the same text


def encode_alike(text: str, rng: Generator) -> bytes:
    """Other line ends, a mark at the beginning, or blank lines: the same content."""
    ends = str(data.pick(rng, ["\n", "\r\n", "\r"]))
    lines = text.rstrip("\n").split("\n")
    if rng.random() < 0.3:
        lines.insert(any_place(rng, len(lines) + 1), str(data.pick(rng, ["", " ", "\t "])))
    end = ends if rng.random() < 0.7 else ""
    return (b"\xef\xbb\xbf" if rng.random() < 0.4 else b"") + (ends.join(lines) + end).encode()


def encode_strangely(text: str, rng: Generator) -> bytes:
    """Another encoding, or one that is damaged."""
    name = str(data.pick(rng, ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"]))
    return text.encode(name, "replace")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# -- what words mean


def read_number(word: str) -> float:
    """The number as any C program prints it; ValueError for anything else."""
    allowed = set("0123456789+-.eE")
    if not word or not set(word) <= allowed:
        raise ValueError(word)
    return float(word)


def read_integer(word: str) -> int:
    digits = word[1:] if word[:1] in ("+", "-") else word
    if not digits or not set(digits) <= set("0123456789") or len(digits) > 4000:
        raise ValueError(word)
    return int(word)


def split_words(line: str) -> list[str]:
    """Words between spaces and tabs."""
    return line.replace("\t", " ").replace("\x0b", " ").replace("\x0c", " ").split(" ")
