"""Data, parameters and folds of the cross-validation benchmark, mostly those of Wen et al. 2017."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from benchmarks.harness.data import DataSpec, load
from benchmarks.harness.peers import Setting

PAPER = ("sir", "mir", "ato", "avg", "top")
LINEAR_COST = ("sir", "avg", "top")  # where mir and ato would take hours


@dataclass(frozen=True)
class Case:
    """One data set with its parameters.

    `ks` are numbers of folds, or "loo" for leave-one-out, of which only the first `rounds` are run;
    `peer_folds` is how many folds scikit-learn runs (its time is scaled up), None for all of them.
    """

    name: str
    data: DataSpec
    setting: Setting
    ks: tuple[int | str, ...] = (10,)
    seedings: tuple[str, ...] = PAPER
    rounds: int | None = None
    peer_folds: int | None = None
    is_shuffled: bool = False
    is_odd_even: bool = False
    is_small: bool = False
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Case:
        parts = {"data": DataSpec(**given["data"]), "setting": Setting(**given["setting"])}
        return cls(**given | parts)

    def load(self, folder: Path) -> tuple[Any, np.ndarray]:
        """X and y; shuffled before the first rows are taken, where the file is sorted by label."""
        spec = DataSpec(**asdict(self.data) | {"n_rows": None}) if self.is_shuffled else self.data
        X, y = load(spec, folder)
        if self.is_shuffled:
            rows = np.random.default_rng(0).permutation(len(y))[: self.data.n_rows]
            X, y = X[rows], y[rows]
        if self.is_odd_even:
            y = np.where(y % 2 == 1, 1.0, -1.0)
        return X, y

    def split(self, X: Any, y: np.ndarray, k: int | str) -> list[tuple[np.ndarray, np.ndarray]]:
        splitter = LeaveOneOut() if k == "loo" else StratifiedKFold(int(k))
        splits: Iterable[Any] = splitter.split(X, y)
        return [split for split, _ in zip(splits, range(self.count_folds(k, len(y))), strict=False)]

    def count_folds(self, k: int | str, n: int) -> int:
        return min(self.rounds or n, n) if k == "loo" else int(k)


IDENTITY = "K is the identity at this gamma"

CASES = [
    Case(
        "heart_scale",
        DataSpec("heart_scale"),
        Setting(2182.0, 0.2),
        (3, 10, 100, "loo"),
        is_small=True,
    ),
    Case(
        "heart raw",
        DataSpec("heart"),
        Setting(2182.0, 0.2),
        (10,),
        note="the paper's accuracy and iterations are those of the raw file",
    ),
    Case(
        "diabetes_scale",
        DataSpec("diabetes_scale"),
        Setting(128.0, 0.5),
        (3, 10, 100),
        is_small=True,
    ),
    Case("diabetes_scale C=1", DataSpec("diabetes_scale"), Setting(1.0, 0.125), is_small=True),
    Case(
        "madelon raw",
        DataSpec("madelon"),
        Setting(1.0, 0.7071),
        (3, 10, 100, "loo"),
        rounds=100,
        peer_folds=3,
        note=IDENTITY,
    ),
    Case(
        "madelon gamma=2^-20", DataSpec("madelon"), Setting(1.0, 2.0**-20), (10, 100), peer_folds=3
    ),
    Case(
        "usps, 10 classes",
        DataSpec("usps"),
        Setting(10.0, 2.0**-7),
        seedings=LINEAR_COST,
        peer_folds=1,
    ),
    Case(
        "mnist odd/even raw, 5000",
        DataSpec("mnist", n_rows=5000),
        Setting(10.0, 0.125),
        seedings=LINEAR_COST,
        peer_folds=1,
        is_odd_even=True,
        note=IDENTITY,
    ),
    Case(
        "mnist odd/even gamma=2^-22, 5000",
        DataSpec("mnist", n_rows=5000),
        Setting(10.0, 2.0**-22),
        seedings=LINEAR_COST,
        peer_folds=1,
        is_odd_even=True,
    ),
    Case(
        "w8a, 10000",
        DataSpec("w8a", is_sparse=True, n_rows=10000),
        Setting(64.0, 7.8125),
        (10, "loo"),
        seedings=LINEAR_COST,
        rounds=30,
        peer_folds=1,
        is_shuffled=True,
    ),
    Case(
        "w8a",
        DataSpec("w8a", is_sparse=True),
        Setting(64.0, 7.8125),
        (10, "loo"),
        seedings=("sir",),
        rounds=30,
        peer_folds=1,
        is_shuffled=True,
    ),
    Case(
        "a9a",
        DataSpec("a9a", is_sparse=True),
        Setting(100.0, 0.5),
        (10, "loo"),
        seedings=("sir",),
        rounds=100,
        peer_folds=1,
    ),
]
