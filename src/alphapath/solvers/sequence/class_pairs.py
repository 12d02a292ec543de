"""The pairs of many classes on one kernel, each on the instances of its two classes.

These are thousands of problems, each solved in less time than Python takes to set one up, so all
pairs and all their steps are one native call. See cpp/src/sequence/class_pairs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem.box_problem import FloatArray
from ...problem.limits import Limits
from ...problem.solution import Info, Status
from ...problem.steps import Steps
from ..native import SEED_NAMES, is_rounded, single_threaded, solve_options
from ..precision import is_hopeless, slope_errors

IntArray = NDArray[np.int64]

#: Up to so many instances of a pair this is worth it; one of more takes longer to solve than to
#: state, and what its first folds cost may decide how the others begin (search/folds/run.py).
MOST_INSTANCES = 2500

#: What Info takes of the columns, as whole numbers and as floats.
COUNTS = ("n_iter", "n_free_set_solves", "n_bound_hits", "n_refreshes")
NUMBERS = ("objective", "duality_gap", "kkt_violation", "seed_time", "solve_time")


class ClassPairs(NamedTuple):
    """The instances of each pair, and their signs, pair after pair.

    `first` holds the start of each pair, followed by the end of the last.
    """

    members: IntArray
    signs: FloatArray
    first: IntArray

    def __len__(self) -> int:
        return len(self.first) - 1

    def take(self, numbers: IntArray) -> ClassPairs:
        """Some of the pairs."""
        sizes = np.diff(self.first)[numbers]
        first = np.concatenate([[0], np.cumsum(sizes)])
        own = np.repeat(self.first[numbers] - first[:-1], sizes) + np.arange(first[-1])
        return ClassPairs(self.members[own], self.signs[own], first)

    def sizes(self, weights: FloatArray) -> FloatArray:
        """Number of instances that each row of weights leaves in each pair, as in `lengths`."""
        is_used = (weights[:, self.members] > 0.0).astype(np.float64)
        return np.add.reduceat(is_used, self.first[:-1], axis=1).T

    def lengths(self, weights: FloatArray) -> FloatArray:
        """The length of each row of weights on each pair, of shape (n_pairs, n_rows)."""
        squares = np.add.reduceat(weights[:, self.members] ** 2, self.first[:-1], axis=1)
        return np.asarray(np.sqrt(squares).T)


@dataclass(frozen=True, eq=False)
class PairsSolution:
    """The solved steps of every pair.

    Parameters
    ----------
    columns : dict of arrays of shape (n_pairs, n_steps)
        Numbers of the steps by name, as in SequenceSolution; nan for unsolved steps.
    n_solved : array of shape (n_pairs,)
        Number of solved steps, which are the first; fewer than all after Ctrl-C or a time limit.
    indptr : array of shape (n_pairs * n_steps + 1,)
    rows, beta : arrays
        The instances with beta != 0 of step k of pair p, from indptr[p * n_steps + k] on.
    is_interrupted : bool
    """

    columns: dict[str, FloatArray]
    n_solved: IntArray
    indptr: IntArray
    rows: IntArray
    beta: FloatArray
    is_interrupted: bool

    @property
    def n_pairs(self) -> int:
        return len(self.n_solved)

    @property
    def n_steps(self) -> int:
        return int(self.columns["bias"].shape[1])

    @property
    def is_complete(self) -> bool:
        return bool((self.n_solved == self.n_steps).all())

    def support_of(self, step: int) -> tuple[IntArray, FloatArray, IntArray]:
        """The instances with beta != 0 in a step of any pair, their beta, and the pairs."""
        numbers = np.arange(self.n_pairs) * self.n_steps + step
        counts = self.indptr[numbers + 1] - self.indptr[numbers]
        before = np.cumsum(counts) - counts
        own = np.repeat(self.indptr[numbers] - before, counts) + np.arange(counts.sum())
        return self.rows[own], self.beta[own], np.repeat(np.arange(self.n_pairs), counts)

    def support_in(self, pair: int, step: int) -> tuple[IntArray, FloatArray]:
        """The instances with beta != 0 in a step of a pair, and their beta."""
        number = pair * self.n_steps + step
        own = slice(int(self.indptr[number]), int(self.indptr[number + 1]))
        return self.rows[own], self.beta[own]

    def infos(self, step: int) -> list[Info]:
        """The Info of a step for each pair that it was solved for."""
        is_solved = self.n_solved > step
        columns: dict[str, list[Any]] = {
            name: values[is_solved, step].tolist() for name, values in self.columns.items()
        }
        told = {name: columns[name] for name in NUMBERS}
        told |= {name: [int(value) for value in columns[name]] for name in COUNTS}
        told["status"] = [Status(int(code)) for code in columns["status"]]
        told["seed"] = [SEED_NAMES[int(code)] for code in columns["seed"]]
        return [
            Info(**dict(zip(told, row, strict=True))) for row in zip(*told.values(), strict=True)
        ]


def solve_class_pairs(
    view: Any,
    pairs: ClassPairs,
    weights: FloatArray,
    steps: Steps,
    *,
    limits: Limits,
    total_time_limit: float | None = None,
    n_threads: int = 1,
) -> PairsSolution:
    """Solve the same steps for every pair, each as `solve_sequence` would on its instances.

    Parameters
    ----------
    view : KernelView
        The kernel on all instances.
    pairs : ClassPairs
    weights : array of shape (n_rows, n)
        Weights of all instances; the steps refer to its rows.
    steps : Steps
    limits : Limits
        Limits of each solve.
    total_time_limit : float or None
        Time limit in seconds for all steps.
    n_threads : int
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> solved = solve_class_pairs(view, pairs, weights, steps, limits=Limits())  # doctest: +SKIP
    """
    begin = time.perf_counter()

    def solve(own: Any, numbers: IntArray) -> PairsSolution:
        left = total_time_limit
        if left is not None:
            left = max(left - (time.perf_counter() - begin), 1e-6)
        some = pairs if numbers.size == len(pairs) else pairs.take(numbers)
        return run(own, some, weights, steps, limits, left, n_threads)

    everybody = np.arange(len(pairs))
    if not is_rounded(view):
        return solve(view, everybody)
    lengths = pairs.lengths(weights)[:, steps.rows] * steps.factors
    is_fine = np.asarray(is_hopeless(view, lengths, limits.tol).any(axis=1))
    fine = view.in_double() if is_fine.any() else None
    if fine is None:
        is_fine[:] = False
    coarse = everybody[~is_fine]
    first = solve(view, coarse) if coarse.size else None
    spoilt: IntArray = np.empty(0, dtype=np.int64)
    if first is not None:
        errors = slope_errors(view, beta_lengths(first), limits.tol)
        is_spoilt = (errors > limits.tol) & (first.columns["status"] == Status.SOLVED)
        spoilt = coarse[is_spoilt.any(axis=1)]
        if spoilt.size:
            first = mark_spoilt(first, is_spoilt, errors)
            fine = fine or view.in_double()
    again = np.union1d(everybody[is_fine], spoilt) if fine is not None else spoilt[:0]
    if first is not None and (again.size == 0 or first.is_interrupted):
        return first if coarse.size == len(pairs) else join([(coarse, first)], len(pairs))
    second = solve(fine, again)
    if first is None:
        return second
    if not second.is_complete:  # what was spoilt is better than nothing
        status = Status.INTERRUPTED if second.is_interrupted else Status.TIME_LIMIT
        first.columns["status"][is_spoilt] = float(status)
    return join([(coarse, first), (again, second)], len(pairs))


def mark_spoilt(
    solved: PairsSolution, is_spoilt: NDArray[np.bool_], errors: FloatArray
) -> PairsSolution:
    """The same, with what rounding of kernel values may have hidden added to the violations."""
    columns = dict(solved.columns)
    columns["status"] = np.where(is_spoilt, float(Status.STALLED), columns["status"])
    columns["kkt_violation"] = columns["kkt_violation"] + np.where(is_spoilt, errors, 0.0)
    return replace(solved, columns=columns)


def run(
    view: Any,
    pairs: ClassPairs,
    weights: FloatArray,
    steps: Steps,
    limits: Limits,
    seconds: float | None,
    n_threads: int,
) -> PairsSolution:
    """One native call."""
    begin = time.perf_counter()
    with single_threaded():
        columns: dict[str, Any] = _core.solve_class_pairs(
            view.gram,
            pairs.members,
            pairs.signs,
            pairs.first,
            np.ascontiguousarray(weights, dtype=np.float64),
            np.asarray(steps.rows, dtype=np.int64),
            np.asarray(steps.factors, dtype=np.float64),
            np.asarray(steps.parents, dtype=np.int64),
            np.array([SEED_NAMES.index(name) for name in steps.seeds]),
            solve_options(limits, view.spare_bytes),
            0.0 if seconds is None else float(seconds),
            n_threads,
        )
    n_solved, indptr = columns.pop("n_solved"), columns.pop("indptr")
    rows, beta = columns.pop("rows"), columns.pop("beta")
    shape = len(pairs), len(steps)
    is_solved = np.arange(shape[1]) < n_solved[:, None]
    if not is_solved.all():
        sizes = np.zeros(shape, dtype=np.int64)
        sizes[is_solved] = np.diff(indptr)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        for name, values in columns.items():
            columns[name] = np.full(shape, np.nan)
            columns[name][is_solved] = values
    tables = {name: values.reshape(shape) for name, values in columns.items()}
    is_late = seconds is not None and time.perf_counter() - begin >= seconds
    is_interrupted = not is_solved.all() and not is_late
    return PairsSolution(tables, n_solved, indptr, rows, beta, is_interrupted)


def beta_lengths(solved: PairsSolution) -> FloatArray:
    """The length of beta in each step of each pair."""
    sums = np.concatenate([[0.0], np.cumsum(solved.beta**2)])[solved.indptr]
    return np.sqrt(np.maximum(np.diff(sums), 0.0)).reshape(solved.n_pairs, solved.n_steps)


def join(found: Sequence[tuple[IntArray, PairsSolution]], n_pairs: int) -> PairsSolution:
    """Some pairs and others; of one that is in both the last counts that has as many steps, with
    the iterations of both."""
    n_steps = found[0][1].n_steps
    columns = {name: np.full((n_pairs, n_steps), np.nan) for name in found[0][1].columns}
    n_solved = np.zeros(n_pairs, dtype=np.int64)
    betas: list[tuple[IntArray, FloatArray]] = [(np.empty(0, np.int64), np.empty(0))] * n_pairs
    sizes = np.zeros((n_pairs, n_steps), dtype=np.int64)
    for numbers, solved in found:
        takes = np.flatnonzero(solved.n_solved >= n_solved[numbers])
        own = numbers[takes]
        for name, values in solved.columns.items():
            is_sum = name in COUNTS or name.endswith("_time")
            before = np.nan_to_num(columns[name][own]) if is_sum else 0.0
            columns[name][own] = values[takes] + before
        n_solved[own] = solved.n_solved[takes]
        sizes[own] = np.diff(solved.indptr).reshape(-1, n_steps)[takes]
        ends = solved.indptr[::n_steps]
        for k, p in zip(takes.tolist(), own.tolist(), strict=True):
            part = slice(ends[k], ends[k + 1])
            betas[p] = solved.rows[part], solved.beta[part]
    rows, beta = (np.concatenate(part) for part in zip(*betas, strict=True))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    is_interrupted = any(solved.is_interrupted for _, solved in found)
    return PairsSolution(columns, n_solved, indptr, rows, beta, is_interrupted)
