"""Facts about data that a search depends on, and warnings where they are unfavourable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Largest over smallest spread of features beyond which one of them rules every distance.
UNEVEN = 100.0
#: Share of the rarest class below which accuracy says little.
RARE = 0.1
#: Share of rows with an equal one beyond which it is worth a word.
MANY_DUPLICATES = 0.05
#: Rows that are looked at for duplicates.
MAX_ROWS = 20_000


@dataclass(frozen=True)
class DataFacts:
    """Counts by name, and sentences."""

    rows: dict[str, Any]
    warnings: list[str] = field(default_factory=list)


def find_facts(X: Any, y: Any, is_scaled: bool = False) -> DataFacts:
    """Look at rows (dense or sparse) and targets; nothing is solved."""
    notes: list[str] = []
    rows = as_numbers(X)
    shape = np.shape(X) if rows is None else rows.shape
    facts: dict[str, Any] = dict(zip(("rows", "features"), shape, strict=False))
    if rows is not None:
        look_at_rows(rows, facts, notes, is_scaled)
    if y is not None and np.asarray(y).dtype.kind in "iuOUSTb":
        look_at_classes(np.asarray(y).ravel(), facts, notes)
    elif y is not None:
        values = np.asarray(y, dtype=float)
        facts["target"] = f"{values.min():.4g} to {values.max():.4g}, mean {values.mean():.4g}"
    return DataFacts(facts, notes)


def as_numbers(X: Any) -> Any:
    """Rows as a matrix of numbers; None for rows that only preprocessing turns into numbers."""
    if hasattr(X, "tocsr"):
        return X
    rows = np.asarray(X)
    is_number = rows.ndim == 2 and rows.dtype.kind in "biuf"
    return rows if is_number else None


def look_at_rows(X: Any, facts: dict[str, Any], notes: list[str], is_scaled: bool) -> None:
    n, d = X.shape
    if hasattr(X, "tocsr"):
        facts["nonzero values"] = f"{100.0 * X.nnz / max(1, n * d):.3g} %"
    look_at_spread(X, facts, notes, is_scaled)
    look_at_duplicates(X, facts, notes)


def look_at_spread(X: Any, facts: dict[str, Any], notes: list[str], is_scaled: bool) -> None:
    if hasattr(X, "tocsr"):
        # Of the features that occur: a file may name a few of hundreds of millions.
        rows = X.tocsr()
        used, place = np.unique(rows.indices, return_inverse=True)
        mean = np.bincount(place, rows.data, minlength=used.size) / X.shape[0]
        square = np.bincount(place, rows.data**2, minlength=used.size) / X.shape[0]
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        spread = np.asarray(X.std(axis=0))
    varying = spread[spread > 1e-12 * max(1.0, float(spread.max(initial=0.0)))]
    n_constant = X.shape[1] - varying.size
    if n_constant:
        facts["constant features"] = n_constant
    if varying.size < 2:
        return
    ratio = float(varying.max() / varying.min())
    facts["largest over smallest spread"] = f"{ratio:.3g}"
    if ratio > UNEVEN and not is_scaled and not hasattr(X, "tocsr"):
        notes.append(
            f"The features are not scaled: the widest spreads {ratio:.3g} times as far as the "
            f"narrowest and dominates every distance. Scale them (--scale standard)."
        )


def look_at_duplicates(X: Any, facts: dict[str, Any], notes: list[str]) -> None:
    n = X.shape[0]
    if n > MAX_ROWS:
        return
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        seen = {
            rows.indices[a:b].tobytes() + rows.data[a:b].tobytes()
            for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        }
    else:
        seen = {row.tobytes() for row in np.ascontiguousarray(X)}
    n_duplicates = n - len(seen)
    if n_duplicates:
        facts["rows equal to an earlier one"] = n_duplicates
    if n_duplicates > MANY_DUPLICATES * n:
        notes.append(
            f"{n_duplicates} of {n} rows equal an earlier one: the same row can be in training and "
            f"test folds, which makes the scores too optimistic."
        )


def look_at_classes(y: Any, facts: dict[str, Any], notes: list[str]) -> None:
    labels, counts = np.unique(y, return_counts=True)
    shown = [f"{label}: {count}" for label, count in zip(labels, counts, strict=True)]
    facts["classes"] = ", ".join(shown[:12]) + (" ..." if len(shown) > 12 else "")
    if len(labels) > 1 and counts.min() < RARE * y.size / (len(labels) / 2):
        rarest = int(np.argmin(counts))
        notes.append(
            f"Class {labels[rarest]} has {counts[rarest]} of {y.size} rows: accuracy says little "
            f"here; consider balanced accuracy and class weights."
        )
