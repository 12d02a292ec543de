"""Exact paths and updates."""
