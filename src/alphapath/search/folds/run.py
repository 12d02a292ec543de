"""The folds of cross-validation: one Problem, one kernel, each fold begun from a solved one.

A fold is a move of the weights: 0 for what it holds out. Its Solution has the gradient on all
instances, so held-out decision values are there without another kernel row. Which solution a fold
begins from is decided in parents.py; what depends on costs is decided by counted work, so a run
gives the same bits every time and for every number of workers.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from ...errors import SolverMismatch
from ...interrupt import Stop
from ...paths.incremental import Decrement
from ...problem.box_problem import FloatArray, KernelView, Problem
from ...problem.limits import Limits
from ...problem.solution import Info, Solution, Status
from ...problem.steps import Known, Steps
from ...seeds import REGISTRY, SEEDS
from ...solvers import SOLVERS
from ...solvers.native import single_threaded
from ...solvers.sequence.sequence import (
    SequenceSolution,
    make_workspace,
    move_known,
    solve_sequence,
)
from ..cost import SEED_WORK, estimate_work
from .plan import COLD, DECREMENTAL, FULL, BoolArray, Plan, make_plan

T = TypeVar("T")

#: From as many chains a worker on, a worker solves one after the other.
CHAINS_A_WORKER = 4

#: Seeded folds that are solved before "auto" compares their work with a cold one's.
N_PROBES = 2

#: Values that the solutions of one native call may take, so that many folds of much data are
#: several calls.
MAX_BATCH_VALUES = 4_000_000


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

    def find_held_out(some: Sequence[int]) -> list[NDArray[np.intp]]:
        return [np.flatnonzero(held_out[fold]) for fold in some]

    plan = make_plan(folds, find_held_out, seeding, wants_full_first, problem.n)

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


def seconds_left(limits: Limits) -> float | None:
    """What a solve may take now; None for no limit."""
    if limits.deadline is None:
        return limits.time_limit
    left = limits.deadline - time.monotonic()
    if left <= 0.0:
        raise out_of_time()
    return left if limits.time_limit is None else min(left, limits.time_limit)


def out_of_time() -> TimeoutError:
    return TimeoutError("The time limit was reached before the last fold was solved.")


def solve_within(limits: Limits, problem: Problem, start: Any = None) -> Solution:
    """Solve one problem; an interrupt and a missed deadline are exceptions."""
    seconds = seconds_left(limits)
    options: dict[str, Any] = {"free_set": limits.free_set} if problem.has_equality else {}
    solution = SOLVERS["smo" if problem.has_equality else "coordinate"](
        problem,
        start,
        tol=limits.tol,
        max_iter=limits.max_iter,
        time_limit=seconds,
        **options,
    )
    if solution.info.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    is_late = limits.deadline is not None and time.monotonic() >= limits.deadline
    if solution.info.status is Status.TIME_LIMIT and is_late:
        raise out_of_time()
    return solution


def solve_steps_within(
    limits: Limits,
    problem: Problem,
    weights: FloatArray,
    steps: Steps,
    known: list[Known],
    workspace: Any = None,
    n_threads: int = 1,
) -> SequenceSolution:
    """Solve a sequence in one call; what an interrupt or the deadline cuts is missing."""
    return solve_sequence(
        problem,
        weights,
        steps,
        limits=limits,
        known=known,
        total_time_limit=None if limits.deadline is None else seconds_left(limits),
        workspace=workspace,
        n_threads=n_threads,
    )


def is_native(problem: Problem) -> bool:
    """Whether sequences of such problems can be solved in one native call."""
    return problem.has_equality and problem.ridge == 0.0


@dataclass(frozen=True, eq=False)
class GoneKernel:
    """In place of the kernel of a solution that is moved to another one: only its size is left."""

    n: int

    def exact_rows(self, indices: Any) -> FloatArray:
        raise SolverMismatch("The kernel of this solution was given up for that of another fold.")


def move_to_kernel(solution: Solution, kernel: KernelView) -> Solution:
    """The same beta on another kernel of the same instances, with its gradient there."""
    if solution.problem.kernel is kernel:
        return solution
    problem = solution.problem.with_kernel(kernel)
    view: Any = kernel
    support = np.flatnonzero(solution.beta)
    gradient = view.multiply(support, solution.beta[support]) - problem.targets
    if problem.has_ridge:
        gradient += problem.ridges * solution.beta
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
    shares_kernel : bool
        Whether all folds are on the kernel of the problem on all data: what they share is then
        copied once for all of them.
    on_finish : callable or None
        Told when no fold will be asked for any more.
    in_turn : bool
        Whether the folds are solved in the order of the plan: then several in one native call.
        A solution depends on its parent alone, so the bits are the same either way.
    n_threads : int
        Of such a call, for folds that do not wait for each other.
    """

    problem_of: Callable[[int], Problem]
    plan: Plan
    limits: Limits
    full: Solution | None = None
    shares_kernel: bool = True
    on_finish: Callable[[], Any] | None = None
    in_turn: bool = False
    n_threads: int = 1
    gave_up: bool = False
    _solved: dict[int, Solution] = field(default_factory=dict)
    _batch: dict[int, Solution] = field(default_factory=dict)
    _stop: BaseException | None = None
    _cold_work: list[float] = field(default_factory=list)
    _probes: dict[int, tuple[float, int]] = field(default_factory=dict)
    _decrement: Decrement | None = None
    _full_info: Info | None = None
    _workspace: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        self._n_uses = Counter(self.plan.parents.values())
        self._lock = threading.Lock()

    @property
    def _is_native(self) -> bool:
        """Whether native code knows the seed of the plan."""
        seed = REGISTRY.get(self.plan.seed)
        return seed is not None and seed.is_native_for_folds

    @property
    def can_run_natively(self) -> bool:
        """Whether folds that do not wait for each other can be solved in one native call."""
        return self._is_native and self.shares_kernel and is_native(self.problem_of(FULL))

    @property
    def waves(self) -> list[list[int]]:
        """The folds by what they wait for; those of a wave may be solved in any order."""
        waves: list[list[int]] = []
        wave_of: dict[int, int] = {}
        n_probes = first = 0  # the first wave that may still be joined
        for fold, parent in self.plan.parents.items():
            wave = max(first, wave_of[parent] + 1 if parent in wave_of else 0)
            wave_of[fold] = wave
            while len(waves) <= wave:
                waves.append([])
            waves[wave].append(fold)
            n_probes += parent != COLD
            is_decided = self.plan.may_give_up and n_probes == N_PROBES and parent != COLD
            if is_decided or (self.plan.seed == DECREMENTAL and not first):
                first = len(waves)  # the first fold makes what the others begin from
        return waves

    def solve_full(self) -> Solution:
        """The solution on all data, solved when first asked for."""
        if self.full is None:
            self.full = self._let_go(solve_within(self.limits, self.problem_of(FULL)))
        return self.full

    @property
    def full_info(self) -> Info | None:
        """How the solve on all data went; None where there was none."""
        return self._full_info if self.full is None else self.full.info

    def finish(self) -> None:
        """Let go of solutions and of what was copied for them: no fold is asked for any more."""
        self._full_info, self.full = self.full_info, None
        self._solved.clear()
        self._batch.clear()
        self._decrement = self._workspace = None
        if self.on_finish is not None:
            self.on_finish()

    def solve(self, fold: int) -> Solution:
        """Solve one fold; its parent must have been solved."""
        if fold not in self._batch:
            if self._stop is not None:
                raise self._stop
            self._solve_next(fold)
        solution = self._batch.pop(fold)
        self._remember(fold, solution)
        return solution

    def _solve_next(self, fold: int) -> None:
        """Solve this fold and, in one call, those after it that can be solved now."""
        parent = self._parent_of(fold)
        if parent == FULL and not self.shares_kernel:
            self.solve_full()  # before the fold's own kernel is made: there may be room for one
        problem = self.problem_of(fold)
        kernel = problem.kernel if parent == COLD else self._problem_solved(parent).kernel
        if not self._is_native or not is_native(problem):
            self._batch[fold] = self._solve_alone(problem, self._find_solution(parent))
            return
        if kernel is not problem.kernel:
            self._solve_on_its_kernel(fold, problem, self._find_solution(parent))
            return
        # To ask for the problem of another fold may make its kernel.
        goes_on = self.in_turn and self.shares_kernel
        folds = self._choose_batch(fold, problem.n) if goes_on else [fold]
        problems = [problem, *map(self.problem_of, folds[1:])]
        if parent == FULL and self.full is None:  # in the same call
            folds.insert(0, FULL)
            problems.insert(0, self.problem_of(FULL))
        parents = [COLD if other == FULL else self._parent_of(other) for other in folds]
        outside = [p for p in dict.fromkeys(parents) if p != COLD and p not in folds]
        number = {p: i for i, p in enumerate([*outside, *folds])} | {COLD: -1}
        steps = Steps(
            np.arange(len(folds)),
            np.ones(len(folds)),
            np.array([number[p] for p in parents]),
            ["cold" if p == COLD else self.plan.seed for p in parents],
        )
        parents_outside = [self.solve_full() if p == FULL else self._solved[p] for p in outside]
        known = [Known.of(solution) for solution in parents_outside]
        weights = np.stack([p.weights for p in problems])
        workspace = self._reuse_workspace(problem) if goes_on else None
        family = self.problem_of(FULL) if self.shares_kernel else problem
        n_threads = self.n_threads if goes_on else 1
        found = solve_steps_within(self.limits, family, weights, steps, known, workspace, n_threads)
        self._take(folds, problems, found)

    def _solve_on_its_kernel(self, fold: int, problem: Problem, parent: Solution | None) -> None:
        """Solve a fold from a solution on another kernel."""
        assert parent is not None
        known = move_known(parent.problem.weights, parent.beta, problem, problem.kernel)
        step = Steps(np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(1, dtype=int), ["greedy"])
        found = solve_steps_within(self.limits, problem, problem.weights[None], step, [known])
        self._take([fold], [problem], found)

    def _take(self, folds: list[int], problems: list[Problem], found: SequenceSolution) -> None:
        """Keep what was solved, and for the fold that was cut the reason."""
        for k in range(found.n_solved):
            self._batch[folds[k]] = found.solution_of(k, problems[k])
        self.full = self._batch.pop(FULL, self.full)
        if found.n_solved < len(folds):
            self._stop = KeyboardInterrupt() if found.is_interrupted else out_of_time()
            if not self._batch:
                raise self._stop

    def _reuse_workspace(self, problem: Problem) -> Any:
        """What the calls on one kernel hand on."""
        view = problem.kernel
        if self._workspace is None or self._workspace[0] is not view:
            self._workspace = view, make_workspace(problem)
        return self._workspace[1]

    def _solve_alone(self, problem: Problem, parent: Solution | None) -> Solution:
        start, seed_time = None, 0.0
        if self.plan.seed == DECREMENTAL and parent is not None:
            return self._withdraw(parent, problem)
        if parent is not None:
            begin = time.perf_counter()
            start = SEEDS[self.plan.seed](move_to_kernel(parent, problem.kernel), problem)
            seed_time = time.perf_counter() - begin
        solution = solve_within(self.limits, problem, start)
        return solution.with_seed("cold" if start is None else self.plan.seed, seed_time)

    def _choose_batch(self, fold: int, n: int) -> list[int]:
        """The folds from this one on that depend on no decision still to be taken."""
        order = list(self.plan.parents)
        size = max(1, MAX_BATCH_VALUES // (2 * n))
        if self.plan.may_give_up and len(self._probes) < N_PROBES:
            is_cold = self.plan.parents[fold] == COLD
            size = min(size, N_PROBES - len(self._probes) + is_cold)
        start = order.index(fold)
        return order[start : start + size]

    def _withdraw(self, full: Solution, problem: Problem) -> Solution:
        """The fold's exact solution by the path from the solution on all data."""
        if problem.kernel is not full.problem.kernel:
            raise SolverMismatch(
                "The decremental way needs one kernel for all folds: a number for gamma, and no "
                "preprocessing that is fitted on each fold."
            )
        seconds_left(self.limits)
        if self._decrement is None:
            self._decrement = Decrement(full)
        return self._decrement.without(problem).with_seed(DECREMENTAL, 0.0)

    def _parent_of(self, fold: int) -> int:
        return COLD if self.gave_up else self.plan.parents[fold]

    def _problem_solved(self, parent: int) -> Problem:
        """The problem of a parent, which is solved or the one on all data."""
        if parent == FULL:
            return self.problem_of(FULL) if self.full is None else self.full.problem
        return self._solved[parent].problem

    def _find_solution(self, parent: int) -> Solution | None:
        if parent == COLD:
            return None
        return self.solve_full() if parent == FULL else self._solved[parent]

    def _let_go(self, solution: Solution) -> Solution:
        """The solution for folds to begin from: of its kernel, if theirs is another, the size."""
        if self.shares_kernel:
            return solution
        gone = GoneKernel(solution.problem.n)
        return replace(solution, problem=solution.problem.with_kernel(gone), workspace=None)

    def _remember(self, fold: int, solution: Solution) -> None:
        """Keep what other folds begin from, drop the rest, and judge the seed by its work.

        Folds of a wave may come in any order.
        """
        with self._lock:
            if self._n_uses[fold]:
                self._solved[fold] = self._let_go(solution)
            parent = self.plan.parents[fold]
            self._n_uses[parent] -= 1
            if not self._n_uses[parent]:
                self._solved.pop(parent, None)
            if self.plan.may_give_up and len(self._probes) < N_PROBES:
                self._judge(fold, solution)

    def _judge(self, fold: int, solution: Solution) -> None:
        """Give the seed up where the first folds that began from it cost more than cold ones."""
        is_cold = solution.info.seed == "cold"
        has_sisters = self.plan.parents[fold] == FULL and not is_cold
        work = estimate_work(solution, has_sisters=has_sisters)
        if is_cold:
            self._cold_work.append(work)
            return
        size = int(np.count_nonzero(solution.problem.weights))
        self._probes[fold] = work + SEED_WORK, size
        if len(self._probes) == N_PROBES:
            works, sizes = zip(*(self._probes[h] for h in sorted(self._probes)), strict=True)
            self.gave_up = bool(np.mean(works) > self._expect_cold_work(sizes[-1]))

    def _expect_cold_work(self, size: int) -> float:
        """What a fold of so many instances costs from nothing: as measured, or the full fit's less
        what is held out."""
        if self._cold_work:
            return float(np.mean(self._cold_work))
        if self.full is None or self.full.info.seed != "cold":
            return float("inf")
        share = size / np.count_nonzero(self.full.problem.weights)
        return float(share * estimate_work(self.full))
