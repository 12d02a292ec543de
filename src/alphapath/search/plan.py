"""Which solution each cell of a search begins from: plans by name.

A plan is a forest: each tree of it is a Chain on one kernel, and every node but the root begins
from its parent. C ascends within a fold, since a solution for a small C is cheap and most of it
serves the next; the rule for the seed along C is the solver's. What a node then cost is counted
work, the same on every run, and belongs to the edge that led to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..problem import FloatArray
from .node import ROOT, Chain, Node, Step

#: With fewer values of C the folds are linked: their first solves are then a large part of all.
#: Counted work against `along_c`, grids on diabetes and german, 5 and 10 folds: 0.31-0.95 with one
#: C, 0.66-0.92 with two, 0.94-0.97 with three, 0.99 with eleven.
FEW_FACTORS = 3


@dataclass(frozen=True)
class Group:
    """The cells of one model (all parameters but C) on the folds of one set of rows."""

    label: str
    head: int
    kernel: int
    model: int
    folds: tuple[int, ...]
    factors: tuple[float, ...]
    cells: tuple[tuple[int, ...], ...]
    #: Whether its folds are weights on one kernel, so that one may begin from another.
    shares_kernel: bool = True
    #: Whether a fold is so quick that a chain of its own would cost more than its solves.
    is_small: bool = False

    def as_chain(self, folds: tuple[int, ...], steps: Iterable[Step]) -> Chain:
        key = f"{self.head}.{self.model}.{'-'.join(map(str, folds))}"
        return Chain(
            key,
            self.label,
            self.head,
            self.kernel,
            self.model,
            folds,
            self.factors,
            self.cells,
            tuple(steps),
        )


def along_c(group: Group, seed: str = "climb") -> Iterator[Chain]:
    """Each fold by itself: the least C from nothing, every other one from the last.

    A fold is a chain of its own; the folds of little data are one chain.
    """
    m = len(group.factors)
    if group.is_small and group.shares_kernel:
        steps = [climb(fold, m, h * m, seed) for h, fold in enumerate(group.folds)]
        yield group.as_chain(group.folds, itertools.chain.from_iterable(steps))
        return
    for fold in group.folds:
        yield group.as_chain((fold,), climb(fold, m, 0, seed))


def linked_folds(group: Group, seed: str = "climb") -> Iterator[Chain]:
    """One chain a kernel: the least C of a fold begins from that of the last fold."""
    if not group.shares_kernel:
        yield from along_c(group, seed)
        return
    steps: list[Step] = []
    parent, m = ROOT, len(group.factors)
    for fold in group.folds:
        first = len(steps)
        steps += climb(fold, m, first, seed)
        if parent != ROOT:
            steps[first] = Step(fold, 0, parent, "greedy")
        parent = first
    yield group.as_chain(group.folds, steps)


def independent(group: Group, seed: str = "cold") -> Iterator[Chain]:
    """Every node from nothing; the folds are chains of their own."""
    for fold in group.folds:
        yield group.as_chain(
            (fold,), (Step(fold, j, ROOT, "cold") for j in range(len(group.factors)))
        )


def by_rule(group: Group, seed: str = "climb") -> Iterator[Chain]:
    """Along C; folds are linked where there are few values of C."""
    is_short = len(group.factors) < FEW_FACTORS
    return (linked_folds if is_short else along_c)(group, seed)


#: How the cells of a group become chains, by name.
PLANS: dict[str, Callable[[Group, str], Iterator[Chain]]] = {
    "auto": by_rule,
    "along_c": along_c,
    "linked_folds": linked_folds,
    "independent": independent,
}

#: Seeds along C by the name that users give, as the solver calls them.
CHAIN_SEEDS = {"auto": "climb", "keep": "keep", "lift": "lift", "scale": "scale"}


def climb(fold: int, n_factors: int, first: int, seed: str) -> list[Step]:
    """The factors of one fold, each from the last; `first` is the number of the first step."""
    head = [Step(fold, 0, ROOT, "cold")]
    return head + [Step(fold, j, first + j - 1, seed) for j in range(1, n_factors)]


def make_plan(groups: Sequence[Group], plan: str = "auto", seeding: str = "auto") -> Plan:
    """The plan of all groups, in their order."""
    if plan not in PLANS:
        known = ", ".join(repr(name) for name in PLANS)
        raise ValueError(f"plan is {plan!r}; it must be one of {known}.")
    if seeding != "none" and seeding not in CHAIN_SEEDS:
        known = ", ".join(repr(name) for name in CHAIN_SEEDS)
        raise ValueError(f"seeding is {seeding!r}; it must be 'none' or one of {known}.")
    name = "independent" if seeding == "none" else plan
    seed = CHAIN_SEEDS.get(seeding, "cold")
    return Plan(
        name, tuple(itertools.chain.from_iterable(PLANS[name](group, seed) for group in groups))
    )


@dataclass(frozen=True)
class Plan:
    """Chains of nodes, and the counted work of each node where it is known.

    `print(plan)` shows the trees.
    """

    name: str
    chains: tuple[Chain, ...]
    work: Mapping[str, FloatArray] = field(default_factory=dict)
    #: For chains whose first step begins from a step of another: its key and that step's number.
    links: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def with_work(self, work: Mapping[str, Any]) -> Plan:
        """The same plan with the counted work of chains, by their keys: (fold, factor) arrays."""
        return replace(self, work=dict(work))

    @property
    def n_nodes(self) -> int:
        """How many problems there are."""
        return sum(len(chain.steps) for chain in self.chains)

    def edges(self) -> Iterator[tuple[Node | None, Node, str]]:
        """(parent, child, seed) of every node."""
        nodes = {chain.key: [node for _, node, _ in chain.edges()] for chain in self.chains}
        for chain in self.chains:
            for k, (parent, child, seed) in enumerate(chain.edges()):
                if k == 0 and chain.key in self.links:
                    key, step = self.links[chain.key]
                    parent = nodes[key][step]
                yield parent, child, seed

    def __str__(self) -> str:
        lines = [f"plan {self.name!r}: {self.n_nodes} solves in {len(self.chains)} chains"]
        label = None
        for chain in self.chains:
            if chain.label != label:
                label = chain.label
                lines.append(label)
            lines += self._lines_of(chain)
        return "\n".join(lines)

    def _lines_of(self, chain: Chain) -> Iterator[str]:
        work = self.work.get(chain.key)
        for h, fold in enumerate(chain.folds):
            words = []
            for k, step in enumerate(chain.steps):
                if step.fold != fold:
                    continue
                word = f"C={chain.factors[step.factor]:g}"
                if work is not None:
                    word += f" ({work[h, step.factor]:.2g})"
                if k == 0 and chain.key in self.links:
                    words.append(f"{step.seed} from {self._describe_link(chain.key)}: {word}")
                elif step.parent == ROOT:
                    words.append(f"{step.seed} {word}")
                elif step.parent == k - 1 and chain.steps[k - 1].fold == fold:
                    words.append(f"{word}")
                else:
                    words.append(f"{step.seed} from fold {chain.steps[step.parent].fold}: {word}")
            yield f"  fold {fold}: " + " -> ".join(words)

    def _describe_link(self, key: str) -> str:
        other, step = self.links[key]
        chain = next(chain for chain in self.chains if chain.key == other)
        return f"{chain.label}, C={chain.factors[chain.steps[step].factor]:g}"
