"""`python -m alphapath` is the command `alphapath`."""

from __future__ import annotations

from .cli import run_process

if __name__ == "__main__":
    run_process()
