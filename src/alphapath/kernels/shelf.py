"""Things that several threads use at a time, made once, within a byte budget.

What a solver does depends on how a kernel matrix is laid out, and that on the memory that is left;
results must not depend on how many threads there are. So every matrix is laid out as if it were
alone, and a thread that needs one for which there is no room waits until others are done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Entry:
    """One thing, how large it is, and how many threads use it now."""

    size: int
    n_users: int = 0
    value: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Shelf:
    """Shared things by key; the last one used stays until another is made.

    Parameters
    ----------
    limit : int
        Bytes that things in use may take together; one is always allowed, whatever its size.
    room_for_idle : int
        Bytes up to which things stay that nobody uses, besides the last one; the least recently
        used go first.
    """

    def __init__(self, limit: int, room_for_idle: int = 0) -> None:
        self.limit, self.room_for_idle = limit, room_for_idle
        self._entries: dict[Hashable, Entry] = {}
        self._changed = threading.Condition()

    def use(
        self, key: Hashable, size: int, make: Callable[[], Any], function: Callable[[Any], T]
    ) -> T:
        """function(thing), where the thing is made by `make` unless it is there already.

        `function` must not hand the thing on: it may be gone when it returns.
        """
        entry = self._take(key, size)
        try:
            with entry.lock:
                if entry.value is None:
                    entry.value = make()
            return function(entry.value)
        finally:
            self._put_back(entry)

    def _take(self, key: Hashable, size: int) -> Entry:
        with self._changed:
            while key not in self._entries and not self._has_room(size):
                self._changed.wait()
            if key not in self._entries:
                self._make_room(size)
            entry = self._entries.pop(key, None) or Entry(size)
            self._entries[key] = entry  # the last one, as the most recently used
            entry.n_users += 1
            return entry

    def _has_room(self, size: int) -> bool:
        used = [entry.size for entry in self._entries.values() if entry.n_users]
        return not used or sum(used) + size <= self.limit

    def _make_room(self, size: int) -> None:
        """Drop things that nobody uses until one of this size is within the room for them."""
        total = size + sum(entry.size for entry in self._entries.values())
        for key in [key for key, entry in self._entries.items() if not entry.n_users]:
            if total <= self.room_for_idle:
                return
            total -= self._entries.pop(key).size

    def _put_back(self, entry: Entry) -> None:
        with self._changed:
            entry.n_users -= 1
            if entry.value is None and not entry.n_users:  # it could not be made
                self._entries = {key: e for key, e in self._entries.items() if e is not entry}
            self._changed.notify_all()
