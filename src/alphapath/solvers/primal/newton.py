"""Newton's method on a MarginProblem, along a sequence of C.

    minimise  1/2 |theta|^2 + C sum_i c_i loss(m_i)

On fixed segments of the loss the objective is quadratic; the sums over all rows follow from a few
moments that change only when a row crosses a kink, and lazy bounds say which rows may have. Up to
MAX_GRAM features, the second moments are stored as a matrix and each system is solved exactly;
beyond, by conjugate gradients over the rows on the parabola.

A narrow Huber loss is curved for few rows only, so far from the optimum its Newton steps mean
little: it is reached through wider ones. The hinge has no second derivative at all: it is the limit
of Huber losses whose width shrinks until the duality gap of the hinge itself is small enough.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import _core
from ...errors import SolverMismatch
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem, scale_weights
from ...problem.solution import Info, MarginSolution, Status
from ..native import single_threaded
from . import interior as margin_interior
from .gap import PointQuality, measure_point
from .rows import make_task, read_rows, require_margins

#: Features up to which the matrix of second moments is kept.
MAX_GRAM = 1200
#: The width of the first Huber loss on the way to a narrow one or to the hinge (at theta = 0 all
#: rows are on its curve), and by what it shrinks.
FIRST_WIDTH = 2.0
SHRINKING = 0.3
#: Of the tol: a width at which a gap that is still larger is rounding.
NARROW_ENOUGH = 0.02
#: The tolerance of the gradient norm for a tol of 1: with the default tol of 1e-4 a twentieth of
#: LIBLINEAR's 0.01. Where C is small it is squared (cpp/src/primal/newton/newton.hpp).
GRADIENT_SHARE = 5.0
#: With the second moments kept, the last system costs next to nothing and gains many digits. So the
#: squared hinge is solved to this share of the tol, down to a gap of EXACT: rates of a search then
#: are those of the optimum.
LAST_SHARE, EXACT = 0.1, 1e-8
#: Systems of one loss after which Newton's method is taken to go round in circles; and, with up to
#: so many values of X, all systems on the way to the hinge after which interior points are faster.
MANY_SYSTEMS = 200
SMALL, MANY_OF_SMALL = 1 << 17, 80
#: Folds whose passes over the data are shared.
MAX_TOGETHER = 8


@dataclass(frozen=True)
class NewtonLimits:
    """Gap relative to the objective, systems solved per C, seconds (None: no limit).

    `aim` (None: tol) is the gap to aim for, if rounding allows it; a gap within `tol` is solved.
    """

    tol: float = 1e-4
    max_iter: int = 200
    time_limit: float | None = None
    aim: float | None = None

    @property
    def goal(self) -> float:
        """The gap at which to stop."""
        return self.tol if self.aim is None else min(self.aim, self.tol)


class NewtonPath:
    """Solutions of one problem for a sequence of C, each warm-started from the previous one.

    Parameters
    ----------
    problem : MarginProblem
        The weights are those of C = 1.
    limits : NewtonLimits
    rows : MarginRows or None
        The rows of problem.X, if the caller has read them.
    gram : array of shape (D, D) or None
        sum_i c_i x_i x_i' (lower triangle), if the caller has it.

    Examples
    --------
    >>> problem = MarginProblem(np.eye(2), [1.0, -1.0], [1.0, 1.0], offset="none")
    >>> path = NewtonPath(problem)
    >>> [round(float(path.solve(C).coef[0]), 6) for C in (0.5, 2.0)]
    [0.5, 0.8]
    """

    def __init__(
        self,
        problem: MarginProblem,
        limits: NewtonLimits | None = None,
        *,
        rows: _core.MarginRows | None = None,
        gram: FloatArray | None = None,
    ) -> None:
        require_margins(problem, "newton")
        self.problem = problem
        self.limits = limits or NewtonLimits()
        self.rows = read_rows(problem.X) if rows is None else rows
        self._width = FIRST_WIDTH
        smooth = replace(problem, loss="huber", width=FIRST_WIDTH)
        task = make_task(problem if problem.loss == "squared_hinge" else smooth, self.rows)
        self._native = _core.NewtonPath(task, native_options(problem, self.limits), gram)

    def start_from(self, coef: FloatArray, bias: float = 0.0) -> None:
        """Move to (coef, bias), from which the next solve starts."""
        has_bias = self.problem.offset != "none"
        theta = np.append(coef, bias) if has_bias else np.asarray(coef, dtype=np.float64)
        self._native.move_to(np.ascontiguousarray(theta))

    def solve(self, C: float = 1.0) -> MarginSolution:
        """The solution for the weights C * problem.weights."""
        info, theta, point = self._step(C, wants_values=True)
        problem = self._problem_at(C)
        if info.status is Status.STALLED and margin_interior.can_solve(problem):
            return self._rescue(problem, info)
        return MarginSolution(problem, theta[:-1], float(theta[-1]), point.values, info)

    def step(self, C: float) -> tuple[Info, FloatArray, float]:
        """The same without decision values: Info, coef and bias."""
        info, theta, _ = self._step(C, wants_values=False)
        problem = self._problem_at(C)
        if info.status is Status.STALLED and margin_interior.can_solve(problem):
            found = self._rescue(problem, info)
            return found.info, found.coef, found.bias
        return info, theta[:-1].copy(), float(theta[-1])

    def _step(self, C: float, wants_values: bool) -> tuple[Info, FloatArray, PointQuality]:
        """Newton's method alone; its status is that of the gap recomputed from all rows."""
        if not 0.0 < C < np.inf:
            raise ValueError(f"C is {C}; it must be positive and finite.")
        began = time.perf_counter()
        with single_threaded():
            if self.problem.loss == "hinge":
                result = self._solve_hinge(C, began)
            elif self.problem.loss == "huber":
                result = self._solve_huber(C, began)
            else:
                result = self._native.solve(C, self._time_left(began))
        theta = self._theta()
        width = self._width if self.problem.loss == "hinge" else None
        point = measure_point(
            self.problem, self.rows, theta, C, width=width, wants_values=wants_values
        )
        status = Status(result.status)
        if status is Status.ITERATION_LIMIT and result.n_iter < self.limits.max_iter:
            status = Status.STALLED
        if status in (Status.SOLVED, Status.STALLED):
            is_good = point.gap <= self.limits.tol * point.objective
            status = Status.SOLVED if is_good else Status.STALLED
        info = Info(
            status=status,
            objective=point.objective,
            duality_gap=point.gap,
            kkt_violation=point.gradient_norm,
            n_iter=result.n_iter,
            n_rows_computed=self._native.n_examined,
            solve_time=time.perf_counter() - began,
        )
        return info, theta, point

    def _problem_at(self, C: float) -> MarginProblem:
        if C == 1.0:
            return self.problem
        return self.problem.with_weights(scale_weights(self.problem.weights, C))

    def _rescue(self, problem: MarginProblem, info: Info) -> MarginSolution:
        """Where rounding stopped Newton's method: the dual, with unknowns of its own."""
        limit = self.limits.time_limit
        left = None if limit is None else max(limit - info.solve_time, 1e-6)
        found = margin_interior.solve(
            problem, tol=self.limits.tol, aim=self.limits.goal, time_limit=left
        )
        counts = replace(
            found.info,
            n_iter=info.n_iter + found.info.n_iter,
            n_rows_computed=info.n_rows_computed + found.info.n_rows_computed,
            n_fallbacks=1,
            solve_time=info.solve_time + found.info.solve_time,
        )
        return replace(found, info=counts)

    def _theta(self) -> FloatArray:
        theta: FloatArray = self._native.theta
        return np.append(theta, 0.0) if self.problem.offset == "none" else theta

    def _time_left(self, began: float) -> float:
        """Seconds for the native solver, where 0 means no limit."""
        limit = self.limits.time_limit
        return 0.0 if limit is None else max(limit - (time.perf_counter() - began), 1e-6)

    def _set_width(self, width: float) -> None:
        self._width = width
        self._native.set_loss(_core.MarginLoss.huber(width))

    def _solve_huber(self, C: float, began: float) -> Any:
        """From the last C; without one, or where that stalls, through wider losses."""
        target = self.problem.width
        if self._width == target:
            result = self._native.solve(C, self._time_left(began))
            if result.status != Status.STALLED:
                return result
        width = max(FIRST_WIDTH, target)
        n_iter = 0
        while True:
            self._set_width(width)
            result = self._native.solve(C, self._time_left(began))
            n_iter += result.n_iter
            if width == target or result.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                return _Counted(result.status, n_iter)
            width = max(target, SHRINKING * width)

    def _solve_hinge(self, C: float, began: float) -> Any:
        """Huber losses of shrinking width until the gap of the hinge is within tol."""
        # A neighbouring C needs about the same width: step back once instead of starting again.
        self._width = min(FIRST_WIDTH, self._width / SHRINKING)
        n_iter = 0
        while True:
            self._set_width(self._width)
            result = self._native.solve(C, self._time_left(began))
            n_iter += result.n_iter
            if result.status in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.ITERATION_LIMIT):
                return _Counted(result.status, n_iter)
            point = measure_point(self.problem, self.rows, self._theta(), C, width=self._width)
            if point.gap <= self.limits.goal * point.objective:
                return _Counted(Status.SOLVED, n_iter)
            if n_iter > MANY_OF_SMALL and self.problem.n * self.problem.d <= SMALL:
                return _Counted(Status.STALLED, n_iter)
            # The loss of this width is that of the hinge to a share of 2 width: no need to go on.
            if self._width <= NARROW_ENOUGH * self.limits.goal:
                return _Counted(Status.STALLED, n_iter)
            self._width *= SHRINKING


