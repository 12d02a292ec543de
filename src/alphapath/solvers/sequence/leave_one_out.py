"""Leave-one-out by withdrawal: each instance in turn is removed from the full solution.

The left-out beta is driven to 0 while the other free instances adjust so that they stay on the
margin (the decremental step of exact incremental learning); SMO repairs what this cannot foresee.
See cpp/src/sequence/leave_one_out.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem.box_problem import FloatArray
from ...problem.limits import Limits
from ...problem.solution import Solution, Status
from ..native import as_native, require_equality, require_no_ridge, single_threaded, solve_options
from ..precision import on_good_values


@dataclass(frozen=True)
class LeftOut:
    """The refits of the first `len(values)` requested instances; fewer if the run was stopped."""

    values: FloatArray
    n_iter: NDArray[np.int64]
    statuses: tuple[Status, ...]
    solve_time: float
    is_interrupted: bool


def leave_out(
    full: Solution,
    instances: NDArray[np.intp],
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    time_limit: float | None = None,
    only_signs: bool = False,
) -> LeftOut:
    """Compute decision values at `instances`, each by the model trained without that instance.

    `full` solves the problem with all instances to the same tolerance. For an instance with
    beta = 0, the result is `full.decision_values`, without a refit. With `only_signs`, for a
    classifier, a refit ends as soon as the duality gap makes the sign of its value certain.

    Examples
    --------
    >>> refits = leave_out(full, np.flatnonzero(full.beta))         # doctest: +SKIP
    """
    full = on_good_values(full, tol)
    problem = full.problem
    require_equality(problem, has_equality=True, solver="decremental", instead="coordinate")
    require_no_ridge(problem, solver="decremental")
    limits = Limits(tol, max_iter, time_limit)
    totals = problem.total - problem.total_share * problem.weights[instances]
    with single_threaded():
        result = _core.leave_one_out(
            as_native(problem),
            full.beta,
            full.gradient,
            np.ascontiguousarray(instances, dtype=np.int64),
            np.ascontiguousarray(totals),
            solve_options(limits, problem.kernel.spare_bytes),  # type: ignore[attr-defined]
            only_signs,
        )
    n_done = len(result.statuses)
    is_stopped = n_done < len(instances)
    return LeftOut(
        result.values,
        np.array(result.n_iter, dtype=np.int64),
        tuple(Status(number) for number in result.statuses),
        result.solve_time,
        is_stopped and not _is_out_of_time(result.solve_time, time_limit),
    )


def _is_out_of_time(seconds: float, time_limit: float | None) -> bool:
    return time_limit is not None and seconds >= time_limit
