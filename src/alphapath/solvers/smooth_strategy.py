"""Which Hessian follows the active set: one strategy throughout, or the cheaper at every step."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ..problem import FloatArray
from .design_rows import DesignRows, Indices
from .smooth_feature import FeatureHessian
from .smooth_instance import InstanceHessian

Newton = FloatArray | tuple[Indices, FloatArray]
H = TypeVar("H", FeatureHessian, InstanceHessian)

STRATEGIES = ("auto", "feature", "instance", "none")


class ChosenHessian:
    """Answers by the Hessian that its strategy names; by the cheaper one for "auto" and "none".

    Parameters
    ----------
    rows : DesignRows
    strategy : str
    """

    def __init__(self, rows: DesignRows, strategy: str) -> None:
        self.strategy = strategy
        self.candidates: list[Any] = []
        if strategy != "instance":
            self.candidates.append(FeatureHessian(rows))
        if strategy != "feature":
            self.candidates.append(InstanceHessian(rows))
        self.rows = rows
        self.chosen: Any = self.candidates[0]

    @property
    def n_refreshes(self) -> int:
        return sum(candidate.n_refreshes for candidate in self.candidates)

    def fork(self, rows: DesignRows) -> ChosenHessian:
        """A copy to go on from with other features dropped; this one stays as it is."""
        other = ChosenHessian.__new__(ChosenHessian)
        other.strategy, other.rows = self.strategy, rows
        other.candidates = [candidate.fork(rows) for candidate in self.candidates]
        other.chosen = other.candidates[self.candidates.index(self.chosen)]
        return other

    def find(self, kind: type[H], rows: DesignRows) -> H:
        """A copy of the Hessian of that kind, or a new one where the strategy has none."""
        for candidate in self.candidates:
            if isinstance(candidate, kind):
                found: H = candidate.fork(rows)
                return found
        return kind(rows)

    def move(self, weights: FloatArray) -> None:
        if self.strategy == "none":
            self.candidates = [FeatureHessian(self.rows), InstanceHessian(self.rows)]
        costs = [candidate.predict_cost(weights) for candidate in self.candidates]
        self.chosen = self.candidates[int(np.argmin(costs))]
        self.chosen.move(weights)

    def compact(self) -> None:
        """Keep only what the next problem will want."""
        for candidate in self.candidates:
            if isinstance(candidate, InstanceHessian):
                candidate.compact()

    def refresh(self) -> None:
        self.chosen.refresh()

    def solve(self, rhs: FloatArray) -> FloatArray:
        answer: FloatArray = self.chosen.solve(rhs)
        return answer

    def solve_newton(self, targets: FloatArray) -> Newton:
        """theta, or the instances and beta with theta = A'beta."""
        found: Newton = self.chosen.solve_newton(targets)
        return found


def make_hessian(rows: DesignRows, strategy: str, parent: object) -> ChosenHessian:
    """A copy of the parent's where it is of the same strategy, else one that knows nothing yet."""
    if isinstance(parent, ChosenHessian) and parent.strategy == strategy != "none":
        return parent.fork(rows)
    return ChosenHessian(rows, strategy)
