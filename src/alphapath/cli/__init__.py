"""The command line `alphapath`, with one file per command.

A command is a module with `HELP`, `EXAMPLE`, `add_arguments(parser)` and `run(options) -> int`.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from ..errors import AlphapathError
from ..version import __version__
from .failure import BROKEN_PIPE, INTERRUPTED, REFUSED, TERMINATED, CommandError, printable
from .files.plan import plan_files
from .numbers import NegativeNumbers
from .termination import Termination

#: Commands in the order of the help.
COMMANDS = (
    "search",
    "cv",
    "loo",
    "fit",
    "predict",
    "path",
    "one-class",
    "rank",
    "compare",
    "report",
)


def make_parser() -> argparse.ArgumentParser:
    """Build the parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="alphapath",
        description="Exact and fast model selection for support vector machines.",
        epilog="Every command has --help with an example. Commands that train use embedded data if "
        "no file is given. Exit codes: 0 success, 1 results that failed their check, 2 bad input, "
        "130 Ctrl-C, 141 broken pipe, 143 SIGTERM.",
    )
    parser.add_argument("--version", action="version", version=f"alphapath {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
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
        command._negative_number_matcher = NegativeNumbers()  # type: ignore[assignment]
        command.add_argument(
            "--force", action="store_true", help="overwrite files that are not earlier outputs"
        )
        command.set_defaults(run=module.run)
    return parser


def load_command(name: str) -> ModuleType:
    return import_module(f".commands.{name.replace('-', '_')}", __name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with Termination() as termination:
        code = run_command(arguments)
    return TERMINATED if code == INTERRUPTED and termination.is_wanted else code


def run_process() -> NoReturn:
    """Run the command of this process and exit; Ctrl-C after the work is done changes nothing."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def run_command(arguments: Sequence[str] | None) -> int:
    """Run a command; errors are written to the standard error stream as one sentence."""
    prepare_streams()
    try:
        parser = make_parser()
        options = parser.parse_args(arguments)
        if not hasattr(options, "run"):
            parser.print_help(sys.stderr)
            return REFUSED
        warnings.showwarning = show_warning
        plan_files(options)
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        say("interrupted.")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has left; files were written before
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        what = error.strerror or str(error)
        place = f"{error.filename}: " if error.filename else ""
        say(f"{place}{what}.")
        return REFUSED
    except MemoryError as error:
        what = str(error).rstrip(".")
        # The text from native code is the name of the exception, not a message.
        more = f" ({what})" if what and "bad_alloc" not in what else ""
        say(f"There is not enough memory for this{more}; use fewer rows or features.")
        return REFUSED
    except (CommandError, AlphapathError, ValueError) as error:
        say(str(error))
        return REFUSED


def prepare_streams() -> None:
    """Make the streams accept any text, and replace closed streams by empty ones.

    Opened in this order, they take the descriptors of closed streams, which no other file may take.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a file name need not be valid text
            stream.reconfigure(errors="backslashreplace")


def show_warning(message: Warning | str, *place: object, **more: object) -> None:
    """Show a warning as a sentence for the user, without the line of code that issued it."""
    say(f"warning: {message}", kept="\n")


def say(text: str, kept: str = "") -> None:
    """Write a sentence to the standard error stream, if that is possible."""
    try:
        print(f"alphapath: {printable(text, kept)}", file=sys.stderr, flush=True)
    except OSError:  # the exit code reports the failure
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
