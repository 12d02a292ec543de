"""Solvers of box-constrained duals: one problem, one start, one solution."""
