"""What the values of a Problem and a feasible beta must satisfy, told in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleStart, InvalidProblem

if TYPE_CHECKING:
    from .box_problem import FloatArray, Problem


def check_values(problem: Problem) -> None:
    """Refuse values that no problem can have."""
    targets = problem.targets
    if problem.n == 0:
        raise InvalidProblem("The problem has 0 instances; at least one is needed.")
    if not np.isfinite(targets).all():
        raise bad_entry("targets", targets, ~np.isfinite(targets), "finite")
    check_weights(problem)
    is_box = problem.lower_scale <= problem.upper_scale
    if not is_box.all():
        raise bad_entry("lower_scale", problem.lower_scale, ~is_box, "at most upper_scale")
    if not (0.0 <= problem.epsilon < np.inf):
        raise InvalidProblem(f"epsilon is {problem.epsilon}; it must be finite and at least 0.")
    check_ridge(problem)


def check_weights(problem: Problem) -> None:
    weights = problem.weights
    if not np.minimum.reduce(weights) >= 0.0:  # a nan is not
        raise bad_entry("weights", weights, ~(weights >= 0.0), "zero (held out) or positive")
    if not np.maximum.reduce(weights) > 0.0:
        raise InvalidProblem(
            "All weights are zero, so every instance is held out; at least one weight must "
            "be positive."
        )


def check_ridge(problem: Problem) -> None:
    ridge = problem.ridge
    if isinstance(ridge, float):
        if not (0.0 <= ridge < np.inf):
            raise InvalidProblem(f"ridge is {ridge}; it must be finite and at least 0.")
        return
    if ridge.shape != (problem.n,):
        raise InvalidProblem(
            f"ridge has {ridge.size} values, but the kernel has {problem.n} instances; pass one "
            f"number, or one value per instance."
        )
    bad = ~((ridge >= 0.0) & (ridge < np.inf))
    if bad.any():
        raise bad_entry("ridge", ridge, bad, "finite and at least 0")


def check_sum(problem: Problem) -> None:
    """Refuse a sum that no beta in the box has."""
    total = problem.total
    if not np.isfinite(total):
        raise InvalidProblem(
            f"The sum constraint asks for sum(beta) = {total}: total_share is "
            f"{problem.total_share} and the weights sum to {problem.weights.sum()}; both must be "
            f"finite."
        )
    if total == 0.0 and problem.holds_zero:
        return
    low, high = float(problem.lower.sum()), float(problem.upper.sum())
    slack = 1e-12 * max(abs(total), 1e-300)
    if not (low - slack <= total <= high + slack):
        raise InvalidProblem(
            f"No beta in the box has sum {total} (total_share {problem.total_share} times the "
            f"sum of the weights); the box allows sums from {low} to {high}."
        )


def check_inside(problem: Problem, beta: FloatArray, sum_atol: float | None) -> None:
    """Refuse a beta outside its box or with another sum, naming the worst entry."""
    if beta.shape != (problem.n,):
        raise InfeasibleStart(
            f"beta has shape {beta.shape}; the problem needs shape ({problem.n},)."
        )
    lower, upper = problem.lower, problem.upper
    inside = (lower <= beta) & (beta <= upper)
    if not inside.all():
        i = int(np.argmin(inside))
        raise InfeasibleStart(f"beta[{i}] is {beta[i]}; it must lie in [{lower[i]}, {upper[i]}].")
    if not problem.has_equality:
        return
    if sum_atol is None:
        sum_atol = 1e-9 * max(1.0, float(np.abs(beta).sum()))
    total = float(beta.sum())
    if abs(total - problem.total) > sum_atol:
        raise InfeasibleStart(
            f"beta sums to {total}; the problem needs {problem.total} to within {sum_atol}."
        )


def bad_entry(name: str, values: FloatArray, bad: NDArray[np.bool_], valid: str) -> InvalidProblem:
    i = int(np.argmax(bad))
    return InvalidProblem(f"{name}[{i}] is {values[i]}; every value must be {valid}.")
