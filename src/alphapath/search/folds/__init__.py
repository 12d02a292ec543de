"""Folds of one problem: which fold starts from which solution, and the run over them."""
