"""Solvers: solve(problem, start=None, ...) -> Solution, one algorithm a file."""

from __future__ import annotations

from collections.abc import Callable

from ..solution import Solution
from . import coordinate, lapack, maxminover, newton, smo

SOLVERS: dict[str, Callable[..., Solution]] = {
    "smo": smo.solve,
    "coordinate": coordinate.solve,
    "maxminover": maxminover.solve,
    "newton": newton.solve,
}

lapack.install()

__all__ = ["SOLVERS", "coordinate", "maxminover", "newton", "smo"]
