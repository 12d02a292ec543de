"""When a solve stops."""

from __future__ import annotations

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
