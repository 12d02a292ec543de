"""Chains on neighbouring kernels: what one hands to the next, and which edges that makes cheaper.

With few values of C, the first solve of every fold is most of the work. It may begin from nothing,
from the last fold on the same kernel, or from the same fold on the kernel before. Which is cheaper
depends on the data, on C and on how near the kernels are; it is learnt while searching: every chain
tries two ways, on its first two folds, and the other folds of the next chain begin by the one that
was cheaper. Work is counted, and chains that begin from one another are solved by one worker, in
order: so the results do not depend on who solves what.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from ..problem.box_problem import FloatArray, Problem
from ..problem.steps import Known
from ..solvers.sequence.sequence import SequenceSolution, move_known
from .chain import NEIGHBOUR, ROOT, Arrays, Chain, Step
from .cost import multiply_work

#: Chains of a unit: more would leave other workers without one.
MAX_UNIT = 5

#: Nanoseconds that moving a solution to another kernel takes, besides the product with the kernel.
MOVE_WORK = 5e4

#: Kernels are linked where first solves cost so many times that.
WORTH = 4.0


class Edge(StrEnum):
    """What the first solve of a fold begins from."""

    COLD = "cold"
    FOLD = "fold"
    KERNEL = "kernel"


def link_steps(chain: Chain, edges: Sequence[str]) -> tuple[Step, ...]:
    """The steps of a chain, with the first of each fold begun by the edge given for the fold."""
    edge_of = dict(zip(chain.folds, edges, strict=True))
    steps: list[Step] = []
    last = ROOT  # the first step of the last fold
    for k, step in enumerate(chain.steps):
        if step.factor != 0:
            steps.append(step)
            continue
        parent = {Edge.FOLD: last, Edge.KERNEL: NEIGHBOUR}.get(Edge(edge_of[step.fold]), ROOT)
        steps.append(Step(step.fold, 0, parent, "cold" if parent == ROOT else "greedy"))
        last = k
    return tuple(steps)


@dataclass
class Neighbour:
    """What a chain leaves to the one on the next kernel.

    Parameters
    ----------
    work : float
        The mean work of a first solve on the last kernel.
    costs : dict
        The same by its edge, where it was last tried.
    first : dict
        Weights and beta of the first solve of (pair of classes, fold); no kernel.
    """

    work: float = 0.0
    costs: dict[str, float] = field(default_factory=dict)
    first: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def arrays(self) -> Arrays:
        """All of it, as a journal keeps it."""
        solutions = list(self.first.values())
        return {
            "work": np.array(self.work),
            "edges": np.array(list(self.costs), dtype=str),
            "costs": np.array(list(self.costs.values()), dtype=np.float64),
            "keys": np.array(list(self.first), dtype=np.int64).reshape(-1, 2),
            "sizes": np.array([beta.size for _, beta in solutions], dtype=np.int64),
            "weights": np.concatenate([np.zeros(0), *(weights for weights, _ in solutions)]),
            "beta": np.concatenate([np.zeros(0), *(beta for _, beta in solutions)]),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Neighbour:
        """The inverse of `arrays`."""
        costs = dict(zip(arrays["edges"].tolist(), arrays["costs"].tolist(), strict=True))
        ends = np.cumsum(arrays["sizes"])[:-1]
        weights, beta = (np.split(arrays[name], ends) for name in ("weights", "beta"))
        keys = [(pair, fold) for pair, fold in arrays["keys"].tolist()]
        first = dict(zip(keys, zip(weights, beta, strict=True), strict=False))
        return cls(float(arrays["work"]), costs, first)

    def choose_edges(self, chain: Chain) -> list[Edge]:
        """An edge for each fold of a chain, by what edges cost on the kernel before."""
        n = len(chain.folds)
        is_dear = self.work >= WORTH * MOVE_WORK
        first = Edge.KERNEL if chain.after and is_dear else Edge.COLD
        cheaper = min((Edge.FOLD, first), key=lambda edge: self.costs.get(edge, math.inf))
        return [first, Edge.FOLD, *([cheaper] * n)][:n]

    def observe(self, edges: Sequence[str], work: FloatArray) -> None:
        """Learn what the first solves of a chain cost."""
        self.work = float(np.mean(work))
        for edge in set(edges):
            self.costs[edge] = float(np.mean(work[np.array(edges) == edge]))

    def keep(self, pair: int, steps: Sequence[Step], solved: SequenceSolution) -> None:
        """Keep what the next chain may begin from."""
        weights = solved.steps.factors[:, None] * solved.weights[solved.steps.rows]
        for k, step in enumerate(steps[: solved.n_solved]):
            if step.factor == 0:
                self.first[pair, step.fold] = weights[k], solved.beta[k].copy()

    def move(self, pair: int, fold: int, problem: Problem) -> tuple[Known, float] | None:
        """The solution of the kernel before, on this problem's kernel, and the work that takes."""
        if (pair, fold) not in self.first:
            return None
        weights, beta = self.first[pair, fold]
        known = move_known(weights, beta, problem, problem.kernel)
        return known, MOVE_WORK + multiply_work(problem.n, int(np.count_nonzero(beta)))


def units_of(chains: Sequence[Chain]) -> list[list[Chain]]:
    """The chains that one worker solves in turn, each after the one it begins from."""
    units: list[list[Chain]] = []
    place: dict[str, list[Chain]] = {}
    for chain in chains:
        unit = place.get(chain.after) if chain.after else None
        if unit is None:
            unit = []
            units.append(unit)
        unit.append(chain)
        place[chain.key] = unit
    return units
