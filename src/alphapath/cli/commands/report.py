"""Make the HTML report of a search from its JSON results, or from its journal.

The journal may belong to a search that is still running or was killed: unfinished cells are shown
as such.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ...output_files import write_file
from ...report.html.page import render
from ...report.record import check_record, record_search
from ...search.table import UNFINISHED
from ..failure import CommandError
from ..files.text import Source, fault, input_file, open_text
from ..output import print_facts

HELP = "make the HTML report of a search from its JSON results or its journal"
EXAMPLE = "alphapath report results.json --output report.html"
#: How every SQLite file, and so every journal, begins.
SQLITE = b"SQLite format 3\0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=input_file, metavar="RESULTS", help="JSON file or journal of alphapath search"
    )
    parser.add_argument(
        "--output", dest="report", type=Path, default=Path("report.html"), metavar="FILE"
    )
    parser.set_defaults(words={"report": "--output"})


def run(options: Any) -> int:
    record = read_record(options.file)
    write_file(options.report, render(record))
    status = record["cv_results"].get("status", [])
    n_done = sum(one not in UNFINISHED for one in status)
    print_facts([("finished", f"{n_done} of {len(status)} cells"), ("written", options.report)])
    return 0


def read_record(path: Source) -> dict[str, Any]:
    """The record in a JSON file, or that of what a journal holds now."""
    if isinstance(path, Path) and path.is_file():
        with path.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                return record_search(path, name=path.stem)
    with open_text(path) as file:
        text = file.read()
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise fault(path, error.lineno, f"this is not JSON: {error.msg}") from None
    except RecursionError:
        raise CommandError(f"{path} has objects or lists that are nested too deeply.") from None
    except ValueError:  # Python's limit for whole numbers
        raise CommandError(f"{path} has a number with too many digits.") from None
    return check_record(record, str(path))
