"""Newton's method with Armijo's rule for the smooth SVM: squared losses, penalised offset or none.

    minimise  1/2 |theta|^2 + 1/2 sum_i D_i (t_i - a_i'theta)^2  over the active instances

The objective is piecewise quadratic: which instances are active, and on which side, is their
*state*; with the states held, D_i = 2 c_i on the active ones, t_i = y_i (less the tube's half-width
on the side it is on), and the Newton step goes to the theta at which H theta = A'diag(D) t,
H = I + A'diag(D)A. A theta that has the states it was computed for is the exact optimum. From one
step to the next, and from one problem to a neighbour, few states change: how H follows is the
strategy (paper 003, Algorithm 1; smooth_feature.py and smooth_instance.py).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..errors import InfeasibleStart, SolverMismatch
from ..margin_problem import MarginProblem
from ..margin_solution import MarginSolution
from ..problem import FloatArray
from ..solution import Info, Status
from .design_rows import DesignRows
from .lapack import single_threaded
from .smooth_strategy import STRATEGIES, Hessian, make_hessian

SQUARED_LOSSES = ("squared_hinge", "squared_epsilon_insensitive")
#: An instance this close to the kink has no loss to speak of: its state is the one assumed.
TIE = 1e-12
#: Armijo: the least share of the decrease that the slope promises.
DELTA = 1e-4
#: A gradient above this share of |theta| after the last step is rounding of a chain of updates.
RESIDUAL = 1e-10
#: Below this many active instances or features a cold start is not worth a smaller problem first.
SMALL = 1024


def states_of(problem: MarginProblem, values: FloatArray) -> FloatArray:
    """The side of the kink on which each instance has a loss, +1 or -1; 0 where it has none."""
    y = problem.targets
    if problem.loss == "squared_hinge":
        return np.where((y * values < 1.0) & (problem.weights > 0.0), y, 0.0)
    error = y - values
    is_active = (np.abs(error) > problem.width) & (problem.weights > 0.0)
    return np.where(is_active, np.sign(error), 0.0)


def goals_of(problem: MarginProblem, states: FloatArray) -> FloatArray:
    """t: the value at which the quadratic of an active instance has its minimum."""
    return problem.targets - problem.width * states


def is_consistent(problem: MarginProblem, states: FloatArray, values: FloatArray) -> bool:
    """Whether `values` have these states, ties aside."""
    differs = np.flatnonzero(states_of(problem, values) != states)
    y, f = problem.targets[differs], values[differs]
    if problem.loss == "squared_hinge":
        distance = np.abs(1.0 - y * f)
    else:
        distance = np.abs(np.abs(y - f) - problem.width)
    return bool((distance <= TIE * np.maximum(1.0, np.abs(y))).all())


@dataclass
class Point:
    """theta = [w; b] with A theta."""

    theta: FloatArray
    values: FloatArray

    def objective(self, problem: MarginProblem) -> float:
        return 0.5 * float(self.theta @ self.theta) + float(
            problem.weights @ problem.losses(self.values)
        )

    def towards(self, other: Point, step: float) -> Point:
        if step == 1.0:
            return other
        return Point(
            self.theta + step * (other.theta - self.theta),
            self.values + step * (other.values - self.values),
        )


def solve(
    problem: MarginProblem,
    start: MarginSolution | None = None,
    *,
    strategy: str = "auto",
    tol: float = 1e-8,
    max_iter: int = 200,
    time_limit: float | None = None,
) -> MarginSolution:
    """The exact optimum of `problem`, from `start` (None: from zero).

    Parameters
    ----------
    start : MarginSolution or None
        Of a problem on the same X, with other weights, targets or dropped features; its Hessian is
        updated by the instances whose states differ.
    strategy : {"auto", "feature", "instance", "none"}
        Where H is kept: d x d, or through the active instances, or the cheaper of the two by
        predicted flops at every step; "none" forms and factors it anew at every step.
    tol : float
        Norm of the gradient at which a theta passes whose states are not those assumed; it bounds
        the distance to the optimum.
    max_iter : int
        Newton steps.

    Returns
    -------
    MarginSolution
        Its status is SOLVED, ITERATION_LIMIT, TIME_LIMIT, or STALLED where rounding stopped it.
    """
    _check(problem, start, strategy, tol)
    begin = time.perf_counter()
    with single_threaded():
        rows = DesignRows(problem)
        n_iter = 0
        if start is None:
            start, n_iter = _solve_smaller(problem, strategy, time_limit)
        hessian = make_hessian(rows, strategy, None if start is None else start.workspace)
        point = _first_point(rows, start)
        status = Status.ITERATION_LIMIT
        states = states_of(problem, point.values)
        while n_iter < max_iter:
            n_iter += 1
            hessian.move(2.0 * problem.weights * np.abs(states))
            theta = hessian.solve_newton(goals_of(problem, states))
            target = Point(theta, rows.values(theta))
            if is_consistent(problem, states, target.values):
                point, status = target, Status.SOLVED
                break
            step = _armijo_step(problem, point, target)
            if step == 0.0:
                status = Status.STALLED
                break
            point = point.towards(target, step)
            states = states_of(problem, point.values)
            if time_limit is not None and time.perf_counter() - begin > time_limit:
                status = Status.TIME_LIMIT
                break
        point, gradient = _polish(problem, rows, hessian, point, status)
    norm = float(np.linalg.norm(gradient))
    if status is not Status.SOLVED and norm <= tol:
        status = Status.SOLVED
    info = Info(
        status=status,
        objective=point.objective(problem),
        duality_gap=0.5 * norm**2,
        kkt_violation=norm,
        n_iter=n_iter,
        n_refreshes=hessian.n_refreshes,
        solve_time=time.perf_counter() - begin,
    )
    bias = float(point.theta[rows.d]) if rows.n_offsets else 0.0
    return MarginSolution(problem, point.theta[: rows.d], bias, point.values, info, hessian)


def gradient_at(problem: MarginProblem, rows: DesignRows, point: Point) -> FloatArray:
    """theta - A'beta, beta_i = -c_i loss'(f_i); 0 on dropped features."""
    beta = -problem.weights * problem.slopes(point.values)
    active = np.flatnonzero(beta)
    return point.theta - rows.combine(active, beta[active])


def _polish(
    problem: MarginProblem, rows: DesignRows, hessian: Hessian, point: Point, status: Status
) -> tuple[Point, FloatArray]:
    """One more step, and a fresh factor, where a chain of updates left a residual."""
    gradient = gradient_at(problem, rows, point)
    for is_fresh in (False, True):
        limit = RESIDUAL * max(1e-3, float(np.linalg.norm(point.theta)))
        if status is not Status.SOLVED or np.linalg.norm(gradient) <= limit:
            break
        if is_fresh:
            hessian.refresh()
        theta = point.theta - hessian.solve(gradient)
        better = Point(theta, rows.values(theta))
        better_gradient = gradient_at(problem, rows, better)
        if np.linalg.norm(better_gradient) < np.linalg.norm(gradient):
            point, gradient = better, better_gradient
    return point, gradient


def _first_point(rows: DesignRows, start: MarginSolution | None) -> Point:
    if start is None:
        return Point(np.zeros(rows.width), np.zeros(rows.n))
    theta = np.append(start.coef, [start.bias] * rows.n_offsets)
    values = start.decision_values
    if rows.dropped is not None:
        gone = np.flatnonzero(rows.dropped & (theta[: rows.d] != 0.0))
        values = values - np.asarray(rows.X[:, gone] @ theta[gone])
        theta[gone] = 0.0
    return Point(theta, values)


def _armijo_step(problem: MarginProblem, point: Point, target: Point) -> float:
    """The largest of 1, 1/2, 1/4, ... with a sufficient decrease; 0 where rounding leaves none."""
    direction = target.theta - point.theta
    rise = target.values - point.values
    slope = float(point.theta @ direction) + float(
        (problem.weights * problem.slopes(point.values)) @ rise
    )
    now = point.objective(problem)
    # No decrease can be seen below the rounding of the objective itself.
    slack = 4.0 * np.finfo(np.float64).eps * abs(now)
    step = 1.0
    while step > 1e-10:
        if point.towards(target, step).objective(problem) <= now + DELTA * step * slope + slack:
            return step
        step /= 2.0
    return 0.0


def _solve_smaller(
    problem: MarginProblem, strategy: str, time_limit: float | None
) -> tuple[MarginSolution | None, int]:
    """From zero every instance is active; where that is large, begin from a quarter of them."""
    used = np.flatnonzero(problem.weights)
    if min(used.size, problem.d) <= SMALL:
        return None, 0
    order = used[np.argsort(problem.targets[used], kind="stable")]  # of every class its share
    mask = np.ones(problem.n, dtype=bool)
    mask[order[::4]] = False
    smaller = solve(problem.with_held_out(mask), strategy=strategy, tol=1e-2, time_limit=time_limit)
    return smaller, smaller.info.n_iter


def _check(problem: MarginProblem, start: MarginSolution | None, strategy: str, tol: float) -> None:
    if problem.loss not in SQUARED_LOSSES:
        raise SolverMismatch(
            f"The smooth_newton solver is for the losses {' and '.join(SQUARED_LOSSES)}, but this "
            f"one is {problem.loss}; use a solver of LinearSVC."
        )
    if strategy not in STRATEGIES:
        raise ValueError(
            f"strategy is {strategy!r}; it must be one of {', '.join(map(repr, STRATEGIES))}."
        )
    if not tol > 0.0:
        raise ValueError(f"tol is {tol}; it must be positive.")
    if start is not None and start.problem.X is not problem.X:
        raise InfeasibleStart(
            "The start is on another X; it must be a solution on the same instances."
        )
