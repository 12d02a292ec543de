"""Pictures of a path over lambda."""

from __future__ import annotations

from typing import Any

import numpy as np


def new_axes(ax: Any) -> Any:
    """The axes given, or new ones; one sentence where matplotlib is missing."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'alphapath[plot]'."
        ) from None
    return plt.subplots()[1]


def plot_set_sizes(path: Any, ax: Any) -> Any:
    """How many rows are free, at zero and at the bound, along lambda."""
    ax = new_axes(ax)
    sides = path.sides_of(0)
    sizes = np.zeros((len(path.events_) + 1, 3), dtype=int)
    sizes[0] = np.bincount(sides, minlength=3)
    for code in range(3):
        moves = (path.events_["to"] == code).astype(int) - (path.events_["from"] == code)
        sizes[1:, code] = sizes[0, code] + np.cumsum(moves)
    lam = np.concatenate([[path.range_[0]], path.breakpoints_, [path.range_[1]]])
    for code, name in enumerate(("free", "at zero", "at the bound")):
        ax.step(lam, np.append(sizes[:, code], sizes[-1, code]), where="post", label=name)
    ax.set_xscale("log")
    ax.set_xlabel("lambda")
    ax.set_ylabel("rows")
    ax.legend()
    return ax
