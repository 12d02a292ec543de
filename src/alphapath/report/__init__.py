"""What a search found, as pictures and pages. Nothing is solved here."""

from __future__ import annotations

from .html import write_report
from .margin_display import MarginDisplay
from .record import record_search
from .search_display import SearchDisplay
from .tree_display import GapDisplay, GridTreeDisplay

__all__ = [
    "GapDisplay",
    "GridTreeDisplay",
    "MarginDisplay",
    "SearchDisplay",
    "record_search",
    "write_report",
]
