"""Leave-one-out on one Problem: every refit begun from the solution on all instances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...paths.incremental import Decrement
from ...problem.box_problem import FloatArray
from ...problem.limits import Limits
from ...problem.solution import Solution
from ...seeds import SEEDS
from ...solvers.sequence.leave_one_out import leave_out
from .plan import DECREMENTAL
from .run import out_of_time, seconds_left, solve_within

#: "auto" withdraws each instance and repairs by SMO, "decremental" follows the exact path; "none"
#: begins every refit from zero.
OWN_WAYS = ("auto", "none", DECREMENTAL)


@dataclass(frozen=True)
class Refits:
    """Decision values at the first `len(values)` instances left out, and the work of each."""

    values: FloatArray
    n_iter: NDArray[np.int64]


class Unfinished(Exception):
    """The run was stopped; `done` holds the refits before that, `reason` what to raise."""

    def __init__(self, done: Refits, reason: BaseException) -> None:
        super().__init__(str(reason))
        self.done = done
        self.reason = reason


def check_seeding(seeding: str) -> None:
    """Refuse an unknown name in one sentence."""
    known = (*OWN_WAYS, *SEEDS)
    if seeding not in known:
        raise ValueError(
            f"seeding is {seeding!r}; for leave-one-out it must be one of "
            f"{', '.join(repr(name) for name in known)}."
        )


def refit_without(
    full: Solution,
    instances: NDArray[np.intp],
    seeding: str,
    limits: Limits,
    only_signs: bool = False,
) -> Refits:
    """The decision value at each instance by the model trained without it.

    `only_signs`: the values need have nothing but the right sign (for "auto", which is quicker so).
    Raises Unfinished, with what is done, on Ctrl-C and where the time is up.
    """
    if seeding == "auto":
        return _withdraw(full, instances, limits, only_signs)
    return _solve_each(full, instances, seeding, limits)


def _withdraw(
    full: Solution, instances: NDArray[np.intp], limits: Limits, only_signs: bool
) -> Refits:
    seconds = seconds_left(limits)
    left_out = leave_out(
        full,
        instances,
        tol=limits.tol,
        max_iter=limits.max_iter,
        time_limit=seconds,
        only_signs=only_signs,
    )
    done = Refits(left_out.values, left_out.n_iter)
    if len(done.values) < len(instances):
        reason = KeyboardInterrupt() if left_out.is_interrupted else out_of_time()
        raise Unfinished(done, reason)
    return done


def _solve_each(
    full: Solution, instances: NDArray[np.intp], seeding: str, limits: Limits
) -> Refits:
    values: list[float] = []
    n_iter: list[int] = []
    mask = np.zeros(full.problem.n, dtype=bool)
    decrement = Decrement(full) if seeding == DECREMENTAL else None
    for t in instances:
        mask[t] = True
        problem = full.problem.with_held_out(mask)
        mask[t] = False
        try:
            if decrement is not None:
                seconds_left(limits)
                solution = decrement.without(problem)
            else:
                start = None if seeding == "none" else SEEDS[seeding](full, problem)
                solution = solve_within(limits, problem, start)
        except (KeyboardInterrupt, TimeoutError) as reason:
            done = Refits(np.array(values), np.array(n_iter, dtype=np.int64))
            raise Unfinished(done, reason) from reason
        values.append(float(solution.decision_values[t]))
        n_iter.append(solution.info.n_iter)
    return Refits(np.array(values), np.array(n_iter, dtype=np.int64))
