"""The candidates of a search laid out on two parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem.box_problem import FloatArray
from ..search.one_standard_error import mean_and_error, one_standard_error

#: Parameters that are drawn first, by the last part of their name.
FIRST = ("C", "gamma")
#: The candidate of an empty cell.
NONE = -1


@dataclass(frozen=True)
class Axis:
    """One parameter: its full name and its values in order."""

    name: str
    values: tuple[Any, ...]

    @property
    def label(self) -> str:
        """The name without the steps of a pipeline."""
        return self.name.rpartition("__")[2]

    @property
    def texts(self) -> list[str]:
        """The values in words; where all are powers of two (or of ten), as such."""
        return power_texts(self.values) or [value_text(value) for value in self.values]


@dataclass(frozen=True)
class Profile:
    """The best score for each value of one parameter, and its standard error."""

    axis: Axis
    mean: FloatArray
    error: FloatArray


@dataclass(frozen=True)
class ScoreGrid:
    """Scores over `y` (rows) and `x` (columns).

    Where the search varies further parameters, a cell shows the best candidate over them. `y` is
    None for a search over one parameter. `candidate` holds the position of each cell in
    `cv_results_`, or NONE if it is missing; `best` and `simplest` are positions too.
    """

    metric: str
    x: Axis
    y: Axis | None
    candidate: NDArray[np.intp]
    all_means: FloatArray
    all_errors: FloatArray
    best: int
    simplest: int

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        metric: str = "score",
        x: str | None = None,
        y: str | None = None,
    ) -> ScoreGrid:
        """Lay out `cv_results`; by default, the axes are C and gamma if they vary."""
        mean, error = mean_and_error(cv_results, metric)
        params = list(cv_results["params"])
        if np.all(np.isnan(mean)):
            raise ValueError(
                f"No candidate of this search has a {metric}; there is nothing to show."
            )
        x_axis, y_axis = choose_axes(params, x, y)
        n_rows = 1 if y_axis is None else len(y_axis.values)
        candidate = np.full((n_rows, len(x_axis.values)), NONE, dtype=np.intp)
        for i, own in enumerate(params):
            row = 0 if y_axis is None else y_axis.values.index(own.get(y_axis.name))
            place = row, x_axis.values.index(own.get(x_axis.name))
            if candidate[place] == NONE or worth(mean[i]) > worth(mean[candidate[place]]):
                candidate[place] = i
        best = int(np.nanargmax(mean))
        simplest = one_standard_error(cv_results, metric=metric)
        return cls(metric, x_axis, y_axis, candidate, mean, error, best, simplest)

    @cached_property
    def mean(self) -> FloatArray:
        """Scores by cell, nan for an empty one."""
        return self._pick(self.all_means)

    @cached_property
    def error(self) -> FloatArray:
        """Standard errors by cell."""
        return self._pick(self.all_errors)

    @property
    def bound(self) -> float:
        """The score that is as good as the best within one standard error."""
        return float(self.all_means[self.best] - self.all_errors[self.best])

    def place_of(self, candidate: int) -> tuple[int, int] | None:
        """(row, column) of a candidate; None if another one is shown in its cell."""
        found = np.argwhere(self.candidate == candidate)
        return (int(found[0, 0]), int(found[0, 1])) if len(found) else None

    def profile_along(self, axis: str) -> Profile:
        """The best score for each value of the axis "x" or "y"."""
        mean, error = (self.mean, self.error) if axis == "x" else (self.mean.T, self.error.T)
        own = self.x if axis == "x" else self.y
        assert own is not None
        filled = np.where(np.isnan(mean), -np.inf, mean)
        top = np.argmax(filled, axis=0), np.arange(mean.shape[1])
        return Profile(own, mean[top], error[top])

    def _pick(self, values: FloatArray) -> FloatArray:
        return np.where(self.candidate == NONE, np.nan, values[self.candidate])


def choose_axes(
    params: list[dict[str, Any]], x: str | None, y: str | None
) -> tuple[Axis, Axis | None]:
    """The two parameters to draw: the named ones, else C, gamma, then those with most values."""
    names = list(dict.fromkeys(name for own in params for name in own))
    axes = {name: Axis(name, ordered([own.get(name) for own in params])) for name in names}
    for wanted in (x, y):
        if wanted is not None and wanted not in axes:
            raise ValueError(
                f"The search has no parameter {wanted!r}; it varies {', '.join(map(repr, names))}."
            )

    def rank(name: str) -> tuple[bool, bool, int, int]:
        axis = axes[name]
        place = FIRST.index(axis.label) if axis.label in FIRST else len(FIRST)
        return len(axis.values) < 2, place == len(FIRST), place, -len(axis.values)

    if not names:
        return Axis("", (None,)), None
    left = [name for name in sorted(names, key=rank) if name not in (x, y)]
    first = axes[x if x is not None else left.pop(0)]
    if y is not None:
        return first, axes[y]
    return first, axes[left[0]] if left and len(axes[left[0]].values) > 1 else None


def ordered(values: list[Any]) -> tuple[Any, ...]:
    """Each value once: None, then numbers ascending, then the others as they came."""
    once: list[Any] = []
    for value in values:
        if value not in once:
            once.append(value)
    key: Callable[[Any], tuple[int, float]] = lambda value: (  # noqa: E731
        (0, 0.0) if value is None else (1, float(value)) if is_number(value) else (2, 0.0)
    )
    return tuple(sorted(once, key=key))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def worth(score: float) -> float:
    return -math.inf if math.isnan(score) else float(score)


def score_range(mean: FloatArray) -> tuple[float, float]:
    """The range of colours: hopeless cells share the lowest one, or they would take it up."""
    least, top = float(np.nanmin(mean)), float(np.nanmax(mean))
    reach = 3.0 * (top - float(np.nanmedian(mean)))
    # Where most cells are as good as the best, the others are what there is to see.
    return (max(least, top - reach) if reach > 0.0 else least), top


def power_texts(values: Sequence[Any]) -> list[str] | None:
    """Powers of two, or else of ten, as base^exponent; None where they are not all such powers."""
    given = [float(value) for value in values if is_number(value)]
    if len(given) < 2 or min(given) <= 0 or len(given) < len(values):
        return None
    halves = [math.frexp(value) for value in given]
    if all(part == 0.5 for part, _ in halves):
        return [f"2^{exponent - 1}" for _, exponent in halves]
    tens = [round(math.log10(value)) for value in given]
    if all(float(f"1e{k}") == value for k, value in zip(tens, given, strict=True)):
        return [f"10^{k}" for k in tens]
    return None


def value_text(value: Any) -> str:
    """A value in words; a power of two that takes many digits as 2^k."""
    if value is None:
        return "-"
    if not is_number(value):
        return str(value)
    text = f"{value:g}"
    exponent = math.log2(value) if value > 0 else math.nan
    return f"2^{exponent:.0f}" if len(text) > 5 and exponent.is_integer() else text


def choose_metric(search: Any, metric: str | None) -> str:
    """The scorer to show: the given one, the one used for `refit`, or the only one."""
    known = [key[10:] for key in search.cv_results_ if key.startswith("mean_test_")]
    refit = getattr(search, "refit", None)
    if metric is None:
        metric = refit if isinstance(refit, str) and refit in known else "score"
    if metric not in known:
        raise ValueError(f"metric is {metric!r}; the search has {', '.join(map(repr, known))}.")
    return metric
