"""Model selection for SVMs: exact, and every problem begun from the solution of another."""

from __future__ import annotations

from .estimators.cross_validation import cross_validate

__all__ = ["cross_validate"]
