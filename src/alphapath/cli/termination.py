"""SIGTERM ends a command as Ctrl-C does: finished work is still written."""

from __future__ import annotations

import signal
import threading
from typing import Any, Self


class Termination:
    """A context in which SIGTERM raises KeyboardInterrupt; a second one ends the process.

    Only the main thread can set a handler: in other threads, the context does nothing.
    """

    def __init__(self) -> None:
        #: Whether SIGTERM came.
        self.is_wanted = False
        self._before: Any = None

    def __enter__(self) -> Self:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            self._before = signal.signal(signal.SIGTERM, self._interrupt) or signal.SIG_DFL
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _interrupt(self, *signal_and_frame: object) -> None:
        self.is_wanted = True
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt
