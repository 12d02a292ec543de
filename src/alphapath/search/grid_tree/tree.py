"""Trees over a grid of kernel widths and C: which solved node each node begins from.

A node is width * n_C + C's position; widths ascend from narrow to wide, C from small to large. An
edge leads from a node to a neighbour that begins from its solution; ROOT is the parent of a node
that begins from nothing. After Timm, Klement and Martinetz, section 3.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..chain import ROOT
from .arborescence import Edge, minimum_arborescence

#: What an edge does, by (change of width, change of C).
ORIENTATIONS = {(0, 1): "C up", (0, -1): "C down", (1, 0): "wider", (-1, 0): "narrower"}


class GridShape(NamedTuple):
    """Number of kernel widths and of values of C."""

    n_widths: int
    n_C: int

    @property
    def n_nodes(self) -> int:
        return self.n_widths * self.n_C

    def node(self, width: int, j: int) -> int:
        return width * self.n_C + j

    def place(self, node: int) -> tuple[int, int]:
        """(width, position of C)"""
        return divmod(node, self.n_C)

    def neighbours(self, node: int) -> Iterator[int]:
        """Nodes one step away in C or in the width."""
        i, j = self.place(node)
        for di, dj in ORIENTATIONS:
            if 0 <= i + di < self.n_widths and 0 <= j + dj < self.n_C:
                yield self.node(i + di, j + dj)

    def edges(self) -> Iterator[tuple[int, int]]:
        """(parent, child) of all neighbours, both ways."""
        for child in range(self.n_nodes):
            for parent in self.neighbours(child):
                yield parent, child

    def orientation(self, parent: int, child: int) -> str:
        """What the edge does; "root" for a node that begins from nothing, "jump" between others."""
        if parent == ROOT:
            return "root"
        (a, b), (i, j) = self.place(parent), self.place(child)
        return ORIENTATIONS.get((i - a, j - b), "jump")


@dataclass(frozen=True)
class GridTree:
    """The parent of every node of a grid: a tree, or several."""

    shape: GridShape
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.parents) != self.shape.n_nodes:
            raise ValueError(
                f"There are {len(self.parents)} parents for a grid of {self.shape.n_nodes} nodes; "
                f"every node needs one (ROOT for none)."
            )
        if len(self.order) != self.shape.n_nodes:
            lost = sorted(set(range(self.shape.n_nodes)) - set(self.order))
            raise ValueError(f"Nodes {lost} are their own ancestors; a tree has no cycle.")

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Children by parent, in the order of their numbers."""
        found: dict[int, list[int]] = {}
        for child, parent in enumerate(self.parents):
            found.setdefault(parent, []).append(child)
        return found

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All nodes, parents first; what stays on one kernel comes first of all."""
        order: list[int] = []
        left = list(reversed(self.children.get(ROOT, [])))
        while left:
            node = left.pop()
            order.append(node)
            width = node // self.shape.n_C
            below = self.children.get(node, [])
            below = sorted(below, key=lambda c: (c // self.shape.n_C == width, -c))
            left += below
        return tuple(order)

    def orientations(self) -> Counter[str]:
        """How many edges go which way."""
        return Counter(
            self.shape.orientation(parent, child) for child, parent in enumerate(self.parents)
        )

    def cost(self, costs: Mapping[tuple[int, int], float]) -> float:
        """The sum of the costs of its edges, by (parent, child)."""
        return sum(costs[parent, child] for child, parent in enumerate(self.parents))


def independent_tree(shape: GridShape) -> GridTree:
    """Every node from nothing."""
    return GridTree(shape, (ROOT,) * shape.n_nodes)


def sequential_tree(shape: GridShape) -> GridTree:
    """One walk over the grid, up and down along C in turn, from the widest kernel to the narrowest.

    What a loop over the grid does that keeps the last solution.
    """
    parents = [ROOT] * shape.n_nodes
    last, upwards = ROOT, True
    for i in reversed(range(shape.n_widths)):
        positions = range(shape.n_C) if upwards else range(shape.n_C - 1, -1, -1)
        for j in positions:
            parents[shape.node(i, j)] = last
            last = shape.node(i, j)
        upwards = not upwards
    return GridTree(shape, tuple(parents))


def heuristic_tree(shape: GridShape) -> GridTree:
    """Along C at every width, the widths linked once.

    The widest kernel, the cheapest, is climbed from the least C to the largest; the largest C leads
    from each width to the next narrower one, and from there every width descends along C. Downwards
    hardly anything is left to do: the counters are fine enough already. (Upwards every width would
    have to earn its resolution again.)
    """
    parents = [ROOT] * shape.n_nodes
    widest, top = shape.n_widths - 1, shape.n_C - 1
    for j in range(1, shape.n_C):
        parents[shape.node(widest, j)] = shape.node(widest, j - 1)
    for i in range(widest):
        parents[shape.node(i, top)] = shape.node(i + 1, top)
        for j in range(top):
            parents[shape.node(i, j)] = shape.node(i, j + 1)
    return GridTree(shape, tuple(parents))


def cheapest_tree(shape: GridShape, costs: Mapping[tuple[int, int], float]) -> GridTree:
    """The forest of least total cost by Edmonds' algorithm; (ROOT, node) has a cost too."""
    source = shape.n_nodes
    edges = [
        Edge(source if parent == ROOT else parent, child, float(cost))
        for (parent, child), cost in costs.items()
    ]
    parents = minimum_arborescence(source + 1, source, edges)[:source]
    return GridTree(shape, tuple(ROOT if parent == source else parent for parent in parents))


def split_tree(tree: GridTree, work: Sequence[float], n_parts: int) -> list[tuple[int, ...]]:
    """The nodes in at most `n_parts` parts of about equal work, each for one worker.

    Edges are cut where the subtree below has the work that a part should have; the node below a cut
    begins from nothing, which costs that worker more but makes it wait for nobody. Parents come
    before their children in every part.
    """
    if n_parts < 1:
        raise ValueError(f"n_parts is {n_parts}; it must be at least 1.")
    load = np.asarray(work, dtype=np.float64).copy()
    goal = float(load.sum()) / n_parts
    part_of = np.full(tree.shape.n_nodes, -1)
    n_cut = 0
    for node in reversed(tree.order):
        is_full = load[node] >= goal and n_cut < n_parts - 1
        if is_full:
            part_of[node] = n_cut
            n_cut += 1
        elif tree.parents[node] != ROOT:
            load[tree.parents[node]] += load[node]
    parts: dict[int, list[int]] = {}
    for node in tree.order:
        if part_of[node] < 0:
            parent = tree.parents[node]
            part_of[node] = n_cut if parent == ROOT else part_of[parent]
        parts.setdefault(int(part_of[node]), []).append(node)
    return [tuple(nodes) for nodes in parts.values()]


#: Trees that need no costs, by name.
TREES = {
    "heuristic": heuristic_tree,
    "sequential": sequential_tree,
    "independent": independent_tree,
}
