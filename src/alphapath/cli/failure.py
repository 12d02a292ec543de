"""What ends a command: one sentence and an exit code."""

from __future__ import annotations

#: Exit codes: results that failed their check; bad input or usage; Ctrl-C; broken pipe;
#: SIGTERM.
DIFFERENT, REFUSED, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 130, 141, 143


class CommandError(Exception):
    """A sentence for the user: what is wrong, where, and what would be right."""


def printable(text: str, kept: str = "") -> str:
    r"""Escape characters in names that would break the line or control the terminal.

    Examples
    --------
    >>> print(printable("a" + chr(10) + "b"))
    a\nb
    """
    if text.isprintable():
        return text
    letters = (
        one if one.isprintable() or one in kept else one.encode("unicode_escape").decode()
        for one in text
    )
    return "".join(letters)
