"""The stopping limits of a solve."""

from __future__ import annotations

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
