"""What a search found, as pictures and pages. Nothing is solved here."""

from __future__ import annotations

from .coefficient_display import CoefficientPathDisplay
from .html import write_report
from .margin_display import MarginDisplay
from .record import record_search
from .search_display import SearchDisplay
from .tree_display import GapDisplay, GridTreeDisplay
from .validation_display import ValidationPathDisplay

__all__ = [
    "CoefficientPathDisplay",
    "GapDisplay",
    "GridTreeDisplay",
    "MarginDisplay",
    "SearchDisplay",
    "ValidationPathDisplay",
    "record_search",
    "write_report",
]
