"""Model selection for SVMs: exact, and every problem begun from the solution of another."""

from __future__ import annotations

from .estimators.cross_validation import cross_validate
from .estimators.leave_one_out import LeaveOneOutResult, leave_one_out

__all__ = ["LeaveOneOutResult", "cross_validate", "leave_one_out"]
