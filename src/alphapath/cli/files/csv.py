"""CSV files: a line of column names unless there is none, then one row a line."""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from ..failure import CommandError
from .text import LARGEST, Source, fault, is_number, open_text, too_large

#: Taken for the target where none is named.
USUAL_TARGETS = ("target", "label", "class", "y")
DELIMITERS = ",;\t"
#: No part of a name at its ends; a line break there is one.
BLANKS = " \t"
#: Characters after which a quote that is never closed is given up.
LONGEST_HEADER = 1 << 20


@dataclass(frozen=True)
class CsvRows:
    """The rows of a CSV file, with the names of its columns where it has a header."""

    X: Any
    #: The column of the target as it stands in the file; None where there is none.
    targets: list[str] | None
    #: None without a header.
    features: tuple[str, ...] | None
    target: str | None


@dataclass(frozen=True)
class WantedColumns:
    """The columns that a model was trained on; None where they had no names."""

    features: tuple[str, ...] | None
    target: str | None = None


def read_csv(
    path: Source,
    target: str | None,
    needs_target: bool,
    has_header: bool = True,
    wanted: WantedColumns | None = None,
) -> CsvRows:
    """Rows and targets; every fault is named with its line and column.

    Without a header the columns are called "1", "2", ... . The columns of a model are found by
    their names where both have some, in its order.
    """
    with open_text(path) as file:
        delimiter = find_delimiter(file)
        rows = CsvLines(path, file, delimiter)
        header = [name.strip(BLANKS) for name in next(rows, [])]
        if has_header:
            check_names(path, header)
        else:
            header = [str(k + 1) for k in range(len(header))]
            rows = CsvLines(path, file, delimiter)
        if not has_header or wanted is None or wanted.features is None:
            place = find_target(path, header, target, needs_target)
            columns = [k for k in range(len(header)) if k != place]
        else:
            place = find_wanted_target(path, header, target, wanted)
            columns = match_columns(path, header, place, wanted.features)
        X: list[list[float]] = []
        y: list[str] = []
        for row in rows:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if len(row) != len(header):
                raise fault(
                    path,
                    rows.line_num,
                    f"{len(row)} values, but {'the header names' if has_header else 'line 1 has'} "
                    f"{len(header)} columns",
                )
            X.append(parse_row(path, rows.line_num, header, row, columns, place is not None))
            if place is not None:
                y.append(row[place].strip(BLANKS))
                if not y[-1]:
                    raise fault(path, rows.line_num, f"column {shown(header[place])} is empty")
    if not X:
        raise fault(path, 1, "there are no rows after the header")
    return CsvRows(
        np.array(X),
        None if place is None else y,
        tuple(header[k] for k in columns) if has_header else None,
        header[place] if has_header and place is not None else None,
    )


class CsvLines:
    """The rows of a CSV file from its beginning; what is wrong with quotes is named."""

    def __init__(self, path: Source, file: IO[str], delimiter: str) -> None:
        file.seek(0)
        self._path = path
        self._rows = csv.reader(file, delimiter=delimiter, strict=True)

    @property
    def line_num(self) -> int:
        return self._rows.line_num

    def __iter__(self) -> CsvLines:
        return self

    def __next__(self) -> list[str]:
        begin = self.line_num + 1
        try:
            return next(self._rows)
        except csv.Error as error:
            what = str(error)
            if "field limit" in what:
                what = f"a value is longer than {csv.field_size_limit()} characters"
            elif "unexpected end" in what:
                what = "a quote is not closed"
            elif "expected after" in what:
                what = "a quote is closed in the middle of a value"
            raise fault(self._path, begin, what) from None


def find_delimiter(file: IO[str]) -> str:
    """The most frequent of DELIMITERS in the first row, which goes on where a quote is open."""
    text = ""
    for line in file:
        text += line
        if text.count('"') % 2 == 0 or len(text) > LONGEST_HEADER:
            break
    outside = re.sub(r'"[^"]*"', "", text)
    return max(DELIMITERS, key=outside.count)


def check_names(path: Source, header: list[str]) -> None:
    """Refuse a row of values where names should be; 0, 1, 2, ... are names that programs give."""
    for name in header:
        if is_number(name) and (not name.isdigit() or header.count(name) > 1):
            raise fault(
                path,
                1,
                f"{name[:40]!r} is a value and not the name of a column; for a file without a "
                f"header line, pass --no-header and the number of the column as --target",
            )


