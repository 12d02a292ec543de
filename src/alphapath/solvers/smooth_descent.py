"""A Newton-Armijo descent, a step at a time, so that several can share their passes over the data.

See smooth_newton.py for the problem and the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..margin_problem import MarginProblem
from ..margin_solution import MarginSolution
from ..problem import FloatArray
from ..solution import Info, Status
from .design_rows import DesignRows, combine_all, values_of_all
from .smooth_strategy import Newton, make_hessian

#: An instance this close to the kink has no loss to speak of: its state is the one assumed.
TIE = 1e-12
#: Armijo: the least share of the decrease that the slope promises.
DELTA = 1e-4
#: A gradient above this share of |theta|, which bounds the error of theta, is polished away.
RESIDUAL = 1e-8
#: A duality gap above this share of the objective is not rounding of the optimum.
UNSOLVED_GAP = 1e-9


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


class Descent:
    """The way of one problem to its optimum; `status` is None while it goes on.

    Parameters
    ----------
    problem : MarginProblem
    start : MarginSolution or None
    strategy : str
    n_iter : int
        Steps already spent on finding the start.
    """

    def __init__(
        self, problem: MarginProblem, start: MarginSolution | None, strategy: str, n_iter: int = 0
    ) -> None:
        self.problem, self.n_iter = problem, n_iter
        self.rows = DesignRows(problem)
        self.hessian = make_hessian(self.rows, strategy, None if start is None else start.workspace)
        self.status: Status | None = None
        if start is None:
            self.point = Point(np.zeros(self.rows.width), np.zeros(self.rows.n))
        else:
            theta = np.append(start.coef, [start.bias] * self.rows.n_offsets)
            self.point = Point(theta, start.decision_values)
        # Where features were dropped too, these states are nearer to the optimum's than those of
        # the theta that has lost them.
        self.states = states_of(problem, self.point.values)

    def propose(self) -> Newton:
        """The Newton step's end: theta, or the active instances and beta with theta = A'beta."""
        self.n_iter += 1
        self.hessian.move(2.0 * self.problem.weights * np.abs(self.states))
        return self.hessian.solve_newton(goals_of(self.problem, self.states))

    def accept(self, target: Point) -> None:
        """Stop at the target where it has the states assumed, else go an Armijo step towards it."""
        if is_consistent(self.problem, self.states, target.values):
            self.point, self.status = target, Status.SOLVED
            return
        step = _armijo_step(self.problem, self.point, target)
        if step == 0.0:
            self.status = Status.STALLED
            return
        self.point = self.point.towards(target, step)
        self.states = states_of(self.problem, self.point.values)

    def stop(self) -> None:
        """The time is up."""
        if self.status is None:
            self.status = Status.TIME_LIMIT

    def finish(self, gradient: FloatArray, tol: float, seconds: float) -> MarginSolution:
        """The solution, polished where a chain of updates left a residual."""
        status = Status.ITERATION_LIMIT if self.status is None else self.status
        if status is Status.SOLVED:
            gradient = self._polish(gradient)
        self.hessian.compact()
        norm = float(np.linalg.norm(gradient))
        objective = self.point.objective(self.problem)
        if status is Status.SOLVED and 0.5 * norm**2 > max(0.5 * tol**2, UNSOLVED_GAP * objective):
            status = Status.STALLED
        elif status is not Status.SOLVED and norm <= tol:
            status = Status.SOLVED
        info = Info(
            status=status,
            objective=objective,
            duality_gap=0.5 * norm**2,
            kkt_violation=norm,
            n_iter=self.n_iter,
            n_refreshes=self.hessian.n_refreshes,
            solve_time=seconds,
        )
        theta, d = self.point.theta, self.rows.d
        bias = float(theta[d]) if self.rows.n_offsets else 0.0
        return MarginSolution(self.problem, theta[:d], bias, self.point.values, info, self.hessian)

    def _polish(self, gradient: FloatArray) -> FloatArray:
        """One more step, and one with a fresh factor, while the residual is large."""
        for is_fresh in (False, True):
            limit = RESIDUAL * max(1e-3, float(np.linalg.norm(self.point.theta)))
            if np.linalg.norm(gradient) <= limit:
                break
            if is_fresh:
                self.hessian.refresh()
            theta = self.point.theta - self.hessian.solve(gradient)
            before, self.point = self.point, Point(theta, self.rows.values(theta))
            (better,) = gradients_at([self])
            if np.linalg.norm(better) < np.linalg.norm(gradient):
                gradient = better
            else:
                self.point = before
        return gradient


def set_first_points(descents: Sequence[Descent]) -> None:
    """Take the dropped features out of the points to begin from."""
    changed = []
    for descent in descents:
        is_gone = ~descent.rows.is_kept
        if descent.point.theta[is_gone].any():
            descent.point.theta[is_gone] = 0.0
            changed.append(descent)
    if changed:
        values = values_of_all(changed[0].rows, [descent.point.theta for descent in changed])
        for k, descent in enumerate(changed):
            descent.point.values = values[k]


def propose_points(descents: Sequence[Descent]) -> list[Point]:
    """The Newton target of each, with its values: one pass over the data for all of them."""
    ends = [descent.propose() for descent in descents]
    thetas = {k: end for k, end in enumerate(ends) if not isinstance(end, tuple)}
    duals = {k: end for k, end in enumerate(ends) if isinstance(end, tuple)}
    if duals:
        sums = combine_all([descents[k].rows for k in duals], list(duals.values()))
        thetas.update(zip(duals, sums, strict=True))
    found = [thetas[k] for k in range(len(ends))]
    values = values_of_all(descents[0].rows, found)
    return [Point(theta, f) for theta, f in zip(found, values, strict=True)]


def gradients_at(descents: Sequence[Descent]) -> list[FloatArray]:
    """theta - A'beta of each, beta_i = -c_i loss'(f_i); 0 on dropped features."""
    pulls = []
    for descent in descents:
        problem = descent.problem
        beta = -problem.weights * problem.slopes(descent.point.values)
        active = np.flatnonzero(beta)
        pulls.append((active, beta[active]))
    sums = combine_all([descent.rows for descent in descents], pulls)
    return [descent.point.theta - total for descent, total in zip(descents, sums, strict=True)]


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
