"""An interior-point method on the dual of a MarginProblem: slower, but not stopped by rounding.

    minimise  1/2 |u|^2 + 1/2 a'Qa - r'a,    u = Z'a,    0 <= a_i <= 1 (or no upper bound)

over the shares a_i = alpha_i / c_i, with the rows Z_i = c_i y_i (x_i, 1), r_i = c_i high and Q_i =
c_i / (2 q) of a loss that is q (high - m)^2 on its parabola (0 for the hinge). A free offset
has no part in |u|, and demands that its sum be 0. With the slacks s of a >= 0 and t of a <= 1, a
step solves one system of the size of theta,

    (P + Z'D Z) dtheta = ...,    1 / D_i = Q_i + s_i / a_i + t_i / (1 - a_i)

(Mehrotra's predictor and corrector; P is 1, and 0 at a free offset). A narrow parabola, a large C
and a row of huge weight are only numbers in D. The duals are unknowns of their own here, so the
gap is not lost where slopes amplify the rounding of margins: it is for what Newton's method leaves
STALLED. Rows are centred where the offset is free, and turned to their principal axes, so that
large common parts take no digits from the rest.

Legend: theta the model, a shares of c, s and t slacks, mu their mean product.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...problem.box_problem import FloatArray
from ...problem.certificate import balance, certify_margin, dual_objective
from ...problem.margin_problem import MarginProblem
from ...problem.solution import Info, MarginSolution, Status
from ..native import single_threaded

#: Values of X up to which the rows are copied in double (1 GB), and rows or features at most.
MOST_VALUES, MOST_UNKNOWNS = 1 << 27, 1200
#: Steps at most; steps without a better gap after which rounding is what is left.
MAX_STEPS, MAX_IDLE = 100, 12
#: How far of the way to the boundary a step goes.
SHORT = 0.995


def can_solve(problem: MarginProblem) -> bool:
    """Whether the rows fit."""
    is_margin = problem.loss != "squared_epsilon_insensitive" and problem.dropped is None
    is_small = min(problem.n, problem.d) <= MOST_UNKNOWNS
    return is_margin and is_small and problem.n * problem.d <= MOST_VALUES


@dataclass
class _Rows:
    """Rows times their signs and weights in a basis of their own, and the way back."""

    Z: FloatArray  # (n, D); the last column is that of the offset, where there is one
    axes: FloatArray
    centre: FloatArray
    offset: str

    @classmethod
    def make(cls, problem: MarginProblem, used: NDArray[np.intp]) -> _Rows:
        X = problem.X[used]
        X = np.array(X.toarray() if problem.is_sparse else X, dtype=np.float64)
        centre = np.zeros(problem.d)
        if problem.offset == "free":
            centre = X.mean(axis=0)
            X -= centre
        elif problem.offset == "penalised":
            X = np.column_stack([X, np.ones(used.size)])
        size = float(np.abs(X).max(initial=0.0)) or 1.0
        X /= size
        if X.shape[0] < X.shape[1]:  # the model lies in the span of the rows
            axes = np.linalg.svd(X, full_matrices=False)[2].T
        else:
            axes = np.linalg.eigh(X.T @ X)[1]
        X *= size
        X = X @ axes
        if problem.offset == "free":
            X = np.column_stack([X, np.ones(used.size)])
        X *= (problem.weights[used] * problem.targets[used])[:, None]
        return cls(X, axes, centre, problem.offset)

    def model(self, theta: FloatArray) -> tuple[FloatArray, float]:
        """coef and bias of a theta in this basis."""
        if self.offset == "free":
            w = self.axes @ theta[:-1]
            return w, float(theta[-1] - w @ self.centre)
        w = self.axes @ theta
        return (w[:-1], float(w[-1])) if self.offset == "penalised" else (w, 0.0)


class _Iterate:
    """The unknowns, and one step after the other."""

    def __init__(self, problem: MarginProblem, used: NDArray[np.intp], rows: _Rows) -> None:
        c = problem.weights[used]
        self.Z = rows.Z
        self.penalty = np.ones(self.Z.shape[1])
        if problem.offset == "free":
            self.penalty[-1] = 0.0
        self.has_top = problem.loss != "squared_hinge"
        width = problem.width if problem.loss == "huber" else 0.0
        self.r = c * (1.0 + width)
        self.Q = 2.0 * width * c if self.has_top else 0.5 * c
        self.theta = np.zeros(self.Z.shape[1])
        self.a = np.full(c.size, 0.5)
        self.s = c.copy()
        self.t = self.s + self.r - self.Q * self.a if self.has_top else np.zeros(c.size)

    def step(self) -> bool:
        """One predictor and corrector; False where no number is left."""
        a, s, t = self.a, self.s, self.t
        room = 1.0 - a if self.has_top else np.ones_like(a)
        stationary = self.Z @ self.theta + self.Q * a - self.r - s + t
        balance_ = self.Z.T @ a - self.penalty * self.theta
        n_products = a.size * (1 + self.has_top)
        mu = self.mean_product()
        D = 1.0 / (self.Q + s / a + t / room)
        solve = self._factor(D)

        def direction(to_s: FloatArray, to_t: FloatArray) -> tuple[FloatArray, ...]:
            right = -stationary + to_s / a - to_t / room
            dtheta = solve(self.Z.T @ (D * right) + balance_)
            da = D * (right - self.Z @ dtheta)
            ds = (to_s - s * da) / a
            dt = (to_t + t * da) / room if self.has_top else np.zeros_like(t)
            return dtheta, da, ds, dt

        _, da, ds, dt = direction(-a * s, -room * t)
        length = self._longest(da, ds, dt)
        after = float((a + length * da) @ (s + length * ds))
        if self.has_top:
            after += float((room - length * da) @ (t + length * dt))
        goal = mu * min(1.0, max(after / n_products / mu, 0.0)) ** 3
        to_t = goal - room * t + da * dt if self.has_top else -room * t
        dtheta, da, ds, dt = direction(goal - a * s - da * ds, to_t)
        if not all(np.isfinite(part).all() for part in (dtheta, da, ds, dt)):
            return False
        length = min(1.0, SHORT * self._longest(da, ds, dt, 1e300))
        self.theta = self.theta + length * dtheta
        self.a, self.s, self.t = a + length * da, s + length * ds, t + length * dt
        return True

    def mean_product(self) -> float:
        """mu, which is 0 at the optimum."""
        at_top = float((1.0 - self.a) @ self.t) if self.has_top else 0.0
        return (float(self.a @ self.s) + at_top) / (self.a.size * (1 + self.has_top))

    def _factor(self, D: FloatArray) -> Any:
        """Solves with P + Z'D Z, its diagonal scaled to 1, refined once."""
        M = (self.Z * D[:, None]).T @ self.Z
        M[np.diag_indices_from(M)] += self.penalty
        scale = 1.0 / np.sqrt(np.diag(M))
        scaled = M * scale[:, None] * scale
        ridge = 0.0
        while True:
            try:
                factor = scipy.linalg.cho_factor(
                    scaled + ridge * np.eye(scale.size), lower=True, check_finite=False
                )
                break
            except np.linalg.LinAlgError:
                ridge = max(10.0 * ridge, 1e-15)

        def once(right: FloatArray) -> FloatArray:
            found: FloatArray = scale * scipy.linalg.cho_solve(
                factor, scale * right, check_finite=False
            )
            return found

        def solve(right: FloatArray) -> FloatArray:
            found = once(right)
            for _ in range(2):
                product = self.Z.T @ (D * (self.Z @ found)) + self.penalty * found
                found = found + once(right - product)
            return found

        return solve

    def _longest(self, da: FloatArray, ds: FloatArray, dt: FloatArray, most: float = 1.0) -> float:
        """How far the step stays positive."""
        pairs = [(self.a, da), (self.s, ds)]
        if self.has_top:
            pairs += [(1.0 - self.a, -da), (self.t, dt)]
        for value, change in pairs:
            falls = change < 0.0
            if falls.any():
                most = min(most, float(np.min(-value[falls] / change[falls])))
        return most


