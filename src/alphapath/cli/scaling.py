"""Scaling of features, and the range files of LIBSVM's svm-scale.

    x
    -1 1
    1 0.5 7.25
    3 -2 2

Line 2 has the bounds, then each line a feature with the values that go to them. A standardised
feature is written so too: mean - deviation goes to -1, mean + deviation to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from .text_file import fault, open_text

SCALES = ("none", "minmax", "standard")


@dataclass(frozen=True)
class Range:
    """An affine map of each feature: `low` goes to -1, `high` to 1; a constant feature to 0."""

    low: Any
    high: Any

    def transform(self, X: Any) -> Any:
        """The scaled rows; sparse ones become dense where a zero does not stay zero."""
        n_features = len(self.low)
        width = np.asarray(self.high) - self.low
        factor = np.where(width > 0.0, 2.0 / np.where(width > 0.0, width, 1.0), 0.0)
        offset = np.where(width > 0.0, -1.0 - np.asarray(self.low) * factor, 0.0)
        if X.shape[1] < n_features:
            X = widen(X, n_features)
        X = X[:, :n_features]
        if hasattr(X, "tocsr"):
            if not np.any(offset):
                return X.multiply(factor[None, :]).tocsr()
            X = X.toarray()
        return X * factor + offset

    def write(self, path: Path) -> None:
        """A file that svm-scale -r reads."""
        lines = ["x", "-1 1"]
        for k, (low, high) in enumerate(zip(self.low, self.high, strict=True), start=1):
            if high > low:
                lines.append(f"{k} {low:.17g} {high:.17g}")
        path.write_text("\n".join(lines) + "\n", encoding="ascii")


class FeatureScaler(TransformerMixin, BaseEstimator):
    """Scales each feature by the rows it is fitted on, as a range file can say it.

    "minmax" brings them to [-1, 1], "standard" to mean 0 and deviation 1. Sparse rows are only
    divided, by the largest absolute value or the root of the mean square, so that they stay sparse.
    """

    def __init__(self, scale: str = "standard") -> None:
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> FeatureScaler:
        if hasattr(X, "tocsr"):
            if self.scale == "minmax":
                reach = np.asarray(abs(X).max(axis=0).todense()).ravel()
            else:
                reach = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).ravel())
            self.range_ = Range(-reach, reach)
        elif self.scale == "minmax":
            self.range_ = Range(X.min(axis=0), X.max(axis=0))
        else:
            centre, reach = X.mean(axis=0), X.std(axis=0)
            reach = np.where(X.max(axis=0) > X.min(axis=0), reach, 0.0)
            self.range_ = Range(centre - reach, centre + reach)
        return self

    def transform(self, X: Any) -> Any:
        return self.range_.transform(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "range_")


def read_range(path: Path) -> Range:
    """Read a range file of svm-scale or of ours."""
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    bounds = (-1.0, 1.0)
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            words = line.split()
            if not words or words == ["x"]:
                continue
            try:
                values = [float(word) for word in words]
                if number == 2:
                    bounds = values[0], values[1]
                    continue
                index, first, last = int(words[0]), values[1], values[2]
            except (ValueError, IndexError):
                raise fault(
                    path, number, f"{line.strip()[:40]!r} is not a line of a range file"
                ) from None
            low[index], high[index] = first, last
    n_features = max(low, default=0)
    lower, upper = np.zeros(n_features), np.zeros(n_features)
    # Brought from the file's bounds to [-1, 1]: where the line through both points meets them.
    for index in low:
        slope = (high[index] - low[index]) / (bounds[1] - bounds[0])
        lower[index - 1] = low[index] + (-1.0 - bounds[0]) * slope
        upper[index - 1] = low[index] + (1.0 - bounds[0]) * slope
    return Range(lower, upper)


def widen(X: Any, n_features: int) -> Any:
    """Rows with zeros for the features that a file did not reach."""
    if hasattr(X, "tocsr"):
        wide = X.copy()
        wide.resize((X.shape[0], n_features))
        return wide
    return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))
