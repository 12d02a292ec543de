"""One problem at many C: weights growing by factors, each solve warm-started from the last."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...problem.box_problem import Problem
from ...problem.limits import Limits
from ...problem.steps import Steps
from ..native import ACROSS_ROWS, SEED_NAMES
from .sequence import SequenceSolution, solve_sequence

#: What `seeding` may be: the rule along C, nothing, or one seed for all.
CHAIN_SEEDS = {"auto": "climb", "none": "cold"} | {
    name: name for name in SEED_NAMES if name not in ("cold", "climb", ACROSS_ROWS)
}


def solve_chain(
    problem: Problem,
    factors: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    seeding: str = "auto",
    total_time_limit: float | None = None,
    **limits: float | bool | None,
) -> SequenceSolution:
    """Solve `problem` with its weights times each of `factors`, in one native call.

    With `weights`, there is one chain per row (for example, per fold), one after another: step
    `row * len(factors) + k` has the weights `factors[k] * weights[row]`.

    Parameters
    ----------
    problem : Problem
        The problem with the weights of factor 1; an instance of weight 0 is held out.
    factors : array of shape (m,)
        Positive factors; ascending order is cheapest.
    weights : array of shape (n_rows, n) or None
        None means a single chain with the weights of `problem`.
    seeding : {"auto", "none", "keep", "lift", "scale"}
        "auto" keeps beta if no instance is at its bound; otherwise, it lifts the bounded instances
        or scales all, depending on how many they are.
    total_time_limit : float or None
        Time limit in seconds for the whole chain; unfinished steps are not in the result.
    **limits
        tol, max_iter, time_limit (seconds of each solve) and free_set.

    Returns
    -------
    SequenceSolution

    Examples
    --------
    >>> chain = solve_chain(problem, 2.0 ** np.arange(-5, 16, 2))    # doctest: +SKIP
    >>> chain.decision_values[:, held_out]                          # doctest: +SKIP
    """
    values = np.ascontiguousarray(factors, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values) & (values > 0.0)).all():
        raise ValueError(f"factors is {factors!r}; it must be a list of positive numbers.")
    if seeding not in CHAIN_SEEDS:
        raise ValueError(f"seeding is {seeding!r}; it must be one of {', '.join(CHAIN_SEEDS)}.")
    rows = problem.weights[None, :] if weights is None else np.asarray(weights, dtype=np.float64)
    n_rows, m = len(rows), len(values)
    parents = np.arange(n_rows * m) - 1
    parents[::m] = -1
    steps = Steps(
        np.repeat(np.arange(n_rows), m),
        np.tile(values, n_rows),
        parents,
        [CHAIN_SEEDS[seeding]] * (n_rows * m),
    )
    return solve_sequence(
        problem,
        rows,
        steps,
        limits=Limits(**limits),  # type: ignore[arg-type]
        total_time_limit=total_time_limit,
    )
