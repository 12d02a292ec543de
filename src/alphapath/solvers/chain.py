"""One problem at many C: weights growing by factors, each solve begun from the last."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from .native import Limits
from .sequence import SequenceSolution, Steps, solve_sequence

#: What `seeding` may be: the rule along C, nothing, or one seed for all.
CHAIN_SEEDS = {
    "auto": "climb",
    "none": "cold",
    "keep": "keep",
    "lift": "lift",
    "scale": "scale",
}


def solve_chain(
    problem: Problem,
    factors: ArrayLike,
    *,
    seeding: str = "auto",
    total_time_limit: float | None = None,
    **limits: float | bool | None,
) -> SequenceSolution:
    """Solve `problem` with its weights times each of `factors`, in one native call.

    Parameters
    ----------
    problem : Problem
        With the weights of factor 1; an instance of weight 0 is held out.
    factors : array of shape (m,)
        Positive; ascending is cheapest.
    seeding : {"auto", "none", "keep", "lift", "scale"}
        "auto" keeps beta where no instance is at its bound, else lifts the bounded instances or
        scales all, by how many they are.
    total_time_limit : float or None
        Seconds for the whole chain; steps that it cuts are not in the result.
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
    m = len(values)
    steps = Steps(np.zeros(m, dtype=np.int64), values, np.arange(m) - 1, [CHAIN_SEEDS[seeding]] * m)
    return solve_sequence(
        problem,
        problem.weights[None, :],
        steps,
        limits=Limits(**limits),  # type: ignore[arg-type]
        total_time_limit=total_time_limit,
    )
