"""What one worker of a search does: solve a chain on its kernel, score its cells, keep arrays."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from ...kernels import parse_memory_limit
from ...kernels.store import Shelf
from ...search.chain import Chain
from ...search.kernel_links import Neighbour
from ...search.table import ChainResult
from .candidates import Model
from .chain import ChainSolver, Setting
from .rows import SearchRows, fold_rows, shared_rows

#: Kernels that are worked on at a time on a device, where its memory holds them: the few problems
#: that take longest leave most of it idle.
KERNELS_AT_A_TIME = 8

_resident: SearchWork | None = None
_resident_lock = threading.Lock()


class SearchWork:
    """Solves chains; the same object serves all threads, and all tasks of a worker process."""

    def __init__(self, setting: Setting, token: str | None = None) -> None:
        self.token = uuid.uuid4().hex if token is None else token
        self.setting = setting
        self._shared: SearchRows | None = None
        self._lock = threading.Lock()
        data, heads = setting.data, setting.heads
        self._has_heads = any(head is not None for head in heads)
        if self._has_heads:
            room = 0 if setting.shares.goes_by_fold else data.kept_bytes
            #: Rows of folds with preprocessing.
            self._folds = Shelf(parse_memory_limit(data.memory_limit), room)
        n = _num_samples(data.X)
        is_on_device = not self._has_heads and all(m.is_on_gpu(n) for m in setting.models)
        #: Threads that keep a device busy; None for chains of the processor.
        self.n_threads = KERNELS_AT_A_TIME if is_on_device else None

    def __reduce__(self) -> Any:
        return restore, (self.setting, self.token)

    def __sizeof__(self) -> int:
        # Told truthfully, so that a distributed backend sends the data once and not by the task.
        return 1024 + int(getattr(self.setting.data.X, "nbytes", 1 << 20))

    # -- one chain

    def __call__(
        self, chain: Chain, neighbour: Neighbour | None = None
    ) -> dict[str, NDArray[Any]] | None:
        """The arrays of a chain; None where the time is over.

        `neighbour` has what the chain on the kernel before left, and takes what this one leaves.
        """
        shares = self.setting.shares
        end = None if shares.deadline is None else shares.end_of(chain)
        if end is not None and time.time() >= end:
            return None
        result = ChainResult(chain)
        if not self._has_heads:
            # Rows that no candidate could use are refused as such, and not candidate by candidate.
            self._find_shared(self.setting.models[chain.model], chain.head)
        try:
            self._with_rows(chain, result, neighbour, end)
        except Exception as error:
            if self.setting.judge.error_score == "raise":
                raise
            result.refuse(range(len(chain.folds)), error)
        return result.arrays()

    def _with_rows(
        self, chain: Chain, result: ChainResult, neighbour: Neighbour | None, end: float | None
    ) -> None:
        model = self.setting.models[chain.model]
        head = self.setting.heads[chain.head]
        if head is None:
            rows = self._find_shared(model, chain.head)
            self._solve(ChainSolver(self.setting, chain, model, rows, neighbour, end), result)
            return
        (fold,) = chain.folds
        size = self.setting.data.fold_bytes(fold)

        def make() -> SearchRows:
            rows = fold_rows(self.setting.data, head, self.setting.last, model.estimator, fold)
            rows.store.leases = Shelf(size)
            return self._with_products(rows, chain.head)

        with self._folds.lease((chain.head, fold), size, make) as rows:
            self._solve(ChainSolver(self.setting, chain, model, rows, neighbour, end), result)

    def _find_shared(self, model: Model, head: int) -> SearchRows:
        with self._lock:
            if self._shared is None:
                rows = shared_rows(self.setting.data, model.estimator)
                self._shared = self._with_products(rows, head)
            return self._shared

    def _with_products(self, rows: SearchRows, head: int) -> SearchRows:
        """Distances or dot products are kept where more than one kernel is made of them."""
        models = [model for model in self.setting.models if model.head == head]
        is_scaled = any(model.has_own_kernels for model in models)
        n_kernels = len({model.kernel for model in models})
        if n_kernels > 1 or (is_scaled and len(rows.splits) > 1):
            rows.keep_products()
        return rows

    def _solve(self, solver: ChainSolver, result: ChainResult) -> None:
        rows, model, sets = solver.rows, solver.model, solver.sets
        good = [h for h, number in enumerate(solver.local) if number not in sets.errors]
        for h, number in enumerate(solver.local):
            if number in sets.errors:
                if self.setting.judge.error_score == "raise":
                    raise sets.errors[number]
                result.refuse([h], sets.errors[number])
        if not good:
            return
        gamma, kernel = rows.kernel_of(model, solver.local[good[0]])
        begin = time.perf_counter()
        lease = rows.store.lease(
            kernel,
            tol=model.estimator.tol,
            n_problems=len(solver.chain.steps),
            user=solver.chain.model if self.n_threads else None,
        )
        with lease as view:
            solver.solve(view, good, result)
            solver.score(gamma, kernel, good, result, begin)
        if solver.is_interrupted:
            interrupt = KeyboardInterrupt()
            interrupt.partial = result.arrays()  # type: ignore[attr-defined]
            raise interrupt


def restore(setting: Setting, token: str) -> SearchWork:
    """The work that this process already has, with its kernels, or a new one."""
    global _resident
    with _resident_lock:
        if _resident is None or _resident.token != token:
            _resident = SearchWork(setting, token)
        return _resident
