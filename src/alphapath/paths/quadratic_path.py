"""LambdaPath: the exact solution of a quadratic-loss SVM as a function of lambda."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..kernels import Kernel, KernelStore, Linear, Rbf
from ..problem import FloatArray
from ..solution import Solution
from ..solvers.lapack import single_threaded
from .quadratic_loss import QuadraticModel, not_convex
from .quadratic_validation import StepCurve, trace_error

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


@dataclass(frozen=True)
class PathInfo:
    """Counts of one path.

    `iterations_per_equation` is the mean number of bracketing iterations; `n_resets` counts
    degenerate places that were passed by the Newton solver; `largest_residual` is that of the
    optimality condition on the free set, at ends of pieces.
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
    """The path between two values of lambda; made by `lambda_path`.

    Between two breakpoints the free a are rational functions of lambda (few poles), which are kept;
    every method is exact at any lambda of the range, not only at breakpoints.

    Attributes
    ----------
    breakpoints_ : array of shape (n_events,)
        lambda of every set change, in the order of the walk; ties repeat it.
    events_ : structured array with fields lam, row, from, to
        Sets by code: 0 free, 1 at zero, 2 at the bound.
    range_ : (lam_from, lam_to)
    classes_ : array of shape (2,)
        The label of f < 0 and of f >= 0.
    info_ : PathInfo
    """

    def __init__(self, model: QuadraticModel, X: Any, classes: NDArray[Any], native: Any) -> None:
        self.model = model
        self.classes_ = classes
        self._X = X
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
        return f"LambdaPath(lam {first:.4g} to {last:.4g}, {len(self.events_)} events)"

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

    def sides_of(self, k: int) -> NDArray[np.int8]:
        """The set of every row on piece k, by code."""
        sides: NDArray[np.int8] = self._native.first_sides
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

    # -- evaluation

    def at(self, lam: float) -> Solution:
        """The solution at any lambda of the range, polished to rounding.

        Examples
        --------
        >>> solution = path.at(0.1)                                  # doctest: +SKIP
        >>> certify(solution.problem, solution.beta).is_optimal(1e-9)  # doctest: +SKIP
        """
        result = self.model.solve(lam, self._scaled_dual(lam), tol=1e-11)
        return self.model.as_solution(lam, result)

    def sets_at(self, lam: float) -> NDArray[np.int8]:
        """The set of every row: 0 free, 1 at zero, 2 at the bound."""
        return self.sides_of(self._find_piece(lam))

    def decision_function(self, X: Any, lam: float) -> FloatArray:
        """f at the rows of X, for one lambda."""
        beta = self.model.scale * self._scaled_dual(lam) / lam
        support = np.flatnonzero(beta)
        values = np.empty(X.shape[0] if hasattr(X, "shape") else len(X))
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        step = max(1, BLOCK_VALUES // max(1, support.size))
        for first in range(0, len(values), step):
            rows = slice(first, first + step)
            values[rows] = self._kernel_to(X[rows], support) @ beta[support]
        return values

    def predict(self, X: Any, lam: float) -> NDArray[Any]:
        """Class labels of the rows of X, for one lambda."""
        labels: NDArray[Any] = self.classes_[(self.decision_function(X, lam) >= 0.0).astype(int)]
        return labels

    def _kernel_to(self, X: Any, rows: Any) -> FloatArray:
        if self._X is None:
            return np.asarray(X[:, rows], dtype=np.float64)
        return self.model.view.kernel.evaluate(X, self._X[rows])

    def validate(self, X: Any, y: ArrayLike, metric: str = "error") -> StepCurve:
        """The share of wrong labels on X, y as a function of lambda: every change, exactly.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)
            For a precomputed kernel, its values against the training rows.
        y : array of shape (n,)
        metric : {"error", "accuracy"}

        Examples
        --------
        >>> curve = path.validate(X_test, y_test)                    # doctest: +SKIP
        >>> curve.best_, curve.best_lambda_                          # doctest: +SKIP
        """
        if metric not in ("error", "accuracy"):
            raise ValueError(f"metric is {metric!r}; it must be 'error' or 'accuracy'.")
        labels = np.asarray(y)
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y holds {labels[unknown][0]}; the classes of the path are "
                f"{self.classes_.tolist()}."
            )
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        if X.shape[0] != labels.shape[0] or labels.size == 0:
            raise ValueError(
                f"X has {X.shape[0]} rows and y {labels.size} labels; there must be one label a "
                f"row, and at least one."
            )
        K = self._kernel_to(X, np.arange(self.model.view.n))
        curve = trace_error(self, K, labels == self.classes_[1])
        return curve.mirrored() if metric == "accuracy" else curve

    def plot(self, ax: Any = None) -> Any:
        """Sizes of the three sets along lambda; returns the matplotlib axes."""
        from .quadratic_plot import plot_set_sizes

        return plot_set_sizes(self, ax)


