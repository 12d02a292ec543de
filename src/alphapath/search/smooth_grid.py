"""A smooth SVM for many c and all folds: each c from its neighbour, each fold from its full model.

A change of c scales the Hessian and changes a few states; a fold changes the states of what it
holds out and a few more. So a whole grid is a chain of models on all instances, with folds hanging
from each, and no problem but the first begins from zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidProblem
from ..margin_problem import MarginProblem
from ..margin_solution import MarginSolution
from ..solvers.smooth_newton import NewtonLimits, solve_side_by_side
from .parents import BoolArray


@dataclass(frozen=True)
class GridStep:
    """The solutions at one factor of the weights: on all instances, and of each fold."""

    factor: float
    full: MarginSolution
    folds: tuple[MarginSolution, ...]


def solve_smooth_grid(
    problem: MarginProblem,
    masks: Sequence[BoolArray],
    factors: Sequence[float],
    *,
    strategy: str = "auto",
    drops_features: bool = False,
    limits: NewtonLimits | None = None,
) -> Iterator[GridStep]:
    """Solve `problem` with its weights times each factor, and each fold of it.

    Parameters
    ----------
    problem : MarginProblem
        With a squared loss, and the weights of factor 1.
    masks : sequence of boolean arrays of shape (n,)
        What each fold holds out.
    factors : sequence of float
        Positive; neighbours begin from one another, so give them in order.
    strategy, limits
        As in `solve_side_by_side`.
    drops_features : bool
        Whether feature i is held out with instance i (X is a kernel matrix).

    Examples
    --------
    >>> for step in solve_smooth_grid(problem, masks, [0.1, 1.0, 10.0]):    # doctest: +SKIP
    ...     [fold.decision_values[mask] for fold, mask in zip(step.folds, masks)]
    """
    full: MarginSolution | None = None
    for factor in factors:
        if not 0.0 < factor < np.inf:
            raise InvalidProblem(f"A factor of the weights is {factor}; it must be positive.")
        scaled = problem.with_weights(factor * problem.weights)
        (full,) = solve_side_by_side([scaled], full, strategy=strategy, limits=limits)
        folds = [
            scaled.with_held_out(mask, np.asarray(mask) if drops_features else None)
            for mask in masks
        ]
        solved = solve_side_by_side(folds, full, strategy=strategy, limits=limits)
        yield GridStep(float(factor), full, tuple(solved))