class JointPaths:
    """Paths of several folds side by side: each move of all of them reads the data once.

    Parameters
    ----------
    problems : list of MarginProblem
        One per fold, at most MAX_TOGETHER, on the same X and targets. A row of weight 0 is held
        out, in at most one fold. The loss is the squared hinge; beyond MAX_GRAM features, a free
        offset is not supported.
    limits : NewtonLimits
    rows : MarginRows
    grams : list of arrays
        One per fold as for NewtonPath, or empty.
    signs_only : bool
        Whether the signs of the decision values suffice; the values may then be outdated.
    """

    def __init__(
        self,
        problems: list[MarginProblem],
        limits: NewtonLimits,
        *,
        rows: _core.MarginRows,
        grams: list[FloatArray],
        signs_only: bool = False,
    ) -> None:
        first = problems[0]
        require_margins(first, "newton")
        if not can_go_together(first):
            raise SolverMismatch(
                f"Paths side by side are for the squared_hinge loss, with a free offset for at "
                f"most {MAX_GRAM} features, but the loss is {first.loss}, the offset "
                f"{first.offset} and there are {first.d} features; use one NewtonPath a fold."
            )
        tasks = [make_task(problem, rows) for problem in problems]
        self._time_limit = limits.time_limit or 0.0
        self._has_bias = first.offset != "none"
        options = native_options(first, limits)
        options.are_signs_enough = signs_only
        self._native = _core.JointPaths(tasks, options, grams)

    def step(self, C: float) -> tuple[list[_core.NewtonResult], FloatArray]:
        """The Info of each solve, and the decision value of each row where it is held out."""
        results = self._native.solve(C, self._time_limit)
        if any(result.status == Status.INTERRUPTED for result in results):
            raise KeyboardInterrupt
        values: FloatArray = self._native.held_out_values
        return results, values

    def solution(self, number: int) -> tuple[FloatArray, float]:
        """coef and bias of the path with this number at the last C."""
        theta: FloatArray = self._native.theta(number)
        return (theta[:-1], float(theta[-1])) if self._has_bias else (theta, 0.0)


