"""The command line `alphapath`: one file a command.

A command is a module with `HELP`, `EXAMPLE`, `add_arguments(parser)` and `run(options) -> int`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from ..errors import AlphapathError
from ..version import __version__
from .failure import INTERRUPTED, REFUSED, CommandError

#: Commands in the order of the help.
COMMANDS = ("search", "cv", "loo", "fit", "predict", "path", "compare", "report")


def make_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="alphapath",
        description="Exact and fast model selection for support vector machines.",
        epilog="Every command has --help with an example, and runs without a file on embedded "
        "data. Exit codes: 0 well, 1 answers that do not hold, 2 bad input, 130 Ctrl-C.",
    )
    parser.add_argument("--version", action="version", version=f"alphapath {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = load_command(name)
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            epilog=f"example:\n  {module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def load_command(name: str) -> ModuleType:
    return import_module(f".{name.replace('-', '_')}_command", __name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = make_parser().parse_args(arguments)
    warnings.showwarning = show_warning
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("alphapath: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # whoever read the output has left
        return REFUSED
    except (CommandError, AlphapathError, OSError, ValueError) as error:
        print(f"alphapath: {error}", file=sys.stderr)
        return REFUSED


def show_warning(message: Warning | str, *place: object, **more: object) -> None:
    """A warning is a sentence for the user, without the line of code that gave it."""
    print(f"alphapath: warning: {message}", file=sys.stderr)
