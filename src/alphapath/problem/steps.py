"""The steps of a sequence of problems on one kernel, and the solutions they may start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .box_problem import FloatArray
from .solution import Solution


@dataclass(frozen=True, eq=False)
class Steps:
    """The problems to solve: rows of the weights, factors, parents and names of seeds.

    A parent is the number of an earlier step, counted after the known solutions; -1 means none.
    """

    rows: NDArray[np.int64]
    factors: FloatArray
    parents: NDArray[np.int64]
    seeds: Sequence[str]

    def __len__(self) -> int:
        return len(self.rows)


class Known(NamedTuple):
    """A solution on the same kernel that may warm-start steps: weights, beta and its gradient.

    `row` and `factor` are set if its weights are those of a step: seeds along C stay on one row.
    """

    weights: FloatArray
    beta: FloatArray
    gradient: FloatArray
    row: int = -1
    factor: float = 1.0

    @classmethod
    def of(cls, solution: Solution) -> Known:
        return cls(solution.problem.weights, solution.beta, solution.gradient)
