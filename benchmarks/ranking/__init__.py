"""Ranking over pairs."""
