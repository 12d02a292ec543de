"""Exact model selection for SVMs, with warm starts between related problems."""

from __future__ import annotations

from ..search.one_standard_error import one_standard_error
from ..search.progress import SearchProgress
from .cross_validation import cross_validate
from .leave_one_out import LeaveOneOutResult, leave_one_out
from .linear_c_search import LinearSearchResult, linear_c_search
from .one_class_search import OneClassSearch
from .path_validation import LambdaCVResult, PathValidation, cross_validate_path
from .search_cv import SVMSearchCV

__all__ = [
    "LambdaCVResult",
    "LeaveOneOutResult",
    "LinearSearchResult",
    "OneClassSearch",
    "PathValidation",
    "SVMSearchCV",
    "SearchProgress",
    "cross_validate",
    "cross_validate_path",
    "leave_one_out",
    "linear_c_search",
    "one_standard_error",
]
