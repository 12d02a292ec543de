"""Cases of the lambda path: the published artificial set and 80% samples of six real ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data import DataSpec, load

#: (rho, h) on which the method was published.
LOSSES = {"squared hinge": (1.0, np.inf), "huber": (1.1, 0.2)}

#: Published: events and mean bracketing iterations with the cutoff (tables 5.3, 5.5, 5.8, 5.10),
#: and how many times faster than the better warm SMO (tables 5.2, 5.4, 5.7, 5.9).
PUBLISHED = {
    ("artificial 100", "huber"): (150.0, 1.20, 135),
    ("artificial 200", "huber"): (286.8, 1.12, 247),
    ("artificial 400", "huber"): (532.8, 1.07, 346),
    ("artificial 100", "squared hinge"): (42.1, 1.82, 723),
    ("artificial 200", "squared hinge"): (83.4, 1.40, 576),
    ("artificial 400", "squared hinge"): (145.1, 1.37, 305),
    ("sonar", "huber"): (279.4, 1.14, 4),
    ("heart", "huber"): (424.2, 1.09, 6),
    ("australian", "huber"): (1274.9, 1.05, 29),
    ("diabetes", "huber"): (1298.8, 1.08, 265),
    ("fourclass", "huber"): (1634.0, 1.04, 46),
    ("german", "huber"): (1821.8, 1.04, 7),
    ("sonar", "squared hinge"): (93.3, 1.52, 2),
    ("heart", "squared hinge"): (146.6, 1.41, 3),
    ("australian", "squared hinge"): (468.7, 1.18, 27),
    ("diabetes", "squared hinge"): (353.7, 1.22, 176),
    ("fourclass", "squared hinge"): (690.0, 1.07, 10),
    ("german", "squared hinge"): (504.4, 1.23, 3),
}

FILES = {"german": DataSpec("german.numer", is_scaled=True)} | {
    name: DataSpec(f"{name}_scale")
    for name in ("sonar", "heart", "australian", "diabetes", "fourclass")
}


@dataclass(frozen=True)
class Case:
    name: str
    loss: str

    @property
    def title(self) -> str:
        return f"{self.name}, {self.loss}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


CASES = [Case(name, loss) for name, loss in PUBLISHED]


def artificial(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussians against one in the plane, features scaled to [0, 1] (section 5.4.1)."""
    rng = np.random.default_rng(seed)
    plus, minus = [[0.5, 0.1], [0.1, 0.5]], [[0.5, -0.1], [-0.1, 0.5]]
    parts = [
        rng.multivariate_normal([0, 0], minus, n // 4),
        rng.multivariate_normal([0, 2], plus, n // 2 - n // 4),
        rng.multivariate_normal([1, 1], minus, n // 2),
    ]
    X = np.vstack(parts)
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return X, np.repeat([1.0, -1.0], n // 2)


def sample(name: str, seed: int, folder: str) -> tuple[np.ndarray, np.ndarray]:
    """One data set, or 80% of the rows of a file."""
    if name.startswith("artificial"):
        return artificial(int(name.split()[1]), seed)
    X, y = load(FILES[name], Path(folder))
    rows = np.random.default_rng(seed).permutation(len(y))[: round(0.8 * len(y))]
    return X[rows], y[rows]
