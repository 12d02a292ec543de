"""Solvers of linear models in the primal: margins of all rows, one weight vector."""