def find_target(
    path: Source, header: list[str], target: str | None, needs_target: bool
) -> int | None:
    """The column of the target; None where there is none and none is needed."""
    if target is not None:
        if target not in header:
            raise CommandError(
                f"{path}, line 1: there is no column {target!r}; the columns are {names(header)}."
            )
        return header.index(target)
    usual = [name for name in header if name.lower() in USUAL_TARGETS]
    if len(usual) == 1:
        return header.index(usual[0])
    if not needs_target:
        return None
    raise CommandError(
        f"{path}, line 1: which column is the target? Pass its name as --target; the columns are "
        f"{names(header)}."
    )


def find_wanted_target(
    path: Source, header: list[str], target: str | None, wanted: WantedColumns
) -> int | None:
    """The column to compare with: the one named, that of the training file, or a usual one."""
    assert wanted.features is not None
    if target is not None:
        return find_target(path, header, target, needs_target=False)
    if wanted.target is not None and wanted.target not in wanted.features:
        return header.index(wanted.target) if wanted.target in header else None
    usual = [k for k, name in enumerate(header) if name.lower() in USUAL_TARGETS]
    usual = [k for k in usual if header[k] not in wanted.features]
    return usual[0] if len(usual) == 1 else None


def match_columns(
    path: Source, header: list[str], place: int | None, wanted: tuple[str, ...]
) -> list[int]:
    """Where each column of the model is; others are left out with a warning."""
    given = [k for k in range(len(header)) if k != place]
    if tuple(header[k] for k in given) == wanted:
        return given
    lacking = [name for name in wanted if name not in header]
    if lacking:
        raise fault(
            path,
            1,
            f"the model was trained on columns that are missing here: {names(lacking)}; the file "
            f"has {names(header)}",
        )
    twice = [name for name in wanted if header.count(name) > 1 or wanted.count(name) > 1]
    if twice:
        raise fault(
            path,
            1,
            f"{names(twice[:1])} is the name of several columns, and the columns do not agree with "
            f"the training file in order; give each column a unique name",
        )
    found = [header.index(name) for name in wanted]
    if place in found:
        raise fault(
            path, 1, f"column {shown(header[place or 0])} is the target and a feature of the model"
        )
    others = [header[k] for k in given if k not in set(found)]
    if others:
        warnings.warn(
            f"{path}: the model was not trained on the column{'s' * (len(others) > 1)} "
            f"{names(others)}, which {'are' if len(others) > 1 else 'is'} not used.",
            stacklevel=2,
        )
    return found


def parse_row(
    path: Source, line: int, header: list[str], row: list[str], columns: list[int], has_target: bool
) -> list[float]:
    """The numbers of one row, in the order of `columns`."""
    try:
        values = [float(row[k]) for k in columns]
    except ValueError:
        values = []
    if values and are_sound(values, row):
        return values
    values = []
    for k in columns:
        text = row[k]
        try:
            value = float(text)
            is_odd = "_" in text or not (text.isascii() or text.strip().isascii())
        except ValueError:
            is_odd = True
        if is_odd:
            what = (
                f"{text.strip()[:40]!r} is not a number" if text.strip() else "the value is missing"
            )
            if not has_target and text.strip():
                what += "; if these are the targets, pass the name of the column as --target"
            raise fault(path, line, f"column {shown(header[k])}: {what}")
        if not math.isfinite(value):
            raise fault(path, line, f"column {shown(header[k])}: {value} is not finite")
        if abs(value) > LARGEST:
            raise fault(path, line, f"column {shown(header[k])}: {too_large(text)}")
        values.append(value)
    return values


def are_sound(values: list[float], row: list[str]) -> bool:
    """Whether nothing of a row has to be looked at again: Python reads 1_0 as 10."""
    text = "".join(row)
    is_finite = math.isfinite(sum(values))
    is_small = min(values) >= -LARGEST and max(values) <= LARGEST
    return is_finite and is_small and "_" not in text and text.isascii()


def names(header: Sequence[str]) -> str:
    """The names of columns, not more than a line of them."""
    text = ", ".join(map(shown, header[:12]))
    return text + (f" and {len(header) - 12} more" if len(header) > 12 else "")


def shown(name: str) -> str:
    """The name of a column, not more than a part of it."""
    return repr(name[:40])
