"""Coordinate descent, one variable at a time: no sum constraint, no tube (epsilon = 0).

`solve_ridges` solves one class with squared slacks for several C in one native call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import _core
from ...errors import SolverMismatch
from ...problem.box_problem import FloatArray, Problem, Start
from ...problem.limits import Limits
from ...problem.solution import Solution, make_solution
from ..native import (
    as_native,
    prepare_start,
    require_equality,
    require_one_class,
    run,
    solve_options,
)


def solve(
    problem: Problem,
    start: Start | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float | None = None,
    gap_tol: float | None = None,
) -> Solution:
    """Solve `problem` to a KKT violation of at most `tol`, from `start` (None: cold).

    With `gap_tol`, for one class with squared slacks: to a relative feasibility gap
    (primal - dual) / (primal + 1) of at most that, whatever the KKT violation.

    Examples
    --------
    >>> solution = coordinate.solve(problem)                     # doctest: +SKIP
    """
    require_equality(problem, has_equality=False, solver="coordinate", instead="smo")
    if problem.epsilon != 0.0:
        raise SolverMismatch(
            f"The coordinate solver is for problems with epsilon = 0, but epsilon is "
            f"{problem.epsilon}; use a problem with a sum constraint and the smo solver."
        )
    if gap_tol is not None:
        require_one_class(problem, "The rule gap_tol")
    limits = Limits(tol, max_iter, time_limit, gap_tol=gap_tol)
    return run(_core.solve_coordinate, problem, start, limits)


@dataclass(frozen=True)
class RidgeChain:
    """Solutions of one problem for several ridges, as arrays with one row per node.

    Parameters
    ----------
    problem : Problem
        The ridge of node k is factors[k] times that of the problem.
    factors : array of shape (n_nodes,)
    beta, gradient : arrays of shape (n_nodes, n)
    nodes : list
        status, n_iter, n_refreshes, gap and seconds of every node; shorter than requested if an
        interrupt or the time limit ended the run.
    """

    problem: Problem
    factors: FloatArray
    beta: FloatArray
    gradient: FloatArray
    nodes: list[Any]

    def solution(self, k: int) -> Solution:
        """Return node k as a Solution."""
        node = self.nodes[k]
        counts = {
            "status": node.status,
            "n_iter": node.n_iter,
            "n_refreshes": node.n_refreshes,
            "solve_time": node.seconds,
        }
        problem = self.problem.with_ridge(self.problem.ridge * float(self.factors[k]))
        return make_solution(problem, self.beta[k], self.gradient[k], counts)


def solve_ridges(
    problem: Problem,
    factors: ArrayLike,
    start: Start | None = None,
    *,
    gap_tol: float = 1e-4,
    max_iter: int = -1,
    time_limit: float | None = None,
) -> RidgeChain:
    """One class with squared slacks, solved with ridge factors[k] * problem.ridge for k in turn.

    Each node is warm-started from the previous one, the first from `start`, whose gradient is that
    of `problem` itself. A factor of 1 / C turns a problem with C = 1 into one with C. `max_iter`
    limits a node, `time_limit` the chain.

    Examples
    --------
    >>> problem = Problem.squared_slack_one_class(view, np.ones(n))     # doctest: +SKIP
    >>> solve_ridges(problem, 1.0 / C_values).solution(-1)              # doctest: +SKIP
    """
    require_one_class(problem, "A chain of ridges")
    scales = np.ascontiguousarray(factors, dtype=np.float64)
    if scales.ndim != 1 or not (np.isfinite(scales) & (scales > 0.0)).all():
        raise ValueError(f"factors is {factors!r}; it must be a list of positive numbers.")
    view: Any = problem.kernel
    beta, gradient = prepare_start(problem, start)
    options = solve_options(Limits(1e-3, max_iter, time_limit, gap_tol=gap_tol), view.spare_bytes)
    result = _core.solve_ridge_chain(as_native(problem), scales, beta, gradient, options)
    found = result.beta, result.gradient
    for rows in found:
        rows.flags.writeable = False
    return RidgeChain(problem, scales, *found, result.nodes)