def lambda_path(
    X: Any,
    y: ArrayLike,
    *,
    rho: float = 1.0,
    h: float = np.inf,
    kernel: Kernel | str = "rbf",
    sample_weight: ArrayLike | None = None,
    lam_from: float | None = None,
    lam_to: float | None = 1e-5,
    memory_limit: int | str | None = None,
) -> LambdaPath:
    """The exact path of a quadratic-loss SVM over lambda.

    Parameters
    ----------
    X : array or CSR of shape (n, n_features)
        The matrix itself for the kernel Precomputed.
    y : array of shape (n,)
        Labels of two classes.
    rho, h : float
        The loss: (1, inf) squared hinge, (1, 2) modified Huber, (1 + e, 2 e) Huber.
    kernel : Kernel or {"rbf", "linear"}
        A kernel of `alphapath.kernels`; "rbf" has gamma = 1 / n_features.
    sample_weight : array of shape (n,) or None
        Positive weights of the losses.
    lam_from, lam_to : float or None
        The two ends, in either order; None stands for a lambda so large that no set changes beyond.
    memory_limit : int or str or None
        As for the estimators.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> path = lambda_path(X, y, rho=1.0, h=2.0)
    >>> curve = path.validate(X, y)
    >>> bool(curve.at(curve.best_lambda_) == curve.best_)
    True
    """
    X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    labels = np.asarray(y)
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"y has {classes.size} classes; a path over lambda needs two.")
    signs = np.where(labels == classes[1], 1.0, -1.0)
    weights = np.ones(len(signs)) if sample_weight is None else np.asarray(sample_weight, float)
    if isinstance(kernel, str):
        kernel = {"rbf": Rbf(1.0 / X.shape[1]), "linear": Linear()}[kernel]
    view = KernelStore(X, memory_limit=memory_limit).view(kernel, precision="float64")
    model = QuadraticModel(view, signs, weights, (rho, h))
    rows = None if kernel.name == "precomputed" else X
    return follow(model, rows, classes, lam_from, lam_to)


def follow(
    model: QuadraticModel,
    X: Any,
    classes: NDArray[Any],
    lam_from: float | None = None,
    lam_to: float | None = 1e-5,
) -> LambdaPath:
    """The path of a model whose training rows are X (None: a precomputed kernel)."""
    if lam_from is None and lam_to is None:
        raise ValueError("lam_from and lam_to are both None; one end must be a number.")
    # Where nothing changes at all the large end has to lie above the other one nevertheless.
    large = max(model.start_lambda, 2.0 * float(lam_from or lam_to or 0.0))
    first = large if lam_from is None else float(lam_from)
    last = large if lam_to is None else float(lam_to)
    for lam in (first, last):
        if not 0.0 < lam < np.inf:
            raise ValueError(f"A path can not begin or end at lambda = {lam}; it must be positive.")
    if first == last:
        raise ValueError(f"The path from lambda = {first} to itself has no length.")
    options = _core.QuadraticPathOptions(first, last)
    with single_threaded():
        native = _core.follow_quadratic_path(model.native, None, options)
    if native.status == PathEnd.NOT_CONVEX:
        raise not_convex(native.lambda_end)
    return LambdaPath(model, X, classes, native)
