"""Which Hessian follows the active set: one strategy throughout, or the cheaper at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...problem.box_problem import FloatArray
from .design_rows import DesignRows, Indices
from .feature_hessian import FeatureHessian
from .instance_hessian import InstanceHessian
from .products import Products

Newton = FloatArray | tuple[Indices, FloatArray]
H = TypeVar("H", FeatureHessian, InstanceHessian)

STRATEGIES = ("auto", "feature", "instance", "none")
KINDS: dict[str, type[Any]] = {"feature": FeatureHessian, "instance": InstanceHessian}


class ChosenHessian:
    """Answers by the Hessian that its strategy names; by the cheaper one for "auto" and "none".

    A Hessian is created when it is first chosen.

    Parameters
    ----------
    rows : DesignRows
    strategy : str
    """

    def __init__(self, rows: DesignRows, strategy: str) -> None:
        self.rows, self.strategy = rows, strategy
        self.made: dict[type[Any], Any] = {}
        self.chosen: Any = None

    @property
    def n_refreshes(self) -> int:
        return sum(hessian.n_refreshes for hessian in self.made.values())

    def fork(self, rows: DesignRows) -> ChosenHessian:
        """A copy to continue from with other features dropped; this one is unchanged."""
        return self._copy(rows, lambda hessian: hessian.fork(rows))

    def lift(self, rows: DesignRows, own: Indices) -> ChosenHessian:
        """A copy for more instances, of which `own` are the current ones."""
        return self._copy(rows, lambda hessian: hessian.lift(rows, own))

    def _copy(self, rows: DesignRows, take: Callable[[Any], Any]) -> ChosenHessian:
        other = ChosenHessian(rows, self.strategy)
        other.made = {kind: take(hessian) for kind, hessian in self.made.items()}
        other.chosen = other.made.get(type(self.chosen))
        return other

    def find(self, kind: type[H], rows: DesignRows) -> H:
        """A copy of the Hessian of that kind, or a new one where none was made."""
        found: H = self.made[kind].fork(rows) if kind in self.made else kind(rows)
        return found

    def choose(self, weights: FloatArray) -> None:
        """Decide which Hessian is to answer for these D."""
        if self.strategy == "none":
            self.made, self.chosen = {}, None
        kind = KINDS.get(self.strategy) or self._find_cheaper(weights)
        if kind not in self.made:
            self.made[kind] = kind(self.rows)
        self.chosen = self.made[kind]
        if isinstance(self.chosen, InstanceHessian):
            self.chosen.prepare(weights, in_double=self.strategy == "none")

    def _find_cheaper(self, weights: FloatArray) -> type[Any]:
        """The cheaper kind; flops are counted only where their order is not clear."""
        clear = find_smaller(self.rows, weights)
        if clear is not None and (self.chosen is None or type(self.chosen) is clear):
            return clear
        hessians = [self.made.get(kind) or kind(self.rows) for kind in KINDS.values()]
        costs = [hessian.predict_cost(weights) for hessian in hessians]
        return type(hessians[int(np.argmin(costs))])

    def move(self, weights: FloatArray) -> None:
        """Answer for these D, by the Hessian chosen, from now on."""
        self.chosen.move(weights)

    @property
    def products(self) -> Products | None:
        """Those of the Hessian chosen, if it has any."""
        return self.chosen.products if isinstance(self.chosen, InstanceHessian) else None

    @property
    def is_single(self) -> bool:
        """Whether answers are in single precision."""
        return isinstance(self.chosen, InstanceHessian) and self.chosen.is_single

    def products_at_hand(self) -> InstanceHessian | None:
        """The Hessian whose products are fewer than the data, and so cheaper to pass over."""
        chosen = self.chosen
        if isinstance(chosen, InstanceHessian) and 0 < chosen.products.K.size < self.rows.size:
            return chosen
        return None

    def compact(self) -> None:
        """Keep only what the next problem will need."""
        if InstanceHessian in self.made:
            self.made[InstanceHessian].compact()

    def refresh(self) -> None:
        self.chosen.refresh()

    def solve(self, rhs: FloatArray) -> FloatArray:
        answer: FloatArray = self.chosen.solve(rhs)
        return answer

    def solve_newton(self, targets: FloatArray) -> Newton:
        """theta, or the instances and beta with theta = A'beta."""
        found: Newton = self.chosen.solve_newton(targets)
        return found


def find_smaller(rows: DesignRows, weights: FloatArray) -> type[Any] | None:
    """The kind whose Hessian is of half the size, which then costs less for any change."""
    n_active, n_kept = int(np.count_nonzero(weights)), rows.n_kept
    if 2 * min(n_active, n_kept) > max(n_active, n_kept):
        return None
    return FeatureHessian if n_kept < n_active else InstanceHessian


def make_hessian(rows: DesignRows, strategy: str, parent: object) -> ChosenHessian:
    """A copy of the parent's if that is useful, else an empty one."""
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
