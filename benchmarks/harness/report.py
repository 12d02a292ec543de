"""What a benchmark found, as a JSON file and a Markdown table."""

from __future__ import annotations

import json
import math
import os
import platform
import shlex
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

LIBRARIES = (
    "alphapath",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "libsvm-official",
    "liblinear-official",
    "qpsolvers",
    "clarabel",
)


@dataclass
class Report:
    """Rows of one benchmark; `columns` maps a row's key to the heading it is shown under."""

    name: str
    columns: dict[str, str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def write(self, folder: Path, context: dict[str, Any]) -> Path:
        """Write NAME.json and NAME.md; returns the path of the table."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"benchmark": self.name, **context, "rows": self.rows}
        content |= {"notes": self.notes, "failures": self.failures}
        (folder / f"{self.name}.json").write_text(json.dumps(content, indent=1) + "\n")
        table = folder / f"{self.name}.md"
        table.write_text(self.markdown(context))
        return table

    def markdown(self, context: dict[str, Any]) -> str:
        lines = [f"# {self.name}", "", f"`{context['command']}`", ""]
        lines += [describe_context(context), ""]
        lines += markdown_table(self.rows, self.columns)
        lines += ["", *[f"- {note}" for note in self.notes]]
        if self.failures:
            lines += ["", "## Failed", "", *[f"- {failure}" for failure in self.failures]]
        return "\n".join(lines).rstrip() + "\n"


def show(value: Any) -> str:
    """A value as a table cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value == 0 or 1e-3 <= abs(value) < 1e5:
            return f"{value:.4g}"
        return f"{value:.2e}" if abs(value) < 1e-3 else f"{value:.6g}"
    return str(value)


def markdown_table(rows: list[dict[str, Any]], columns: dict[str, str]) -> list[str]:
    lines = ["| " + " | ".join(columns.values()) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(cell(row, key) for key in columns) + " |" for row in rows]
    return lines


def cell(row: dict[str, Any], key: str) -> str:
    """Objectives are compared by their last digits, everything else at a glance."""
    value = row.get(key)
    return f"{value:.9g}" if key == "objective" and value is not None else show(value)


def processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def installed_version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        # Ours may also be imported from a source tree that was built in place.
        return "(source tree)" if distribution == "alphapath" else "not installed"


def versions() -> dict[str, str]:
    """Versions in this interpreter; those of peers in another one are in their rows."""
    found = {library: installed_version(library) for library in LIBRARIES}
    return {"python": platform.python_version(), **found}


def source_version() -> str:
    """The commit of the clone that the benchmarks run in, with a mark for local changes."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def describe_machine() -> dict[str, Any]:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
    }


def shown_command(arguments: list[str]) -> str:
    """The command without the places of this machine, so that a table can be published."""
    shown = list(arguments)
    for option, word in (("--data", "DIR"), ("--out", "DIR"), ("--peer-python", "PATH")):
        if option in shown[:-1]:
            shown[shown.index(option) + 1] = word
    return shlex.join(["python", "-m", "benchmarks", *shown])


def run_context(arguments: list[str]) -> dict[str, Any]:
    """Command, machine and versions; taken before the run so that it dates the start."""
    return {
        "command": shown_command(arguments),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source_version(),
        "machine": describe_machine(),
        "versions": versions(),
    }


def describe_context(context: dict[str, Any]) -> str:
    machine = context["machine"]
    libraries = ", ".join(f"{name} {version}" for name, version in context["versions"].items())
    return (
        f"{context['started']}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB; source {context['source']}; {libraries}."
    )