def native_options(problem: MarginProblem, limits: NewtonLimits) -> _core.NewtonOptions:
    """The offset of the problem and the limits, for the native paths."""
    options = _core.NewtonOptions()
    options.has_bias = problem.offset != "none"
    options.bias_penalty = 1.0 if problem.offset == "penalised" else 0.0
    options.keeps_gram = keeps_gram(problem)
    options.tol, options.max_iter = limits.goal, limits.max_iter
    if margin_interior.can_solve(problem):
        options.max_iter = min(limits.max_iter, MANY_SYSTEMS)
    if problem.loss == "squared_hinge":
        options.gradient_tol = GRADIENT_SHARE * limits.tol
        if options.keeps_gram:
            options.tol = min(limits.goal, max(LAST_SHARE * limits.tol, EXACT))
    # The gap of the hinge counts the slope of a free bias as it is, not its square.
    options.bias_tol = (0.1 if problem.loss == "hinge" else 1.0) * limits.goal
    return options


@dataclass(frozen=True)
class _Counted:
    """A NewtonResult over several widths."""

    status: int
    n_iter: int


def keeps_gram(problem: MarginProblem) -> bool:
    """Whether the second moments are stored as a matrix."""
    return problem.d <= MAX_GRAM


def can_go_together(problem: MarginProblem) -> bool:
    """Whether folds of this problem can share their passes over the data."""
    is_squared = problem.loss == "squared_hinge"
    return is_squared and (keeps_gram(problem) or problem.offset != "free")


def solve(
    problem: MarginProblem,
    start: tuple[FloatArray, float] | None = None,
    *,
    limits: NewtonLimits | None = None,
    rows: _core.MarginRows | None = None,
) -> MarginSolution:
    """Minimise from `start` = (coef, bias), or from 0."""
    path = NewtonPath(problem, limits, rows=rows)
    if start is not None:
        path.start_from(*start)
    return path.solve()
