"""The policy for how much of a kernel matrix is stored, and in which precision.

Precision: float64 if the tolerance requires it (below 1e-5) or if it costs nothing (n <=
2048, at most 32 MiB); otherwise float32. Values of every kernel are centred in double before they
are rounded (the origin of feature space is moved into the data), so float32 rounds by 6e-8 of the
varying part rather than of a constant, which does not affect an SVM at a tolerance of 1e-3 as long
as C is moderate. Otherwise, solvers also use the matrix in float64 (solvers/precision.py).

Size: the whole matrix if it fits the remaining memory. A float64 matrix that the tolerance does not
require (1e-5 or more) gives way to a whole float32 matrix. Beyond that, as many rows as fit.

The default limit is half of the memory of the machine or container.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ..errors import KernelError

Precision = Literal["float32", "float64"]

SMALL = 2048
TIGHT = 1e-5
#: The share of the memory limit that a dense copy of sparse data may take.
DENSE_SHARE = 8
ITEM_SIZE: dict[Precision, int] = {"float32": 4, "float64": 8}
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


@dataclass(frozen=True)
class Layout:
    """How much of a matrix is stored; capacity_rows is n for a whole matrix."""

    precision: Precision
    is_full: bool
    capacity_rows: int


def choose_precision(n: int, tol: float) -> Precision:
    """The precision that the policy chooses if memory is not limited."""
    return "float64" if tol < TIGHT or n <= SMALL else "float32"


def row_bytes(n: int, precision: Precision) -> int:
    """Bytes of one stored row, padded to a multiple of 16 values."""
    return -(-n // 16) * 16 * ITEM_SIZE[precision]


def choose_layout(
    n: int, tol: float, memory_limit: int, precision: Precision | None = None, overhead: int = 0
) -> Layout:
    """Choose the layout of an n x n matrix within memory_limit bytes.

    ``precision`` overrides the policy; ``overhead`` is the bytes that a row cache needs in addition
    to its rows.

    Examples
    --------
    >>> from alphapath.kernels.policy import choose_layout
    >>> choose_layout(20_000, tol=1e-3, memory_limit=200_000_000)
    Layout(precision='float32', is_full=False, capacity_rows=2500)
    """
    wanted = choose_precision(n, tol) if precision is None else precision
    if n * row_bytes(n, wanted) <= memory_limit:
        return Layout(wanted, True, n)
    if precision is None and tol >= TIGHT and n * row_bytes(n, "float32") <= memory_limit:
        return Layout("float32", True, n)
    capacity = max(memory_limit - overhead, 0) // row_bytes(n, wanted)
    if capacity < 2:
        raise KernelError(
            f"{memory_limit} bytes are left for the kernel, too few: two rows of {n} values and "
            f"the data need {2 * row_bytes(n, wanted) + overhead}; raise memory_limit, or release "
            f"kernels that are no longer used."
        )
    return Layout(wanted, False, min(capacity, n))


def parse_memory_limit(limit: int | float | str | None) -> int:
    """Parse a number, a text such as "200MB" or "1.5 GiB", or None (the default) as bytes.

    Examples
    --------
    >>> from alphapath.kernels import parse_memory_limit
    >>> parse_memory_limit("1.5 GiB")
    1610612736
    """
    if limit is None:
        return default_memory_limit()
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]I?)?B?\s*", limit.upper())
        try:
            value = float(match[1]) * UNITS[match[2] or ""] if match else float("nan")
        except ValueError:
            value = float("nan")
    else:
        value = float(limit)
    if not 0 < value < float("inf"):
        raise KernelError(
            f"memory_limit == {limit!r}; it must be a positive number of bytes, or text such as "
            f"'200MB' or '1.5GiB'."
        )
    return int(value)


@cache
def default_memory_limit() -> int:
    """Half of the physical memory or of the limit of the current control group."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        memory = 8 * 2**30
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            memory = min(memory, int(Path(path).read_text()))
        except (OSError, ValueError):
            continue
    return memory // 2
