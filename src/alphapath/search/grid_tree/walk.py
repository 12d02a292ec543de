"""Walks over a one-class grid: along a tree in parts, or along a tree that is learnt on the way."""

from __future__ import annotations

from joblib import Parallel, delayed

from ...interrupt import Stop
from ..chain import ROOT
from .learned_costs import LearnedCosts, LearnedPlan
from .one_class import GridSolutions, GridSolver, OneClassGrid
from .tree import GridTree, split_tree


def walk_parts(
    grid: OneClassGrid,
    tree: GridTree,
    solutions: GridSolutions,
    n_parts: int = 1,
    n_jobs: int | None = None,
) -> GridTree:
    """Solve all nodes along the tree, cut into parts that threads may solve at once.

    Returns the tree that was walked: the first node of a part begins from nothing.
    """
    if n_parts == 1:
        GridSolver(grid, solutions).solve_tree(tree)
        return tree
    expected = dict(zip(*_expect_costs(grid), strict=True))
    work = [expected[parent, node] for node, parent in enumerate(tree.parents)]
    parts = split_tree(tree, work, n_parts)
    stop = Stop()
    try:
        Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(stop.run)(GridSolver(grid, solutions).solve_tree, tree, part) for part in parts
        )
    finally:
        stop.set()
    parents = list(tree.parents)
    for part in parts:
        parents[part[0]] = ROOT
    return GridTree(tree.shape, tuple(parents))


def _expect_costs(grid: OneClassGrid) -> tuple[list[tuple[int, int]], list[float]]:
    """Edges and what they cost by the prior: good enough to share out work."""
    costs = LearnedCosts(grid.shape)
    return costs.edges, [float(cost) for cost in costs.predict()]


def walk_learning(grid: OneClassGrid, solutions: GridSolutions) -> GridTree:
    """Solve all nodes by a plan that learns what edges cost; returns the tree that was walked."""
    plan = LearnedPlan(grid.shape)
    solver = GridSolver(grid, solutions)
    for parent, node in plan:
        solver.solve_run([node], parent)
        plan.observe(parent, node, float(solutions.n_iter[node]))
    return plan.tree
