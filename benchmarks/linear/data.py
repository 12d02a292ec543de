"""The large linear data sets, as the papers on linear SVMs use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness.data import DataSpec, load

#: Rows of covtype in the training part of the paper on margin bounds.
COVTYPE_ROWS = 522_911


def load_linear(name: str, folder: str, dtype: str = "float32") -> tuple[Any, np.ndarray]:
    """X (CSR, columns in order) and y = +-1.

    "mnist 8" is digit 8 against the rest, "mnist odd" odd against even, both divided by 255;
    "covtype" is divided by the largest value of each column; "covtype train" are its first rows,
    "covtype part" 100,000 of them, evenly spaced.
    """
    file = {"mnist 8": "mnist", "mnist odd": "mnist", "usps 0": "usps"}.get(name, name)
    file = "covtype.binary" if name.startswith("covtype") else file
    X, y = load(DataSpec(file, is_sparse=True), Path(folder))
    if file == "mnist":
        X = X / 255.0
        y = y == 8 if name == "mnist 8" else y % 2 == 1
    elif file == "usps":
        y = y == 1
    elif file == "covtype.binary":
        largest = np.abs(X).max(axis=0).toarray().ravel()
        X = X @ sparse.diags(1.0 / np.where(largest > 0.0, largest, 1.0))
        y = y > 0
        if name == "covtype train":
            X, y = X[:COVTYPE_ROWS], y[:COVTYPE_ROWS]
        if name == "covtype part":
            rows = np.linspace(0, len(y) - 1, 100_000).astype(int)
            X, y = X[rows], y[rows]
    else:
        y = y > 0
    X = sparse.csr_matrix(X).astype(dtype)
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.where(y, 1.0, -1.0)
