"""Trees over a grid: Edmonds against networkx, the named trees, splitting, learned costs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from alphapath.search.chain import ROOT
from alphapath.search.grid_tree.arborescence import Edge, minimum_arborescence
from alphapath.search.grid_tree.learned_costs import LearnedPlan
from alphapath.search.grid_tree.tree import (
    TREES,
    GridShape,
    GridTree,
    cheapest_tree,
    heuristic_tree,
    independent_tree,
    sequential_tree,
    split_tree,
)

SHAPE = GridShape(5, 7)


@pytest.mark.parametrize("seed", range(40))
def test_edmonds_is_as_cheap_as_networkx(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    costs = {(0, v): float(rng.integers(5, 30)) for v in range(1, n)}
    for u, v in rng.integers(0, n, (4 * n, 2)).tolist():
        if u != v and v != 0:
            costs[u, v] = float(rng.integers(0, 12))  # many ties
    parents = minimum_arborescence(n, 0, [Edge(u, v, c) for (u, v), c in costs.items()])
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((u, v, c) for (u, v), c in costs.items())
    best = nx.minimum_spanning_arborescence(graph).size(weight="weight")
    found = nx.DiGraph([(parents[v], v) for v in range(1, n)])
    assert nx.is_arborescence(found)
    assert sum(costs[parents[v], v] for v in range(1, n)) == pytest.approx(best)


def test_a_node_that_can_not_be_reached_is_named():
    with pytest.raises(ValueError, match="can not be reached"):
        minimum_arborescence(3, 0, [Edge(0, 1, 1.0), Edge(2, 1, 0.5)])


@pytest.mark.parametrize("name", TREES)
def test_named_trees_reach_every_node_by_neighbours(name):
    tree = TREES[name](SHAPE)
    assert sorted(tree.order) == list(range(SHAPE.n_nodes))
    position = {node: k for k, node in enumerate(tree.order)}
    for child, parent in enumerate(tree.parents):
        assert parent == ROOT or position[parent] < position[child]
    counts = tree.orientations()
    assert counts["jump"] == 0
    assert counts["root"] == (SHAPE.n_nodes if name == "independent" else 1)
    assert counts.total() == SHAPE.n_nodes


def test_the_heuristic_climbs_once_and_descends_everywhere():
    counts = heuristic_tree(SHAPE).orientations()
    assert counts == {"root": 1, "C up": 6, "narrower": 4, "C down": 4 * 6}


def test_a_single_row_and_a_single_column():
    for shape in (GridShape(1, 4), GridShape(4, 1), GridShape(1, 1)):
        for make in TREES.values():
            assert len(make(shape).order) == shape.n_nodes


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="own ancestors"):
        GridTree(GridShape(1, 3), (ROOT, 2, 1))
    with pytest.raises(ValueError, match="2 parents"):
        GridTree(GridShape(1, 3), (ROOT, 0))


def costs_of(shape, rng, **scale):
    """Random costs; `scale` multiplies those of an orientation."""
    costs = {(ROOT, node): 500.0 * rng.uniform(0.5, 1.5) for node in range(shape.n_nodes)}
    for parent, child in shape.edges():
        factor = scale.get(shape.orientation(parent, child).replace(" ", "_"), 10.0)
        costs[parent, child] = factor * rng.uniform(0.8, 1.2)
    return costs


def test_the_cheapest_tree_is_no_dearer_than_any_other():
    costs = costs_of(SHAPE, np.random.default_rng(0), C_down=1.0, narrower=3.0)
    best = cheapest_tree(SHAPE, costs)
    for make in (heuristic_tree, independent_tree, sequential_tree):
        assert best.cost(costs) <= make(SHAPE).cost(costs)


@pytest.mark.parametrize(
    ("scale", "share"),
    [
        # As the prior has it: nothing is lost.
        ({"C_down": 0.1, "narrower": 30.0, "C_up": 60.0, "wider": 90.0}, 1.01),
        # Otherwise the plan turns away from the heuristic tree.
        ({"C_down": 90.0, "narrower": 300.0, "C_up": 3.0, "wider": 300.0}, 0.9),
        ({"C_down": 50.0, "narrower": 2.0, "C_up": 60.0, "wider": 90.0}, 0.4),
    ],
)
def test_the_learned_plan_learns(scale, share):
    shape = GridShape(12, 12)
    costs = costs_of(shape, np.random.default_rng(1), **scale)
    plan = LearnedPlan(shape)
    for parent, node in plan:
        plan.observe(parent, node, costs[parent, node])
    walked = plan.tree.cost(costs)
    assert cheapest_tree(shape, costs).cost(costs) <= walked
    assert walked <= share * heuristic_tree(shape).cost(costs)


@pytest.mark.parametrize("n_parts", [1, 2, 4, 7])
def test_parts_are_subtrees_of_about_equal_work(n_parts):
    tree = heuristic_tree(GridShape(12, 10))
    parts = split_tree(tree, np.ones(120), n_parts)
    assert sorted(node for part in parts for node in part) == list(range(120))
    assert len(parts) <= n_parts
    for part in parts:
        inside = set(part)
        roots = [node for node in part if tree.parents[node] not in inside]
        assert len(roots) == 1
        assert part[0] == roots[0]
        assert len(part) <= 2 * 120 / n_parts + 10
    with pytest.raises(ValueError, match="n_parts is 0"):
        split_tree(tree, np.ones(120), 0)
