"""The folds of cross-validation: one Problem, one kernel, each fold begun from a solved one.

A fold is a move of the weights: 0 for what it holds out. Its Solution has the gradient on all
instances, so held-out decision values are there without another kernel row. Which solution a fold
begins from is decided in parents.py; what depends on costs is decided by counted work, so a run
gives the same bits every time and for every number of workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from ...interrupt import Stop
from ...problem.box_problem import Problem
from ...problem.limits import Limits
from ...problem.solution import Solution
from ...solvers.native import single_threaded
from .chain import FoldChain
from .plan import FULL, BoolArray, make_plan

T = TypeVar("T")

#: From as many chains a worker on, a worker solves one after the other.
CHAINS_A_WORKER = 4


def solve_chains(
    chains: Sequence[FoldChain],
    n_folds: int,
    reduce: Callable[[int, int, Solution], T],
    n_jobs: int | None = None,
) -> Iterator[tuple[int, dict[int, T]]]:
    """Solve every fold of every chain; yields (fold, {chain: reduce(chain, fold, solution)}).

    `reduce` says what to keep of a Solution (n values and its kernel); a fold comes when all its
    chains are done, and none that is done is lost where an exception ends the run. Workers are
    threads, since they share the kernel and the solvers release the GIL: those of a native call for
    many folds, where there is one.
    """
    members: list[list[int]] = [[] for _ in range(n_folds)]
    for c, chain in enumerate(chains):
        for h in chain.plan.parents:
            members[h].append(c)
    # Entered once: numpy in the seeds must not see another number of threads than alone.
    with single_threaded():
        n_workers = effective_n_jobs(n_jobs)
        threads = FoldThreads(chains, reduce, members, n_workers)
        if n_workers == 1 or threads.would_repeat_calls:
            for chain in chains:
                chain.in_turn, chain.n_threads = True, n_workers
            yield from solve_in_turn(chains, reduce, members)
            return
        try:
            threads.run()
        finally:  # also after Ctrl-C: hand out what is done
            yield from threads.done_folds()


def solve_in_turn(
    chains: Sequence[FoldChain],
    reduce: Callable[[int, int, Solution], T],
    members: Sequence[Sequence[int]],
) -> Iterator[tuple[int, dict[int, T]]]:
    """As solve_chains, on this thread.

    Chains on one kernel come one after the other: only one at a time then holds its copies of the
    kernel's rows and its solutions. Where folds have kernels of their own, all chains use that of a
    fold before it is given up for the next.
    """
    if len(chains) == 1 or not all(chain.shares_kernel for chain in chains):
        for h, own in enumerate(members):
            yield h, {c: reduce(c, h, chains[c].solve(h)) for c in own}
        return
    done: list[dict[int, T]] = [{} for _ in members]
    try:
        for c, chain in enumerate(chains):
            for h in chain.plan.parents:
                done[h][c] = reduce(c, h, chain.solve(h))
            chain.finish()
    finally:  # also after Ctrl-C: hand out what is done
        for h, own in enumerate(members):
            if len(done[h]) == len(own):
                yield h, done[h]


class FoldThreads:
    """Workers that are threads: first what must be solved in turn, then the rest fold by fold.

    They are led by a thread of their own, so that the caller's can hear Ctrl-C; the workers then
    end.
    """

    def __init__(
        self,
        chains: Sequence[FoldChain],
        reduce: Callable[[int, int, Solution], Any],
        members: Sequence[Sequence[int]],
        n_workers: int,
    ) -> None:
        self.chains, self.reduce, self.members = chains, reduce, members
        self.n_workers = n_workers
        self.done: list[dict[int, Any]] = [{} for _ in members]
        self.stop = Stop()
        self.is_over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        leader = threading.Thread(target=self._lead)
        leader.start()
        # Not by join: interrupted there, Python takes the thread for finished.
        try:
            while not self.is_over.wait(0.1):
                pass
        finally:
            self.stop.set()
            self.is_over.wait()
            leader.join()
        if self.error is not None:
            raise self.error

    def done_folds(self) -> Iterator[tuple[int, dict[int, Any]]]:
        for h, own in enumerate(self.members):
            if len(self.done[h]) == len(own):
                yield h, dict(sorted(self.done[h].items()))

    def _lead(self) -> None:
        workers = Parallel(n_jobs=self.n_workers, require="sharedmem")
        try:
            if self.has_many_chains:
                workers(delayed(self._solve_chain)(c) for c in range(len(self.chains)))
                return
            needing = [chain for chain in self.chains if chain.plan.needs_full]
            workers(delayed(self.stop.run)(chain.solve_full) for chain in needing)
            for together in zip_longest(*(chain.waves for chain in self.chains), fillvalue=()):
                workers(
                    delayed(self._solve)(c, [h]) for c, wave in enumerate(together) for h in wave
                )
        except BaseException as error:
            self.error = error
        finally:
            self.is_over.set()

    @property
    def has_many_chains(self) -> bool:
        """Whether workers have enough to do with whole chains, each of which is then let go of."""
        is_shared = all(chain.shares_kernel for chain in self.chains)
        return is_shared and len(self.chains) >= CHAINS_A_WORKER * self.n_workers

    @property
    def would_repeat_calls(self) -> bool:
        """Whether native threads do the same with fewer calls and fewer copies of kernel rows."""
        return not self.has_many_chains and all(chain.can_run_natively for chain in self.chains)

    def _solve_chain(self, c: int) -> None:
        chain = self.chains[c]
        chain.in_turn = True
        self._solve(c, list(chain.plan.parents))
        chain.finish()

    def _solve(self, c: int, folds: Sequence[int]) -> None:
        def solve_next(h: int) -> None:
            self.done[h][c] = self.reduce(c, h, self.chains[c].solve(h))

        for h in folds:
            self.stop.run(solve_next, h)


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
    wants_full_first = wants_full or full is not None
    plan = make_plan(folds, held_out.__getitem__, seeding, wants_full_first, problem.n)

    def problem_of(fold: int) -> Problem:
        return problem if fold == FULL else problem.with_held_out(held_out[fold])

    chain = FoldChain(problem_of, plan, Limits(**limits, deadline=deadline), full)
    solved: dict[int, Solution] = {}
    try:
        if wants_full:
            chain.solve_full()
        for h, found in solve_chains([chain], len(held_out), lambda c, h, s: s, n_jobs):
            solved[h] = found[0]
    except BaseException as error:
        error.partial = FoldRun(tuple(map(solved.get, folds)), chain.full)  # type: ignore[attr-defined]
        raise
    return FoldRun(tuple(map(solved.get, folds)), chain.full)
