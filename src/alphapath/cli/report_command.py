"""Make the HTML report again from the JSON results of a search.

For a search that is still running with --journal: start the same search beside it with a short
--time-limit. It takes over what is finished and reports the rest as not run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..report.html import render
from ..report.record import check_record
from .output import print_facts
from .text_file import fault, open_text

HELP = "make the HTML report of a search from its JSON results"
EXAMPLE = "alphapath report results.json --output report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="RESULTS", help="JSON file of alphapath search")
    parser.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE")


def run(options: Any) -> int:
    with open_text(options.file) as file:
        text = file.read()
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise fault(options.file, error.lineno, f"this is no JSON: {error.msg}") from None
    options.output.write_text(render(check_record(record, str(options.file))), encoding="utf-8")
    print_facts([("written", options.output)])
    return 0
