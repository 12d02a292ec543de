"""A Newton-Armijo descent, a step at a time, so that several can share their passes over the data.

See newton.py for the problem and the method.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem
from ...problem.solution import Info, MarginSolution, Status
from .design_rows import DesignRows, Indices, combine_all, values_of_all
from .refine import DualSystem, combine_refined
from .settle import settle
from .states import (
    Point,
    curvatures_of,
    distance_to_kink,
    find_armijo_step,
    goals_of,
    is_consistent,
    states_of,
)
from .strategy import Newton, learn_together, make_hessian

#: A gradient above this share of |theta|, which bounds the error of theta, is polished away.
RESIDUAL = 1e-8
#: More instances than those with a loss whose products are computed, as a share of these.
MORE = 0.08
#: Steps that do not lower the objective before rounding is taken for their cause.
MOST_IDLE = 20
#: A duality gap above this share of the objective is not rounding of the optimum.
UNSOLVED_GAP = 1e-9


class Descent:
    """The descent of one problem to its optimum; `status` is None while it is running.

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
        self.least_objective, self.n_idle = np.inf, 0
        self.may_settle, self.is_settled = strategy != "none", False
        if start is None:
            self.point = _make_point(np.zeros(self.rows.width), np.zeros(self.rows.n))
        else:
            theta = np.append(start.coef, [start.bias] * self.rows.n_offsets)
            self.point = _make_point(theta, start.decision_values)
        # Where features were dropped the theta that has lost them is no place to begin from: the
        # first target is, by the states from before, which are nearer to the optimum's.
        self.is_placed = not self.point.position[~self.rows.is_kept].any()
        # A first target that shows who has a loss need not be precise.
        self.is_guess = not self.is_placed or start is None or start.workspace is None
        self.states = states_of(problem, self.point.values)

    def prepare(self) -> Indices | None:
        """Choose the Hessian; return the instances whose products it needs, or None."""
        self.curvatures = curvatures_of(self.problem, self.states)
        self.hessian.choose(self.curvatures)
        products = self.hessian.products
        # Without the features lost others will have a loss: no use to settle before they are seen.
        self.is_settled = products is not None and self.may_settle and self.is_placed
        if products is None or products.known.size == self.problem.n:
            return None
        active = np.flatnonzero(self.curvatures)
        return self._add_near(active) if self.is_settled else active

    def propose(self) -> Newton:
        """The end of the Newton step: theta, or active instances and beta with theta = A'beta."""
        self.hessian.move(self.curvatures)
        known = self.hessian.products_at_hand() if self.is_settled else None
        self.is_settled = known is not None
        if known is None:
            self.n_iter += 1
            return self.hessian.solve_newton(goals_of(self.problem, self.states))
        self.states, end, n_steps = settle(known, self.problem, self.states)
        self.n_iter += n_steps
        return end

    def state_system(self, answer: tuple[Indices, FloatArray]) -> DualSystem:
        """The system that the end of the step solves."""
        return DualSystem(
            self.problem,
            self.rows,
            self.hessian.chosen,
            self.states,
            answer,
            is_settled=self.is_settled,
            is_refined=not self.is_guess,
        )

    def _add_near(self, active: Indices) -> Indices:
        """With the instances that are likely to be the next to have a loss."""
        distance = distance_to_kink(self.problem, self.point.values)
        distance[(self.curvatures > 0.0) | (self.problem.weights == 0.0)] = np.inf
        n_more = min(int(MORE * active.size), int(np.count_nonzero(distance < np.inf)))
        return np.concatenate([active, np.argpartition(distance, n_more)[:n_more]])

    def accept(self, target: Point) -> None:
        """Stop at the target if it has the assumed states, else take an Armijo step towards it."""
        is_exact = not (self.is_guess and self.hessian.is_single)
        self.is_guess = False
        if is_exact and is_consistent(self.problem, self.states, target.values):
            self.point, self.status = target, Status.SOLVED
            return
        if self.is_settled and self.hessian.is_single:
            self._check_settled(target.values)
        step = find_armijo_step(self.problem, self.point, target) if self.is_placed else 1.0
        self.is_placed = True
        if step > 0.0 and not self._is_idle():
            self.point = self.point.towards(target, step)
        elif self.is_settled:  # rounding of the products: plain steps from here on
            self.may_settle, self.n_idle = False, 0
        else:
            self.status = Status.STALLED
            return
        self.states = states_of(self.problem, self.point.values)

    def _is_idle(self) -> bool:
        """Whether the objective has not fallen for many steps: it moves by its rounding alone."""
        objective = self.point.objective(self.problem)
        self.n_idle = 0 if objective < self.least_objective else self.n_idle + 1
        self.least_objective = min(objective, self.least_objective)
        return self.n_idle > MOST_IDLE

    def _check_settled(self, values: FloatArray) -> None:
        """Settle no more where only known instances differ: their products are too rough."""
        products = self.hessian.products
        if products is not None:
            differs = states_of(self.problem, values) != self.states
            self.may_settle = bool((products.place[differs] < 0).any())

    def stop(self) -> None:
        """End the descent because the time limit has expired."""
        if self.status is None:
            self.status = Status.TIME_LIMIT

    def finish(self, gradient: FloatArray, tol: float, seconds: float) -> MarginSolution:
        """The solution, polished if a chain of updates left a residual."""
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
        theta, d = self.point.position, self.rows.d
        bias = float(theta[d]) if self.rows.n_offsets else 0.0
        return MarginSolution(self.problem, theta[:d], bias, self.point.values, info, self.hessian)

    def _polish(self, gradient: FloatArray) -> FloatArray:
        """One more step, and one with a fresh factor, while the residual is large."""
        for is_fresh in (False, True):
            limit = RESIDUAL * max(1e-3, float(np.linalg.norm(self.point.position)))
            if np.linalg.norm(gradient) <= limit:
                break
            if is_fresh:
                self.hessian.refresh()
            theta = self.point.position - self.hessian.solve(gradient)
            before, self.point = self.point, _make_point(theta, self.rows.values(theta))
            (better,) = gradients_at([self])
            if np.linalg.norm(better) < np.linalg.norm(gradient):
                gradient = better
            else:
                self.point = before
        return gradient


