"""Scaling of features, and the range files of LIBSVM's svm-scale.

    x
    -1 1
    1 0.5 7.25
    3 -2 2

Line 2 has the bounds, then each line a feature with the values that go to them. A standardised
feature is written so too: mean - deviation goes to -1, mean + deviation to 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ..failure import CommandError
from .text import LARGEST, Source, fault, open_text, parse_number, words_of

INDEX = re.compile(r"[1-9][0-9]{0,9}\Z")
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

    def as_text(self) -> str:
        """The content of a file that svm-scale -r reads."""
        lines = ["x", "-1 1"]
        for k, (low, high) in enumerate(zip(self.low, self.high, strict=True), start=1):
            if high > low:
                lines.append(f"{k} {low:.17g} {high:.17g}")
        return "\n".join(lines) + "\n"


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


def read_range(path: Source, n_features: int) -> Range:
    """The first `n_features` of a range file of svm-scale; a damaged file is refused."""
    low, high = np.zeros(n_features), np.zeros(n_features)
    bounds: tuple[float, float] | None = None
    previous, is_open = 0, False
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            words = words_of(line)
            if number == 1:
                check_opening(path, words)
            elif bounds is None:
                bounds = read_bounds(path, number, words, "the bounds of the scaled values")
            elif words:
                if len(words) != 3 or not INDEX.match(words[0]):
                    raise fault(
                        path,
                        number,
                        f"{line.strip()[:40]!r} is not of the form index minimum maximum",
                    )
                index = int(words[0])
                if index <= previous:
                    raise fault(path, number, f"index {index} is not larger than the previous one")
                previous = index
                pair = read_bounds(path, number, words[1:], f"the values of feature {index}")
                if index <= n_features:
                    low[index - 1], high[index - 1] = pair
            is_open = not line.endswith(("\n", "\r"))
    if bounds is None or is_open:
        raise CommandError(f"{path} is truncated; it is not a complete range file of svm-scale.")
    # Brought from the file's bounds to [-1, 1]: where the line through both points meets them.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        slope = (high - low) / (bounds[1] - bounds[0])
        found = Range(low + (-1.0 - bounds[0]) * slope, low + (1.0 - bounds[0]) * slope)
        factor = 2.0 / (found.high - found.low)
        lost = (high > low) & ~((factor > 1.0 / LARGEST) & (factor < LARGEST))
    if lost.any():
        feature = int(np.argmax(lost))
        raise CommandError(
            f"{path} maps {low[feature]:g} to {high[feature]:g} of feature {feature + 1} to "
            f"{bounds[0]:g} to {bounds[1]:g}; numbers this close cannot be distinguished."
        )
    return found


def check_opening(path: Source, words: list[str]) -> None:
    """The first line of a range file."""
    if words == ["y"]:
        raise fault(path, 1, "it also scales targets (svm-scale -y), which is not read")
    if words != ["x"]:
        raise fault(path, 1, "a range file of svm-scale begins with the line 'x'")


def read_bounds(path: Source, line: int, words: list[str], what: str) -> tuple[float, float]:
    """Two finite numbers that rise."""
    values = [parse_number(word) for word in words]
    if len(values) != 2 or values[0] is None or values[1] is None:
        raise fault(path, line, f"{what} are {' '.join(words)[:40]!r} and not two finite numbers")
    if not values[0] < values[1] or max(abs(values[0]), abs(values[1])) > LARGEST:
        raise fault(
            path,
            line,
            f"{what} are {values[0]:g} and {values[1]:g}; the first must be below the second, and "
            f"both within {LARGEST:g}",
        )
    return values[0], values[1]


def widen(X: Any, n_features: int) -> Any:
    """Rows with zeros for the features that a file did not reach."""
    if hasattr(X, "tocsr"):
        wide = X.copy()
        wide.resize((X.shape[0], n_features))
        return wide
    return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))
