"""Node and Chain: one cell of a search on one fold, and a run of them that one worker solves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

#: What is left of a chain: arrays by name, most of the chain's shape.
Arrays = Mapping[str, NDArray[Any]]

#: The parent of a node that begins from nothing, and of one that begins from the same fold and C on
#: the kernel before.
ROOT, NEIGHBOUR = -1, -2


class Node(NamedTuple):
    """One problem of a search: a model (all parameters but C), a fold and a C."""

    model: int
    fold: int
    C: float


class Step(NamedTuple):
    """One solve of a chain: which fold, which factor, from which earlier step, by which seed."""

    fold: int
    factor: int
    parent: int
    seed: str


@dataclass(frozen=True)
class Chain:
    """A run of nodes on one kernel: the unit of work, of the journal and of parallel runs.

    Parameters
    ----------
    key : str
        Its name within the search, the same on every run of the same search.
    label : str
        The model in words.
    head, kernel, model : int
        Numbers of the preprocessing, of the kernel and of the model.
    folds : tuple of int
    factors : tuple of float
        The values of C, ascending; (1.0,) for models without a C.
    cells : tuple of tuples of int
        The candidates that each factor belongs to.
    steps : tuple of Step
        Every (fold, factor) once, parents first.
    after : str
        The key of the chain on the kernel before, which the same worker solves first; "" for none.
    """

    key: str
    label: str
    head: int
    kernel: int
    model: int
    folds: tuple[int, ...]
    factors: tuple[float, ...]
    cells: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    after: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """(number of folds, number of factors): the shape of every array of its results."""
        return len(self.folds), len(self.factors)

    def nodes(self) -> list[Node]:
        """The node of every step."""
        return [Node(self.model, step.fold, self.factors[step.factor]) for step in self.steps]
