"""The results of solvers, as frozen values that can warm-start the next solve."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np

from . import optimality
from .box_problem import FloatArray, Problem, Start, freeze
from .margin_problem import MarginProblem


class Status(IntEnum):
    """How a solve ended; 0 means solved. The values are those of the native core."""

    SOLVED = 0
    ITERATION_LIMIT = 1
    TIME_LIMIT = 2
    INTERRUPTED = 3
    #: Stationary to the tolerance, but the kernel was seen not to be positive semi-definite.
    STATIONARY = 4
    #: Rounding stopped progress before the tolerance was met.
    STALLED = 5


@dataclass(frozen=True)
class Info:
    """Counts, times and quality of one solve.

    `objective`, `duality_gap` and `kkt_violation` are those of the returned beta, gradient and
    bias, computed in double; `certify` recomputes them from the raw data. A path counts its events
    as iterations; `n_breakpoints` counts those at which the solution changed direction, and
    `n_fallbacks` how often a solver had to finish.
    """

    status: Status
    objective: float
    duality_gap: float
    kkt_violation: float
    n_iter: int
    n_free_set_solves: int = 0
    n_bound_hits: int = 0
    n_refreshes: int = 0
    n_rows_computed: int = 0
    n_breakpoints: int = 0
    n_fallbacks: int = 0
    seed: str = "cold"
    seed_time: float = 0.0
    solve_time: float = 0.0


@dataclass(frozen=True, eq=False)
class Solution:
    """beta with its gradient on all instances, the bias, and how the solve went.

    Parameters
    ----------
    problem : Problem
    beta : array of shape (n,)
    gradient : array of shape (n,)
        (K + D) beta - r on all n instances, which includes held-out decision values.
    bias : float
    info : Info
    workspace : object
        Private to the algorithm that created it (for example a Cholesky factor); never interpreted
        elsewhere.
    """

    problem: Problem
    beta: FloatArray
    gradient: FloatArray
    bias: float
    info: Info
    workspace: object = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", freeze(self.beta, "beta"))
        object.__setattr__(self, "gradient", freeze(self.gradient, "gradient"))

    @property
    def decision_values(self) -> FloatArray:
        """K beta + bias on all n instances, including held-out ones."""
        return self.decision_values_at(slice(None))

    def decision_values_at(self, rows: Any) -> FloatArray:
        """K beta + bias on some of the instances, bitwise equal for equal rows of the kernel."""
        problem, gradient = self.problem, self.gradient
        if problem.has_ridge:
            gradient = gradient - problem.ridges * self.beta
        if not hasattr(problem.kernel, "products_at"):  # a kernel without stored values
            values: FloatArray = gradient[rows] + problem.targets[rows]
            return values + self.bias
        places = np.arange(problem.n)[rows] if isinstance(rows, slice) else rows
        size = np.array([[problem.box_size, 1.0]])
        values = problem.kernel.products_at(
            gradient[np.newaxis], problem.targets, self.beta[np.newaxis], size, places
        )
        return values + self.bias

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / (primal + 1), the feasibility gap of the one-class model."""
        return optimality.relative_gap(self.problem, self.beta, self.gradient)

    def as_start(self) -> Start:
        """Return this solution as the start of another solve of the same problem."""
        return Start(self.beta, self.gradient)

    def with_seed(self, name: str, seconds: float) -> Solution:
        """Return the same solution, with the name of the seed that made its start."""
        return replace(self, info=replace(self.info, seed=name, seed_time=seconds))


def make_solution(
    problem: Problem, beta: FloatArray, gradient: FloatArray, counts: dict[str, float]
) -> Solution:
    """A Solution whose bias and quality follow from (problem, beta, gradient).

    `counts` holds the remaining fields of Info, among them `status` and `n_iter`.
    """
    bias = optimality.bias_from_gradient(problem, beta, gradient)
    fields = dict(counts)
    info = Info(
        status=Status(int(fields.pop("status"))),
        objective=optimality.objective(problem, beta, gradient),
        duality_gap=optimality.duality_gap(problem, beta, gradient, bias),
        kkt_violation=optimality.kkt_violation(problem, beta, gradient),
        n_iter=int(fields.pop("n_iter")),
        **fields,  # type: ignore[arg-type]
    )
    return Solution(problem, beta, gradient, bias, info)


def judge(violation: float, rounding: float, limit: float) -> tuple[Status, float]:
    """(status, violation) by a limit, with an allowance for what rounding of slopes may hide."""
    if rounding > limit:
        return Status.STALLED, violation + 2.0 * rounding  # of two slopes
    return (Status.SOLVED if violation <= limit else Status.STALLED), violation


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """(w, b) with its decision values on all instances, and how the solve went.

    Parameters
    ----------
    problem : MarginProblem
    coef : array of shape (d,)
    bias : float
    decision_values : array of shape (n,)
        X w + b on all instances, including held-out ones.
    info : Info
        `kkt_violation` is the norm of the gradient; `duality_gap` bounds the distance of the
        objective from the optimum.
    workspace : object
        Private to the algorithm that created it; never interpreted elsewhere.
    alpha : array of shape (n,) or None
        Dual variables that certify the gap, if the model alone does not.
    """

    problem: MarginProblem
    coef: FloatArray
    bias: float
    decision_values: FloatArray
    info: Info
    workspace: object = field(default=None, repr=False)
    alpha: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef", freeze(self.coef, "coef"))
        object.__setattr__(self, "decision_values", freeze(self.decision_values, "decision_values"))

    def with_seed(self, name: str, seconds: float = 0.0) -> MarginSolution:
        """Return the same solution, with the name of its seed."""
        return replace(self, info=replace(self.info, seed=name, seed_time=seconds))
