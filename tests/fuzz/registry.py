"""The fuzzers of this folder, found by what their files define."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: A thousand times the usual.
TIME_LIMIT = 60.0
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fuzzer:
    """One module with a `run_case`."""

    name: str
    module: Any

    @property
    def run_case(self) -> Callable[[int], str | None]:
        run: Callable[[int], str | None] = self.module.run_case
        return run

    def prepare(self) -> None:
        """Make what all cases share, which is no part of the time of the first."""
        prepare = getattr(self.module, "prepare", None)
        if prepare is not None:
            prepare()

    @property
    def time_limit(self) -> float:
        """Elapsed seconds that a case may take before it counts as hung."""
        return float(getattr(self.module, "TIME_LIMIT", TIME_LIMIT))

    @property
    def title(self) -> str:
        """The first line of its docstring."""
        return (self.module.__doc__ or "").strip().splitlines()[0]


def fuzzer_names() -> list[str]:
    """Names of the modules that define `run_case`, without importing them."""
    return sorted(
        path.stem
        for path in FOLDER.glob("*.py")
        if re.search(r"^def run_case\(", path.read_text(), re.M)
    )


def load(name: str) -> Fuzzer:
    """The fuzzer of that name: a file of this folder, or any other module by its dotted name."""
    if name in fuzzer_names():
        return Fuzzer(name, importlib.import_module(f".{name}", __package__))
    return Fuzzer(name, importlib.import_module(name))
