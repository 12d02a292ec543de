"""Which solution each cell of a search begins from: plans by name.

A plan is a forest: every node but a root begins from its parent. A Chain is its part on one kernel.
C ascends within a fold, since a solution for a small C is cheap and most of it serves the next; the
rule for the seed along C is the solver's. What a node then cost is counted work, the same on every
run, and belongs to the edge that led to it; between folds and kernels it decides the edges that
come (neighbours.py).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..problem.box_problem import FloatArray
from ..seeds import chain_seeds
from .chain import NEIGHBOUR, ROOT, Chain, Node, Step
from .kernel_links import MAX_UNIT, link_steps

#: With fewer values of C the folds are linked: their first solves are then a large part of all.
#: Counted work of "auto" against none, one C: 0.62-1.2 at C >= 128 (benchmark `search_plans`), but
#: more where a solve is cheaper than a seed; with eleven values of C folds would save 1-2%.
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
    #: Whether it has so few rows that kernels may be linked.
    is_small: bool = False
    #: Whether its folds are one chain: a fold is so quick that a chain of its own would cost more
    #: than its solves, or a device solves them all at the same time.
    is_one_chain: bool = False
    #: Groups of one family differ in `gamma` only; None for those without neighbours.
    family: Hashable = None
    gamma: float = 0.0

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

    A fold is a chain of its own, unless the group wants one chain.
    """
    m = len(group.factors)
    if group.is_one_chain and group.shares_kernel:
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
    """Every node from nothing; the folds are chains of their own, unless the group wants one."""
    is_one = group.is_one_chain and group.shares_kernel
    for folds in [group.folds] if is_one else [(fold,) for fold in group.folds]:
        nodes = itertools.product(folds, range(len(group.factors)))
        yield group.as_chain(folds, (Step(fold, j, ROOT, "cold") for fold, j in nodes))


def by_rule(group: Group, seed: str = "climb") -> Iterator[Chain]:
    """Along C; folds are linked where there are few values of C."""
    is_short = len(group.factors) < FEW_FACTORS
    return (linked_folds if is_short else along_c)(group, seed)


#: How the cells of a group become chains, by name.
PLANS: dict[str, Callable[[Group, str], Iterator[Chain]]] = {
    "auto": by_rule,
    "along_c": along_c,
    "linked_folds": linked_folds,
    "linked_kernels": linked_folds,
    "independent": independent,
}

#: The seed along C that picks one of the others at each step.
BY_RULE = "climb"


def seedings_along_c() -> dict[str, str]:
    """Seeds along C by the name that users give."""
    return {"auto": BY_RULE} | {name: name for name in chain_seeds() if name != BY_RULE}


def climb(fold: int, n_factors: int, first: int, seed: str) -> list[Step]:
    """The factors of one fold, each from the last; `first` is the number of the first step."""
    head = [Step(fold, 0, ROOT, "cold")]
    return head + [Step(fold, j, first + j - 1, seed) for j in range(1, n_factors)]


def make_plan(groups: Sequence[Group], plan: str = "auto", seeding: str = "auto") -> Plan:
    """The plan of all groups, in their order."""
    if plan not in PLANS:
        known = ", ".join(repr(name) for name in PLANS)
        raise ValueError(f"plan is {plan!r}; it must be one of {known}.")
    seeds = seedings_along_c()
    if seeding != "none" and seeding not in seeds:
        known = ", ".join(repr(name) for name in seeds)
        raise ValueError(f"seeding is {seeding!r}; it must be 'none' or one of {known}.")
    name = "independent" if seeding == "none" else plan
    seed = seeds.get(seeding, "cold")
    chains: list[Chain] = []
    for run in neighbouring(groups, name):
        own = [list(PLANS[name](group, seed)) for group in run]
        for before, after in itertools.pairwise(own):
            after[:] = [replace(b, after=a.key) for a, b in zip(before, after, strict=True)]
        chains += itertools.chain.from_iterable(own)
    return Plan(name, tuple(chains))


def neighbouring(groups: Sequence[Group], plan: str) -> Iterator[Sequence[Group]]:
    """The groups in runs of linked kernels, gamma ascending; most are alone. A run comes where the
    first of its groups is.

    Kernels are linked where the plan says so, or by the rule of "auto": few values of C, few rows,
    and one group a kernel, since others would need the same matrix at another time.
    """
    n_users = Counter((group.head, group.kernel, group.folds) for group in groups)
    families: dict[Hashable, list[Group]] = {}
    for number, group in enumerate(groups):
        is_alone = n_users[group.head, group.kernel, group.folds] == 1
        pays = group.is_small and is_alone and len(group.factors) < FEW_FACTORS
        is_linked = plan == "linked_kernels" or (plan == "auto" and pays)
        has_neighbours = is_linked and group.family is not None
        key = (group.family, group.folds, group.factors) if has_neighbours else number
        families.setdefault(key, []).append(group)
    order = {id(group): number for number, group in enumerate(groups)}
    runs: list[Sequence[Group]] = []
    for family in families.values():
        family.sort(key=lambda group: group.gamma)
        runs += [family[first : first + MAX_UNIT] for first in range(0, len(family), MAX_UNIT)]
    yield from sorted(runs, key=lambda run: min(order[id(group)] for group in run))


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

    def with_work(
        self, work: Mapping[str, Any], edges: Mapping[str, Sequence[str]] | None = None
    ) -> Plan:
        """The same plan with the counted work of chains, by their keys: (fold, factor) arrays.

        `edges` are those that were chosen while searching, one a fold (neighbours.py).
        """
        known = {} if edges is None else edges
        chains = tuple(
            replace(chain, steps=link_steps(chain, known[chain.key]))
            if chain.key in known
            else chain
            for chain in self.chains
        )
        return replace(self, chains=chains, work=dict(work))

    @property
    def n_nodes(self) -> int:
        """How many problems there are."""
        return sum(len(chain.steps) for chain in self.chains)

    def edges(self) -> Iterator[tuple[Node | None, Node, str]]:
        """(parent, child, seed) of every node."""
        nodes = {chain.key: chain.nodes() for chain in self.chains}
        models = {chain.key: chain.model for chain in self.chains}
        for chain in self.chains:
            own = nodes[chain.key]
            for k, (step, child) in enumerate(zip(chain.steps, own, strict=True)):
                parent = None if step.parent < 0 else own[step.parent]
                if k == 0 and chain.key in self.links:
                    key, number = self.links[chain.key]
                    parent = nodes[key][number]
                elif step.parent == NEIGHBOUR:
                    parent = child._replace(model=models[chain.after])
                yield parent, child, step.seed

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
                elif step.parent == NEIGHBOUR:
                    words.append(f"{step.seed} from {self._find(chain.after).label}: {word}")
                elif step.parent == ROOT:
                    words.append(f"{step.seed} {word}")
                elif step.parent == k - 1 and chain.steps[k - 1].fold == fold:
                    words.append(f"{word}")
                else:
                    words.append(f"{step.seed} from fold {chain.steps[step.parent].fold}: {word}")
            yield f"  fold {fold}: " + " -> ".join(words)

    def _describe_link(self, key: str) -> str:
        other, step = self.links[key]
        chain = self._find(other)
        return f"{chain.label}, C={chain.factors[chain.steps[step].factor]:g}"

    def _find(self, key: str) -> Chain:
        return next(chain for chain in self.chains if chain.key == key)
