"""Smooth SVMs."""
