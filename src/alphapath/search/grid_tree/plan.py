"""A tree over a grid as a Plan: a chain for the nodes it joins on one kernel, and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..chain import ROOT, Chain, Step
from ..plan import Plan
from .tree import GridTree


def plan_of_tree(
    tree: GridTree,
    name: str,
    labels: Sequence[str],
    C_values: Sequence[float],
    cell_of: Mapping[int, int] | None = None,
) -> Plan:
    """The plan that walks the tree; `labels` are those of the widths.

    `cell_of` gives the candidate of every node, by default its own number. A chain may be linked to
    a chain on another kernel, whose solution its first step keeps.
    """
    n_C = tree.shape.n_C
    home: dict[int, int] = {}  # the first node of the chain that a node belongs to
    members: dict[int, list[int]] = {}
    for node in tree.order:
        parent = tree.parents[node]
        stays = parent != ROOT and parent // n_C == node // n_C
        home[node] = home[parent] if stays else node
        members.setdefault(home[node], []).append(node)
    chains, links = [], {}
    for first, nodes in members.items():
        positions = sorted(node % n_C for node in nodes)
        number = {node: k for k, node in enumerate(nodes)}
        steps = []
        for node in nodes:
            parent = number.get(tree.parents[node], ROOT)
            seed = "cold" if tree.parents[node] == ROOT else "keep"
            steps.append(Step(0, positions.index(node % n_C), parent, seed))
        width = first // n_C
        cells = tuple(
            (width * n_C + j if cell_of is None else cell_of[width * n_C + j],) for j in positions
        )
        factors = tuple(float(C_values[j]) for j in positions)
        chains.append(
            Chain(
                key_of(tree, first), labels[width], 0, width, width, (0,), factors, cells,
                tuple(steps),
            )
        )  # fmt: skip
        outside = tree.parents[first]
        if outside != ROOT:
            other = home[outside]
            links[key_of(tree, first)] = (key_of(tree, other), members[other].index(outside))
    return Plan(name, tuple(chains), links=links)


def key_of(tree: GridTree, first: int) -> str:
    """The key of the chain that begins with this node."""
    width, j = tree.shape.place(first)
    return f"0.{width}.{j}"
