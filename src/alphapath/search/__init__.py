"""Sequences of related problems: what is solved in which order, and from which start."""

from __future__ import annotations

from .folds.run import FoldRun, solve_folds

__all__ = ["FoldRun", "solve_folds"]
