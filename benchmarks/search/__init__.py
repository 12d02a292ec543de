"""Searches over grids of parameters."""
