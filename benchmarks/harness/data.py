"""Data sets by description: svmlight files by name, generated sets, scaling to [-1, 1]."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file, make_classification
from sklearn.preprocessing import minmax_scale

# name -> (n, d, seed): make_classification with 10% label noise and six clusters a class.
GENERATED = {
    "4000x20": dict(n_samples=4000, n_features=20, n_informative=10, n_redundant=4, random_state=2),
    "5000x100": dict(
        n_samples=5000, n_features=100, n_informative=20, n_redundant=10, random_state=3
    ),
    "8000x20": dict(n_samples=8000, n_features=20, n_informative=10, n_redundant=4, random_state=2),
}


@dataclass(frozen=True)
class DataSpec:
    """Which data: enough to load the same arrays again in another process."""

    name: str
    is_scaled: bool = False  # minimum and maximum of every column to -1 and 1
    is_sparse: bool = False  # keep CSR as loaded; otherwise a dense array
    n_rows: int | None = None  # only the first rows

    @property
    def title(self) -> str:
        words = [self.name]
        if self.is_scaled and self.name not in GENERATED:
            words.append("scaled")
        if self.n_rows is not None:
            words.append(f"first {self.n_rows}")
        return " ".join(words)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def data_file(name: str, folder: Path) -> Path:
    """The svmlight file of a data set in `folder`."""
    for suffix in ("svm.gz", "svm.bz2", "svm"):
        path = folder / f"{name}.{suffix}"
        if path.exists():
            return path
    raise FileNotFoundError(
        f"No file {name}.svm, {name}.svm.gz or {name}.svm.bz2 in {folder}: pass the folder with "
        "the LIBSVM data sets by --data."
    )


def load(spec: DataSpec, folder: Path) -> tuple[Any, np.ndarray]:
    """X (float64, dense or CSR) and y of a data set."""
    if spec.name in GENERATED:
        settings = GENERATED[spec.name] | dict(n_clusters_per_class=6, flip_y=0.1)
        X, y = make_classification(**settings)
        y = np.where(y == 1, 1.0, -1.0)
    else:
        X, y = load_svmlight_file(str(data_file(spec.name, folder)))
    if spec.n_rows is not None:
        X, y = X[: spec.n_rows], y[: spec.n_rows]
    if spec.is_scaled or not spec.is_sparse:
        X = X.toarray() if sparse.issparse(X) else X
        if spec.is_scaled:
            X = minmax_scale(X, (-1.0, 1.0))
        X = sparse.csr_matrix(X) if spec.is_sparse else np.ascontiguousarray(X)
    if sparse.issparse(X):  # scikit-learn's SVC refuses the 64-bit indices the loader gives
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y
