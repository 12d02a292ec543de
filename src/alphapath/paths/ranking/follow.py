"""Exact paths of ranking models: between two weightings of their pairs, or along C.

The walk is that of weights.py, with pairs for instances and scores kept on the rows of the data
(cpp/src/ranking/pair_walker.hpp; M. Karasuyama, section 4.5.2). It is exact for
any number of pairs: the cost of a step depends on the rows, the features and the margin set.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import _core
from ...problem.box_problem import FloatArray, Problem
from ...solvers import ranking as pairs
from ...solvers.native import single_threaded
from ..path import PIECES
from ..walker import EXACT, ROUNDING, PathStatus
from ..weights import N_STRETCHES, check_range
from .path import RankPath

#: Events of one stretch; beyond, the solver takes over. Paths of 367,663 pairs take 4,000 each.
MAX_EVENTS = 10_000_000


def rank_weight_path(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    c_old: str | ArrayLike = "uniform",
    c_new: str | ArrayLike = "gain",
) -> RankPath:
    """Compute the exact ranking model for all pair weights from `c_old` (t = 0) to `c_new` (t = 1).

    Parameters
    ----------
    estimator : RankSVM
        The model, which is not changed. Its C multiplies named weights.
    X, y, qid, group
        As in `RankSVM.fit`.
    c_old, c_new : {"uniform", "gain"} or array of shape (n_pairs,)
        Weights of the pairs, in the order of `RankSVM.pairs_of`. "uniform" is C for all pairs, and
        "gain" is C (2^y_i - 2^y_j).

    Returns
    -------
    RankPath

    Examples
    --------
    >>> from alphapath import RankSVM
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5], [3.0]], [0, 1, 2, 2, 0], [1, 1, 1, 2, 2]
    >>> path = rank_weight_path(RankSVM(C=1.0), X, y, qid=qid)
    >>> path.at(0.5).info.kkt_violation < 1e-12
    True
    >>> path.validate([[0.0], [1.0]], [0, 1], [7, 7]).best_value
    1.0
    """
    first, last = (
        estimator.to_problem(X, y, qid=qid, group=group, pair_weights=c) for c in (c_old, c_new)
    )
    stops = np.linspace(0.0, 1.0, N_STRETCHES + 1).tolist()
    problem = last.with_kernel(first.kernel)
    path = _follow(problem, first.weights, last.weights - first.weights, stops, "t")
    return replace(path, model=_fit_at(estimator, X, y, qid, group))


def rank_c_path(
    estimator: Any,
    X: Any,
    y: Any,
    C_min: float,
    C_max: float,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
) -> RankPath:
    """Compute the exact ranking model for every C in [C_min, C_max]; t is C.

    Examples
    --------
    >>> from alphapath import RankSVM
    >>> X, y = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0]
    >>> rank_c_path(RankSVM(), X, y, 0.01, 1.0).at(0.1).info.kkt_violation < 1e-12
    True
    """
    check_range(C_min, C_max)
    problem = estimator.to_problem(X, y, qid=qid, group=group)
    unit = problem.weights / float(estimator.C)
    stops = [C_min]
    while stops[-1] < C_max:
        stops.append(min(2.0 * stops[-1], C_max))
    path = _follow(problem.with_weights(C_max * unit), np.zeros(problem.n), unit, stops, "C")
    return replace(path, model=_fit_at(estimator, X, y, qid, group))


def _fit_at(estimator: Any, X: Any, y: Any, qid: Any, group: Any) -> Any:
    """How to make the fitted estimator of a path at t."""

    def fit_at(path: RankPath, t: float) -> Any:
        change = {"C": t} if path.name == "C" else {}
        own = type(estimator)(**{**estimator.get_params(deep=False), **change})
        return own.take_solution(path.at(t), X, y, qid=qid, group=group)

    return fit_at


def _follow(
    problem: Problem, c0: FloatArray, dc: FloatArray, stops: list[float], name: str
) -> RankPath:
    """Walk over the stops; where a stretch cannot be walked, the solver bridges it."""
    native = pairs.native_pairs(pairs.require_pairs(problem))
    walker = _core.PairWalker(native)
    gaps: list[tuple[float, float]] = []

    def weights_at(t: float) -> FloatArray:
        return np.maximum(c0 + t * dc, 0.0)

    def enter(t: float) -> None:
        """The exact solution at t."""
        weights = weights_at(t)
        solution = pairs.solve(problem.with_weights(weights), tol=1e-6)
        walker.start(np.minimum(solution.beta, weights), weights)
        with single_threaded():
            _raise_interrupt(walker.walk(1.0, MAX_EVENTS))
        walker.aim(c0, dc, t)

    enter(stops[0])
    places = walker.places()
    before = walker.counts.n_events
    walker.record(True)
    for low, high in pairwise(stops):
        with single_threaded():
            status = _raise_interrupt(walker.walk(high, walker.counts.n_events + MAX_EVENTS))
        has_arrived = status is PathStatus.ARRIVED
        if not has_arrived or walker.refresh() > max(EXACT, ROUNDING * walker.rounding_floor):
            gaps.append((low if has_arrived else walker.tau, high))
            enter(high)
    pieces = walker.take_pieces()
    pieces["bias"] = pieces["bias_rate"] = np.zeros(pieces["tau"].size)
    return RankPath(
        problem,
        c0,
        dc,
        stops[0],
        stops[-1],
        {key: pieces[key] for key in PIECES},
        places,
        tuple(gaps),
        int(walker.counts.n_events - before),
        len(gaps),
        name,
    )


def _raise_interrupt(status: int) -> PathStatus:
    found = PathStatus(status)
    if found is PathStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return found
