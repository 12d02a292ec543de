"""Work of several threads on one device: each on its own stream, together within their limits."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

_local = threading.local()
_lock = threading.Lock()
#: The limits of those at work, and how often each is entered.
_limits: dict[Hashable, int] = {}
_entered: Counter[Hashable] = Counter()
_limit_before = 0


@contextmanager
def device_work(xp: Any, owner: Any, limit: int) -> Iterator[None]:
    """A context that runs work on the stream of this thread and waits for it on exit.

    CuPy's pool is limited to the sum of the limits of all active owners; the previous limit is
    restored when the last one leaves.
    """
    pool = xp.get_default_memory_pool()
    key = id(owner)
    _enter(pool, key, limit)
    try:
        stream = _own_stream(xp)
        with stream:
            yield
            # Other threads may use what was made here.
            stream.synchronize()
    finally:
        _leave(pool, key)


def _enter(pool: Any, key: Hashable, limit: int) -> None:
    global _limit_before
    with _lock:
        if not _limits:
            _limit_before = pool.get_limit()
            pool.free_all_blocks()
        _limits[key] = limit
        _entered[key] += 1
        pool.set_limit(size=sum(_limits.values()))


def _leave(pool: Any, key: Hashable) -> None:
    with _lock:
        _entered[key] -= 1
        if _entered[key]:
            return
        del _entered[key], _limits[key]
        pool.set_limit(size=sum(_limits.values()) if _limits else _limit_before)


def _own_stream(xp: Any) -> Any:
    """One stream a thread and device: what two threads start does not wait for one another."""
    streams = _local.__dict__.setdefault("streams", {})
    device = xp.cuda.Device().id
    if device not in streams:
        streams[device] = xp.cuda.Stream(non_blocking=True)
    return streams[device]
