"""The solver of a MarginProblem that is likely to be the fastest.

This is Newton's method, except for the hinge and for losses with too many features to store a
matrix: the dual then takes a tenth of the time for small C and for many features, and far too long
for large C and few features. Which case applies is known only during the solve: the dual is started
and abandoned for Newton's method as soon as it is predicted to take longer. The dual does not
support a free offset.
"""

from __future__ import annotations

import time
from dataclasses import replace

from ... import _core
from ...problem.margin_problem import MarginProblem
from ...problem.solution import MarginSolution, Status
from . import dual_descent as margin_dual
from . import newton as margin_newton
from .rows import read_rows

#: What Newton's method takes: to begin, in passes over the data and, for its systems, in units of
#: d^3; and what a visit of the dual takes, for itself and for each value of the row. Nanoseconds of
#: one machine, of which only the ratios count.
NEWTON_START, NEWTON_PASSES, NEWTON_CUBE = 1e6, 40, 12.0
VISIT, VISIT_VALUE = 20.0, 5.0


def solve(
    problem: MarginProblem,
    *,
    limits: margin_newton.NewtonLimits,
    rows: _core.MarginRows | None = None,
) -> MarginSolution:
    """Minimise from 0."""
    rows = read_rows(problem.X) if rows is None else rows
    if not begins_with_dual(problem):
        return margin_newton.solve(problem, limits=limits, rows=rows)
    began = time.perf_counter()
    budget = margin_dual.DualLimits(
        limits.goal, limits.max_iter, limits.time_limit, count_visits(problem)
    )
    dual = margin_dual.solve(problem, limits=budget, rows=rows)
    if dual.info.status not in (Status.ITERATION_LIMIT, Status.STALLED):
        return dual
    if limits.time_limit is not None:
        left = limits.time_limit - (time.perf_counter() - began)
        limits = replace(limits, time_limit=max(left, 1e-6))
    n_before = dual.info.n_rows_computed
    del dual  # a number for every row, several times
    newton = margin_newton.solve(problem, limits=limits, rows=rows)
    n_rows = newton.info.n_rows_computed + n_before
    seconds = time.perf_counter() - began
    return replace(newton, info=replace(newton.info, n_rows_computed=n_rows, solve_time=seconds))


def begins_with_dual(problem: MarginProblem) -> bool:
    """Whether the dual may be faster."""
    is_likely = problem.loss == "hinge" or not margin_newton.keeps_gram(problem)
    return is_likely and margin_dual.can_solve(problem)


def count_visits(problem: MarginProblem) -> int:
    """Visits of the dual that take as long as Newton's method; -1 if that takes even longer."""
    if not margin_newton.keeps_gram(problem):
        return -1 if problem.loss == "hinge" else NEWTON_PASSES * problem.n
    n_values = problem.X.nnz if problem.is_sparse else problem.X.size
    visit = VISIT + VISIT_VALUE * n_values / problem.n
    others = NEWTON_START + NEWTON_CUBE * problem.d**3
    return int(NEWTON_PASSES * problem.n + others / visit)
