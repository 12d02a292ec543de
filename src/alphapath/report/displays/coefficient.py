"""CoefficientPathDisplay: the coefficients of a linear SVM, or duals, along an exact path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...paths import Path, c_path
from ...problem.box_problem import FloatArray
from .plotting import import_pyplot

#: Points between breakpoints, so that what is affine in C is not drawn affine in log C.
N_POINTS = 200
#: Breakpoints beyond which values are taken at every second, third, ... only.
MAX_BREAKPOINTS = 600
#: Lines that a legend can name.
MAX_NAMED = 12


class CoefficientPathDisplay:
    """Coefficients or duals along C (or along t of a weight path), one line each.

    For a linear kernel, the lines are the coefficients w_j. For other kernels, they are the duals
    relative to their weights, beta_i / c_i between -1 and 1: a line at -1 or 1 is a bounded support
    vector, a line at 0 is not a support vector, and lines in between form the margin set. Ticks at
    the lower edge mark the breakpoints, where the margin set changes.

    Use `from_estimator` or `from_path` to create a display.

    Parameters
    ----------
    t : array of shape (n_points,)
    values : array of shape (n_points, n_lines)
    breakpoints : array
    names : sequence of str
        One name per line.
    x_label, y_label : str

    Attributes
    ----------
    ax_ : matplotlib Axes
    lines_ : list of matplotlib Line2D
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from alphapath import SVC
    >>> from alphapath.report import CoefficientPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = CoefficientPathDisplay.from_estimator(
    ...     SVC(kernel="linear"), X[y > 0], y[y > 0], C_min=0.01, C_max=100.0)
    >>> display.values.shape[1], display.ax_.get_xscale()
    (4, 'log')
    """

    def __init__(
        self,
        t: FloatArray,
        values: FloatArray,
        breakpoints: FloatArray,
        names: Sequence[str],
        x_label: str = "C",
        y_label: str = "coefficient",
    ) -> None:
        self.t = t
        self.values = values
        self.breakpoints = breakpoints
        self.names = list(names)
        self.x_label, self.y_label = x_label, y_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        C_min: float = 2.0**-5,
        C_max: float = 2.0**15,
        feature_names: Sequence[str] | None = None,
        max_lines: int = 30,
        ax: Any = None,
    ) -> CoefficientPathDisplay:
        """Follow C and draw the coefficients of a linear kernel, or the duals of another.

        Parameters
        ----------
        estimator : SVC (of two classes) or SVR
        X, y : as for its `fit`
        C_min, C_max : float
        feature_names : sequence of str, default=None
            By default, the names of the columns, or x0, x1, ...
        max_lines : int, default=30
            If there are more lines, those that change most are drawn.
        ax : matplotlib Axes, default=None
        """
        path = c_path(estimator, X, y, C_min, C_max)
        if feature_names is None:
            feature_names = getattr(X, "columns", None)
        is_linear = estimator.kernel == "linear"
        rows = X if is_linear else None
        return cls.from_path(path, rows, feature_names=feature_names, max_lines=max_lines, ax=ax)

    @classmethod
    def from_path(
        cls,
        path: Path,
        X: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        max_lines: int = 30,
        ax: Any = None,
    ) -> CoefficientPathDisplay:
        """Draw a path returned by `c_path` or `weight_path`.

        Parameters
        ----------
        path : Path
        X : array of shape (n, n_features), default=None
            The training rows of a path with a linear kernel, to draw coefficients. Without them,
            duals are drawn.
        feature_names, max_lines, ax
            As in `from_estimator`.
        """
        breakpoints = path.breakpoints_
        t = sample_points(breakpoints)
        beta = np.stack([path.beta_at(float(one)) for one in t])
        if X is not None:
            values = np.asarray(beta @ np.asarray(X if not hasattr(X, "toarray") else X.toarray()))
            names = [f"x{j}" for j in range(values.shape[1])]
            names = names if feature_names is None else [str(name) for name in feature_names]
            y_label = "coefficient"
        else:
            weights = np.stack([path.weights_at(float(one)) for one in t])
            values = np.divide(beta, weights, out=np.zeros_like(beta), where=weights > 0.0)
            names = [f"row {i}" for i in range(values.shape[1])]
            y_label = "dual / weight"
        moved = np.abs(np.diff(values, axis=0)).sum(axis=0)
        order = np.sort(np.argsort(-moved, kind="stable")[:max_lines])
        own = [names[k] for k in order]
        return cls(t, values[:, order], breakpoints, own, path.name, y_label).plot(ax)

    def plot(self, ax: Any = None) -> CoefficientPathDisplay:
        """Draw into `ax`, or into a new figure."""
        plt = import_pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.92, max(1, len(self.names))))
        ax.axhline(0.0, color="0.6", lw=0.8)
        self.lines_ = [
            ax.plot(self.t, self.values[:, k], lw=1.2, color=colours[k], label=name)[0]
            for k, name in enumerate(self.names)
        ]
        low = ax.get_xaxis_transform()
        ax.vlines(self.breakpoints, 0.0, 0.025, transform=low, color="0.35", lw=0.5)
        if self.t[0] > 0.0:
            ax.set_xscale("log")
        ax.set_xlim(self.t[0], self.t[-1])
        ax.set(xlabel=self.x_label, ylabel=self.y_label)
        if len(self.names) <= MAX_NAMED:
            ax.legend(fontsize="small", ncols=2)
        return self


def sample_points(breakpoints: FloatArray) -> FloatArray:
    """Breakpoints, thinned where there are very many, and points between them."""
    low, high = float(breakpoints[0]), float(breakpoints[-1])
    between = np.geomspace(low, high, N_POINTS) if low > 0.0 else np.linspace(low, high, N_POINTS)
    step = -(-breakpoints.size // MAX_BREAKPOINTS)
    points = np.unique(np.concatenate([breakpoints[::step], between, [high]]))
    return np.asarray(np.clip(points, low, high))
