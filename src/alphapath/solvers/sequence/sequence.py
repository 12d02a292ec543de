"""A sequence of problems that differ in their weights, solved in one native call.

    step k:  the problem with weights  c_k = factors[k] * weights[rows[k]]

Each step is warm-started from an earlier one, its parent, by a seed that the native core computes
without a kernel row if possible: for folds and for values of C, the time between two solves would
otherwise exceed that of the solves. See cpp/src/sequence/sequence.cpp.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...gpu.batch import Plan
from ...problem.box_problem import FloatArray, Problem
from ...problem.limits import Limits
from ...problem.solution import Info, Solution, Status
from ...problem.steps import Known, Steps
from ..device import solve_steps
from ..native import (
    SEED_NAMES,
    is_on_device,
    is_rounded,
    require_equality,
    require_no_ridge,
    single_threaded,
    solve_options,
)
from ..precision import TwoPasses

COUNTS = ("n_iter", "n_free_set_solves", "n_bound_hits", "n_refreshes")

#: The statuses of a solve, by their numbers.
STATUSES = {int(status): status for status in Status}

#: What Info takes of the columns as it is.
TOLD = (*COUNTS, "objective", "duality_gap", "kkt_violation", "seed_time", "solve_time")


@dataclass(frozen=True, eq=False)
class SequenceSolution:
    """The solutions of the first `n_solved` steps; fewer if a limit or Ctrl-C ended the run.

    Attributes of shape (n_solved,): bias, objective, duality_gap, kkt_violation, n_free (instances
    inside their boxes), status, n_iter, n_free_set_solves, n_bound_hits, n_refreshes, seed (names),
    seed_time and solve_time; of shape (n_solved, n): beta and gradient. `self[k]` is the Solution
    of step k. `columns` has them as the native core numbers them.
    """

    problem: Problem
    weights: FloatArray
    steps: Steps
    columns: dict[str, Any]
    is_interrupted: bool
    n_solved: int = field(init=False)
    bias: FloatArray = field(init=False)
    objective: FloatArray = field(init=False)
    duality_gap: FloatArray = field(init=False)
    kkt_violation: FloatArray = field(init=False)
    n_free: FloatArray = field(init=False)
    n_iter: NDArray[np.int64] = field(init=False)
    n_free_set_solves: NDArray[np.int64] = field(init=False)
    n_bound_hits: NDArray[np.int64] = field(init=False)
    n_refreshes: NDArray[np.int64] = field(init=False)
    seed_time: FloatArray = field(init=False)
    solve_time: FloatArray = field(init=False)
    beta: FloatArray = field(init=False)
    gradient: FloatArray = field(init=False)
    status: tuple[Status, ...] = field(init=False)
    seed: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        columns = dict(self.columns)
        seeds, statuses = columns.pop("seed").tolist(), columns.pop("status").tolist()
        self.__dict__.update(
            columns,
            n_solved=len(statuses),
            seed=tuple(SEED_NAMES[int(number)] for number in seeds),
            status=tuple(STATUSES[int(number)] for number in statuses),
        )

    def __len__(self) -> int:
        return self.n_solved

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
        sizes = self._sizes[: self.n_solved][steps]
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
    for name in ("beta", "gradient"):  # without a solved step the native arrays have no columns
        columns[name] = columns[name].reshape(-1, problem.n)
    for array in columns.values():
        array.flags.writeable = False
    for name in COUNTS:
        columns[name] = columns[name].astype(np.int64)
    is_cut = len(columns["bias"]) < len(steps.rows)
    is_late = total_time_limit is not None and time.perf_counter() - begin >= total_time_limit
    return SequenceSolution(problem, rows, steps, columns, is_cut and not is_late)


@dataclass(frozen=True)
class Moved:
    """What is kept of steps that were solved one by one: the first `len(infos)` of them.

    `values` are decision values at the rows asked for, one step after the other.
    """

    columns: dict[str, Any]
    infos: list[Info]
    values: FloatArray
    is_interrupted: bool


def solve_on_kernels(
    problem: Problem,
    weights: FloatArray,
    steps: Steps,
    view_of: Callable[[int], Any],
    rows: Sequence[Any],
    *,
    limits: Limits,
) -> Moved:
    """As solve_sequence, where step k is on the kernel `view_of(k)`; its values are those at
    `rows[k]`. One kernel at a time is held; a parent's beta gets its gradient on the step's own.
    """
    left = Counter(steps.parents.tolist())
    betas: dict[int, FloatArray] = {}
    found: list[dict[str, Any]] = []
    infos, values = [], [np.empty(0)]
    is_interrupted = False
    with single_threaded():
        for k, (row, parent) in enumerate(zip(steps.rows, steps.parents.tolist(), strict=True)):
            view, known = view_of(k), []
            if parent >= 0:
                known = [move_known(weights[steps.rows[parent]], betas[parent], problem, view)]
                left[parent] -= 1
                if not left[parent]:
                    del betas[parent]
            begin = np.array([0 if known else -1])
            one = Steps(np.zeros(1, dtype=np.int64), steps.factors[[k]], begin, [steps.seeds[k]])
            own = problem.with_kernel(view)
            solved = solve_sequence(own, weights[[row]], one, limits=limits, known=known)
            is_interrupted = solved.is_interrupted
            if not solved.n_solved:
                break
            if left[k]:
                betas[k] = solved.beta[0]
            values.append(solved.values_at(rows[k])[0])
            infos.append(solved.info_of(0))
            found.append({name: solved.columns[name] for name in (*TOLD, "status")})
    columns = {
        name: np.concatenate([own[name] for own in found]) if found else np.empty(0)
        for name in (*TOLD, "status")
    }
    return Moved(columns, infos, np.concatenate(values), is_interrupted)


def move_known(weights: FloatArray, beta: FloatArray, problem: Problem, view: Any) -> Known:
    """A solution of the same family on another kernel of the same instances."""
    support = np.flatnonzero(beta)
    return Known(weights, beta, view.multiply(support, beta[support]) - problem.targets)


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
