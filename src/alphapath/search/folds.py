"""The folds of cross-validation: one Problem, one kernel, each fold begun from a solved one.

A fold is a move of the weights: 0 for what it holds out. Its Solution has the gradient on all
instances, so held-out decision values are there without another kernel row. Which solution a fold
begins from is decided in parents.py; what depends on costs is decided by counted work, so a run
gives the same bits every time and for every number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ..problem import KernelView, Problem
from ..seeds import SEEDS
from ..solution import Solution, Status
from ..solvers import SOLVERS
from ..solvers.lapack import single_threaded
from .parents import COLD, FULL, BoolArray, Plan, make_plan
from .work import estimate_work

T = TypeVar("T")

#: Seeded folds that are solved before "auto" compares their work with a cold one's.
N_PROBES = 2


@dataclass(frozen=True)
class Limits:
    """When a solve stops; `deadline` (of time.monotonic) holds for the whole run."""

    tol: float = 1e-3
    max_iter: int = -1
    time_limit: float | None = None
    free_set: bool = True
    deadline: float | None = None

    def seconds_left(self) -> float | None:
        """What a solve may take now; None for no limit."""
        if self.deadline is None:
            return self.time_limit
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            raise out_of_time()
        return left if self.time_limit is None else min(left, self.time_limit)

    def solve(self, problem: Problem, start: Any = None) -> Solution:
        """Solve one problem; an interrupt and a missed deadline are exceptions."""
        seconds = self.seconds_left()
        options: dict[str, Any] = {"free_set": self.free_set} if problem.has_equality else {}
        solution = SOLVERS["smo" if problem.has_equality else "coordinate"](
            problem,
            start,
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=seconds,
            **options,
        )
        if solution.info.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        is_late = self.deadline is not None and time.monotonic() >= self.deadline
        if solution.info.status is Status.TIME_LIMIT and is_late:
            raise out_of_time()
        return solution


def out_of_time() -> TimeoutError:
    return TimeoutError("The time limit was reached before the last fold was solved.")


def move_to_kernel(solution: Solution, kernel: KernelView) -> Solution:
    """The same beta on another kernel of the same instances, with its gradient there."""
    if solution.problem.kernel is kernel:
        return solution
    problem = solution.problem.with_kernel(kernel)
    view: Any = kernel
    support = np.flatnonzero(solution.beta)
    gradient = view.multiply(support, solution.beta[support]) - problem.targets
    if problem.ridge > 0.0:
        gradient += problem.ridge * solution.beta
    return replace(solution, problem=problem, gradient=gradient, workspace=None)


@dataclass
class FoldChain:
    """The folds of one problem, solved one by one.

    Parameters
    ----------
    problem_of : callable
        The Problem of a fold; FULL is the number of the problem on all data. They share the
        targets, and differ in weights and perhaps in the kernel.
    plan : Plan
    limits : Limits
    full : Solution or None
        The solution on all data, where it is already known.
    """

    problem_of: Callable[[int], Problem]
    plan: Plan
    limits: Limits
    full: Solution | None = None
    gave_up: bool = False
    _solved: dict[int, Solution] = field(default_factory=dict)
    _cold_work: list[float] = field(default_factory=list)
    _seeded_work: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._last_use = {parent: fold for fold, parent in self.plan.parents.items()}

    @property
    def n_ahead(self) -> int:
        """How many folds must be solved in turn before the others may be solved in any order."""
        if self.plan.is_chain:
            return len(self.plan.parents)
        return N_PROBES if self.plan.may_give_up else 0

    def solve_full(self) -> Solution:
        """The solution on all data, solved when first asked for."""
        if self.full is None:
            self.full = self.limits.solve(self.problem_of(FULL))
        return self.full

    def solve(self, fold: int) -> Solution:
        """Solve one fold; its parent must have been solved."""
        parent = self._find_parent(self.plan.parents[fold])
        problem = self.problem_of(fold)
        start, seed_time = None, 0.0
        if parent is not None and not self.gave_up:
            begin = time.perf_counter()
            start = SEEDS[self.plan.seed](move_to_kernel(parent, problem.kernel), problem)
            seed_time = time.perf_counter() - begin
        solution = self.limits.solve(problem, start)
        name = "cold" if start is None else self.plan.seed
        solution = solution.with_seed(name, seed_time)
        self._remember(fold, solution)
        return solution

    def _find_parent(self, parent: int) -> Solution | None:
        if self.gave_up or parent == COLD:
            return None
        return self.solve_full() if parent == FULL else self._solved[parent]

    def _remember(self, fold: int, solution: Solution) -> None:
        """Keep what later folds begin from, drop the rest, and judge the seed by its work."""
        if fold in self._last_use:
            self._solved[fold] = solution
        parent = self.plan.parents[fold]
        if self._last_use.get(parent) == fold:
            self._solved.pop(parent, None)
        if not self.plan.may_give_up or len(self._seeded_work) >= N_PROBES:
            return
        is_seeded = solution.info.seed != "cold"
        (self._seeded_work if is_seeded else self._cold_work).append(estimate_work(solution))
        if len(self._seeded_work) == N_PROBES:
            self.gave_up = bool(np.mean(self._seeded_work) > self._expect_cold_work(solution))

    def _expect_cold_work(self, solution: Solution) -> float:
        """What a fold costs from nothing: as measured, or the full fit's less what is held out."""
        if self._cold_work:
            return float(np.mean(self._cold_work))
        if self.full is None or self.full.info.seed != "cold":
            return float("inf")
        n_all = np.count_nonzero(self.full.problem.weights)
        share = np.count_nonzero(solution.problem.weights) / n_all
        return float(share * estimate_work(self.full))


