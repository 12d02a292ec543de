"""The README's commands exist once, and the continuous integration runs the README's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def readme_command(name: str) -> str:
    tool = str(ROOT / "tools" / "readme_command.py")
    done = subprocess.run([sys.executable, tool, name], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_readme_has_both_commands() -> None:
    assert readme_command("tests").endswith("-m pytest -n logical")
    assert readme_command("demo").endswith(".venv/bin/alphapath search")
    for name in ("tests", "demo"):
        assert readme_command(name).startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        readme_command("nothing")


def test_ci_runs_the_readme_command() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "tools/readme_command.py tests" in script
    assert "pytest" not in script, ".ci/run must take its test command from the README."
