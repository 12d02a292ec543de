"""When a solve stops."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """When to stop: KKT violation, iterations (-1: never), seconds (None: never).

    `gap_tol`, for one class with squared slacks: the feasibility gap to stop by, instead of tol.
    `deadline` (of time.monotonic) holds for a whole run of solves.
    """

    tol: float = 1e-3
    max_iter: int = -1
    time_limit: float | None = None
    free_set: bool = True
    gap_tol: float | None = None
    deadline: float | None = None

    def seconds_left(self) -> float | None:
        """What a solve may take now; None for no limit."""
        if self.deadline is None:
            return self.time_limit
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            raise out_of_time()
        return left if self.time_limit is None else min(left, self.time_limit)


def out_of_time() -> TimeoutError:
    return TimeoutError("The time limit was reached before the last fold was solved.")
