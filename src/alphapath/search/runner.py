"""Chains of a search, run one by one or in parallel by joblib, and what they gave.

The unit of work is a Chain: a pure function of the data and the chain, so the results are the same
for any backend and any number of workers. A chain that a journal knows is not run again; one whose
worker died is run again, at last in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from joblib import Parallel, delayed, effective_n_jobs

from ..solvers.lapack import single_threaded
from .node import Arrays, Chain
from .result import NOT_RUN

#: How often the chains of dead workers are handed out again before they are run in this process.
N_ROUNDS = 2

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
    """What solves a chain: picklable, and None where the time is over."""

    def __call__(self, chain: Chain, /) -> Arrays | None: ...


def run_chains(
    work: Work,
    chains: Sequence[Chain],
    *,
    n_jobs: int | None = None,
    journal: Journal | None = None,
    on_begin: Callable[[Chain], None] | None = None,
) -> Iterator[tuple[Chain, Arrays]]:
    """Yield (chain, arrays) as chains finish; chains that the time did not suffice for are missing.

    `on_begin` is told of a chain before it is run, where that happens in this thread, else when it
    is done. Ctrl-C and errors come through; what was yielded before is complete.
    """
    missing = []
    for chain in chains:
        known = None if journal is None else journal.get(chain.key)
        if known is None:
            missing.append(chain)
            continue
        if on_begin is not None:
            on_begin(chain)
        yield chain, known
    # Entered once: numpy must not see another number of threads than alone.
    with single_threaded():
        for chain, arrays in _run_missing(work, missing, n_jobs, on_begin):
            if arrays is None:
                continue
            if journal is not None and not (arrays["status"] == NOT_RUN).any():
                journal.put(chain.key, arrays)
            yield chain, arrays


def _run_missing(
    work: Work,
    chains: Sequence[Chain],
    n_jobs: int | None,
    on_begin: Callable[[Chain], None] | None,
) -> Iterator[tuple[Chain, Arrays | None]]:
    left = {chain.key: chain for chain in chains}
    if len(chains) > 1 and effective_n_jobs(n_jobs) > 1:
        for _ in range(N_ROUNDS):
            try:
                for key, arrays in _run_parallel(work, list(left.values()), n_jobs):
                    chain = left.pop(key)
                    if on_begin is not None:
                        on_begin(chain)
                    yield chain, arrays
            except Exception as error:
                if not is_death(error):
                    raise
            if not left:
                return
    for chain in left.values():
        if on_begin is not None:
            on_begin(chain)
        yield chain, work(chain)


def _run_parallel(
    work: Work, chains: Sequence[Chain], n_jobs: int | None
) -> Iterator[tuple[str, Arrays | None]]:
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from parallel(delayed(run_one)(work, chain) for chain in chains)


def run_one(work: Work, chain: Chain) -> tuple[str, Arrays | None]:
    """One chain in a worker; the order of the results is not that of the chains."""
    with single_threaded():
        return chain.key, work(chain)


def is_death(error: BaseException) -> bool:
    """Whether the error says that a worker was lost."""
    return any(base.__name__ in DEATHS for base in type(error).__mro__)
