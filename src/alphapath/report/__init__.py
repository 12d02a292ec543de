"""What a search found, as pictures and pages. Nothing is solved here."""

from __future__ import annotations

from .search_display import SearchDisplay

__all__ = ["SearchDisplay"]
