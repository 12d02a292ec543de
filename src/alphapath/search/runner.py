"""Chains of a search, run one by one or in parallel by joblib, and what they gave.

The unit of work is a Chain, or several that begin from one another: a pure function of the data and
the chains, so the results are the same for any backend and any number of workers. A unit that a
journal knows is not run again; one whose worker died is run again, at last in this process.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from ..solvers.lapack import single_threaded
from ..stopping import Stop
from .neighbours import Neighbour, units_of
from .node import Arrays, Chain
from .result import NOT_RUN

#: How often the chains of dead workers are handed out again before they are run in this process.
N_ROUNDS = 2

#: Units for each worker that are handed out at a time where the backend gives no result before all.
UNITS_AT_A_TIME = 4

#: Errors (by class name, along the base classes) that say a worker died, not that the work failed.
DEATHS = frozenset(
    {
        "TerminatedWorkerError",
        "BrokenProcessPool",
        "BrokenExecutor",
        "KilledWorker",
        "CommClosedError",
        "FutureCancelledError",
        "WorkerCrashedError",
        "ActorDiedError",
    }
)


class Journal(Protocol):
    """Remembers finished chains, as journal.Journal does."""

    def get(self, key: str, /) -> Arrays | None: ...

    def put(self, key: str, arrays: Arrays, /) -> None: ...


class Work(Protocol):
    """What solves a chain: picklable, and None where the time is over.

    In a unit of several chains, `neighbour` goes from one to the next. A KeyboardInterrupt may
    have the arrays of what was solved as its attribute `partial`.
    """

    def __call__(self, chain: Chain, neighbour: Neighbour | None, /) -> Arrays | None: ...


Unit = Sequence[Chain]


def run_chains(
    work: Work,
    chains: Sequence[Chain],
    *,
    n_jobs: int | None = None,
    n_threads: int | None = None,
    journal: Journal | None = None,
    on_begin: Callable[[Chain], None] | None = None,
) -> Iterator[tuple[Chain, Arrays]]:
    """Yield (chain, arrays) as chains finish; chains that the time did not suffice for are missing.

    Work that waits for a device is done by `n_threads` threads of this process, or by n_jobs of
    them, unless joblib.parallel_config names another backend; None for work of the processor.
    `on_begin` is told of a chain before it is run, where that happens in this thread, else when it
    is done. Ctrl-C and errors come through; what was yielded before is complete.
    """
    missing = []
    for unit in units_of(chains):
        known = [None if journal is None else journal.get(chain.key) for chain in unit]
        if any(arrays is None for arrays in known):
            missing.append(unit)
            continue
        for chain, arrays in zip(unit, known, strict=True):
            assert arrays is not None
            if on_begin is not None:
                on_begin(chain)
            yield chain, arrays
    # Entered once: numpy must not see another number of threads than alone.
    prefer = None if n_threads is None else "threads"
    if n_threads is not None and n_jobs is None and effective_n_jobs(None) == 1:
        n_jobs = n_threads
    with single_threaded():
        for chain, arrays in _run_missing(work, missing, n_jobs, prefer, on_begin):
            if arrays is None:
                continue
            if journal is not None and not (arrays["status"] == NOT_RUN).any():
                journal.put(chain.key, arrays)
            yield chain, arrays


def _run_missing(
    work: Work,
    units: Sequence[Unit],
    n_jobs: int | None,
    prefer: str | None,
    on_begin: Callable[[Chain], None] | None,
) -> Iterator[tuple[Chain, Arrays | None]]:
    left = dict(enumerate(units))
    if len(units) > 1 and effective_n_jobs(n_jobs) > 1:
        for _ in range(N_ROUNDS):
            try:
                for number, found in _run_parallel(work, dict(left), n_jobs, prefer):
                    unit = left.pop(number)
                    for chain, arrays in zip(unit, found, strict=True):
                        if on_begin is not None:
                            on_begin(chain)
                        yield chain, arrays
            except Exception as error:
                if not is_death(error):
                    raise
            if not left:
                return
    for unit in left.values():
        yield from run_unit(work, unit, on_begin)


def run_unit(
    work: Work, unit: Unit, on_begin: Callable[[Chain], None] | None = None
) -> Iterator[tuple[Chain, Arrays | None]]:
    """The chains of a unit, each given what the one before left."""
    neighbour = Neighbour() if len(unit) > 1 else None
    for chain in unit:
        if on_begin is not None:
            on_begin(chain)
        try:
            arrays = work(chain, neighbour)
        except KeyboardInterrupt as interrupt:
            yield chain, getattr(interrupt, "partial", None)
            raise
        yield chain, arrays


def _run_parallel(
    work: Work, units: Mapping[int, Unit], n_jobs: int | None, prefer: str | None
) -> Iterator[tuple[int, list[Arrays | None]]]:
    """(number, arrays of its chains) of units as they are done; all at a time by some backends."""
    stop = Stop()
    try:
        if get_active_backend(prefer=prefer)[0].supports_return_generator:
            parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered")
            yield from parallel(delayed(run_one)(work, k, unit, stop) for k, unit in units.items())
            return
        size = UNITS_AT_A_TIME * effective_n_jobs(n_jobs)
        with Parallel(n_jobs=n_jobs, prefer=prefer) as parallel:
            left = iter(units.items())
            while some := list(itertools.islice(left, size)):
                yield from parallel(delayed(run_one)(work, k, unit, stop) for k, unit in some)
    finally:
        stop.set()


def run_one(work: Work, number: int, unit: Unit, stop: Stop) -> tuple[int, list[Arrays | None]]:
    """One unit in a worker; the order of the results is not that of the units."""
    with single_threaded():
        found = stop.run(lambda: [arrays for _, arrays in run_unit(work, unit)])
        return number, found or []


def is_death(error: BaseException) -> bool:
    """Whether the error says that a worker was lost."""
    return any(base.__name__ in DEATHS for base in type(error).__mro__)
