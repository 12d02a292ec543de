"""GridTreeDisplay and GapDisplay: the tree over a one-class grid, and the gap of one solve."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem.box_problem import FloatArray
from ...search.chain import ROOT
from ...search.grid_tree.tree import GridTree
from .plotting import import_pyplot

#: Colours of the edges by what they do.
COLOURS = {
    "C up": "#1f77b4",
    "C down": "#17a589",
    "wider": "#e67e22",
    "narrower": "#c0392b",
    "jump": "#7f7f7f",
}
ROOT_COLOUR = "#000000"


class GridTreeDisplay:
    """The tree over a grid of kernel widths and C, which shows the parent of each node.

    Arrows lead from a node to the nodes warm-started from it, coloured by the parameter they
    change; a square marks a cold start. The area of a node is the logarithm of its iterations. Bars
    beside the tree count the edges by orientation.

    Use `from_estimator` to create a display.

    Parameters
    ----------
    tree : GridTree
    C_values, widths : arrays
        C in ascending order, and widths from narrow to wide.
    n_iter : array of shape (n_widths * n_C,) or None
    name : str
        Name of the width parameter.

    Attributes
    ----------
    ax_ : matplotlib Axes
    axes_ : dict of matplotlib Axes
        "tree" and "edges".
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import OneClassMaxMinOver
    >>> from alphapath.model_selection import OneClassSearch
    >>> from alphapath.report import GridTreeDisplay
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> grid = {"C": [1.0, 10.0, 100.0], "sigma": [0.5, 1.0]}
    >>> search = OneClassSearch(OneClassMaxMinOver(), grid).fit(X)
    >>> sorted(GridTreeDisplay.from_estimator(search).axes_)
    ['edges', 'tree']
    """

    def __init__(
        self,
        tree: GridTree,
        C_values: FloatArray,
        widths: FloatArray,
        n_iter: NDArray[np.int64] | None = None,
        name: str = "sigma",
    ) -> None:
        self.tree = tree
        self.C_values, self.widths = C_values, widths
        self.n_iter = n_iter
        self.name = name

    @classmethod
    def from_estimator(cls, search: Any, ax: Any = None) -> GridTreeDisplay:
        """Draw a fitted OneClassSearch."""
        if not hasattr(search, "tree_"):
            raise ValueError(
                f"This {type(search).__name__} has no tree_; call the fit of a OneClassSearch "
                f"before drawing it."
            )
        results = search.results_
        name = "sigma" if "param_sigma" in results else "gamma"
        n_C = search.tree_.shape.n_C
        widths = results[f"param_{name}"][::n_C]
        return cls(search.tree_, results["param_C"][:n_C], widths, results["n_iter"], name).plot(ax)

    @property
    def orientations(self) -> Counter[str]:
        """The number of edges by orientation, excluding cold starts."""
        counts = self.tree.orientations()
        counts.pop("root", None)
        return counts

    def plot(self, ax: Any = None) -> GridTreeDisplay:
        """Draw the tree into `ax`, or the tree and the bars into a new figure."""
        plt = import_pyplot()
        self.axes_: dict[str, Any] = {}
        if ax is None:
            figure, (ax, bars) = plt.subplots(
                1, 2, figsize=(9.6, 5.6), width_ratios=[1, 0.32], layout="constrained"
            )
            self.axes_["edges"] = bars
            self._draw_bars(bars)
        else:
            figure = ax.figure
        self.axes_["tree"] = ax
        self.ax_, self.figure_ = ax, figure
        self._draw_edges(ax)
        self._draw_nodes(ax)
        return self

    def _places(self) -> tuple[FloatArray, FloatArray]:
        """Width and C of every node."""
        n_widths, n_C = self.tree.shape
        return np.repeat(self.widths, n_C), np.tile(self.C_values, n_widths)

    def _draw_edges(self, ax: Any) -> None:
        x, y = self._places()
        shape = self.tree.shape
        for child, parent in enumerate(self.tree.parents):
            if parent == ROOT:
                continue
            ax.annotate(
                "",
                xy=(x[child], y[child]),
                xytext=(x[parent], y[parent]),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": COLOURS[shape.orientation(parent, child)],
                    "shrinkA": 3,
                    "shrinkB": 3,
                    "lw": 1.3,
                    "mutation_scale": 7,
                },
            )

    def _draw_nodes(self, ax: Any) -> None:
        x, y = self._places()
        is_root = np.array(self.tree.parents) == ROOT
        size = np.full(x.size, 10.0) if self.n_iter is None else 6 + 4 * np.log1p(self.n_iter)
        ax.scatter(x[~is_root], y[~is_root], s=size[~is_root], color="0.25", zorder=3)
        ax.scatter(x[is_root], y[is_root], s=45, marker="s", color=ROOT_COLOUR, zorder=4)
        ax.set(xscale="log", yscale="log", xlabel=self.name, ylabel="C")
        ax.margins(0.06)

    def _draw_bars(self, ax: Any) -> None:
        counts = self.orientations
        names = [name for name in COLOURS if name != "jump" or counts[name]]
        share = np.array([counts[name] for name in names]) / max(1, counts.total())
        bars = ax.bar(names, share, color=[COLOURS[name] for name in names])
        ax.bar_label(bars, [f"{100 * value:.0f}%" for value in share])
        ax.set_ylabel("share of the edges")
        ax.tick_params(axis="x", rotation=90)
        ax.spines[["top", "right"]].set_visible(False)


class GapDisplay:
    """The feasibility gap over the iterations of MaxMinOver, with the bound 1 / sqrt(t).

    Use `from_estimator` to create a display.

    Parameters
    ----------
    trace : array of shape (n_evaluations, 2)
        Iterations and gaps.
    gap_tol : float or None
        The gap at which the solve stopped.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import OneClassMaxMinOver
    >>> from alphapath.report import GapDisplay
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = OneClassMaxMinOver(C=10, sigma=1.0, solver="maxminover").fit(X)
    >>> GapDisplay.from_estimator(model).ax_.get_yscale()
    'log'
    """

    def __init__(self, trace: FloatArray, gap_tol: float | None = None) -> None:
        self.trace = np.asarray(trace)
        self.gap_tol = gap_tol

    @classmethod
    def from_estimator(cls, model: Any, ax: Any = None) -> GapDisplay:
        """Draw a OneClassMaxMinOver fitted with solver="maxminover"."""
        trace = getattr(model, "gap_trace_", None)
        if trace is None:
            raise ValueError(
                "There are no gaps to draw; fit a OneClassMaxMinOver with solver='maxminover'."
            )
        return cls(trace, model.gap_tol).plot(ax)

    def plot(self, ax: Any = None) -> GapDisplay:
        """Draw into `ax`, or into a new figure."""
        plt = import_pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        is_shown = np.isfinite(self.trace[:, 1]) & (self.trace[:, 0] > 0)
        steps, gaps = self.trace[is_shown].T
        ax.plot(steps, gaps, lw=1, color=COLOURS["C up"], label="feasibility gap")
        if steps.size:
            bound = gaps[0] * np.sqrt(steps[0] / steps)
            ax.plot(steps, bound, "--", lw=1, color="0.5", label="1 / sqrt(t)")
        if self.gap_tol is not None:
            ax.axhline(self.gap_tol, lw=1, color=COLOURS["narrower"], label="tolerance")
        ax.set(xscale="log", yscale="log", xlabel="iteration", ylabel="gap")
        ax.legend(frameon=False)
        return self
