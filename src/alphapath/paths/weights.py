"""Exact paths along weights: between two weightings, or along C.

Weights c(t) = c0 + t dc; the solution is piecewise affine in t (M. Karasuyama, chapter 4, figure
4.2; the plain regularization path is dc = 1). The native walker follows it from the polished
solution of a solver; at every stop the residuals are recomputed, and their drift is removed over
the next stretch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..problem.box_problem import FloatArray, Problem
from ..solvers.dual import smo
from ..solvers.native import single_threaded
from .path import PIECES, Path
from .validation_curve import ValidationCurve, as_curve, make_shares
from .walker import PathStatus, Walker

IntArray = NDArray[np.int64]

#: Stretches after which residuals are recomputed, between two weightings.
N_STRETCHES = 8
#: Events after which residuals are recomputed at the next stop (and at the last stop always).
EVENTS_ALONE = 300


def c_path(estimator: Any, X: Any, y: Any, C_min: float, C_max: float, **fit: Any) -> Path:
    """Compute the exact solution for every C in [C_min, C_max].

    Parameters
    ----------
    estimator : SVC (of two classes) or SVR
        Any object with `C`, `get_params` and `to_problem(X, y)`; it is not changed.
    X, y
        As in `fit`; `sample_weight` may be passed as a keyword.
    C_min, C_max : float

    Returns
    -------
    Path
        `t` is C.

    Examples
    --------
    >>> from alphapath import SVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> path = c_path(SVC(gamma=0.5), X, y, 0.1, 10.0)
    >>> path.at(5.0).info.kkt_violation < 1e-12
    True
    >>> path.validate([[0.5], [2.5]], [-1, 1]).best_value
    0.0
    """
    check_range(C_min, C_max)
    problem, model = read_estimator(estimator, X, y, **fit)
    unit = problem.weights / float(estimator.C)
    path = follow_c(problem.with_weights(C_max * unit), unit, C_min, C_max)
    return _with_model(path, model)


def weight_path(
    estimator: Any, X: Any, y: Any, c_old: ArrayLike, c_new: ArrayLike, **fit: Any
) -> Path:
    """Compute the exact solution for all weights between `c_old` (t = 0) and `c_new` (t = 1).

    Parameters
    ----------
    estimator : SVC (of two classes) or SVR
    X, y
        As in `fit`.
    c_old, c_new : arrays of shape (n,)
        The weight (the C) of every instance; an instance of weight 0 is left out.

    Examples
    --------
    >>> from alphapath import SVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> path = weight_path(SVC(gamma=0.5), X, y, [1, 1, 1, 0], [1, 1, 1, 1])
    >>> path.at(0.5).info.kkt_violation < 1e-12
    True
    """
    problem, model = read_estimator(estimator, X, y, **fit)
    old, new = (
        _check_weights(c, problem.n, name) for c, name in ((c_old, "c_old"), (c_new, "c_new"))
    )
    return _with_model(follow_weights(problem, old, new), model)


def follow_c(problem: Problem, unit: FloatArray, C_min: float, C_max: float) -> Path:
    """The path of weights C * unit."""
    walk = _Walk(problem, np.zeros(problem.n), unit, _octaves(C_min, C_max))
    walk.run()
    return walk.take_path("C")


class ScoredRows(NamedTuple):
    """Rows whose score is summed along a path, the metric, and whether to keep the path."""

    rows: IntArray
    metric: str
    keeps_path: bool = False


class ScoredWalk(NamedTuple):
    """A score along a path, and the path if it was kept."""

    curve: ValidationCurve
    path: Path | None
    n_events: int
    has_gaps: bool


def follow_c_scored(
    problem: Problem,
    unit: FloatArray,
    limits: tuple[float, float],
    scored: ScoredRows,
    start: FloatArray | None = None,
) -> ScoredWalk:
    """The score of some rows along the path of weights C * unit.

    Held-out instances are part of the kernel, so their values are followed without another product
    and summed along the way. `start` is a feasible beta near the solution at C_min.
    """
    walk = _Walk(problem, np.zeros(problem.n), unit, _octaves(*limits), scored.keeps_path)
    native, metric = walk.walker.native, scored.metric
    native.score(scored.rows, make_shares(None, scored.rows.size), metric == "error")
    walk.run(start)
    curve = as_curve(native.take_curve(), limits[1], metric, "C")
    path = walk.take_path("C") if scored.keeps_path else None
    return ScoredWalk(curve, path, walk.n_events, bool(walk.gaps))


def _octaves(low: float, high: float) -> list[float]:
    """low, 2 low, 4 low, ..., high."""
    stops = [low]
    while stops[-1] < high:
        stops.append(min(2.0 * stops[-1], high))
    return stops


def follow_weights(problem: Problem, old: FloatArray, new: FloatArray) -> Path:
    """The path from one weighting to another, t from 0 to 1."""
    stops = np.linspace(0.0, 1.0, N_STRETCHES + 1).tolist()
    target = new if np.any(new > 0.0) else old
    walk = _Walk(problem.with_weights(target), old, new - old, stops)
    walk.run()
    return walk.take_path("t")


class _Walk:
    """One walk from stop to stop."""

    def __init__(
        self,
        problem: Problem,
        c0: FloatArray,
        dc: FloatArray,
        stops: list[float],
        keeps_path: bool = True,
    ) -> None:
        self.problem, self.c0, self.dc, self.stops = problem, c0, dc, stops
        self.keeps_path = keeps_path
        self.walker = Walker.of_problem(problem)
        self.gaps: list[tuple[float, float]] = []
        self.n_events = 0

    def weights_at(self, t: float) -> FloatArray:
        return np.maximum(self.c0 + t * self.dc, 0.0)

    def run(self, start: FloatArray | None = None) -> None:
        native = self.walker.native
        with single_threaded():
            self._enter(self.stops[0], start)
            self.places = native.places()
            before = native.counts.n_events
            native.record(True, self.keeps_path)
            native.aim(self.c0, self.dc, self.stops[0])
            self._walk_stops()
        self.n_events = int(native.counts.n_events - before)

    def take_path(self, name: str) -> Path:
        pieces = self.walker.native.take_pieces()
        return Path(
            self.problem,
            self.c0,
            self.dc,
            self.stops[0],
            self.stops[-1],
            {key: pieces[key] for key in PIECES},
            self.places,
            tuple(self.gaps),
            self.n_events,
            self.walker.n_fallbacks,
            name,
        )

    def _walk_stops(self) -> None:
        walker, native = self.walker, self.walker.native
        stops, max_events = np.array(self.stops), walker.max_events
        checked = self.stops[0]
        while checked < stops[-1]:
            status = native.walk_past(stops[stops > checked], EVENTS_ALONE, max_events)
            if status == PathStatus.INTERRUPTED:
                raise KeyboardInterrupt
            has_arrived, reached = status == PathStatus.ARRIVED, native.tau
            high = (
                reached if has_arrived else float(np.min(stops[stops > reached], initial=stops[-1]))
            )
            walker.weights = self.weights_at(high)
            if not has_arrived or not walker.is_exact(native.refresh()):
                self._bridge(checked if has_arrived else reached, high)
                max_events = walker.max_events
            checked = high

    def _enter(self, t: float, start: FloatArray | None) -> None:
        """The exact solution at the first stop: by the solver, or 0 if all weights are 0."""
        walker = self.walker
        walker.weights = self.weights_at(t)
        if start is not None:
            walker.begin(start)
        elif walker.weights.any():
            walker.solve()
        else:
            walker.native.start(np.zeros(self.problem.n), walker.weights)

    def _bridge(self, low: float, high: float) -> None:
        """Run the solver at the next stop, from which the path continues."""
        walker = self.walker
        self.gaps.append((low, high))
        walker.n_fallbacks += 1
        solution = smo.solve(walker.problem, tol=1e-6)
        walker.native.pause(True)
        walker.begin(solution.beta)
        walker.native.pause(False)
        walker.native.aim(self.c0, self.dc, high)


def read_estimator(estimator: Any, X: Any, y: Any, **fit: Any) -> tuple[Problem, Any]:
    """Return (problem on all rows in float64, function that makes a fitted estimator)."""
    if not hasattr(estimator, "to_problem"):
        raise TypeError(
            f"{type(estimator).__name__} has no to_problem(X, y); paths take alphapath's SVC and "
            f"SVR (SVC.from_sklearn converts scikit-learn's)."
        )
    # A strict tolerance asks the kernel store for double precision.
    strict = type(estimator)(**{**estimator.get_params(deep=False), "tol": 1e-9})
    problem = strict.to_problem(X, y, **fit)
    if isinstance(problem, list):
        raise ValueError(
            f"y has more than two classes, which makes {len(problem)} problems; a path follows "
            f"one: pass the rows of two classes."
        )

    def fit_at(path: Path, t: float) -> Any:
        own = type(estimator)(**estimator.get_params(deep=False))
        return own.take_solution(path.at(t), X, y, **({"C": t} if path.name == "C" else {}), **fit)

    return problem, fit_at


def _with_model(path: Path, model: Any) -> Path:
    object.__setattr__(path, "model", model)
    return path


def check_range(C_min: float, C_max: float) -> None:
    """Reject an invalid range."""
    if not 0.0 < C_min < C_max < np.inf:
        raise ValueError(
            f"C_min is {C_min} and C_max is {C_max}; they must be finite with 0 < C_min < C_max."
        )


def _check_weights(values: ArrayLike, n: int, name: str) -> FloatArray:
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"{name} has shape {weights.shape}; there must be one weight for each of {n} rows."
        )
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(
            f"{name} has a weight that is negative or not finite; all must be at least 0."
        )
    return weights
