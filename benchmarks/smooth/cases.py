"""The data of the rank-r paper, and spambase, scaled as its accuracies suggest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import minmax_scale, scale

from benchmarks.harness.data import DataSpec, load


@dataclass(frozen=True)
class Case:
    name: str
    scaling: str = "none"  # "none", "unit" (columns to [0, 1]), "grey" (by 255), "standard"
    gamma: float | None = None  # None: linear
    is_large: bool = False

    @property
    def title(self) -> str:
        kind = "linear" if self.gamma is None else f"rbf {self.gamma:g}"
        return f"{self.name} {kind}"


CASES = [
    Case("ionosphere"),
    Case("diabetes_scale"),
    Case("colon-cancer", "unit"),
    Case("leukemia", "unit", is_large=True),
    Case("spambase", "standard", is_large=True),
    Case("cbcl_faces", "grey", is_large=True),
    Case("ionosphere", gamma=0.1),
    Case("diabetes_scale", gamma=0.1),
    Case("cbcl_faces", "grey", gamma=0.1, is_large=True),
]


def find_case(title: str) -> Case:
    return next(case for case in CASES if case.title == title)


def load_case(case: Case, folder: str) -> tuple[Any, np.ndarray]:
    X, y = load(DataSpec(case.name), Path(folder))
    if case.scaling == "unit":
        X = minmax_scale(X)
    elif case.scaling == "grey":
        X = X / 255.0
    elif case.scaling == "standard":
        X = scale(X)
    return np.ascontiguousarray(X), y
