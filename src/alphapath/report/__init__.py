"""Results of searches as plots and HTML pages. Nothing is solved here."""

from __future__ import annotations

from .displays.coefficient import CoefficientPathDisplay
from .displays.margin import MarginDisplay
from .displays.search import SearchDisplay
from .displays.tree import GapDisplay, GridTreeDisplay
from .displays.validation import ValidationPathDisplay
from .html.page import write_report
from .record import record_search

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
