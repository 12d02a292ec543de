"""ValidationPathDisplay: validation score for every C, its minimum and the spread of folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...paths.path import Path
from ...paths.validation_curve import ValidationCurve
from ...problem.box_problem import FloatArray
from .plotting import import_pyplot

CURVE, BEST = "#3b528b", "#d62728"
#: Points drawn of one interval of a curve that is not constant there.
N_POINTS = 8
SCORE_NAMES = {"error": "error rate", "squared": "mean squared error"}


class ValidationPathDisplay:
    """The exact validation score over all C (or lambda, or t), with its exact minimiser.

    An error rate is drawn as a step function, a squared error by its quadratic pieces. With folds,
    a band shows the standard error of their mean. A star marks the minimum, and a ring the
    strongest regularization (the smallest C or the largest lambda) within one standard error of it.

    Use `from_estimator`, `from_cross_validation` or `from_path` to create a display.

    Parameters
    ----------
    curve : ValidationCurve
        The mean over the folds, or a single curve.
    fold_curves : sequence of ValidationCurve, default=()
        The curves of the folds, over the same range.

    Attributes
    ----------
    best : tuple of (float, float)
        The minimiser of the curve and its minimum.
    simplest : tuple of (float, float) or None
        The strongest regularization within one standard error of the best; None without folds.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import cross_validate_path
    >>> from alphapath.report import ValidationPathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = cross_validate_path(SVC(gamma=0.01), scale(X), y, cv=3, C_min=0.1, C_max=10.0)
    >>> display = ValidationPathDisplay.from_cross_validation(result)
    >>> display.best == (result.best_C, result.best_score)
    True
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    def __init__(self, curve: ValidationCurve, fold_curves: Sequence[ValidationCurve] = ()) -> None:
        self.curve = curve
        self.fold_curves = tuple(fold_curves)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> ValidationPathDisplay:
        """Cross-validate along the whole path and draw it.

        Parameters
        ----------
        estimator : SVC, SVR or QuadraticLossSVC
        X, y : as for its `fit`
        ax : matplotlib Axes, default=None
        **options
            Passed to `cross_validate_path`: cv, C_min, C_max, ...
        """
        from ...model_selection import cross_validate_path

        return cls.from_cross_validation(cross_validate_path(estimator, X, y, **options), ax=ax)

    @classmethod
    def from_cross_validation(
        cls, result: Any, *, ax: Any = None, **options: Any
    ) -> ValidationPathDisplay:
        """Draw the result of `cross_validate_path`.

        Parameters
        ----------
        result : PathValidation or LambdaCVResult
        ax : matplotlib Axes, default=None
        **options
            Passed to `plot`.
        """
        if not hasattr(result, "fold_curves"):
            raise TypeError(
                f"A {type(result).__name__} has no curve over C; pass what cross_validate_path "
                f"returned."
            )
        return cls(result.curve, result.fold_curves).plot(ax, **options)

    @classmethod
    def from_path(
        cls,
        path: Path,
        X: Any,
        y: Any,
        *,
        metric: str | None = None,
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> ValidationPathDisplay:
        """Draw the score of one path on validation rows.

        Parameters
        ----------
        path : Path
            A path returned by `c_path` or `weight_path`.
        X, y : validation rows and their targets (+-1, or numbers)
        metric : {"error", "squared", "absolute"} or None, default=None
            None stands for the default of the path: "error", or "squared" in regression.
        sample_weight : array, default=None
        ax : matplotlib Axes, default=None
        **options
            Passed to `plot`.
        """
        asked = {} if metric is None else {"metric": metric}
        curve = path.validate(X, y, **asked, sample_weight=sample_weight)
        return cls(curve).plot(ax, **options)

    @property
    def best(self) -> tuple[float, float]:
        return self.curve.best

    @property
    def is_logarithmic(self) -> bool:
        """Whether the axis should be logarithmic, as for C and lambda."""
        return bool(self.curve.starts[0] > 0.0)

    def standard_error(self, t: Any) -> FloatArray:
        """The standard error of the mean over the folds at t; zeros for fewer than two folds."""
        times = np.asarray(t, dtype=np.float64)
        n = len(self.fold_curves)
        if n < 2:
            return np.zeros(times.shape)
        values = np.stack([fold(times) for fold in self.fold_curves])
        return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n))

    @property
    def simplest(self) -> tuple[float, float] | None:
        if len(self.fold_curves) < 2:
            return None
        t, lowest = self.best
        bound = lowest + float(self.standard_error(t))
        times, mean, _ = self.table()
        within = np.flatnonzero(mean <= bound)
        if within.size == 0:
            return t, lowest
        k = within[-1] if self.curve.name == "lambda" else within[0]
        return float(times[k]), float(mean[k])

    def table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(t, mean, standard error), the points that are drawn.

        For a step function, t holds the starts of all steps of all folds: each value holds until
        the next t, the last one until the end of the range. For a squared error, there are also
        points in between.
        """
        curves = (self.curve, *self.fold_curves)
        t = np.unique(np.concatenate([curve.starts for curve in curves]))
        if self.curve.metric != "error":
            ends = np.append(t[1:], self.curve.end)
            inside = t[:, None] + np.arange(N_POINTS) / N_POINTS * (ends - t)[:, None]
            t = np.append(np.minimum(inside, ends[:, None]).ravel(), self.curve.end)
        return t, self.curve(t), self.standard_error(t)

    def plot(self, ax: Any = None, *, folds: bool = False) -> ValidationPathDisplay:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        folds : bool, default=False
            Whether to draw the curve of every fold too.
        """
        plt = import_pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        t, mean, error = self.table()
        is_steps = self.curve.metric == "error"
        if is_steps:  # the last step needs its end
            t = np.append(t, self.curve.end)
            mean, error = np.append(mean, mean[-1]), np.append(error, error[-1])
        style = "steps-post" if is_steps else "default"
        if folds:
            for fold in self.fold_curves:
                ax.plot(t, fold(t), color=CURVE, lw=0.6, alpha=0.4, drawstyle=style)
        ax.plot(t, mean, color=CURVE, lw=1.4, drawstyle=style)
        if len(self.fold_curves) > 1:
            band = {"color": CURVE, "alpha": 0.2, "lw": 0, "step": "post" if is_steps else None}
            ax.fill_between(t, mean - error, mean + error, **band)
        self._draw_marks(ax)
        if self.is_logarithmic:
            ax.set_xscale("log")
        ax.set_xlim(self.curve.starts[0], self.curve.end)
        ax.set(xlabel=self.curve.name, ylabel=SCORE_NAMES[self.curve.metric])
        ax.grid(alpha=0.3)
        ax.legend(fontsize="small")
        return self

    def _draw_marks(self, ax: Any) -> None:
        name = self.curve.name
        t, lowest = self.best
        simplest = self.simplest
        if simplest is not None:
            bound = lowest + float(self.standard_error(t))
            ax.axhline(bound, color=BEST, lw=1, ls="--")
            label = f"simplest within one standard error: {name} = {simplest[0]:.4g}"
            ring = {"mfc": "none", "mec": "black", "mew": 1.4, "ms": 10, "ls": "none", "zorder": 5}
            ax.plot(*([value] for value in simplest), "o", label=label, **ring)
        star = {"mfc": BEST, "mec": "white", "mew": 1.0, "ms": 14, "ls": "none", "zorder": 6}
        ax.plot([t], [lowest], "*", label=f"best: {lowest:.4g} at {name} = {t:.4g}", **star)