def solve(
    problem: MarginProblem,
    *,
    tol: float = 1e-4,
    aim: float | None = None,
    time_limit: float | None = None,
) -> MarginSolution:
    """Minimise from the middle of all boxes.

    Parameters
    ----------
    problem : MarginProblem
    tol : float
        Tolerance of the gap, relative to the objective.
    aim : float or None
        The gap to aim for, if rounding allows it; None means tol.
    time_limit : float or None
        Time limit in seconds.

    Examples
    --------
    >>> problem = MarginProblem(np.eye(2), [1.0, -1.0], [0.5, 2.0], "hinge", offset="none")
    >>> solve(problem, tol=1e-9).coef.round(6).tolist()
    [0.5, -1.0]
    """
    began = time.perf_counter()
    best = _Best(problem)
    used = np.flatnonzero(problem.weights)
    status, n_steps = Status.STALLED, 0
    if used.size:
        with np.errstate(all="ignore"), single_threaded():
            rows = _Rows.make(problem, used)
            iterate = _Iterate(problem, used, rows)
            while n_steps < MAX_STEPS and best.n_idle < MAX_IDLE:
                if time_limit is not None and time.perf_counter() - began > time_limit:
                    status = Status.TIME_LIMIT
                    break
                if not iterate.step():
                    break
                n_steps += 1
                best.take(rows, iterate, used)
                if best.gap <= (tol if aim is None else aim) * best.objective:
                    break
    found = certify_margin(problem, best.coef, best.bias, best.alpha)
    if found.duality_gap <= tol * found.objective:
        status = Status.SOLVED
    info = Info(
        status=status,
        objective=found.objective,
        duality_gap=found.duality_gap,
        kkt_violation=found.gradient_norm,
        n_iter=n_steps,
        n_rows_computed=n_steps * used.size,
        solve_time=time.perf_counter() - began,
    )
    values = problem.decision_values(best.coef, best.bias)
    return MarginSolution(problem, best.coef, best.bias, values, info, alpha=best.alpha)


