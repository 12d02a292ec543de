"""An exact validation curve as JSON values: its pieces, standard errors and choices.

On a piece from edges[k] to edges[k + 1] the mean runs from first[k] to last[k]; a curve of errors
is constant there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..paths import AnalyticCurve, ValidationCurve
from ..problem.box_problem import FloatArray
from .displays.validation import ValidationPathDisplay


def record_curve(found: Any, **more: Any) -> dict[str, Any]:
    """Return the record of a result of `cross_validate_path`, or of a single curve.

    `more` holds further entries (the other parameters, "seconds"), stored unchanged.
    """
    curve = getattr(found, "curve", found)
    folds = getattr(found, "fold_curves", ())
    edges, first, last = pieces_of(curve)
    display = ValidationPathDisplay(curve, folds)
    has_errors = len(folds) > 1
    record: dict[str, Any] = {"name": curve.name, "metric": curve.metric, "edges": edges}
    record |= {"first": first, "last": last}
    record["error"] = display.standard_error(edges[:-1]) if has_errors else first * np.nan
    t, value = display.best
    error = float(display.standard_error(t)) if has_errors else np.nan
    record["best"] = {"t": t, "value": value, "error": error}
    t, value = display.simplest or display.best
    record["simplest"] = {"t": t, "value": value}
    record["is_exact"] = bool(getattr(found, "is_exact", True))
    return record | more


def pieces_of(curve: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Edges, and the values at both ends of every piece."""
    if isinstance(curve, AnalyticCurve):
        return np.append(curve.starts, curve.end), *curve.values_at_ends()
    if not isinstance(curve, ValidationCurve):
        raise TypeError(
            f"{type(curve).__name__} is no validation curve; pass what cross_validate_path or the "
            f"validate of a path returns."
        )
    edges = np.append(curve.starts, curve.end)
    length = np.diff(edges)
    last = curve.value + length * (curve.slope + length * curve.curvature)
    return edges, curve.value, last
