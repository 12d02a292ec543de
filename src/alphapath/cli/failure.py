"""What ends a command: one sentence and an exit code."""

from __future__ import annotations

#: Exit codes: answers that were asked for do not hold; bad input or usage; Ctrl-C.
DIFFERENT, REFUSED, INTERRUPTED = 1, 2, 130


class CommandError(Exception):
    """A sentence for the user: what is wrong, where, and what would be right."""
