"""A sequence of problems that differ in their weights, solved in one native call.

    step k:  the problem with weights  c_k = factors[k] * weights[rows[k]]

Each step is warm-started from an earlier one, its parent, by a seed that the native core computes
without a kernel row if possible: for folds and for values of C, the time between two solves would
otherwise exceed that of the solves. See cpp/src/sequence/sequence.cpp.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import _core
from ...gpu.batch import Plan
from ...problem.box_problem import FloatArray, Problem
from ...problem.limits import Limits
from ...problem.solution import Info, Solution, Status
from ...problem.steps import Known, Steps
from ..device import is_on_device, solve_steps
from ..native import SEED_NAMES, require_equality, require_no_ridge, single_threaded, solve_options
from ..precision import TwoPasses, is_rounded

COUNTS = ("n_iter", "n_free_set_solves", "n_bound_hits", "n_refreshes")

#: What Info takes of the columns as it is.
TOLD = (*COUNTS, "objective", "duality_gap", "kkt_violation", "seed_time", "solve_time")


@dataclass(frozen=True, eq=False)
class SequenceSolution:
    """The solutions of the first `len(self)` steps; fewer if a limit or Ctrl-C ended the run.

    Attributes of shape (n_solved,): bias, objective, duality_gap, kkt_violation, n_free (instances
    inside their boxes), status, n_iter, n_free_set_solves, n_bound_hits, n_refreshes, seed (names),
    seed_time and solve_time; of shape (n_solved, n): beta and gradient. `self[k]` is the Solution
    of step k.
    """

    problem: Problem
    weights: FloatArray
    steps: Steps
    columns: dict[str, Any]
    is_interrupted: bool

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["columns"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __len__(self) -> int:
        return len(self.columns["bias"])

    @cached_property
    def seed(self) -> tuple[str, ...]:
        """The name of the seed of each step."""
        return tuple(SEED_NAMES[number] for number in self.columns["seed"].astype(int))

    @cached_property
    def status(self) -> tuple[Status, ...]:
        """The status of each solve."""
        return tuple(Status(number) for number in self.columns["status"].astype(int))

    @cached_property
    def decision_values(self) -> FloatArray:
        """K beta + bias of each step on all n instances, including held-out ones."""
        return self.values_at(np.arange(self.problem.n))

    def values_at(self, rows: Any, steps: slice = slice(None)) -> FloatArray:
        """K beta + bias of some steps on some instances, of shape (n_steps, n_rows).

        The values are bitwise equal for equal rows of the kernel.
        """
        bias = self.bias[steps]
        values = self._products_at(steps, rows).reshape(bias.size, len(rows))
        values += bias[:, None]
        return values

    def values_of_parts(self, rows: Any, sizes: Any, steps: slice) -> FloatArray:
        """The same if each step has its own rows, `sizes` of them, one step after another."""
        values = self._products_at(steps, rows, np.cumsum(sizes))
        values += np.repeat(self.bias[steps], sizes)
        return values

    def _products_at(self, steps: slice, rows: Any, ends: Any = ()) -> FloatArray:
        view: Any = self.problem.kernel
        gradient, beta = self.gradient[steps], self.beta[steps]
        if not len(beta):  # the first step was interrupted
            return np.empty(0)
        sizes = self._sizes[: len(self)][steps]
        return np.asarray(view.products_at(gradient, self.problem.targets, beta, sizes, rows, ends))

    @cached_property
    def _sizes(self) -> FloatArray:
        """`Problem.box_size` of each step, and the growth of its factor along the sequence."""
        factors = np.asarray(self.steps.factors)
        box = self.weights.sum(axis=1)[self.steps.rows] * factors
        return np.stack([box, factors / factors.min()], axis=1)

    def __getitem__(self, k: int) -> Solution:
        weights = self.steps.factors[k] * self.weights[self.steps.rows[k]]
        return self.solution_of(k, self.problem.with_weights(weights))

    def solution_of(self, k: int, problem: Problem) -> Solution:
        """The Solution of step k, for a caller that has its Problem."""
        bias = float(self.bias[k])
        return Solution(problem, self.beta[k], self.gradient[k], bias, self.info_of(k))

    def info_of(self, k: int) -> Info:
        """The Info of step k."""
        told = {name: self.columns[name].item(k) for name in TOLD}
        return Info(**told, status=self.status[k], seed=self.seed[k])


def make_workspace(problem: Problem) -> _core.SequenceWorkspace | None:
    """The workspace that calls of solve_sequence on this kernel can share; None on a device."""
    view: Any = problem.kernel
    return None if is_on_device(problem) else _core.SequenceWorkspace(view.gram)


def solve_sequence(
    problem: Problem,
    weights: ArrayLike,
    steps: Steps,
    *,
    limits: Limits,
    known: Sequence[Known] = (),
    total_time_limit: float | None = None,
    workspace: _core.SequenceWorkspace | None = None,
    n_threads: int = 1,
) -> SequenceSolution:
    """Solve `problem` under other weights, step by step.

    Parameters
    ----------
    problem : Problem
        Its weights only determine the instances that the steps use, whose rows are copied at once.
    weights : array of shape (n_rows, n)
    steps : Steps
    limits : Limits
        Limits of each solve.
    known : sequence of Known
        Solutions of the same family that may warm-start steps.
    total_time_limit : float or None
        Time limit in seconds for all steps together.
    workspace : SequenceWorkspace or None
        Workspace of this kernel's matrix, which reuses what earlier calls computed.
    n_threads : int
        Number of threads for independent steps; the result does not depend on it.

    Examples
    --------
    >>> chain = solve_sequence(problem, weights, steps, limits=Limits())    # doctest: +SKIP
    """
    require_equality(problem, has_equality=True, solver="sequence", instead="coordinate")
    require_no_ridge(problem, solver="sequence")
    rows = np.ascontiguousarray(weights, dtype=np.float64)
    n_known = len(known)
    if is_on_device(problem):
        own = np.where(steps.parents >= n_known, steps.parents - n_known, -1)
        plan = Plan(np.asarray(steps.rows), np.asarray(steps.factors), own)
        found, is_cut = solve_steps(problem, rows, plan, limits, total_time_limit)
        return SequenceSolution(problem, rows, steps, found, is_cut)

    def solve(on: Problem, some: Steps, begins: Sequence[Known], seconds: float | None) -> Any:
        own = workspace if on is problem else None
        return solve_steps_on(on, rows, some, begins, limits, seconds, own, n_threads)

    begin = time.perf_counter()
    with single_threaded():
        if is_rounded(problem.kernel):
            passes = TwoPasses(problem, rows, steps, known, limits.tol, solve)
            columns = passes.run(total_time_limit)
        else:
            columns = solve(problem, steps, known, total_time_limit)
    for array in columns.values():
        array.flags.writeable = False
    for name in COUNTS:
        columns[name] = columns[name].astype(np.int64)
    n_solved = len(columns["bias"])
    is_late = total_time_limit is not None and time.perf_counter() - begin >= total_time_limit
    return SequenceSolution(problem, rows, steps, columns, n_solved < len(steps) and not is_late)


def solve_steps_on(
    problem: Problem,
    rows: FloatArray,
    steps: Steps,
    known: Sequence[Known],
    limits: Limits,
    seconds: float | None,
    workspace: _core.SequenceWorkspace | None,
    n_threads: int = 1,
) -> dict[str, Any]:
    """The columns of steps on the kernel of `problem`; see cpp/src/sequence.cpp."""
    view: Any = problem.kernel
    n_known, n = len(known), problem.n
    # Weights that no row has are rows of their own.
    others = [i for i, parent in enumerate(known) if parent.row < 0]
    all_rows = np.concatenate([rows, *(known[i].weights[None, :] for i in others)])
    known_rows = np.array([parent.row for parent in known], dtype=np.int64)
    known_rows[others] = len(rows) + np.arange(len(others))
    family = _core.Family(
        view.gram,
        problem.targets,
        problem.lower_scale,
        problem.upper_scale,
        all_rows,
        problem.epsilon,
        problem.total_share,
        problem.weights,
    )
    columns: dict[str, Any] = _core.solve_sequence(
        family,
        np.concatenate([known_rows, steps.rows]).astype(np.int64),
        np.concatenate([[parent.factor for parent in known], steps.factors]),
        np.concatenate([np.full(n_known, -1), steps.parents]).astype(np.int64),
        np.array([0] * n_known + [SEED_NAMES.index(name) for name in steps.seeds]),
        np.array([parent.beta for parent in known]).reshape(n_known, n),
        np.array([parent.gradient for parent in known]).reshape(n_known, n),
        solve_options(limits, view.spare_bytes),
        0.0 if seconds is None else float(seconds),
        workspace,
        n_threads,
    )
    return columns
