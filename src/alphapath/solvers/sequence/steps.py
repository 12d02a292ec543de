"""The steps of a sequence, what they may begin from, and one native call for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem.box_problem import FloatArray, Problem
from ...problem.solution import Solution
from ..native import Limits

#: The seeds of the native core, by their numbers there.
SEED_NAMES = ("cold", "keep", "lift", "scale", "climb", "greedy")


@dataclass(frozen=True, eq=False)
class Steps:
    """What to solve: rows of the weights, factors, parents and seeds by name.

    A parent is the number of an earlier step, counted after the solutions already known; -1: none.
    """

    rows: NDArray[np.int64]
    factors: FloatArray
    parents: NDArray[np.int64]
    seeds: Sequence[str]

    def __len__(self) -> int:
        return len(self.rows)


class Known(NamedTuple):
    """A solution on the same kernel that steps may begin from: weights, beta and its gradient.

    `row` and `factor` where its weights are those of a step: seeds along C stay on one row.
    """

    weights: FloatArray
    beta: FloatArray
    gradient: FloatArray
    row: int = -1
    factor: float = 1.0

    @classmethod
    def of(cls, solution: Solution) -> Known:
        return cls(solution.problem.weights, solution.beta, solution.gradient)


def solve_steps_on(
    problem: Problem,
    rows: FloatArray,
    steps: Steps,
    known: Sequence[Known],
    limits: Limits,
    seconds: float | None,
    workspace: _core.SequenceWorkspace | None,
    n_threads: int = 1,
) -> dict[str, Any]:
    """The columns of steps on the kernel of `problem`; see cpp/src/sequence.cpp."""
    view: Any = problem.kernel
    n_known, n = len(known), problem.n
    # Weights that no row has are rows of their own.
    others = [i for i, parent in enumerate(known) if parent.row < 0]
    all_rows = np.concatenate([rows, *(known[i].weights[None, :] for i in others)])
    known_rows = np.array([parent.row for parent in known], dtype=np.int64)
    known_rows[others] = len(rows) + np.arange(len(others))
    family = _core.Family(
        view.gram,
        problem.targets,
        problem.lower_scale,
        problem.upper_scale,
        all_rows,
        problem.epsilon,
        problem.total_share,
        problem.weights,
    )
    columns: dict[str, Any] = _core.solve_sequence(
        family,
        np.concatenate([known_rows, steps.rows]).astype(np.int64),
        np.concatenate([[parent.factor for parent in known], steps.factors]),
        np.concatenate([np.full(n_known, -1), steps.parents]).astype(np.int64),
        np.array([0] * n_known + [SEED_NAMES.index(name) for name in steps.seeds]),
        np.array([parent.beta for parent in known]).reshape(n_known, n),
        np.array([parent.gradient for parent in known]).reshape(n_known, n),
        limits.as_options(view.spare_bytes),
        0.0 if seconds is None else float(seconds),
        workspace,
        n_threads,
    )
    return columns
