"""SearchDisplay: the scores of a search over two parameters, with the candidates to choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..score_grid import Axis, ScoreGrid, choose_metric, score_range
from .plotting import import_pyplot, math_text

BEST = "#d62728"
CURVE = "#3b528b"


class SearchDisplay:
    """Heat map of the test score over C and gamma, and the best score along each of them.

    A star marks the best cell, and a ring the simplest cell within one standard error of it
    (`one_standard_error`). A white line encloses all cells within that error. The curves show, for
    each value of one parameter, the best score over the others with its standard error.

    Use `from_estimator` or `from_cv_results` to create a display.

    Parameters
    ----------
    grid : ScoreGrid
        The scores on the grid.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The heat map (the curve, for a search over one parameter).
    axes_ : dict of matplotlib Axes
        All axes that were drawn: "map", "x", "y" and "bar" (the colour bar).
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from alphapath import SVC
    >>> from alphapath.report import SearchDisplay
    >>> grid = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1]}
    >>> search = GridSearchCV(SVC(), grid).fit(*load_iris(return_X_y=True))
    >>> SearchDisplay.from_estimator(search).figure_.savefig("search.png")  # doctest: +SKIP
    """

    def __init__(self, grid: ScoreGrid) -> None:
        self.grid = grid

    @classmethod
    def from_estimator(cls, search: Any, **options: Any) -> SearchDisplay:
        """Draw a fitted search: SVMSearchCV, GridSearchCV or another with `cv_results_`.

        `options` are passed to `from_cv_results`.
        """
        if not hasattr(search, "cv_results_"):
            raise ValueError(
                f"This {type(search).__name__} has no cv_results_; call its fit before drawing it."
            )
        options["metric"] = choose_metric(search, options.get("metric"))
        return cls.from_cv_results(search.cv_results_, **options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        metric: str = "score",
        x: str | None = None,
        y: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> SearchDisplay:
        """Draw a dictionary such as `cv_results_`.

        Parameters
        ----------
        cv_results : dict
        metric : str, default="score"
            The scorer, if the search has several.
        x, y : str, default=None
            Parameters for the columns and the rows; by default, C and gamma if they vary.
        ax : matplotlib Axes, default=None
        **options
            Passed to `plot`.
        """
        return cls(ScoreGrid.from_cv_results(cv_results, metric, x, y)).plot(ax, **options)

    def plot(self, ax: Any = None, *, curves: bool = True, cmap: str = "viridis") -> SearchDisplay:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        curves : bool, default=True
            Whether to draw the best score along each parameter at the edges of the map.
        cmap : str, default="viridis"
            Colour map.
        """
        plt = import_pyplot()
        is_map = self.grid.y is not None
        if ax is None:
            size = self._map_size() if is_map else (6.4, 4.0)
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self.axes_: dict[str, Any] = {}
        if not is_map:
            self.axes_["x"] = ax
            self._draw_curve(ax, "x")
            self._draw_marks(ax)
            ax.set_ylabel(self._score_name())
            ax.set_xlabel(self.grid.x.label)
            return self
        self._divide(ax, curves)
        self._draw_map(ax, cmap)
        for side in "xy":
            if side in self.axes_:
                self._draw_curve(self.axes_[side], side)
        return self

    # -- parts

    def _map_size(self) -> tuple[float, float]:
        assert self.grid.y is not None
        n_x, n_y = len(self.grid.x.values), len(self.grid.y.values)
        return min(4.2 + 0.42 * n_x, 13.0), min(3.0 + 0.36 * n_y, 11.0)

    def _score_name(self) -> str:
        name = "score" if self.grid.metric == "score" else self.grid.metric.replace("_", " ")
        return f"mean test {name}"

    def _divide(self, ax: Any, curves: bool) -> None:
        """Share the place of `ax` among the map, its colour bar and the curves.

        Axes that were placed by hand have no place to share: they get the map alone.
        """
        self.axes_["map"] = ax
        place = ax.get_subplotspec()
        if place is None or not curves:
            return
        parts = place.subgridspec(2, 2, width_ratios=[1, 0.3], height_ratios=[0.36, 1])
        ax.set_subplotspec(parts[1, 0])
        self.axes_["x"] = ax.figure.add_subplot(parts[0, 0], sharex=ax)
        self.axes_["y"] = ax.figure.add_subplot(parts[1, 1], sharey=ax)

    def _draw_map(self, ax: Any, cmap: str) -> None:
        grid = self.grid
        assert grid.y is not None
        low, high = score_range(grid.mean)
        image = ax.imshow(
            np.ma.masked_invalid(grid.mean),
            cmap=cmap,
            origin="lower",
            aspect="auto",
            vmin=low,
            vmax=high,
        )
        label_ticks(ax.xaxis, grid.x)
        label_ticks(ax.yaxis, grid.y)
        ax.set_xlabel(grid.x.label)
        ax.set_ylabel(grid.y.label)
        ax.set_facecolor("0.88")  # cells that were not run
        self._outline_equal(ax)
        self._draw_marks(ax)
        bar = ax.figure.colorbar(
            image,
            ax=self.axes_.get("y", ax),
            label=self._score_name(),
            extend="min" if low > np.nanmin(grid.mean) else "neither",
        )
        self.axes_["bar"] = bar.ax

    def _draw_marks(self, ax: Any) -> None:
        """The best and the simplest candidate, with a legend below the axes."""
        grid = self.grid
        is_map = grid.y is not None
        marks = [
            (
                grid.simplest,
                "o",
                "white" if is_map else "black",
                "none",
                "simplest within one standard error",
            ),
            (grid.best, "*", "white", BEST, "best"),
        ]
        for candidate, marker, edge, face, name in marks:
            place = grid.place_of(candidate)
            if place is None:
                continue
            height = place[0] if is_map else grid.all_means[candidate]
            words = ", ".join(
                f"{axis.label} = {math_text(axis.texts[k])}"
                for axis, k in ((grid.x, place[1]), (grid.y, place[0]))
                if axis is not None
            )
            ax.plot(
                [place[1]],
                [height],
                marker,
                ms=14,
                mew=1.8,
                mec=edge,
                mfc=face,
                ls="none",
                zorder=5,
                label=f"{name}: {grid.all_means[candidate]:.4f} at {words}",
            )
        handles = ax.get_legend_handles_labels()
        if ax.figure.get_layout_engine() is None:  # nothing would make place outside the axes
            legend = ax.legend(*handles)
        else:
            legend = ax.figure.legend(*handles, loc="outside lower left", frameon=False)
        for handle in legend.legend_handles:
            handle.set_markeredgecolor("black")
            handle.set_markersize(10)

    def _outline_equal(self, ax: Any) -> None:
        """A line around the cells within one standard error of the best."""
        is_equal = self.grid.mean >= self.grid.bound
        padded = np.pad(is_equal, 1)
        for row, column in np.argwhere(is_equal):
            left, right = column - 0.5, column + 0.5
            low, high = row - 0.5, row + 0.5
            if not padded[row, column + 1]:
                ax.plot([left, right], [low, low], color="white", lw=1.6)
            if not padded[row + 2, column + 1]:
                ax.plot([left, right], [high, high], color="white", lw=1.6)
            if not padded[row + 1, column]:
                ax.plot([left, left], [low, high], color="white", lw=1.6)
            if not padded[row + 1, column + 2]:
                ax.plot([right, right], [low, high], color="white", lw=1.6)

    def _draw_curve(self, ax: Any, side: str) -> None:
        """The best score along one parameter, upright ("x") or on its side ("y")."""
        profile = self.grid.profile_along(side)
        places = np.arange(len(profile.mean))
        low, high = profile.mean - profile.error, profile.mean + profile.error
        if side == "x":
            ax.fill_between(places, low, high, color=CURVE, alpha=0.2, lw=0)
            ax.plot(places, profile.mean, "o-", ms=3.5, color=CURVE)
            ax.axhline(self.grid.bound, color=BEST, lw=1, ls="--")
            label_ticks(ax.xaxis, profile.axis)
        else:
            ax.fill_betweenx(places, low, high, color=CURVE, alpha=0.2, lw=0)
            ax.plot(profile.mean, places, "o-", ms=3.5, color=CURVE)
            ax.axvline(self.grid.bound, color=BEST, lw=1, ls="--")
            label_ticks(ax.yaxis, profile.axis)
        ax.grid(alpha=0.3)
        if "map" in self.axes_:
            bottom = max(score_range(self.grid.mean)[0], float(np.nanmin(low)))
            room = 0.06 * (float(np.nanmax(high)) - bottom)
            limit = ax.set_ylim if side == "x" else ax.set_xlim
            limit(bottom - room, float(np.nanmax(high)) + room)
            ax.tick_params(labelbottom=side == "y", labelleft=side == "x")
            ax.locator_params(axis="y" if side == "x" else "x", nbins=3 if side == "x" else 2)


def label_ticks(axis: Any, parameter: Axis) -> None:
    """The values of a parameter at equal distances, thinned to what fits."""
    n = len(parameter.values)
    step = -(-n // 16)
    texts = [math_text(text) for text in parameter.texts]
    axis.set_ticks(range(0, n, step), texts[::step])
