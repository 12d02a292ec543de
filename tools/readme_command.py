"""Print one of the README's commands, so that nobody keeps a second copy of it.

    python3 tools/readme_command.py tests

A command is the fenced block after the comment `<!-- command: NAME -->`.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def readme_command(name: str, text: str) -> str:
    """The one-line command called `name` in the README's text."""
    blocks = re.findall(r"<!-- command: (\S+) -->\s*```sh\n(.*?)\n```", text, re.S)
    found = [block for label, block in blocks if label == name]
    if len(found) != 1 or "\n" in found[0]:
        labels = [label for label, _ in blocks]
        raise SystemExit(
            f"README.md should have exactly one one-line command called '{name}'; "
            f"it has commands called {labels}."
        )
    return found[0]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python3 tools/readme_command.py NAME")
    print(readme_command(sys.argv[1], README.read_text()))
