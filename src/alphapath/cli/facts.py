"""Facts about data and fitted models, as reported by commands."""

from __future__ import annotations

import warnings
from typing import Any

from ..estimators.common.width import find_excess
from ..report.data_facts import find_facts
from .failure import CommandError
from .files.data import Data


def describe(data: Data, scale: str = "none") -> str:
    """Describe the data in one line."""
    n, d = data.X.shape
    form = ", sparse" if data.is_sparse else ""
    scaled = "" if scale == "none" else f", scaled ({scale})"
    return f"{data.name}, {n} x {d}{form}{scaled}"


def require_width(data: Any, purpose: str) -> None:
    """Reject the index of a sparse row if arrays of that length do not fit into memory."""
    excess = find_excess(data.X)
    if excess is None:
        return
    row, column, n_bytes = excess
    raise CommandError(
        f"{data.name}, row {row + 1}: the index {column + getattr(data, 'index_base', 1)} is too "
        f"large, since {purpose} stores numbers for every feature up to it, {n_bytes / 2**30:.3g} "
        f"GiB; number the features without gaps."
    )


def warn_of_facts(data: Data, scale: str) -> None:
    """Warn of properties of the data that make an SVM slow or useless."""
    if scale != "none":
        require_width(data, f"--scale {scale}")
    for sentence in find_facts(data.X, data.y, is_scaled=scale != "none").warnings:
        warnings.warn(sentence, stacklevel=2)


def certificate_of(model: Any, X: Any, y: Any) -> dict[str, float]:
    """The certificate of all pairs of classes: sums, and the worst violations."""
    found = model.certify(X, y)
    each = found if isinstance(found, list) else [found]
    sums = ("objective", "primal_objective", "duality_gap")
    worst = ("kkt_violation", "box_violation", "sum_violation")
    record = {name: sum(float(getattr(one, name)) for one in each) for name in sums}
    return record | {name: max(float(getattr(one, name)) for one in each) for name in worst}
