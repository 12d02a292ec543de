"""A sequence of problems on a device: in batches that fit its memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem.box_problem import FloatArray, Problem
from ..problem.limits import Limits
from .batch import BatchSolver, Plan
from .state import Family, problem_bytes
from .store import BATCH_SHARE, DeviceView


def solve_on_device(
    view: DeviceView,
    problem: Problem,
    weights: FloatArray,
    plan: Plan,
    limits: Limits,
    start: FloatArray | None = None,
) -> tuple[dict[str, Any], bool]:
    """Return the columns of the solution of a sequence, and whether Ctrl-C ended it.

    Only the steps before the first unsolved one are returned. `start` is a feasible beta for
    all steps without a parent.
    """
    family = Family(
        problem.targets,
        problem.lower_scale,
        problem.upper_scale,
        weights,
        problem.epsilon,
        problem.total_share,
    )
    store = view.store
    n_rows = view.matrix.n_rows_computed
    parts: list[dict[str, Any]] = []
    is_interrupted = False
    for index in split_batch(len(plan.rows), weights, store.memory_limit):
        with store.within_limit("a batch of problems"):
            solver = BatchSolver(view, family, plan.part(index), limits, start)
            parts.append(solver.run())
            is_interrupted = solver.is_interrupted
        if is_interrupted or solver.is_out_of_time:
            break
    store.count_rows(view.matrix.n_rows_computed - n_rows)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return columns, is_interrupted


def split_batch(n_steps: int, weights: FloatArray, memory_limit: int) -> list[NDArray[np.int64]]:
    """Consecutive steps that are solved together."""
    width = int(np.count_nonzero(weights, axis=1).max())
    size = max(1, min(n_steps, int(BATCH_SHARE * memory_limit // problem_bytes(width))))
    return np.array_split(np.arange(n_steps), -(-n_steps // size))