def solve_chains(
    chains: Sequence[FoldChain],
    n_folds: int,
    reduce: Callable[[int, int, Solution], T],
    n_jobs: int | None = None,
) -> Iterator[tuple[int, dict[int, T]]]:
    """Solve every fold of every chain; yields (fold, {chain: reduce(chain, fold, solution)}).

    `reduce` says what to keep of a Solution (n values and its kernel); a fold comes when all its
    chains are done, and none that is done is lost where an exception ends the run. Workers are
    threads, since they share the kernel and the solvers release the GIL.
    """
    members = [
        [c for c, chain in enumerate(chains) if h in chain.plan.parents] for h in range(n_folds)
    ]
    # Entered once: numpy in the seeds must not see another number of threads than alone.
    with single_threaded():
        if effective_n_jobs(n_jobs) == 1:
            for h, own in enumerate(members):
                yield h, {c: reduce(c, h, chains[c].solve(h)) for c in own}
            return
        done: list[dict[int, T]] = [{} for _ in members]
        error: BaseException | None = None
        try:
            _solve_in_threads(chains, done, reduce, n_jobs)
        except BaseException as caught:  # Ctrl-C too: first hand out what is done
            error = caught
        for h, own in enumerate(members):
            if len(done[h]) == len(own):
                yield h, dict(sorted(done[h].items()))
        if error is not None:
            raise error


def _solve_in_threads(
    chains: Sequence[FoldChain],
    done: list[dict[int, T]],
    reduce: Callable[[int, int, Solution], T],
    n_jobs: int | None,
) -> None:
    """First what must be solved in turn, a worker a chain; then the rest, a worker a fold."""
    stops = False

    def solve_some(c: int, folds: Sequence[int]) -> None:
        for h in folds:
            if stops:
                return
            done[h][c] = reduce(c, h, chains[c].solve(h))

    def prepare(c: int) -> None:
        if chains[c].plan.needs_full:
            chains[c].solve_full()
        solve_some(c, list(chains[c].plan.parents)[: chains[c].n_ahead])

    workers = Parallel(n_jobs=n_jobs, require="sharedmem")
    try:
        workers(delayed(prepare)(c) for c in range(len(chains)))
        workers(
            delayed(solve_some)(c, [h])
            for c, chain in enumerate(chains)
            for h in list(chain.plan.parents)[chain.n_ahead :]
        )
    finally:
        stops = True


@dataclass(frozen=True)
class FoldRun:
    """Solutions by fold (None: not solved), and the one on all data where there is one."""

    solutions: tuple[Solution | None, ...]
    full: Solution | None = None


def solve_folds(
    problem: Problem,
    masks: Sequence[BoolArray],
    *,
    seeding: str = "auto",
    full: Solution | None = None,
    wants_full: bool = False,
    n_jobs: int | None = None,
    **limits: Any,
) -> FoldRun:
    """Solve `problem` once for each mask, with the instances held out where it is true.

    Parameters
    ----------
    problem : Problem
        On all data.
    masks : sequence of boolean arrays of shape (n,)
    seeding : "auto", "none" or a name of SEEDS
        "avg", "top" and "greedy" begin from the solution on all data, the others from the last
        (or, where folds overlap, the nearest) fold. "auto" is the greedy seed, from all data where
        that solution is given or wanted or there are ten folds, else from the nearest fold; it
        goes on cold where the first seeded folds cost more than that.
    full : Solution or None
        The solution of `problem`, where it is already known.
    wants_full : bool
        Whether that solution is wanted besides the folds.
    n_jobs : int or None
        Threads; the results do not depend on it.
    **limits
        tol, max_iter, time_limit (seconds of the whole run) and free_set.

    Returns
    -------
    FoldRun
        An interrupt, a TimeoutError or any other exception carries the folds already solved as
        its attribute `partial`.

    Examples
    --------
    >>> run = solve_folds(problem, masks)                        # doctest: +SKIP
    >>> run.solutions[0].decision_values[masks[0]]               # doctest: +SKIP
    """
    seconds = limits.pop("time_limit", None)
    deadline = None if seconds is None else time.monotonic() + seconds
    held_out = [np.asarray(mask, dtype=bool) for mask in masks]
    folds = range(len(held_out))
    plan = make_plan(folds, held_out, seeding, wants_full or full is not None)

    def problem_of(fold: int) -> Problem:
        return problem if fold == FULL else problem.with_held_out(held_out[fold])

    chain = FoldChain(problem_of, plan, Limits(**limits, deadline=deadline), full)
    solved: Mapping[int, Solution] = {}
    try:
        if wants_full:
            chain.solve_full()
        solved = {}
        for h, found in solve_chains([chain], len(held_out), lambda c, h, s: s, n_jobs):
            solved[h] = found[0]
    except BaseException as error:
        error.partial = FoldRun(tuple(map(solved.get, folds)), chain.full)  # type: ignore[attr-defined]
        raise
    return FoldRun(tuple(map(solved.get, folds)), chain.full)