class _Best:
    """The best model and the best dual variables so far; they need not be of one step."""

    def __init__(self, problem: MarginProblem) -> None:
        self.problem = problem
        self.coef, self.bias = np.zeros(problem.d), 0.0
        self.alpha = np.zeros(problem.n)
        self.objective, self.dual = self._primal(self.coef, self.bias), 0.0
        self.n_idle, self.product = 0, np.inf

    @property
    def gap(self) -> float:
        return self.objective - self.dual

    def _primal(self, coef: FloatArray, bias: float) -> float:
        problem = self.problem
        value = float(problem.weights @ problem.losses(problem.decision_values(coef, bias)))
        square = float(coef @ coef) + (bias**2 if problem.offset == "penalised" else 0.0)
        return value + 0.5 * square

    def take(self, rows: _Rows, iterate: _Iterate, used: NDArray[np.intp]) -> None:
        """Keep what of this iterate is better."""
        before, problem = self.gap, self.problem
        product = iterate.mean_product()
        coef, bias = rows.model(iterate.theta)
        objective = self._primal(coef, bias)
        if objective < self.objective:
            self.coef, self.bias, self.objective = coef, bias, objective
        alpha = np.zeros(problem.n)
        top = 1.0 if iterate.has_top else np.inf
        alpha[used] = np.minimum(
            problem.weights[used] * iterate.a.clip(0.0, top),
            problem.weights[used] if iterate.has_top else np.inf,
        )
        beta = balance(problem, problem.targets * alpha)
        dual = dual_objective(problem, beta)
        if dual > self.dual:
            self.alpha, self.dual = np.abs(beta), dual
        # Far from the optimum the gap stays that of zero while the products fall.
        has_gained = self.gap < 0.9 * before or product < 0.9 * self.product
        self.n_idle = 0 if has_gained else self.n_idle + 1
        self.product = min(product, self.product)
