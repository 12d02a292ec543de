"""Journals: files that record the finished work of a search."""

from __future__ import annotations

from .journal import Journal

__all__ = ["Journal"]
