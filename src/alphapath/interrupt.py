"""How threads are asked to end: Ctrl-C reaches only the main thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_of_thread = threading.local()


class Stop:
    """Ends what threads do inside ``with stop:``, once it is set.

    Native solvers and the GPU's ask `is_wanted` as they ask for Ctrl-C, and end in the same way.
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def __enter__(self) -> Stop:
        _of_thread.stops = (*joined(), self)
        return self

    def __exit__(self, *error: object) -> None:
        _of_thread.stops = joined()[:-1]

    def __reduce__(self) -> Any:
        return Stop, ()  # another process hears Ctrl-C itself, or is ended

    def set(self) -> None:
        """From now on every thread inside is to end."""
        self._event.set()

    def run(self, function: Callable[..., T], *arguments: Any) -> T | None:
        """The value of the function, or None if an interrupt prevented or ended the call."""
        with self:
            try:
                return None if self.is_set else function(*arguments)
            except KeyboardInterrupt:
                if not self.is_set:
                    raise
                return None

    @property
    def is_set(self) -> bool:
        return self._event.is_set()


def joined() -> tuple[Stop, ...]:
    """Those that this thread is inside of."""
    stops: tuple[Stop, ...] = getattr(_of_thread, "stops", ())
    return stops


def is_wanted() -> bool:
    """Whether this thread is to end."""
    return any(stop.is_set for stop in joined())
