"""The stopping limits of a solve."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Stopping limits: KKT violation, iterations (-1: no limit), seconds (None: no limit).

    For one class with squared slacks, `gap_tol` is the feasibility gap at which to stop, instead of
    tol. `deadline` (a value of time.monotonic) applies to a whole run of solves.
    """

    tol: float = 1e-3
    max_iter: int = -1
    time_limit: float | None = None
    free_set: bool = True
    gap_tol: float | None = None
    deadline: float | None = None

    def check(self) -> None:
        """Reject limits that no solve can meet."""
        if not self.tol > 0.0:
            raise ValueError(f"tol is {self.tol}; it must be positive.")
        if self.gap_tol is not None and not self.gap_tol > 0.0:
            raise ValueError(f"gap_tol is {self.gap_tol}; it must be positive.")
        if self.time_limit is not None and not self.time_limit > 0.0:
            raise ValueError(f"time_limit is {self.time_limit}; it must be positive, or None.")

    def seconds_left(self) -> float | None:
        """The remaining time for a solve; None for no limit."""
        if self.deadline is None:
            return self.time_limit
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            raise out_of_time()
        return left if self.time_limit is None else min(left, self.time_limit)


def out_of_time() -> TimeoutError:
    return TimeoutError("The time limit was reached before the last fold was solved.")
