"""Solvers: solve(problem, start=None, ...) -> Solution, one algorithm per file."""

from __future__ import annotations

from collections.abc import Callable

from .. import _core
from ..interrupt import is_wanted
from ..problem.solution import Solution
from .dual import coordinate, maxminover, newton, smo
from .native import install

SOLVERS: dict[str, Callable[..., Solution]] = {
    "smo": smo.solve,
    "coordinate": coordinate.solve,
    "maxminover": maxminover.solve,
    "newton": newton.solve,
}

install()
_core.use_stop_question(is_wanted)

__all__ = ["SOLVERS", "coordinate", "maxminover", "newton", "smo"]
