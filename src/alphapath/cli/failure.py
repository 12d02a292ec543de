"""What ends a command: one sentence and an exit code."""

from __future__ import annotations

#: Exit codes: answers that were asked for do not hold; bad input or usage; Ctrl-C;
#: a reader of the output that left; SIGTERM.
DIFFERENT, REFUSED, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 130, 141, 143


class CommandError(Exception):
    """A sentence for the user: what is wrong, where, and what would be right."""
