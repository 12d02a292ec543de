"""Paths: the exact solution followed while instances come and go, and while weights move."""

from __future__ import annotations

from .incremental import Change, Updater
from .walker import PathStatus, Place, Walker, polish

__all__ = ["Change", "PathStatus", "Place", "Updater", "Walker", "polish"]
