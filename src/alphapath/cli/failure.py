"""What ends a command: one sentence and an exit code."""

from __future__ import annotations

#: Exit codes: answers that were asked for do not hold; bad input or usage; Ctrl-C;
#: a reader of the output that left; SIGTERM.
DIFFERENT, REFUSED, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 130, 141, 143


class CommandError(Exception):
    """A sentence for the user: what is wrong, where, and what would be right."""


def printable(text: str, kept: str = "") -> str:
    r"""Names are any text: what would break the line, or command a terminal, by its number.

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
