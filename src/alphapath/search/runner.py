"""Chains of a search, run one by one or in parallel by joblib, and what they gave.

The unit of work is a Chain, or several that begin from one another: a pure function of the data and
the chains, so the results are the same for any backend and any number of workers. A unit that a
journal knows is not run again, and one of which it knows a part goes on after that; one whose
worker died is run again, at last in this process.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from ..errors import JournalError
from ..interrupt import Stop
from ..solvers.native import single_threaded
from .chain import Arrays, Chain
from .kernel_links import Neighbour, units_of
from .table import NOT_RUN, REFUSED, check_arrays

#: n_jobs of joblib, and what kind of workers is preferred.
Jobs = tuple[int | None, str | None]

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


#: Backends of joblib (by class name) whose workers reach the files of this process.
LOCAL = frozenset(
    {"SequentialBackend", "ThreadingBackend", "MultiprocessingBackend", "LokyBackend"}
)


class Journal(Protocol):
    """Remembers finished chains, and what they leave to the next, as journal.Journal does."""

    def get(self, key: str, /) -> Arrays | None: ...

    def get_legacy(self, key: str, /) -> Arrays | None: ...

    def put(
        self,
        key: str,
        arrays: Arrays,
        /,
        *,
        legacy: Arrays | None = None,
        before: str | None = None,
    ) -> None: ...

    def __contains__(self, key: str, /) -> bool: ...


class Work(Protocol):
    """What solves a chain: picklable, and None where the time is over.

    In a unit of several chains, `neighbour` goes from one to the next. A KeyboardInterrupt may
    have the arrays of what was solved as its attribute `partial`.
    """

    def __call__(self, chain: Chain, neighbour: Neighbour | None, /) -> Arrays | None: ...


@dataclass(frozen=True)
class Unit:
    """Chains that begin from one another, the first `n_known` of which were given before."""

    chains: Sequence[Chain]
    n_known: int = 0


class Record:
    """The journal of a running search; a search outlives a journal that cannot be written.

    A chain with cells that were refused is not kept: the reason, such as a lack of memory, may be
    gone when the search resumes. What a worker cannot write, the process that gathers the results
    tries again, and warns.
    """

    def __init__(self, journal: Journal | None, is_worker: bool = False) -> None:
        self.journal, self.is_worker = journal, is_worker

    def known(self, chains: Sequence[Chain]) -> list[Arrays]:
        """The arrays of those chains, from the first on, that are finished."""
        found: list[Arrays] = []
        for chain in chains:
            arrays = None if self.journal is None else self.journal.get(chain.key)
            if arrays is None:
                break
            check_arrays(chain, arrays)
            found.append(arrays)
        return found

    def neighbour(self, chain: Chain) -> Neighbour | None:
        """What a finished chain left to the next."""
        left = None if self.journal is None else self.journal.get_legacy(chain.key)
        try:
            return None if left is None else Neighbour.from_arrays(left)
        except (LookupError, TypeError, ValueError):
            raise JournalError(
                f"What chain {chain.key!r} left in the journal to the next chain is malformed. "
                f"Delete the file to begin the search again."
            ) from None

    def put(self, chain: Chain, arrays: Arrays, neighbour: Neighbour | None = None) -> None:
        """Keep a chain, if it is finished, with what it leaves to the next."""
        if self.journal is None or not is_final(arrays):
            return
        legacy = None if neighbour is None else neighbour.arrays()
        try:
            if chain.key not in self.journal:
                self.journal.put(chain.key, arrays, legacy=legacy, before=chain.after or None)
        except JournalError as error:
            self.journal = None
            if not self.is_worker:
                text = f"{error} The search goes on, but what it solves from now on is not kept."
                warnings.warn(text, RuntimeWarning, stacklevel=2)


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
    record = Record(journal)
    missing = []
    for unit in units_of(chains):
        known = record.known(unit)
        for chain, arrays in zip(unit, known, strict=False):
            if on_begin is not None:
                on_begin(chain)
            yield chain, arrays
        if len(known) < len(unit):
            missing.append(Unit(unit, len(known)))
    # Entered once: numpy must not see another number of threads than alone.
    prefer = None if n_threads is None else "threads"
    if n_threads is not None and n_jobs is None and effective_n_jobs(None) == 1:
        n_jobs = n_threads
    with single_threaded():
        for chain, arrays in _run_missing(work, missing, (n_jobs, prefer), record, on_begin):
            yield chain, arrays


def _run_missing(
    work: Work,
    units: Sequence[Unit],
    jobs: Jobs,
    record: Record,
    on_begin: Callable[[Chain], None] | None,
) -> Iterator[tuple[Chain, Arrays]]:
    left = dict(enumerate(units))
    if len(units) > 1 and effective_n_jobs(jobs[0]) > 1:
        for _ in range(N_ROUNDS):
            try:
                for number, found in _run_parallel(work, dict(left), jobs, record):
                    del left[number]
                    for chain, arrays in found:
                        record.put(chain, arrays)
                        if on_begin is not None:
                            on_begin(chain)
                        yield chain, arrays
            except Exception as error:
                if not is_death(error):
                    raise
            if not left:
                return
    for unit in left.values():
        yield from run_unit(work, unit, record, on_begin)


def run_unit(
    work: Work,
    unit: Unit,
    record: Record,
    on_begin: Callable[[Chain], None] | None = None,
) -> Iterator[tuple[Chain, Arrays]]:
    """The chains of a unit that are not known, each given what the one before left."""
    chains = unit.chains
    done = record.known(chains)
    neighbour = Neighbour() if len(chains) > 1 else None
    if 0 < len(done) < len(chains):
        neighbour = record.neighbour(chains[len(done) - 1])
        if neighbour is None:  # solved again for what it leaves
            done, neighbour = [], Neighbour()
    for k, chain in enumerate(chains):
        is_new = k >= unit.n_known
        if is_new and on_begin is not None:
            on_begin(chain)
        if k < len(done):
            arrays: Arrays | None = done[k]
        else:
            try:
                arrays = work(chain, neighbour)
            except KeyboardInterrupt as interrupt:
                partial = getattr(interrupt, "partial", None)
                if is_new and partial is not None:
                    yield chain, partial
                raise
            if arrays is None or not is_final(arrays):
                record = Record(None)  # nor can what comes after it be what it would have been
            if arrays is not None:
                record.put(chain, arrays, neighbour if k + 1 < len(chains) else None)
        if is_new and arrays is not None:
            yield chain, arrays


def _run_parallel(
    work: Work, units: Mapping[int, Unit], jobs: Jobs, record: Record
) -> Iterator[tuple[int, list[tuple[Chain, Arrays]]]]:
    """(number, chains and arrays) of units as they are done; all at a time by some backends."""
    stop = Stop()
    n_jobs, prefer = jobs
    backend = get_active_backend(prefer=prefer)[0]
    journal = record.journal if type(backend).__name__ in LOCAL else None
    tasks = (delayed(run_one)(work, k, unit, stop, journal) for k, unit in units.items())
    try:
        if backend.supports_return_generator:
            parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator_unordered")
            yield from parallel(tasks)
            return
        size = UNITS_AT_A_TIME * effective_n_jobs(n_jobs)
        with Parallel(n_jobs=n_jobs, prefer=prefer) as parallel:
            while some := list(itertools.islice(tasks, size)):
                yield from parallel(some)
    finally:
        stop.set()


def run_one(
    work: Work, number: int, unit: Unit, stop: Stop, journal: Journal | None
) -> tuple[int, list[tuple[Chain, Arrays]]]:
    """One unit in a worker; the order of the results is not that of the units."""
    record = Record(journal, is_worker=True)
    with single_threaded():
        return number, stop.run(lambda: list(run_unit(work, unit, record))) or []


def is_final(arrays: Arrays) -> bool:
    """Whether every cell of the chain was run and none refused, so that any run gives the same."""
    return not np.isin(arrays["status"], (NOT_RUN, REFUSED)).any()


def is_death(error: BaseException) -> bool:
    """Whether the error says that a worker was lost."""
    return any(base.__name__ in DEATHS for base in type(error).__mro__)
