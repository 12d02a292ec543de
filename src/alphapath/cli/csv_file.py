"""CSV files: a line of column names unless there is none, then one row a line."""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np

from .failure import CommandError
from .text_file import LARGEST, Source, fault, is_number, open_text, too_large

#: Taken for the target where none is named.
USUAL_TARGETS = ("target", "label", "class", "y")
DELIMITERS = ",;\t"


def read_csv(
    path: Source, target: str | None, needs_target: bool, has_header: bool = True
) -> tuple[Any, list[str] | None]:
    """(rows, targets as texts or None); every fault is named with its line and column.

    Without a header the columns are called "1", "2", ... .
    """
    with open_text(path) as file:
        first = file.readline()
        delimiter = max(DELIMITERS, key=first.count)
        file.seek(0)
        rows = csv.reader(file, delimiter=delimiter)
        header = [name.strip() for name in next(rows, [])]
        if has_header:
            check_names(path, header)
        else:
            header = [str(k + 1) for k in range(len(header))]
            file.seek(0)
            rows = csv.reader(file, delimiter=delimiter)
        place = find_target(path, header, target, needs_target)
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
            X.append(parse_row(path, rows.line_num, header, row, place))
            if place is not None:
                y.append(row[place].strip())
                if not y[-1]:
                    raise fault(path, rows.line_num, f"column {header[place]!r} is empty")
    if not X:
        raise fault(path, 1, "there are no rows after the header")
    return np.array(X), None if place is None else y


def check_names(path: Source, header: list[str]) -> None:
    """Refuse a row of values where names should be; 0, 1, 2, ... are names that programs give."""
    for name in header:
        if is_number(name) and (not name.isdigit() or header.count(name) > 1):
            raise fault(
                path,
                1,
                f"{name[:40]!r} is a value and not the name of a column; for a file without a line "
                f"of names give --no-header and the number of the column as --target",
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
        f"{path}, line 1: which column is the target? Name it by --target; the columns are "
        f"{names(header)}."
    )


def parse_row(
    path: Source, line: int, header: list[str], row: list[str], skipped: int | None
) -> list[float]:
    """The numbers of one row, without the target."""
    values = []
    for k, text in enumerate(row):
        if k == skipped:
            continue
        try:
            value = float(text)
        except ValueError:
            what = f"{text.strip()[:40]!r} is not a number" if text.strip() else "there is no value"
            if skipped is None and text.strip():
                what += "; if these are the targets, name the column by --target"
            raise fault(path, line, f"column {header[k]!r}: {what}") from None
        if not math.isfinite(value):
            raise fault(path, line, f"column {header[k]!r}: {value} is not finite")
        if abs(value) > LARGEST:
            raise fault(path, line, f"column {header[k]!r}: {too_large(text)}")
        values.append(value)
    return values


def names(header: list[str]) -> str:
    """The names of columns, not more than a line of them."""
    shown = ", ".join(repr(name) for name in header[:12])
    return shown + (f" and {len(header) - 12} more" if len(header) > 12 else "")
