"""The Python in the README and the scripts in examples/ run as they stand."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

matplotlib.use("Agg")
ROOT = Path(__file__).resolve().parents[2]


def run_script(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) >= 2
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks))
    assert run_script(str(script))


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "examples").glob("*.py")))
def test_an_example_runs(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    pyplot.close("all")
    assert capsys.readouterr().out


def test_the_demo_prints_a_certificate(tmp_path: Path) -> None:
    printed = run_script("-m", "alphapath", "fit", "--model", str(tmp_path / "demo.model"))
    assert "duality gap" in printed
    assert "Optimal to a KKT violation of 0.001." in printed
