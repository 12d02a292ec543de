"""Data and grids of the grid-search benchmark; most are the grid of the LIBSVM guide."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import DataSpec, load

GUIDE = {"C": 2.0 ** np.arange(-5, 16, 2), "gamma": 2.0 ** np.arange(-15, 4, 2)}
GRIDS: dict[str, dict[str, Any]] = {
    "guide": GUIDE,
    "small": {"C": [1.0, 10.0], "gamma": [2.0**-7, 2.0**-5]},
    "svr": {"C": 2.0 ** np.arange(-1, 8, 2), "gamma": 2.0 ** np.arange(-7, 2, 2), "epsilon": [0.5]},
}

#: Beyond this C scikit-learn's own answers are off: both are held against an exact reference.
LARGEST_C = 2.0**11


@dataclass(frozen=True)
class Case:
    """One data set and its grid; `is_long` ones run only where they are asked for by name."""

    data: DataSpec
    grid: str = "guide"
    model: str = "SVC"
    is_piped: bool = False
    n_folds: int = 5
    is_long: bool = False

    @property
    def name(self) -> str:
        return f"{self.data.title}, StandardScaler" if self.is_piped else self.data.title

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Case:
        return cls(**given | {"data": DataSpec(**given["data"])})

    def load(self, folder: Path) -> tuple[Any, np.ndarray]:
        return load(self.data, folder)

    def folds(self) -> Any:
        splitter = StratifiedKFold if self.model == "SVC" else KFold
        return splitter(self.n_folds, shuffle=True, random_state=0)

    def estimator(self, library: Any, **params: Any) -> Any:
        """The estimator of a library, behind its preprocessing."""
        model = getattr(library, self.model)(**params)
        return make_pipeline(StandardScaler(), model) if self.is_piped else model

    def cells(self, part: str = "all") -> dict[str, Any]:
        """The grid; "large" is its part beyond LARGEST_C."""
        grid = dict(GRIDS[self.grid])
        if part == "large":
            grid["C"] = [C for C in grid["C"] if C > LARGEST_C]
        prefix = f"{self.model.lower()}__" if self.is_piped else ""
        return {f"{prefix}{name}": list(values) for name, values in grid.items()}


CASES = [
    Case(DataSpec("heart_scale")),
    Case(DataSpec("diabetes_scale")),
    Case(DataSpec("german.numer", is_scaled=True)),
    Case(DataSpec("german.numer"), is_piped=True),
    Case(DataSpec("australian_scale")),
    Case(DataSpec("ionosphere")),
    Case(DataSpec("sonar_scale")),
    Case(DataSpec("svmguide3")),
    *(
        Case(DataSpec(name), is_piped=True)
        for name in (
            "heart_scale",
            "diabetes_scale",
            "australian_scale",
            "ionosphere",
            "sonar_scale",
            "svmguide3",
        )
    ),
    Case(DataSpec("housing", is_scaled=True), grid="svr", model="SVR"),
    Case(DataSpec("housing"), grid="svr", model="SVR", is_piped=True),
    Case(DataSpec("usps"), grid="small", n_folds=3, is_long=True),
    Case(DataSpec("usps"), grid="small", n_folds=3, is_piped=True, is_long=True),
    Case(DataSpec("4000x20"), is_long=True),
]
