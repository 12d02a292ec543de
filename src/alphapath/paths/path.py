"""Path: the exact solution as a function of one parameter t.

Weights are c(t) = c0 + t dc. Between breakpoints the betas of the margin set and the bias are
affine in t, and all other instances are at a bound. A piece stores only the former; the set of each
instance follows from the recorded changes (cpp/src/path/record.hpp). `save` writes only numbers,
never pickles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..kernels.equal_rows import distinct_rows, on_distinct_rows
from ..kernels.limits import check_decision_values
from ..kernels.samples import as_rows
from ..problem.box_problem import FloatArray, Problem
from ..problem.optimality import snap_to_box
from ..problem.solution import Solution, Status, make_solution
from ..solvers.dual import smo
from .stored_problem import (
    StoredArrays,
    check_problem,
    describe_problem,
    load_arrays,
    refuse,
    save_arrays,
)
from .validation_curve import METRICS, NUMBER_METRICS, ValidationCurve, make_curve
from .walker import TOO_MUCH, Place, judge, polish

#: Betas held at once while a curve is computed (32 MiB of doubles).
BLOCK_VALUES = 1 << 22

PIECES = (
    "tau",
    "bias",
    "bias_rate",
    "first",
    "members",
    "beta",
    "beta_rate",
    "change_piece",
    "change_instance",
    "change_place",
)


@dataclass(frozen=True, eq=False)
class Path:
    """The exact solution on [start, end].

    Parameters
    ----------
    problem : Problem
        Kernel, targets and box for every t; its weights are those at `end`.
    c0, dc : arrays of shape (n,)
        Weights are c0 + t dc.
    start, end : float
    pieces : dict of arrays
        The pieces, as recorded by the native walker.
    places : array of shape (n,)
        The `Place` of every instance at the start.
    gaps : tuple of (float, float)
        Intervals where the walk could not continue and a solver took over; evaluating the path at
        such a t requires a solve.
    n_events, n_fallbacks : int
    """

    problem: Problem
    c0: FloatArray
    dc: FloatArray
    start: float
    end: float
    pieces: dict[str, NDArray[Any]]
    places: NDArray[np.int8]
    gaps: tuple[tuple[float, float], ...] = ()
    n_events: int = 0
    n_fallbacks: int = 0
    name: str = "t"
    model: Any = None

    def __repr__(self) -> str:
        return f"Path({self.name} from {self.start:g} to {self.end:g}, {self.n_pieces} pieces)"

    @property
    def breakpoints_(self) -> FloatArray:
        """The breakpoints of the path, including its two ends."""
        return np.unique(np.concatenate([self.pieces["tau"], [self.end]]))

    @property
    def n_pieces(self) -> int:
        return int(self.pieces["tau"].size)

    def weights_at(self, t: float) -> FloatArray:
        """Return the weights c(t)."""
        return np.maximum(self.c0 + t * self.dc, 0.0)

    def sets_at(self, t: float) -> NDArray[np.int8]:
        """Return the place of every instance, as numbers of `Place`."""
        return self._places_of(self._piece_of(t))

    def beta_at(self, t: float) -> FloatArray:
        """Return the dual variables at t."""
        piece = self._piece_of(t)
        weights = self.weights_at(t)
        lower, upper = self.problem.lower_scale * weights, self.problem.upper_scale * weights
        beta: FloatArray = snap_to_box(self._beta_in(piece, t), lower, upper)
        return beta

    def bias_at(self, t: float, beta: FloatArray | None = None) -> float:
        """Return the bias at t; at a jump, the value after it."""
        if not self.problem.has_equality:
            return 0.0
        if beta is None:
            beta = self.beta_at(t)
        piece = self._piece_of(t)
        step = t - self.pieces["tau"][piece]
        stored = self.pieces["bias"][piece] + step * self.pieces["bias_rate"][piece]
        view: Any = self.problem.kernel
        return float(stored - view.gram.offset() @ beta)

    def at(self, t: float) -> Solution:
        """Return the exact solution at t, with its gradient on all instances.

        Examples
        --------
        >>> path.at(10.0).info.kkt_violation                         # doctest: +SKIP
        """
        self._check(t)
        problem = replace(self.problem, weights=self.weights_at(t))
        if any(low < t < high for low, high in self.gaps):
            return polish(smo.solve(problem, tol=1e-6))
        beta = self.beta_at(t)
        support = np.flatnonzero(beta)
        view: Any = self.problem.kernel
        gradient = view.multiply(support, beta[support]) - problem.targets
        counts: dict[str, float] = {
            "status": Status.SOLVED,
            "n_iter": 0,
            "n_breakpoints": self.n_pieces,
        }
        solution = make_solution(problem, beta, gradient, counts)
        rounding = _core.slope_rounding(view.gram, beta, problem.has_equality)
        scale = float(np.abs(problem.targets).max())
        if solution.info.kkt_violation > max(TOO_MUCH * scale, 2.0 * rounding):
            # Beside a gap: what the walk kept here is no solution.
            return polish(smo.solve(problem, tol=1e-6))
        status, violation = judge(solution.info.kkt_violation, rounding, scale)
        info = replace(solution.info, status=status, kkt_violation=violation)
        return replace(solution, info=info)

    def decision_function(self, X: Any, t: float) -> FloatArray:
        """Return the decision values f(X) of the model at t."""
        self._check(t)
        beta = self.beta_at(t)
        support = np.flatnonzero(beta)
        view: Any = self.problem.kernel
        bias = self.bias_at(t, beta)

        def evaluate(rows: Any) -> FloatArray:
            K = view.kernel.evaluate(rows, view._X[support])
            return np.asarray(K @ beta[support] + bias)

        with np.errstate(over="ignore", invalid="ignore"):
            values = on_distinct_rows(as_rows(X), evaluate)
        return check_decision_values(values, view.kernel)

    def to_estimator(self, t: float) -> Any:
        """Return the estimator of the path as if it had been fitted at t (for a path along C)."""
        if self.model is None:
            raise ValueError(
                "This path was not made from an estimator; use at(t), or make it by c_path."
            )
        self._check(t)
        return self.model(self, t)

    def validate(
        self, X: Any, y: Any, metric: str | None = None, sample_weight: Any = None
    ) -> ValidationCurve:
        """Compute the exact curve of a score over t and its exact minimiser.

        Parameters
        ----------
        X, y : validation rows and their targets (+-1, or numbers)
        metric : {"error", "squared", "absolute"} or None
            "error" is the fraction of wrong signs (classification only), piecewise constant in t;
            "squared" is the mean squared error, piecewise quadratic; "absolute" is the mean
            absolute error, piecewise affine. None stands for "error" in classification and
            "squared" in regression.
        sample_weight : array or None

        Examples
        --------
        >>> curve = path.validate(X_new, y_new)                      # doctest: +SKIP
        >>> curve.best_t, curve.best_value                           # doctest: +SKIP
        """
        metric = self._choose_metric(metric)
        targets = np.asarray(y, dtype=np.float64)
        first, last = self.values_on(X)
        starts = self.pieces["tau"]
        ends = np.append(starts[1:], self.end)
        # Changes at the same t leave pieces without a length.
        length = np.where(ends > starts, ends - starts, np.inf)
        rate = (last - first) / length[:, None]
        return make_curve(
            starts, ends, first - targets, rate, targets, metric, sample_weight, self.name
        )

    def _choose_metric(self, metric: str | None) -> str:
        """The metric that was asked for, or the usual one; signs are no score of a regression."""
        problem = self.problem
        is_regression = bool(((problem.lower_scale < 0.0) & (problem.upper_scale > 0.0)).any())
        known = NUMBER_METRICS if is_regression else (*METRICS, "absolute")
        if metric is None:
            return known[0]
        if metric not in known:
            kind = "regression" if is_regression else "classification"
            raise ValueError(
                f"metric is {metric!r}; for a path of a {kind} it must be one of {known}."
            )
        return metric

    def values_on(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return f(X) at the start and end of every piece: two arrays (n_pieces, n_rows)."""
        distinct, places = distinct_rows(as_rows(X))
        first, last = self._evaluate_pieces(distinct)
        return first[:, places], last[:, places]

    def _evaluate_pieces(self, X: Any) -> tuple[FloatArray, FloatArray]:
        view: Any = self.problem.kernel
        with np.errstate(over="ignore", invalid="ignore"):
            K = check_decision_values(view.kernel.evaluate(X, view._X), view.kernel)
        n_rows, n = K.shape
        bounds = np.append(self.pieces["tau"], self.end)
        values = np.empty((bounds.size, n_rows))
        offset = view.gram.offset()
        constants = np.empty(bounds.size)
        step = max(1, BLOCK_VALUES // n)
        for begin in range(0, bounds.size, step):
            block = range(begin, min(begin + step, bounds.size))
            # A piece at its start is the one before it at its end: betas have no jumps.
            B = np.stack([self._beta_in(min(k, self.n_pieces - 1), bounds[k]) for k in block])
            values[block.start : block.stop] = B @ K.T
            constants[block.start : block.stop] = B @ offset
        if not self.problem.has_equality:
            return values[:-1], values[1:]
        bias = self.pieces["bias"]
        last_bias = bias + np.diff(bounds) * self.pieces["bias_rate"]
        first = values[:-1] + (bias - constants[:-1])[:, None]
        last = values[1:] + (last_bias - constants[1:])[:, None]
        return first, last

    def _beta_in(self, piece: int, t: float) -> FloatArray:
        places = self._places_of(piece)
        weights = self.weights_at(t)
        beta = np.where(places == Place.ABOVE, self.problem.upper_scale * weights, 0.0)
        beta += np.where(places == Place.BELOW, self.problem.lower_scale * weights, 0.0)
        own = self._members_of(piece)
        step = t - self.pieces["tau"][piece]
        beta[self.pieces["members"][own]] = (
            self.pieces["beta"][own] + step * self.pieces["beta_rate"][own]
        )
        return beta

    def _piece_of(self, t: float) -> int:
        self._check(t)
        piece = int(np.searchsorted(self.pieces["tau"], t, side="right")) - 1
        return min(max(piece, 0), self.n_pieces - 1)

    def _members_of(self, piece: int) -> slice:
        first = self.pieces["first"]
        end = first[piece + 1] if piece + 1 < first.size else self.pieces["members"].size
        return slice(int(first[piece]), int(end))

    def _places_of(self, piece: int) -> NDArray[np.int8]:
        n_changes = int(np.searchsorted(self.pieces["change_piece"], piece, side="right"))
        places = self.places.copy()
        # Of several changes of one instance, the last assignment stands.
        places[self.pieces["change_instance"][:n_changes]] = self.pieces["change_place"][:n_changes]
        return places

    def _check(self, t: float) -> None:
        if not self.start <= t <= self.end:
            raise ValueError(f"{self.name} is {t}; this path goes from {self.start} to {self.end}.")

    def plot(self, instances: Any = None, ax: Any = None) -> Any:
        """Plot the betas of `instances` over t; by default, of up to 30 that change most."""
        import matplotlib.pyplot as plt

        t = self.breakpoints_
        values = np.stack([self.beta_at(float(u)) for u in t])
        if instances is None:
            instances = np.argsort(-np.ptp(values, axis=0))[:30]
        if ax is None:
            _, ax = plt.subplots()
        ax.plot(t, values[:, instances], linewidth=0.8)
        ax.set(xlabel=self.name, ylabel="beta")
        return ax

    def save(self, path: str | PathLike[str]) -> None:
        """Write the path (not the kernel) as an .npz file of plain arrays."""
        numbers = np.array([self.start, self.end, self.n_events, self.n_fallbacks], dtype=float)
        arrays: dict[str, Any] = {key: self.pieces[key] for key in PIECES}
        gaps = np.array(self.gaps, dtype=float).reshape(-1, 2)
        arrays.update(c0=self.c0, dc=self.dc, places=self.places, gaps=gaps, numbers=numbers)
        arrays |= describe_problem(self.problem.kernel, facts_of(self.problem))
        save_arrays(path, {"name": np.array(self.name), **arrays})

    @classmethod
    def load(cls, path: str | PathLike[str], problem: Problem) -> Path:
        """Load a saved path; `problem` is that of the same data (`estimator.to_problem(X, y)`)."""
        stored = load_arrays(path)
        check_problem(path, stored, problem.kernel, facts_of(problem))
        check_pieces(StoredArrays(path, stored), problem.n)
        start, end, n_events, n_fallbacks = stored["numbers"].tolist()
        return cls(
            problem,
            stored["c0"],
            stored["dc"],
            start,
            end,
            {key: stored[key] for key in PIECES},
            stored["places"],
            tuple((float(a), float(b)) for a, b in stored["gaps"]),
            int(n_events),
            int(n_fallbacks),
            str(stored["name"]),
        )


def check_pieces(stored: StoredArrays, n: int) -> None:
    """Reject arrays that no walk over n instances can produce."""
    stored.require("name", "U")
    for name in ("c0", "dc"):
        stored.numbers(name, n)
    stored.numbers("gaps", None, 2)
    start, end, *_ = stored.numbers("numbers", 4)
    tau = stored.numbers("tau", None)
    is_walk = tau.size > 0 and start <= tau[0] and tau[-1] <= end and np.all(np.diff(tau) >= 0.0)
    if not is_walk:
        raise refuse(stored.path, "its breakpoints do not rise from its start to its end")
    for name in ("bias", "bias_rate"):
        stored.numbers(name, tau.size)
    n_members = stored.integers("members", None, n - 1).size
    stored.rising("first", tau.size, n_members)
    for name in ("beta", "beta_rate"):
        stored.numbers(name, n_members)
    n_changes = stored.rising("change_piece", None, tau.size - 1).size
    stored.integers("change_instance", n_changes, n - 1)
    for name, size in (("change_place", n_changes), ("places", n)):
        stored.integers(name, size, max(Place))


def facts_of(problem: Problem) -> FloatArray:
    """The parts of a problem, apart from the kernel, that a path does not change."""
    own = (problem.targets, problem.lower_scale, problem.upper_scale, np.array([problem.epsilon]))
    return np.concatenate(own)
