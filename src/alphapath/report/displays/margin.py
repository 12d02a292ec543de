"""MarginDisplay: the decision function of a two-class SVM in the plane, with support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ...problem.box_problem import FloatArray
from .plotting import import_pyplot

#: Colours of the two classes, told apart also without colour by the shape of the mark.
CLASS_COLOURS, CLASS_MARKS = ("#3b528b", "#d95f0e"), ("o", "s")


class MarginDisplay:
    """Decision boundary (solid), margins (dashed), rows by class, and the support vectors.

    A support vector on its margin is marked by a ring. A bounded support vector, inside the margin
    or on the wrong side, is marked by a ring and a cross.

    Use `from_estimator` to create a display.

    Parameters
    ----------
    X : array of shape (n, 2)
    side : array of shape (n,)
        -1 or 1, the class of each row.
    is_on_margin, is_inside : boolean arrays of shape (n,)
        The two sets of support vectors.
    plane : tuple of arrays
        Coordinates (x, y) and the decision values on that grid.
    names : tuple of str
        The two classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from alphapath import SVC
    >>> from alphapath.report import MarginDisplay
    >>> X, y = make_moons(40, noise=0.2, random_state=0)
    >>> model = SVC(C=10, gamma=1.0).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y)
    >>> int(display.is_on_margin.sum() + display.is_inside.sum()) == len(model.support_)
    True
    """

    def __init__(
        self,
        X: FloatArray,
        side: FloatArray,
        is_on_margin: Any,
        is_inside: Any,
        plane: tuple[FloatArray, FloatArray, FloatArray],
        names: tuple[str, str],
    ) -> None:
        self.X = X
        self.side = side
        self.is_on_margin = is_on_margin
        self.is_inside = is_inside
        self.plane = plane
        self.names = names

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, resolution: int = 120, ax: Any = None
    ) -> MarginDisplay:
        """Draw a fitted two-class SVC and the rows it was fitted on.

        Parameters
        ----------
        estimator : SVC
            From this library or scikit-learn, possibly as the last step of a fitted Pipeline. The
            plane is that of X before preprocessing.
        X : array of shape (n, 2)
        y : array of shape (n,)
        resolution : int, default=120
            Number of grid points along each axis.
        ax : matplotlib Axes, default=None
        """
        rows = np.asarray(X, dtype=float)
        model = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        classes: Any = getattr(model, "classes_", ())
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(f"X has shape {rows.shape}; the plane needs shape (n, 2).")
        if len(classes) != 2:
            raise ValueError(f"The model has {len(classes)} classes; margins are drawn for two.")
        if not hasattr(model, "support_"):
            raise TypeError(
                f"A {type(model).__name__} has no support vectors to be drawn; give a fitted SVC."
            )
        if int(model.support_.max(initial=-1)) >= len(rows):
            raise ValueError(
                f"X has {len(rows)} rows, but the support vectors of the model reach row "
                f"{int(model.support_.max())}; give the rows that it was fitted on."
            )
        side = np.where(np.asarray(y) == classes[1], 1.0, -1.0)
        is_support = np.zeros(len(rows), dtype=bool)
        is_support[model.support_] = True
        distance = side * estimator.decision_function(rows)
        # A free dual is on its margin to the tolerance of the solver.
        is_on_margin = is_support & (distance > 1.0 - 2.0 * model.tol)
        low, high = rows.min(axis=0), rows.max(axis=0)
        room = 0.08 * (high - low)
        across = np.linspace(low[0] - room[0], high[0] + room[0], resolution)
        up = np.linspace(low[1] - room[1], high[1] + room[1], resolution)
        points = np.stack([part.ravel() for part in np.meshgrid(across, up)], axis=1)
        values = estimator.decision_function(points).reshape(resolution, resolution)
        names = (str(classes[0]), str(classes[1]))
        display = cls(
            rows, side, is_on_margin, is_support & ~is_on_margin, (across, up, values), names
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> MarginDisplay:
        """Draw into `ax`, or into a new figure."""
        plt = import_pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        across, up, values = self.plane
        ax.contourf(
            across, up, values, levels=[-np.inf, 0.0, np.inf], colors=CLASS_COLOURS, alpha=0.12
        )
        ax.contour(
            across, up, values, levels=[-1, 0, 1], colors="0.25", linestyles=["--", "-", "--"]
        )
        for k, sign in enumerate((-1.0, 1.0)):
            own = self.X[self.side == sign]
            ax.scatter(
                *own.T,
                c=CLASS_COLOURS[k],
                marker=CLASS_MARKS[k],
                s=18,
                label=f"class {self.names[k]}",
            )
        ring = {"facecolors": "none", "edgecolors": "black", "s": 80, "linewidths": 1.1}
        ax.scatter(*self.X[self.is_on_margin | self.is_inside].T, **ring, label="support vector")
        ax.scatter(
            *self.X[self.is_inside].T,
            c="black",
            marker="x",
            s=26,
            linewidths=1.0,
            label="at its bound",
        )
        ax.legend(loc="best", fontsize="small")
        return self
