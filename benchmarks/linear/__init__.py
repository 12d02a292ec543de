"""Linear models: fits, bounds on margins and the search over C."""
