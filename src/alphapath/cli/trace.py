"""The exact validation error along C, on the same folds as a search."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model_selection import cross_validate_path
from ..paths.validation_curve import ValidationCurve, average_curves
from .failure import CommandError
from .files.data import Data, targets_of
from .files.scaling import FeatureScaler


@dataclass(frozen=True)
class Traced:
    """The mean curve and those of the folds, with the number of events."""

    curve: ValidationCurve
    fold_curves: tuple[ValidationCurve, ...]
    n_events: int
    seconds: float


def check_traceable(data: Data, kind: str) -> None:
    """Reject data with more than two classes: a path follows one problem."""
    n_classes = len(np.unique(data.y)) if targets_of(kind) == "labels" else 2
    if n_classes != 2:
        raise CommandError(
            f"{data.name} has {n_classes} classes; a path can be followed for two classes only."
        )


def trace_along_c(
    model: Any, data: Data, scale: str, folds: Any, limits: tuple[float, float]
) -> Traced:
    """Follow C from limits[0] to limits[1] in every fold, scaled by its own training rows."""
    begin = time.perf_counter()
    found = []
    for split in folds.split(data.X, data.y):
        X = data.X
        if scale != "none":
            X = FeatureScaler(scale).fit(X[split[0]]).transform(X)
        found.append(
            cross_validate_path(model, X, data.y, [split], C_min=limits[0], C_max=limits[1])
        )
    curves = [one.curve for one in found]
    mean = average_curves(curves, np.full(len(curves), 1.0 / len(curves)))
    n_events = sum(one.n_events for one in found)
    return Traced(mean, tuple(curves), n_events, time.perf_counter() - begin)
