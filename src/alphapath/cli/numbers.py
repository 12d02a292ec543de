"""Numbers of the command line: one parser with limits, units and clear errors."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass, field
from typing import Any

from ..errors import KernelError
from ..kernels import parse_memory_limit
from .files.text import parse_number

#: Seconds.
TIME_UNITS = {"": 1.0, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
#: A number, perhaps a power such as 2^-5, and a unit.
FORM = re.compile(r"([^\^a-zA-Z]*(?:[eE][+-]?[0-9]+)?)(?:\^([^a-zA-Z]*))?([a-zA-Z]*)\Z")
LARGEST_WHOLE = 2**31 - 1


@dataclass(frozen=True, eq=False)  # argparse hashes its parsers
class Number:
    """A parser for argparse: a number between `low` and `high`, described by `words`.

    Examples
    --------
    >>> Number("a number above 0", above=0.0)("2^-3")
    0.125
    >>> Number("a time above 0", above=0.0, units=TIME_UNITS)("1.5h")
    5400.0
    """

    words: str
    low: float = -math.inf
    high: float = math.inf
    #: The number must be larger than this.
    above: float = -math.inf
    is_whole: bool = False
    units: dict[str, float] = field(default_factory=lambda: {"": 1.0})

    def __call__(self, text: str) -> Any:
        value = self._read(text.strip())
        is_within = value is not None and self.low <= value <= self.high and value > self.above
        if value is None or not is_within or (self.is_whole and value % 1.0):
            raise argparse.ArgumentTypeError(f"{text!r} is not {self.words}")
        return int(value) if self.is_whole else value

    def _read(self, text: str) -> float | None:
        match = FORM.match(text)
        if match is None or match[3] not in self.units:
            return None
        base = parse_number(match[1])
        exponent = 1.0 if match[2] is None else parse_number(match[2])
        if base is None or exponent is None:
            return None
        try:
            value = base if match[2] is None else math.pow(base, exponent)
        except (ValueError, OverflowError):
            return None
        value *= self.units[match[3]]
        return value if math.isfinite(value) else None


#: The square of a value must not overflow.
number = Number("a finite number", -1e150, 1e150)
positive = Number("a number above 0 (such as 0.5 or 2^-5)", above=0.0)
non_negative = Number("a number of at least 0", low=0.0)
share = Number("a number above 0 and at most 1", above=0.0, high=1.0)
seconds = Number("a time above 0 (such as 90, 90s, 5min or 2h)", above=0.0, units=TIME_UNITS)


def whole(low: int, high: int = LARGEST_WHOLE) -> Number:
    """A parser for whole numbers."""
    words = f"a whole number from {low} to {high}"
    if high == LARGEST_WHOLE:
        words = f"a whole number of at least {low}"
    return Number(words, low, high, is_whole=True)


def workers(text: str) -> int:
    """A number of workers as joblib counts them: -1 is one for each processor."""
    value: int = Number(
        "a number of workers: 1, 2, ... or -1 for all processors",
        -LARGEST_WHOLE,
        LARGEST_WHOLE,
        is_whole=True,
    )(text)
    if value == 0:
        raise argparse.ArgumentTypeError("'0' is not a number of workers: use 1, 2, ... or -1")
    return value


def size(text: str) -> int:
    """Parse a number of bytes, with or without a unit."""
    try:
        return parse_memory_limit(text)
    except KernelError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size above 0 (such as 200MB or 1.5GiB)"
        ) from None


class NegativeNumbers:
    """Recognises -5, -.5, -1e3 and -5,15,2 as values: argparse would take -5 for an option."""

    def match(self, text: str) -> bool:
        return re.match(r"-\.?[0-9]", text) is not None
