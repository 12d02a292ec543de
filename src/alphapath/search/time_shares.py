"""The time limit of a search, shared out so that cells are completed across folds.

Without shares, the folds that come first would take the whole time for their largest C, and no cell
would be run on every fold.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from .chain import Chain


class TimeShares:
    """When each chain must end.

    A chain that solves one fold of several ends after an equal share of the time that is left when
    it begins; what it does not use goes to the others. A chain of all folds may take what is left.

    Parameters
    ----------
    deadline : float or None
        Of time.time(), for the whole search; None for no limit.
    n_folds : int
    n_workers : int
        Chains that run at a time.
    goes_by_fold : bool
        Whether all kernels of a fold are run before the next fold; they share the time of the fold.
    """

    def __init__(
        self,
        deadline: float | None,
        n_folds: int = 1,
        n_workers: int = 1,
        goes_by_fold: bool = False,
    ) -> None:
        self.deadline, self.goes_by_fold = deadline, goes_by_fold
        self.n_folds, self.n_workers = n_folds, n_workers
        self._ends: dict[tuple[int, int], float] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        return TimeShares, (self.deadline, self.n_folds, self.n_workers, self.goes_by_fold)

    def end_of(self, chain: Chain) -> float | None:
        """When a chain that begins now must end, of time.time(); None for no limit."""
        now = time.time()
        if self.deadline is None or now >= self.deadline or len(chain.folds) > 1:
            return self.deadline
        (fold,) = chain.folds
        n_left = max(1, self.n_folds - fold)
        if not self.goes_by_fold:
            n_rounds = -(-n_left // self.n_workers)
            return now + (self.deadline - now) / n_rounds
        with self._lock:
            end = now + (self.deadline - now) / n_left
            return self._ends.setdefault((chain.head, fold), end)
