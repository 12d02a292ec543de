"""What CONTRIBUTING names is there, and its dry run stays short."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
#: What the dry run of a new model would add.
ADDED = {"docs/algorithms/nu_svc.md"}


def named_files(text: str) -> list[str]:
    """Files and folders in backticks."""
    paths = re.findall(r"`((?:[\w.]+/)+[\w.]+)`", text)
    return [path for path in paths if not path.startswith(("build/", ".venv/"))]


def test_every_file_that_it_names_is_there() -> None:
    found = named_files(TEXT)
    assert len(found) > 20
    for path in set(found) - ADDED:
        places = (ROOT / path, ROOT / "src" / "alphapath" / path)
        assert any(place.exists() for place in places), path


def test_the_dry_run_touches_few_files() -> None:
    table = TEXT.split("A dry run is part of that test")[1].split("## Add a scorer")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    files = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert 0 < len(files) <= 8
    assert all((ROOT / name).exists() for name in set(files) - ADDED)
