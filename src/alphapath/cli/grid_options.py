"""The grid of a search: LIBSVM's guide by default, or lists and ranges of powers of two."""

from __future__ import annotations

import argparse
import math
from typing import Any

from .numbers import number, positive

#: C = 2^-5, 2^-3, ..., 2^15 and gamma = 2^-15, 2^-13, ..., 2^3 (A Practical Guide to Support Vector
#: Classification, Hsu, Chang and Lin, section 3.2).
LOG2_C, LOG2_GAMMA = (-5.0, 15.0, 2.0), (-15.0, 3.0, 2.0)


def add_grid(
    parser: argparse.ArgumentParser, log2_c: Any = LOG2_C, log2_g: Any = LOG2_GAMMA
) -> None:
    """-c and -g with lists, and the ranges of LIBSVM's grid.py."""
    group = parser.add_argument_group("grid")
    group.add_argument(
        "-c", dest="C", type=value_list, metavar="LIST", help="values of C, such as 1,10,2^7"
    )
    group.add_argument("-g", dest="gamma", type=value_list, metavar="LIST", help="values of gamma")
    for name, default in (("c", log2_c), ("g", log2_g)):
        shown = ",".join(f"{value:g}" for value in default)
        group.add_argument(
            f"--log2{name}",
            type=log_range,
            default=default,
            metavar="BEGIN,END,STEP",
            help=f"exponents of two, where -{name} is not given (default {shown})",
        )


def make_grid(options: Any, prefix: str = "") -> dict[str, list[float]]:
    """param_grid with the names of a pipeline's step, if any, in front."""
    grid = {f"{prefix}C": options.C or powers(options.log2c)}
    if options.kernel != "linear":
        grid[f"{prefix}gamma"] = options.gamma or powers(options.log2g)
    return grid


def powers(given: tuple[float, float, float]) -> list[float]:
    """2^begin, ..., 2^end."""
    begin, end, step = given
    n = math.floor((end - begin) / step + 1e-9) + 1
    return [2.0 ** (begin + k * step) for k in range(n)]


def value_list(text: str) -> list[float]:
    """Numbers above zero, separated by commas."""
    return [positive(word) for word in text.split(",")]


def log_range(text: str) -> tuple[float, float, float]:
    """begin,end,step with at least one value; the step may be negative as in grid.py."""
    try:
        begin, end, step = (number(word) for word in text.split(","))
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not BEGIN,END,STEP, such as -5,15,2"
        ) from None
    if not all(map(math.isfinite, (begin, end, step))) or step == 0 or (end - begin) / step < 0:
        raise argparse.ArgumentTypeError(f"{text!r} has no values; -5,15,2 has eleven")
    if step < 0:
        begin, end, step = end, begin, -step
    if (end - begin) / step > 1000 or max(abs(begin), abs(end)) > 300:
        raise argparse.ArgumentTypeError(f"{text!r} has too many or too large values")
    return begin, end, step
