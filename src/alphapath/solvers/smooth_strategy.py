"""Which Hessian follows the active set: one strategy throughout, or the cheaper at every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from ..problem import FloatArray
from .design_rows import DesignRows, Indices
from .smooth_feature import FeatureHessian
from .smooth_instance import InstanceHessian
from .smooth_products import Products

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
        self.is_new = True

    @property
    def n_refreshes(self) -> int:
        return sum(candidate.n_refreshes for candidate in self.candidates)

    def fork(self, rows: DesignRows) -> ChosenHessian:
        """A copy to go on from with other features dropped; this one stays as it is."""
        other = ChosenHessian.__new__(ChosenHessian)
        other.strategy, other.rows, other.is_new = self.strategy, rows, self.is_new
        other.candidates = [candidate.fork(rows) for candidate in self.candidates]
        other.chosen = other.candidates[self.candidates.index(self.chosen)]
        return other

    def lift(self, rows: DesignRows, own: Indices) -> ChosenHessian:
        """A copy for more instances, of which `own` are the present ones."""
        other = ChosenHessian.__new__(ChosenHessian)
        other.strategy, other.rows, other.is_new = self.strategy, rows, self.is_new
        other.candidates = [candidate.lift(rows, own) for candidate in self.candidates]
        other.chosen = other.candidates[self.candidates.index(self.chosen)]
        return other

    def find(self, kind: type[H], rows: DesignRows) -> H:
        """A copy of the Hessian of that kind, or a new one where the strategy has none."""
        for candidate in self.candidates:
            if isinstance(candidate, kind):
                found: H = candidate.fork(rows)
                return found
        return kind(rows)

    def choose(self, weights: FloatArray) -> None:
        """Decide which Hessian is to answer for these D."""
        if self.strategy == "none":
            self.candidates = [FeatureHessian(self.rows), InstanceHessian(self.rows)]
            self.is_new = True
        if len(self.candidates) > 1:
            self.chosen = self._find_cheaper(weights)
        self.is_new = False

    def move(self, weights: FloatArray) -> None:
        """Answer for these D, by the Hessian chosen, from now on."""
        self.chosen.move(weights)

    def _find_cheaper(self, weights: FloatArray) -> Any:
        """The cheaper candidate; flops are counted only where their order is not clear."""
        n_active, n_kept = int(np.count_nonzero(weights)), self.rows.n_kept
        if 2 * min(n_active, n_kept) <= max(n_active, n_kept):
            # Of half the size, one costs less for any change, if nothing is known of the other.
            smaller = self.candidates[0 if n_kept < n_active else 1]
            if self.is_new or smaller is self.chosen:
                return smaller
        costs = [candidate.predict_cost(weights) for candidate in self.candidates]
        return self.candidates[int(np.argmin(costs))]

    @property
    def products(self) -> Products | None:
        """Those of the Hessian chosen, if it has any."""
        return self.chosen.products if isinstance(self.chosen, InstanceHessian) else None

    def products_at_hand(self) -> InstanceHessian | None:
        """The Hessian whose products are fewer than the data, and so cheaper to pass over."""
        chosen = self.chosen
        if isinstance(chosen, InstanceHessian) and 0 < chosen.products.K.size < self.rows.size:
            return chosen
        return None

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
    """A copy of the parent's where that is of any use, else one that knows nothing yet."""
    if not isinstance(parent, ChosenHessian) or not parent.strategy == strategy != "none":
        return ChosenHessian(rows, strategy)
    has_all_features = (parent.rows.is_kept | ~rows.is_kept).all()
    return parent.fork(rows) if has_all_features else ChosenHessian(rows, strategy)


def learn_together(wanted: Sequence[tuple[Products | None, Indices | None]]) -> None:
    """Compute the products of these instances, in one go for the Hessians that share them."""
    each = [(products, own) for products, own in wanted if products is not None and own is not None]
    if len(each) > 1:
        shared: dict[Products, list[Indices]] = {}
        for products, own in each:
            shared.setdefault(products.shared, []).append(own)
        for products, several in shared.items():
            products.learn(np.unique(np.concatenate(several)))
    for products, own in each:
        products.learn(own)
