"""The nodes of a one-class grid: one store of distances, every width a kernel, every C a ridge.

    node (width i, C_j):  minimise  1/2 beta' (K_i + D / C_j) beta - sum(beta),  beta >= 0

A node begins from the solution of its parent: MaxMinOver from the parent's unscaled counters, the
coordinate solver from its beta. Nodes of one width that follow each other are one native call of
the coordinate solver. The kernels of all widths come from squared distances computed once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import Kernel, KernelStore
from ...problem.box_problem import FloatArray, Problem, Start
from ...problem.limits import Limits
from ...problem.solution import Solution, Status
from ...solvers.dual import coordinate, maxminover, newton
from ..chain import ROOT
from .tree import GridShape, GridTree

#: Status of a node that no solver has seen.
NOT_SOLVED = -2
#: The relative gap of a solve, if not given.
GAP = 1e-4
#: The relative gap at which support vectors are told, and what of the largest beta is 0.
SUPPORT_GAP, ZERO_SHARE = 1e-12, 1e-9


@dataclass(frozen=True)
class OneClassGrid:
    """What to solve: the store of the rows, a kernel for each width, the values of C.

    Parameters
    ----------
    store : KernelStore
    kernels : sequence of Kernel
        From narrow to wide.
    C_values : array of shape (n_C,)
        Ascending.
    weights : array of shape (n,)
        Of the squared slacks at C = 1; 0 holds an instance out.
    limits : Limits
        Of each solve, whose relative gap is 1e-4 where they name none.
    solver : {"coordinate", "maxminover"}
    """

    store: KernelStore
    kernels: Sequence[Kernel]
    C_values: FloatArray
    weights: FloatArray
    limits: Limits = field(default_factory=Limits)
    solver: str = "coordinate"

    @property
    def shape(self) -> GridShape:
        return GridShape(len(self.kernels), len(self.C_values))

    @property
    def gap_tol(self) -> float:
        return GAP if self.limits.gap_tol is None else self.limits.gap_tol

    def solver_options(self) -> dict[str, Any]:
        return {
            "gap_tol": self.gap_tol,
            "max_iter": self.limits.max_iter,
            "time_limit": self.limits.time_limit,
        }

    def base_problem(self, width: int) -> Problem:
        """The problem of a width at C = 1."""
        view = self.store.view(self.kernels[width], tol=self.gap_tol)
        return Problem.squared_slack_one_class(view, self.weights)


@dataclass
class GridSolutions:
    """What is left of every node; NaN, zeros and status -2 where a node was not solved."""

    shape: GridShape
    n: int
    beta: FloatArray = field(init=False)
    n_iter: NDArray[np.int64] = field(init=False)
    status: NDArray[np.int64] = field(init=False)
    relative_gap: FloatArray = field(init=False)
    seconds: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        m = self.shape.n_nodes
        self.beta = np.zeros((m, self.n))
        self.n_iter = np.zeros(m, dtype=np.int64)
        self.status = np.full(m, NOT_SOLVED, dtype=np.int64)
        self.relative_gap = np.full(m, np.nan)
        self.seconds = np.full(m, np.nan)

    def enter(self, node: int, solution: Solution, gap: float) -> None:
        info = solution.info
        self.beta[node] = solution.beta
        self.n_iter[node] = info.n_iter
        self.status[node] = int(info.status)
        self.relative_gap[node] = gap
        self.seconds[node] = info.solve_time


class GridSolver:
    """Solves nodes of a grid, each from a parent that was solved before, and keeps what they gave.

    Every thread has its own GridSolver; the store and `solutions` are shared.
    """

    def __init__(self, grid: OneClassGrid, solutions: GridSolutions) -> None:
        self.grid = grid
        self.solutions = solutions
        self._counters: dict[int, FloatArray] = {}
        self._problems: OrderedDict[int, Problem] = OrderedDict()

    def solve_tree(self, tree: GridTree, nodes: Sequence[int] | None = None) -> None:
        """All nodes (or these, parents first); a parent that is not among them counts as none."""
        order = tree.order if nodes is None else nodes
        inside = set(order)
        left = {node: len(tree.children.get(node, [])) for node in order}
        for run in find_runs(tree, order):
            first = tree.parents[run[0]]
            self.solve_run(run, first if first in inside else ROOT)
            for node in run:
                self._release(tree.parents[node], left)

    def _release(self, parent: int, left: dict[int, int]) -> None:
        """Counters are dropped with the last child."""
        if parent in left:
            left[parent] -= 1
            if left[parent] == 0:
                self._counters.pop(parent, None)

    def solve_run(self, nodes: Sequence[int], parent: int) -> None:
        """Nodes of one width, the first from `parent`, each other from the one before."""
        if self.grid.solver == "maxminover":
            for node in nodes:
                self._count_steps(node, parent)
                parent = node
            return
        width = nodes[0] // self.grid.shape.n_C
        positions = [node % self.grid.shape.n_C for node in nodes]
        start = None if parent == ROOT else Start(self.solutions.beta[parent])
        chain = coordinate.solve_ridges(
            self._problem_of(width),
            1.0 / self.grid.C_values[positions],
            start,
            **self.grid.solver_options(),
        )
        solutions, n_solved = self.solutions, len(chain.nodes)
        where = np.array(nodes[:n_solved], dtype=np.intp)
        solutions.beta[where] = chain.beta
        for name in ("n_iter", "status", "gap", "seconds"):
            column = solutions.relative_gap if name == "gap" else getattr(solutions, name)
            column[where] = [getattr(node, name) for node in chain.nodes]
        check_interrupt(int(solutions.status[where[-1]]))

    def _count_steps(self, node: int, parent: int) -> None:
        solution = self._run_counters(node, parent)
        counters = solution.workspace
        assert isinstance(counters, maxminover.Counters)
        self._counters[node] = counters.counters
        self.solutions.enter(node, solution, counters.relative_gap)
        check_interrupt(int(solution.info.status))

    def _run_counters(self, node: int, parent: int) -> Solution:
        width, j = self.grid.shape.place(node)
        base = self._problem_of(width)
        problem = base.with_ridge(base.ridge / float(self.grid.C_values[j]))
        start = None if parent == ROOT else Start(self._counters[parent])
        return maxminover.solve(problem, start, **self.grid.solver_options())

    def try_edge(self, parent: int, child: int) -> int:
        """Iterations of the child from the parent; nothing is kept."""
        if self.grid.solver == "maxminover":
            return self._run_counters(child, parent).info.n_iter
        width, j = self.grid.shape.place(child)
        chain = coordinate.solve_ridges(
            self._problem_of(width),
            1.0 / self.grid.C_values[[j]],
            Start(self.solutions.beta[parent]),
            **self.grid.solver_options(),
        )
        return int(chain.nodes[0].n_iter)

    def _problem_of(self, width: int) -> Problem:
        """The problem of a width; as many kernels are held as half of the memory limit allows."""
        problem = self._problems.pop(width, None)
        if problem is None:
            problem = self.grid.base_problem(width)
        self._problems[width] = problem
        view: Any = problem.kernel
        most = max(1, int(self.grid.store.memory_limit // (4 * max(view.gram.nbytes, 1))))
        while len(self._problems) > most:
            self._problems.popitem(last=False)
        return problem


def find_support(grid: OneClassGrid, solutions: GridSolutions) -> NDArray[np.bool_]:
    """Who is a support vector of the exact solution of each node that was solved, a row a node.

    Each is solved to a gap at which strong convexity tells, whatever its search began from: with
    H = K + D, |beta - beta*|_H is at most e = sqrt(2 gap), so beta_i > e / sqrt(D_i) is not 0 and a
    slope above e sqrt(H_ii) keeps beta_i at 0. What that leaves open the Newton solver decides.
    """
    shape = grid.shape
    is_support = np.zeros((shape.n_nodes, solutions.n), dtype=bool)
    strict = replace(grid, limits=Limits(gap_tol=SUPPORT_GAP))
    for width in range(shape.n_widths):
        base = strict.base_problem(width)
        nodes = width * shape.n_C + np.arange(shape.n_C)
        nodes = nodes[solutions.status[nodes] != NOT_SOLVED]
        if nodes.size == 0:
            continue
        factors = 1.0 / grid.C_values[nodes % shape.n_C]
        start = Start(solutions.beta[nodes[0]])
        chain = coordinate.solve_ridges(base, factors, start, gap_tol=SUPPORT_GAP)
        check_interrupt(int(chain.nodes[-1].status))
        for k, node in enumerate(nodes.tolist()):
            is_support[node] = _support_of(chain.solution(k))
    return is_support


def _support_of(solution: Solution) -> NDArray[np.bool_]:
    problem, beta = solution.problem, solution.beta
    view: Any = problem.kernel
    ridges = np.broadcast_to(problem.ridges, beta.shape)
    distance = np.sqrt(2.0 * max(solution.info.duality_gap, 0.0))
    is_in = problem.upper > 0.0
    diagonal = view.diagonal()
    with np.errstate(divide="ignore"):
        is_used = is_in & (beta > distance / np.sqrt(ridges))
    is_zero = ~is_in | (solution.gradient > distance * np.sqrt(diagonal + ridges))
    if (is_used | is_zero).all() or not newton.has_room(problem):
        return np.asarray(np.where(is_zero, False, beta > 0.0))
    exact = newton.solve(problem, solution.as_start(), tol=1e-12).beta
    # Rows that are neither, to rounding, stand at 0.
    return np.asarray(np.where(is_used | is_zero, is_used, exact > ZERO_SHARE * exact.max()))


def find_runs(tree: GridTree, order: Sequence[int]) -> Iterator[list[int]]:
    """The order in pieces: nodes of one width, each the child of the one before."""
    run: list[int] = []
    for node in order:
        is_next = (
            run
            and tree.parents[node] == run[-1]
            and node // tree.shape.n_C == run[-1] // tree.shape.n_C
        )
        if run and not is_next:
            yield run
            run = []
        run.append(node)
    if run:
        yield run


def measure_costs(grid: OneClassGrid) -> tuple[dict[tuple[int, int], float], GridSolutions]:
    """Iterations of every node from nothing and from each of its neighbours, as in the paper.

    The parents are trained from nothing. Four times the work of a search: for studies, and for a
    grid that will be searched again on similar data.
    """
    shape = grid.shape
    alone = GridSolutions(shape, grid.store.n)
    solver = GridSolver(grid, alone)
    for node in range(shape.n_nodes):
        solver.solve_run([node], ROOT)
    costs = {(ROOT, node): float(alone.n_iter[node]) for node in range(shape.n_nodes)}
    for parent, child in shape.edges():
        costs[parent, child] = float(solver.try_edge(parent, child))
    return costs, alone


def check_interrupt(status: int) -> None:
    """Ctrl-C ends the search; what was solved before stays in the solutions."""
    if status == Status.INTERRUPTED:
        raise KeyboardInterrupt