def propose_points(descents: Sequence[Descent]) -> list[Point]:
    """The Newton target of each, with its values: one pass over the data for all of them."""
    wanted = [descent.prepare() for descent in descents]
    learn_together([(d.hessian.products, own) for d, own in zip(descents, wanted, strict=True)])
    ends = [descent.propose() for descent in descents]
    thetas = {k: end for k, end in enumerate(ends) if not isinstance(end, tuple)}
    duals = {
        k: descents[k].state_system(end) for k, end in enumerate(ends) if isinstance(end, tuple)
    }
    if duals:
        thetas.update(zip(duals, combine_refined(list(duals.values())), strict=True))
    for k, system in duals.items():
        descents[k].states = system.states
    found = [thetas[k] for k in range(len(ends))]
    values = values_of_all(descents[0].rows, found)
    return [_make_point(theta, f) for theta, f in zip(found, values, strict=True)]


def gradients_at(descents: Sequence[Descent]) -> list[FloatArray]:
    """theta - A'beta of each, beta_i = -c_i loss'(f_i); 0 on dropped features."""
    pulls = []
    for descent in descents:
        problem = descent.problem
        beta = -problem.weights * problem.slopes(descent.point.values)
        active = np.flatnonzero(beta)
        pulls.append((active, beta[active]))
    sums = combine_all([descent.rows for descent in descents], pulls)
    return [descent.point.position - total for descent, total in zip(descents, sums, strict=True)]


def _make_point(theta: FloatArray, values: FloatArray) -> Point:
    return Point(theta, values, theta)
