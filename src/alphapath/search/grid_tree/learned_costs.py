"""Learn what edges of a grid cost while the grid is searched, and plan again as it is learnt.

The cost of an edge is modelled as  exp(prior(edge) + correction(edge)):  a prior by orientation and
place that leads along the heuristic tree, and a correction that is the mean of what was observed
beyond its prior, near by and in the same orientation counting most; what was never tried near by is
thought dearer. After every few nodes the cheapest arborescence over what is left, grown from all
that is solved, is computed anew and followed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...problem.box_problem import FloatArray
from ..chain import ROOT
from .arborescence import Edge, minimum_arborescence
from .tree import GridShape, GridTree

#: Logarithm of an edge's cost relative to others at its place, by orientation, after one-class
#: problems; a second root must be worth much before one is tried.
PRIOR = {"C up": -0.7, "C down": -5.0, "wider": 1.0, "narrower": -2.0, "root": 4.0}

#: How the logarithm grows over the whole grid: with C, and towards narrow widths.
GROWTH_C, GROWTH_WIDTH = 4.0, 5.0

#: How far an observation reaches, in steps of the grid, and how it counts for other orientations.
REACH, ELSEWHERE = 3.0, 0.1

#: What is added to the logarithm where nothing of the orientation was observed near by.
PESSIMISM = 2.0

#: Weight of the prior among the observations.
PRIOR_WEIGHT = 0.5

#: Nodes solved between two plans.
PLAN_EVERY = 8


class LearnedCosts:
    """Predictions of the costs of all edges of a grid, (ROOT, node) included."""

    def __init__(self, shape: GridShape) -> None:
        self.edges = list(shape.edges()) + [(ROOT, node) for node in range(shape.n_nodes)]
        self._number = {edge: k for k, edge in enumerate(self.edges)}
        names = list(PRIOR)
        self._kind = np.array([names.index(shape.orientation(*edge)) for edge in self.edges])
        self._place = np.array([shape.place(child) for _, child in self.edges], dtype=np.float64)
        span = np.maximum(np.array(shape, dtype=np.float64) - 1.0, 1.0)
        narrow, c = 1.0 - self._place[:, 0] / span[0], self._place[:, 1] / span[1]
        offset = np.array([PRIOR[name] for name in names])[self._kind]
        self._prior = offset + GROWTH_C * c + GROWTH_WIDTH * narrow
        self._weight = np.full(len(self.edges), PRIOR_WEIGHT)
        self._own_weight = np.zeros(len(self.edges))
        self._sum = np.zeros(len(self.edges))

    def observe(self, parent: int, child: int, cost: float) -> None:
        """Learn from the cost (of any unit) of the node `child` begun from `parent`."""
        k = self._number[parent, child]
        distance = np.square(self._place - self._place[k]).sum(axis=1)
        weight = np.exp(-0.5 * distance / REACH**2)
        is_same = self._kind == self._kind[k]
        self._own_weight += weight * is_same
        weight *= np.where(is_same, 1.0, ELSEWHERE)
        self._weight += weight
        self._sum += weight * (np.log1p(cost) - self._prior[k])

    def predict(self) -> FloatArray:
        """Costs of `edges`, in the unit of what was observed."""
        doubt = PESSIMISM / (1.0 + self._own_weight)
        return np.asarray(np.exp(self._prior + self._sum / self._weight + doubt))


class LearnedPlan:
    """Chooses node after node, and is told what each cost.

    Examples
    --------
    >>> plan = LearnedPlan(GridShape(2, 3))
    >>> for parent, node in plan:
    ...     plan.observe(parent, node, cost=1.0)
    >>> len(plan.tree.order)
    6
    """

    def __init__(self, shape: GridShape) -> None:
        self.shape = shape
        self.costs = LearnedCosts(shape)
        self._parents: dict[int, int] = {}

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(parent, node) until all nodes are solved; `observe` must follow each."""
        while len(self._parents) < self.shape.n_nodes:
            yield from self._plan_ahead()

    def observe(self, parent: int, node: int, cost: float) -> None:
        """The node was solved, begun from `parent`, at this cost."""
        self._parents[node] = parent
        self.costs.observe(parent, node, cost)

    @property
    def tree(self) -> GridTree:
        """The tree that was walked."""
        return GridTree(self.shape, tuple(self._parents[k] for k in range(self.shape.n_nodes)))

    def _plan_ahead(self) -> list[tuple[int, int]]:
        """The next edges of the cheapest tree from all that is solved, which counts as one node."""
        source = self.shape.n_nodes
        best: dict[tuple[int, int], tuple[float, int]] = {}
        for (parent, child), cost in zip(self.costs.edges, self.costs.predict(), strict=True):
            if child in self._parents:
                continue
            is_root = parent == ROOT
            tail = source if is_root or parent in self._parents else parent
            best[tail, child] = min(best.get((tail, child), (np.inf, 0)), (float(cost), parent))
        edges = [Edge(tail, child, cost) for (tail, child), (cost, _) in best.items()]
        edges += [Edge(source, node, 0.0) for node in self._parents]
        parents = minimum_arborescence(source + 1, source, edges)
        children: dict[int, list[int]] = {}
        for child in range(source):
            if child not in self._parents:
                children.setdefault(parents[child], []).append(child)
        return self._first_edges(children, best)

    def _first_edges(
        self,
        children: dict[int, list[int]],
        best: dict[tuple[int, int], tuple[float, int]],
    ) -> list[tuple[int, int]]:
        """Depth first from what is solved, the branch with most below it first."""
        size = {node: 1 for nodes in children.values() for node in nodes}
        order: list[int] = []
        left = [self.shape.n_nodes]
        while left:
            node = left.pop()
            order.append(node)
            left += children.get(node, [])
        for node in reversed(order):
            size[node] = 1 + sum(size[child] for child in children.get(node, []))
        chosen: list[tuple[int, int]] = []
        stack = [(self.shape.n_nodes, child) for child in children.get(self.shape.n_nodes, [])]
        stack.sort(key=lambda edge: size[edge[1]])
        while stack and len(chosen) < PLAN_EVERY:
            tail, node = stack.pop()
            parent = best[tail, node][1] if tail == self.shape.n_nodes else tail
            chosen.append((parent, node))
            below = sorted(children.get(node, []), key=lambda child: size[child])
            stack += [(node, child) for child in below]
        return chosen
