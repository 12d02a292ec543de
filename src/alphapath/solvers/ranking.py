"""Ranking: the dual over pairs, with scores kept on instances.

A linear model with few features is solved by Newton's method on w, any other model by coordinate
descent over pairs, one query at a time; an exact walk finishes (cpp/src/ranking/pair_newton,
pair_descent and pair_walker). The pair-difference kernel is never formed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import _core
from ..errors import SolverMismatch
from ..kernels import PairView
from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.optimality import kkt_violation
from ..problem.solution import Solution, Status, make_solution
from .native import single_threaded
from .primal.rows import read_rows

#: Features up to which the Hessian of w is dense.
MAX_NEWTON_FEATURES = 500
#: Passes of coordinate descent after which the exact walk takes over, wherever they led.
PASSES_BEFORE_WALK = 300
#: Events of a walk that finishes; one further away is not worth walking from.
MAX_FINISH_EVENTS = 50_000
#: How a native walk ended (numbers of alphapath.paths.PathStatus, which this room cannot import).
ARRIVED, INTERRUPTED = 0, 3
#: What is asked for before the exact walk.
ENTRY_TOL = 1e-3


def native_pairs(view: PairView) -> _core.RankPairs:
    """Convert the pairs for the native code."""
    instances: Any = read_rows(view._X) if view.is_linear else view.instances.gram
    return _core.RankPairs(instances, view.better, view.worse, view.first_row)


def require_pairs(problem: Problem) -> PairView:
    """Return the pairs of a ranking problem; any other problem is rejected in one sentence."""
    view = problem.kernel
    if not isinstance(view, PairView):
        raise SolverMismatch(
            f"The pairs solver is for ranking problems, made by Problem.ranking on a PairView; "
            f"this kernel is a {type(view).__name__}."
        )
    if not np.isfinite(problem.weights).all():
        raise SolverMismatch("Ranking needs finite weights of pairs; some are infinite.")
    return view


def solve(
    problem: Problem,
    start: Start | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float | None = None,
) -> Solution:
    """Solve a ranking problem to a KKT violation of at most `tol`, mostly exactly.

    Parameters
    ----------
    problem : Problem
        A problem created by `Problem.ranking`.
    start : Start or None
        A feasible beta from which coordinate descent and the walk start.
    tol : float
        KKT violation in units of the margin. If the exact walk at the end completes, only rounding
        remains.
    max_iter : int
        Maximum number of Newton steps or passes over pairs; -1 for no limit. With a limit, there is
        no walk.
    time_limit : float or None

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import Problem
    >>> from alphapath.kernels import PairView, pairs_within
    >>> from alphapath.kernels.pair_differences import LinearRows
    >>> view = PairView(LinearRows(np.array([[0.0], [2.0]])), *pairs_within([0, 1], [0, 2]), [0, 2])
    >>> solve(Problem.ranking(view, [1.0])).beta
    array([0.25])
    """
    if not tol > 0.0:
        raise ValueError(f"tol is {tol}; it must be positive.")
    view = require_pairs(problem)
    begin = time.monotonic()
    native = native_pairs(view)
    run = _Run(problem, native, tol, None if time_limit is None else begin + time_limit)
    with single_threaded():
        beta = run.approximate(start, max_iter)
        if run.may_walk(max_iter):
            beta = run.finish(beta, max_iter)
    gradient = view.multiply(np.flatnonzero(beta), beta[beta != 0.0]) - problem.targets
    status = run.status
    if status is Status.SOLVED and kkt_violation(problem, beta, gradient) > tol:
        status = Status.STALLED  # what rounding of large kernel values leaves
    counts: dict[str, float] = {
        "status": status,
        "n_iter": run.n_iter,
        "n_breakpoints": run.n_breakpoints,
        "solve_time": time.monotonic() - begin,
    }
    return make_solution(problem, beta, gradient, counts)


class _Run:
    """One solve: what it has taken so far, and what is left of its time."""

    def __init__(
        self, problem: Problem, native: _core.RankPairs, tol: float, end: float | None
    ) -> None:
        self.problem = problem
        self.native = native
        self.tol = tol
        self.end = end
        self.status = Status.SOLVED
        self.n_iter = 0
        self.n_breakpoints = 0

    @property
    def seconds_left(self) -> float:
        """0 means no limit, as the native code has it."""
        return 0.0 if self.end is None else max(self.end - time.monotonic(), 1e-6)

    def approximate(self, start: Start | None, max_iter: int) -> FloatArray:
        view: Any = self.problem.kernel
        upper = self.problem.upper
        tol = min(self.tol, ENTRY_TOL) if max_iter < 0 else self.tol
        is_narrow = view.is_linear and view._X.shape[1] <= MAX_NEWTON_FEATURES
        if start is None and is_narrow:
            limits = _core.PairLimits(tol, max_iter)
            result = _core.solve_pairs_by_newton(self.native, upper, limits, self.seconds_left)
            # Rounding may stop it short of a tight tolerance: the walk continues from there.
            return self._take(result)
        if start is not None:
            self.problem.check_feasible(start.beta)
        beta = np.zeros(self.problem.n) if start is None else start.beta
        return self.descend(beta, tol, PASSES_BEFORE_WALK if max_iter < 0 else max_iter)

    def descend(self, beta: FloatArray, tol: float, max_passes: int) -> FloatArray:
        """Coordinate descent from beta."""
        limits = _core.PairLimits(tol, max_passes)
        upper = self.problem.upper
        return self._take(_core.descend_pairs(self.native, upper, beta, limits, self.seconds_left))

    def _take(self, result: _core.PairResult) -> FloatArray:
        self.status = Status(result.status)
        self.n_iter += result.n_passes
        return result.beta()

    def may_walk(self, max_iter: int) -> bool:
        """Whether the exact walk is to follow."""
        return max_iter < 0 and self.status not in (Status.INTERRUPTED, Status.TIME_LIMIT)

    def finish(self, beta: FloatArray, max_iter: int) -> FloatArray:
        """The exact solution near beta; where the walk does not arrive, descent to tol."""
        walker = _core.PairWalker(self.native)
        ended = walker.start(beta, self.problem.weights)
        if ended == ARRIVED:
            ended = walker.walk(1.0, MAX_FINISH_EVENTS, self.seconds_left)
        if ended == INTERRUPTED:
            self.status = Status.INTERRUPTED
            return beta
        if ended == ARRIVED and walker.refresh() <= self.tol:
            self.status = Status.SOLVED
            self.n_breakpoints = walker.counts.n_steps
            return walker.beta()
        if self.status is Status.SOLVED:
            return beta
        return self.descend(beta, self.tol, max_iter)
