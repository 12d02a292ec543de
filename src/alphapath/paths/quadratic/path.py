"""LambdaPath: the exact solution of a quadratic-loss SVM as a function of lambda."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...kernels.equal_rows import on_distinct_rows
from ...kernels.limits import check_decision_values
from ...kernels.samples import as_rows
from ...problem.box_problem import FloatArray, Problem
from ...problem.solution import Solution
from ..validation_curve import METRICS, ValidationCurve, make_shares
from .analytic_curve import AnalyticCurve
from .file import read_path, write_path
from .model import QuadraticModel
from .validation import trace_error, trace_squared

#: The violation that a solution at one lambda is polished to, relative to the targets.
POLISH_TOL = 1e-11
#: Codes of the three sets in `events_` and `sets_at`.
FREE, ZERO, BOUND = 0, 1, 2
EVENT = np.dtype([("lam", "f8"), ("row", "i4"), ("from", "i1"), ("to", "i1")])
Piece = tuple[NDArray[np.int32], FloatArray, FloatArray, FloatArray, FloatArray]
#: Kernel values held at once while predicting (32 MiB of doubles).
BLOCK_VALUES = 1 << 22


class PathEnd(IntEnum):
    """How a path over lambda ended."""

    FINISHED = 0
    EVENT_LIMIT = 1
    INTERRUPTED = 2
    NOT_CONVEX = 3
    TIME_LIMIT = 4


@dataclass(frozen=True)
class PathInfo:
    """Counts of one path.

    `status` says whether the path was completed; after a limit or Ctrl-C, `range_` says how far it
    was followed. `iterations_per_equation` is the mean number of bracketing iterations; `n_resets`
    counts the degenerate points that the Newton solver passed; `largest_residual` is the largest
    residual of the optimality condition on the free set, at the ends of pieces.
    """

    status: PathEnd
    n_events: int
    n_distinct: int
    n_pieces: int
    n_poles: int
    n_factorizations: int
    n_resets: int
    iterations_per_equation: float
    largest_residual: float


class LambdaPath:
    """The exact path between two values of lambda, returned by `lambda_path`.

    Between two breakpoints, the free a are rational functions of lambda with few poles, which are
    stored. Every method is exact at any lambda of the range, not only at breakpoints. Where
    rounding hides the path (see `gaps_`), `at` and `predict` solve the problem, and curves are
    interpolated.

    Attributes
    ----------
    breakpoints_ : array of shape (n_events,)
        lambda of every set change, in the order of the walk; ties are repeated.
    events_ : structured array with fields lam, row, from, to
        Codes of the sets: 0 free, 1 at zero, 2 at the bound.
    range_ : (lam_from, lam_to)
        `lam_to` is where the path ended; see `info_.status`.
    gaps_ : tuple of (low, high)
        Intervals of lambda in which the path is not known exactly.
    classes_ : array of shape (2,)
        The labels predicted for f < 0 and for f >= 0.
    info_ : PathInfo
    """

    def __init__(self, model: QuadraticModel, classes: NDArray[Any], native: Any) -> None:
        self.model = model
        self.classes_ = classes
        self._native = native
        self._first: FloatArray = native.segment_first
        self._last: FloatArray = native.segment_last
        self._n_before: NDArray[np.int64] = native.segment_events
        self.events_ = np.empty(len(native.event_lambdas), dtype=EVENT)
        self.events_["lam"] = native.event_lambdas
        self.events_["row"] = native.event_instances
        self.events_["from"] = native.event_from
        self.events_["to"] = native.event_to
        self.breakpoints_: FloatArray = self.events_["lam"].copy()
        self.range_ = (float(self._first[0]), float(self._last[-1]))
        ends = zip(native.gap_firsts.tolist(), native.gap_lasts.tolist(), strict=True)
        self.gaps_: tuple[tuple[float, float], ...] = tuple((min(gap), max(gap)) for gap in ends)
        self.info_ = PathInfo(
            PathEnd(native.status),
            len(self.events_),
            len(np.unique(self.breakpoints_)),
            len(self._first),
            native.n_poles,
            native.n_factorizations,
            native.n_resets,
            native.n_iterations / max(native.n_equations, 1),
            native.largest_residual,
        )

    def __repr__(self) -> str:
        first, last = self.range_
        status = self.info_.status
        end = "" if status is PathEnd.FINISHED else f", {status.name.lower()}"
        return f"LambdaPath(lam {first:.4g} to {last:.4g}, {len(self.events_)} events{end})"

    # -- pieces

    @property
    def n_pieces(self) -> int:
        """Number of rational pieces."""
        return len(self._first)

    def piece(self, k: int) -> Piece:
        """(members, a, drift, poles, residues): a(x) = a - x (drift + residues' 1/(poles - x))."""
        found: Piece = self._native.segment(k)
        return found

    def piece_ends(self, k: int) -> tuple[float, float]:
        """lambda at the first and at the last end of a piece, in the order of the walk."""
        return float(self._first[k]), float(self._last[k])

    @property
    def first_sides(self) -> NDArray[np.int8]:
        """The set of every row where the path begins, before any event, by code."""
        sides: NDArray[np.int8] = self._native.first_sides
        return sides

    def n_events_before(self, k: int) -> int:
        """Set changes before piece k."""
        return int(self._n_before[k])

    def sides_of(self, k: int) -> NDArray[np.int8]:
        """The set of every row on piece k, by code."""
        sides = self.first_sides.copy()
        past = self.events_[: self._n_before[k]]
        # Repeated rows: the last assignment stays.
        sides[past["row"]] = past["to"]
        return sides

    def _find_piece(self, lam: float) -> int:
        low, high = sorted(self.range_)
        if not low <= lam <= high:
            raise ValueError(f"lam is {lam}; the path covers {low:g} to {high:g}.")
        sign = -1.0 if self.range_[0] > self.range_[1] else 1.0
        return int(np.searchsorted(sign * self._last[:-1], sign * lam, side="left"))

    def _scaled_dual(self, lam: float) -> FloatArray:
        """a at lambda, from the fractions of its piece; off its box by rounding at most.

        Not clipped: Q a would then be off by more than a is, in units of lambda.
        """
        k = self._find_piece(lam)
        members, a, drift, poles, residues = self.piece(k)
        x = self._first[k] - lam
        full = np.where(self.sides_of(k) == BOUND, self.model.upper, 0.0)
        full[members] = a - x * (drift + (1.0 / (poles - x)) @ residues)
        return full

    def _exact_dual(self, lam: float) -> FloatArray:
        """a at lambda, polished: between its ends a piece may have fewer digits, or be no solution.

        Jumps that are too short to be gaps leave values between two pieces.
        """
        return np.asarray(self.model.solve(lam, self._scaled_dual(lam), tol=POLISH_TOL).a)

    # -- evaluation

    def at(self, lam: float) -> Solution:
        """Return the solution at any lambda of the range, polished to rounding.

        Examples
        --------
        >>> from alphapath.problem.certificate import certify
        >>> from alphapath.paths import lambda_path
        >>> path = lambda_path([[0.0], [0.4], [0.6], [1.0]], [0, 1, 0, 1])
        >>> solution = path.at(0.1)
        >>> certify(solution.problem, solution.beta).is_optimal(1e-9)
        True
        """
        result = self.model.solve(lam, self._scaled_dual(lam), tol=POLISH_TOL)
        return self.model.as_solution(lam, result)

    def sets_at(self, lam: float) -> NDArray[np.int8]:
        """Return the set of every row: 0 free, 1 at zero, 2 at the bound."""
        return self.sides_of(self._find_piece(lam))

    def decision_function(self, X: Any, lam: float) -> FloatArray:
        """Decision values f at the rows of X, for one lambda."""
        beta = self.model.scale * self._exact_dual(lam) / lam
        support = np.flatnonzero(beta)
        X = as_rows(X)
        step = max(1, BLOCK_VALUES // max(1, support.size))

        def evaluate(rows: Any) -> FloatArray:
            values = np.empty(rows.shape[0])
            for first in range(0, len(values), step):
                part = slice(first, first + step)
                values[part] = self._kernel_to(rows[part], support) @ beta[support]
            return values

        with np.errstate(over="ignore", invalid="ignore"):
            values = on_distinct_rows(X, evaluate)
        return check_decision_values(values, self.model.view.kernel)

    def predict(self, X: Any, lam: float) -> NDArray[Any]:
        """Predict the class labels of the rows of X, for one lambda."""
        labels: NDArray[Any] = self.classes_[(self.decision_function(X, lam) >= 0.0).astype(int)]
        return labels

    def _kernel_to(self, X: Any, rows: Any) -> FloatArray:
        view = self.model.view
        if view.kernel.name == "precomputed":
            return np.asarray(X[:, rows], dtype=np.float64)
        return view.kernel.evaluate(X, view._X[rows])

    def validate(
        self, X: Any, y: ArrayLike, metric: str = "error", sample_weight: ArrayLike | None = None
    ) -> ValidationCurve | AnalyticCurve:
        """Compute the exact curve of a score over lambda and its exact minimiser.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)
            For a precomputed kernel, its values against the training rows.
        y : array of shape (n,)
        metric : {"error", "squared"}
            "error" is the fraction of wrong labels, which is piecewise constant; "squared" is the
            mean of (f - y)^2 with y = +-1, which is analytic between breakpoints.
        sample_weight : array of shape (n,) or None
            Weights of the rows.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from alphapath.paths import lambda_path
        >>> X, y = make_moons(80, noise=0.3, random_state=0)
        >>> path = lambda_path(X[:60], y[:60])
        >>> curve = path.validate(X[60:], y[60:])
        >>> curve.best_value, len(curve.best_ranges) > 0
        (0.05, True)
        >>> path.validate(X[60:], y[60:], "squared").best_value < 1.0
        True
        """
        if metric not in METRICS:
            raise ValueError(f"metric is {metric!r}; it must be one of {METRICS}.")
        labels = np.asarray(y)
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y holds {labels[unknown][0]}; the classes of the path are "
                f"{self.classes_.tolist()}."
            )
        X = as_rows(X)
        if X.shape[0] != labels.shape[0] or labels.size == 0:
            raise ValueError(
                f"X has {X.shape[0]} rows and y {labels.size} labels; there must be one label a "
                f"row, and at least one."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            K = self._kernel_to(X, np.arange(self.model.view.n))
        check_decision_values(K, self.model.view.kernel)
        targets = np.where(labels == self.classes_[1], 1.0, -1.0)
        trace = trace_error if metric == "error" else trace_squared
        return trace(self, K, targets, make_shares(sample_weight, labels.size))

    # -- files

    def save(self, path: str | PathLike[str] | IO[bytes]) -> None:
        """Write the path (not the kernel) as an .npz file of plain arrays."""
        write_path(path, self.model, self.classes_, self._native)

    @classmethod
    def load(cls, path: str | PathLike[str] | IO[bytes], problem: Problem) -> LambdaPath:
        """Load a saved path; `problem` is that of the same data (`estimator.to_problem(X, y)`).

        Examples
        --------
        >>> from io import BytesIO
        >>> from alphapath import QuadraticLossSVC
        >>> X, y = [[0.0], [0.4], [0.6], [1.0]], [0, 1, 0, 1]
        >>> model, file = QuadraticLossSVC(), BytesIO()
        >>> model.lambda_path(X, y, lam_to=0.1).save(file)
        >>> _ = file.seek(0)
        >>> LambdaPath.load(file, model.to_problem(X, y)).range_[1]
        0.1
        """
        model, classes, stored = read_path(path, problem)
        return cls(model, classes, stored)

    def plot(self, ax: Any = None) -> Any:
        """Plot the sizes of the three sets along lambda; return the matplotlib axes."""
        return plot_set_sizes(self, ax)


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
    """Plot how many rows are free, at zero and at the bound, along lambda."""
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
