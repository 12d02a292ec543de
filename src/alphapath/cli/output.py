"""What commands print and write."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..output_files import write_file
from ..report.record import plain
from .failure import printable

#: Width of the output, in columns, if it is not a terminal.
PLAIN_WIDTH = 110
#: Identifies a JSON file as written by alphapath.
RESULTS_MARK = b'"format": "alphapath '


class PipeConsole(Console):
    """A console that leaves a broken pipe to the command, which knows what remains to be done."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def make_console() -> Console:
    """Colours on a terminal, plain text elsewhere."""
    return PipeConsole(
        width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, soft_wrap=False
    )


@contextmanager
def working(words: str) -> Iterator[None]:
    """Show on a terminal that work is in progress, and for how long."""
    if not sys.stderr.isatty():
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(words, total=None)
        yield


def print_facts(rows: Iterable[tuple[str, Any]], title: str = "") -> None:
    """Print names and values in two columns."""
    console = make_console()
    given = [(name, printable(str(value), kept="\n")) for name, value in rows]
    width = max((len(name) for name, _ in given), default=0)
    if title:
        console.print(f"\n{title}", style="bold", soft_wrap=True)
    for name, value in given:
        console.print(f"{name:<{width}}", value, soft_wrap=True, markup=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """Print a table; all columns except the first are numbers."""
    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for k, name in enumerate(columns):
        table.add_column(name, justify="right" if k else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(escape(printable(str(value), kept="\n")) for value in row))
    make_console().print(table)


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write the record as strict JSON, marked by its format; nan and infinities become null."""
    marked = {"format": "alphapath results", **plain(record)}
    write_file(path, json.dumps(marked, indent=1, allow_nan=False) + "\n")
