"""Newton's method with Armijo's rule for the smooth SVM: squared losses, penalised offset or none.

    minimise  1/2 |theta|^2 + 1/2 sum_i D_i (t_i - a_i'theta)^2  over the active instances

The objective is piecewise quadratic: which instances are active, and on which side, is their
*state*; with the states held, D_i = 2 c_i on the active ones, t_i = y_i (less the tube's half-width
on the side it is on), and the Newton step goes to the theta at which H theta = A'diag(D) t,
H = I + A'diag(D)A. A theta that has the states it was computed for is the exact optimum. From one
step to the next, and from one problem to a neighbour, few states change: how H follows is the
strategy (paper 003, Algorithm 1; feature_hessian.py and instance_hessian.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InfeasibleStart, SolverMismatch
from ...problem.margin_problem import MarginProblem
from ...problem.solution import MarginSolution, Status
from ..native import single_threaded
from .descent import Descent, gradients_at, propose_points
from .design_rows import DesignRows, Indices
from .strategy import STRATEGIES, ChosenHessian

Solve = Callable[[MarginProblem], MarginSolution]

SQUARED_LOSSES = ("squared_hinge", "squared_epsilon_insensitive")
#: Below this many active instances or features a cold start is not worth a smaller problem first.
SMALL = 1024


def solve(
    problem: MarginProblem,
    start: MarginSolution | None = None,
    *,
    strategy: str = "auto",
    tol: float = 1e-8,
    max_iter: int = 200,
    time_limit: float | None = None,
) -> MarginSolution:
    """Compute the exact optimum of `problem`, from `start` (None: from zero).

    Parameters
    ----------
    start : MarginSolution or None
        Solution of a problem on the same X, with other weights, targets or dropped features; its
        Hessian is updated for the instances whose states differ.
    strategy : {"auto", "feature", "instance", "none"}
        Where H is kept: d x d, or through the active instances, or the cheaper of the two by
        predicted flops at every step; "none" forms and factors it again at every step.
    tol : float
        Norm of the gradient at which to accept a theta whose states differ from the assumed ones;
        it bounds the distance to the optimum.
    max_iter : int
        Maximum number of Newton steps.

    Returns
    -------
    MarginSolution
        Its status is SOLVED, ITERATION_LIMIT, TIME_LIMIT, or STALLED if rounding stopped it.
    """
    limits = NewtonLimits(tol, max_iter, time_limit)
    return solve_side_by_side([problem], start, strategy=strategy, limits=limits)[0]


@dataclass(frozen=True)
class NewtonLimits:
    """Norm of the gradient, Newton steps, and seconds (None: no limit)."""

    tol: float = 1e-8
    max_iter: int = 200
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if not self.tol > 0.0:
            raise ValueError(f"tol is {self.tol}; it must be positive.")


def solve_side_by_side(
    problems: Sequence[MarginProblem],
    start: MarginSolution | None = None,
    *,
    strategy: str = "auto",
    limits: NewtonLimits | None = None,
) -> list[MarginSolution]:
    """Solve problems on the same X together, step by step, with one pass over the data for all.

    The solutions are those of `solve`, up to the rounding of products of several vectors.
    """
    limits = NewtonLimits() if limits is None else limits
    _check(problems, start, strategy)
    begin = time.perf_counter()
    with single_threaded():
        descents = []
        for problem in problems:
            first, n_iter = (start, 0) if start else _solve_smaller(problem, strategy, limits)
            descents.append(Descent(problem, first, strategy, n_iter))
        running = list(descents)
        while running := [descent for descent in running if descent.n_iter < limits.max_iter]:
            for descent, target in zip(running, propose_points(running), strict=True):
                descent.accept(target)
            if limits.time_limit is not None and time.perf_counter() - begin > limits.time_limit:
                for descent in running:
                    descent.stop()
            running = [descent for descent in running if descent.status is None]
        gradients = gradients_at(descents)
        solutions = [
            descent.finish(gradient, limits.tol, (time.perf_counter() - begin) / len(descents))
            for descent, gradient in zip(descents, gradients, strict=True)
        ]
    if strategy in ("instance", "auto"):
        solutions = [_rescue(solution, limits) for solution in solutions]
    return solutions


def _rescue(solution: MarginSolution, limits: NewtonLimits) -> MarginSolution:
    """Rounding may leave nothing of 1/D beside K on badly scaled data; features are safe there."""
    is_small = solution.problem.d <= max(SMALL, solution.problem.n)
    if solution.info.status is not Status.STALLED or not is_small:
        return solution
    (found,) = solve_side_by_side(
        [solution.problem], replace(solution, workspace=None), strategy="feature", limits=limits
    )
    return found


def _solve_smaller(
    problem: MarginProblem, strategy: str, limits: NewtonLimits
) -> tuple[MarginSolution | None, int]:
    """From zero every instance is active; where that is large, begin from a smaller problem."""
    used = np.flatnonzero(problem.weights)
    size = used.size if strategy == "instance" else min(used.size, problem.d)
    if size <= SMALL:
        return None, 0
    is_wide = not problem.is_sparse and problem.d >= max(problem.n, 4 * SMALL)
    take = _solve_on_columns if is_wide else _solve_on_rows
    start = take(problem, used, lambda smaller: _solve_roughly(smaller, strategy, limits))
    return start, start.info.n_iter


def _solve_roughly(problem: MarginProblem, strategy: str, limits: NewtonLimits) -> MarginSolution:
    return solve(problem, strategy=strategy, tol=1e-2, time_limit=limits.time_limit)


def _solve_on_columns(
    problem: MarginProblem, used: Indices, solve_roughly: Solve
) -> MarginSolution:
    """From every k-th feature, sqrt(k) times as long: products of rows are nearly the same."""
    k = problem.d // (SMALL + 1)
    dropped = None if problem.dropped is None else problem.dropped[::k]
    found = solve_roughly(replace(problem, X=np.sqrt(k) * problem.X[:, ::k], dropped=dropped))
    coef = np.zeros(problem.d)
    coef[::k] = np.sqrt(k) * found.coef
    return MarginSolution(problem, coef, found.bias, found.decision_values, found.info)


def _solve_on_rows(problem: MarginProblem, used: Indices, solve_roughly: Solve) -> MarginSolution:
    """From a quarter of the instances, their weights raised to those of all."""
    own = _choose_quarter(problem, used)
    # Rows of their own: a step must not pass over all of X. Every fourth one is no copy.
    is_regular = np.array_equal(own, np.arange(0, problem.n, 4))
    smaller = replace(
        problem,
        X=problem.X[::4] if is_regular else problem.X[own],
        targets=problem.targets[own],
        weights=problem.weights[own] * (used.size / own.size),
    )
    found = solve_roughly(smaller)
    rows = DesignRows(problem)
    workspace = found.workspace
    if isinstance(workspace, ChosenHessian):
        workspace = workspace.lift(rows, own)
    theta = np.append(found.coef, [found.bias] * rows.n_offsets)
    return MarginSolution(
        problem, found.coef, found.bias, rows.values(theta), found.info, workspace
    )


def _choose_quarter(problem: MarginProblem, used: Indices) -> Indices:
    """Every fourth row, where that has its share of the used ones and of the high targets."""
    own = np.arange(0, problem.n, 4)
    is_high = (problem.targets > np.median(problem.targets[used])) & (problem.weights > 0.0)
    shares = (
        (np.count_nonzero(problem.weights[own]), used.size),
        (np.count_nonzero(is_high[own]), np.count_nonzero(is_high)),
    )
    if all(abs(4 * part - whole) <= 0.2 * whole for part, whole in shares):
        return own
    order = used[np.argsort(problem.targets[used], kind="stable")]
    return np.sort(order[::4])


def _check(problems: Sequence[MarginProblem], start: MarginSolution | None, strategy: str) -> None:
    for problem in problems:
        if problem.loss not in SQUARED_LOSSES:
            raise SolverMismatch(
                f"The smooth_newton solver is for the losses {' and '.join(SQUARED_LOSSES)}, but "
                f"this one is {problem.loss}; use a solver of LinearSVC."
            )
    if strategy not in STRATEGIES:
        raise ValueError(
            f"strategy is {strategy!r}; it must be one of {', '.join(map(repr, STRATEGIES))}."
        )
    sources = [problem.X for problem in problems] + ([] if start is None else [start.problem.X])
    if any(X is not sources[0] for X in sources):
        raise InfeasibleStart(
            "The start or a problem is on another X; they must be on the same instances."
        )
    for problem in problems:
        if start is not None and start.problem.offset != problem.offset:
            raise InfeasibleStart(
                f"The offset of the start is {start.problem.offset!r}, but that of the problem is "
                f"{problem.offset!r}; they must be the same."
            )
