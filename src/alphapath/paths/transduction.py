"""Joachims' transductive SVM, its weight doublings and label switches done by exact moves.

Given labelled instances of weight C and unlabelled ones: these get the labels of the supervised
model (so many positive ones as are wanted) with tiny weights; pairs of unlabelled instances with
opposite labels that would both rather be switched are, one pair at a time; then the weights of
the unlabelled are doubled, until they reach C_unlabelled. Returned are the labels and the exact
solution. (T. Joachims 1999; M. Karasuyama, section 4.5.2.)
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..problem import FloatArray, Problem
from ..solution import Solution
from ..solvers.lapack import single_threaded
from .walker import Place, Walker, Work

BoolArray = NDArray[np.bool_]

#: The weight of unlabelled instances of the negative class at the beginning.
FIRST_WEIGHT = 1e-5
#: Kernel rows, as an event reads them, that a solve with its polish costs for each support vector.
SOLVE_ROWS = 100.0
#: What two slacks must sum to beyond 2 to be switched. Each switch lowers the objective by that
#: much, so that none comes back; rounding must not take part.
SWITCHED = 1e-9


@dataclass(frozen=True)
class Transduction:
    """Labels of all instances, the solution with them, and the work it took."""

    signs: FloatArray
    solution: Solution
    n_switches: int
    n_doublings: int
    n_events: int


def transduce(
    problem: Problem, is_labelled: BoolArray, C_unlabelled: float, n_positive: int
) -> Transduction:
    """Label the unlabelled.

    Parameters
    ----------
    problem : Problem
        Classification on all instances, kernel in float64; labels and weights of the unlabelled
        are not read.
    is_labelled : boolean array of shape (n,)
    C_unlabelled : float
        The weight that unlabelled instances have at the end.
    n_positive : int
        How many unlabelled instances are to be positive.

    Examples
    --------
    >>> from alphapath import SVC
    >>> X = [[0.0], [0.2], [0.4], [3.0], [3.2], [3.4]]
    >>> problem = SVC(gamma=1.0).to_problem(X, [-1, -1, -1, 1, 1, 1])
    >>> known = np.array([True, False, False, True, False, False])
    >>> transduce(problem, known, C_unlabelled=1.0, n_positive=2).signs.tolist()
    [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    """
    with single_threaded():
        return _Run(problem, is_labelled, C_unlabelled, n_positive).run()


class _Run:
    def __init__(
        self, problem: Problem, is_labelled: BoolArray, C_unlabelled: float, n_positive: int
    ) -> None:
        self.begin = time.perf_counter()
        self.limit = C_unlabelled
        self.open = np.flatnonzero(~is_labelled)
        self.n_positive = min(max(n_positive, 1), max(self.open.size - 1, 1))
        self.signs = problem.targets.copy()
        weights = np.where(is_labelled, problem.weights, 0.0)
        self.walker = Walker.of_problem(problem.with_weights(weights))
        self.n_switches = self.n_doublings = self.n_last = 0

    def run(self) -> Transduction:
        walker = self.walker
        walker.solve()
        self._label_first()
        share = self.n_positive / max(self.open.size - self.n_positive, 1)
        negative, positive = FIRST_WEIGHT, FIRST_WEIGHT * share
        while self.open.size > 0:
            self._weigh(min(negative, self.limit), min(positive, self.limit))
            while self._switch_one():
                self.n_switches += 1
            if min(negative, positive) >= self.limit:
                break
            negative, positive = 2.0 * negative, 2.0 * positive
            self.n_doublings += 1
        walker.confirm()
        work = Work(
            walker.native.counts.n_events,
            walker.native.counts.n_steps,
            walker.native.counts.n_refreshes,
            walker.n_fallbacks,
            time.perf_counter() - self.begin,
        )
        solution = walker.solution(walker.problem, work)
        return Transduction(self.signs, solution, self.n_switches, self.n_doublings, work.n_events)

    def _label_first(self) -> None:
        """The n_positive largest decision values are positive."""
        order = np.argsort(-self._open_values(), kind="stable")
        self.signs[self.open] = -1.0
        self.signs[self.open[order[: self.n_positive]]] = 1.0
        self._relabel(self.open)

    def _open_values(self) -> FloatArray:
        """Decision values of the unlabelled, but for one number that is the same for all."""
        walker = self.walker
        return np.asarray((walker.native.residuals() + walker.targets)[self.open])

    def _left_out(self) -> float:
        """That number.

        The bias is that of the present solution: a walker that a solver has just placed may not
        have moved its own yet.
        """
        native = self.walker.native
        offset = float(self.walker.view.gram.offset() @ native.beta())
        return float(native.quality()[0] - native.bias + offset)

    def _relabel(self, instances: NDArray[np.intp]) -> None:
        signs = self.signs[instances]
        self.walker.relabel(
            instances.astype(np.int64),
            signs,
            np.where(signs > 0.0, 0.0, -1.0),
            np.where(signs > 0.0, 1.0, 0.0),
        )

    def _weigh(self, negative: float, positive: float) -> None:
        """Weights of the unlabelled by their class: a walk, or a solve where that is cheaper."""
        self.by_class = {-1.0: negative, 1.0: positive}
        walker = self.walker
        weights = walker.weights.copy()
        own = np.where(self.signs[self.open] > 0.0, positive, negative)
        is_new = walker.weights[self.open] == 0.0
        weights[self.open[~is_new]] = own[~is_new]
        if not is_new.any() and self._prefers_solver():
            start = self._lift(weights)
            walker.weights = weights
            walker.solve(start)
            return
        before = walker.native.counts.n_events
        walker.move(weights, self.open[is_new].astype(np.int64), own[is_new])
        self.n_last = walker.native.counts.n_events - before

    def _prefers_solver(self) -> bool:
        """Whether as many events as the last walk had would read more kernel rows than a solve.

        An event reads those of the margin set; a solve about one pair for each support vector,
        from memory rather than from a cache, and its polish. Counted, not timed.
        """
        walker = self.walker
        n_support = int(np.count_nonzero(walker.native.beta()))
        return self.n_last * (walker.native.n_margin + 16) > SOLVE_ROWS * n_support

    def _lift(self, weights: FloatArray) -> FloatArray:
        """A feasible beta for larger weights: bounded instances go to their new bounds.

        The sum is kept by those of the heavier sign that are nearest to their margins.
        """
        walker = self.walker
        beta = walker.native.beta()
        lower, upper = walker.lower_scale * weights, walker.upper_scale * weights
        places = walker.native.places()
        lift = np.where(places == Place.ABOVE, upper - beta, 0.0)
        lift = np.where(places == Place.BELOW, lower - beta, lift)
        excess = float(lift.sum())
        heavier = np.flatnonzero(lift * excess > 0.0)
        order = heavier[np.argsort(np.abs(walker.native.residuals()[heavier]))]
        size = np.abs(lift[order])
        left = np.clip(np.cumsum(size) - abs(excess), 0.0, size)
        lift[order] = np.sign(excess) * left
        return np.clip(beta + lift, lower, upper)

    def _switch_one(self) -> bool:
        """Switch the pair whose slacks are largest, if they sum to more than 2.

        It is the positive one with the least decision value and the negative one with the largest,
        and their slacks sum to 2 and the difference of these, if both have one.
        """
        walker = self.walker
        signs, values = self.signs[self.open], self._open_values()
        low, high = np.where(signs > 0.0, values, np.inf), np.where(signs < 0.0, values, -np.inf)
        i, j = int(np.argmin(low)), int(np.argmax(high))
        if not high[j] - low[i] > SWITCHED:
            return False
        shift = self._left_out()
        if low[i] + shift >= 1.0 or high[j] + shift <= -1.0:
            return False
        pair = self.open[[i, j]].astype(np.int64)
        walker.move(None, remove=pair)
        self.signs[pair] = -self.signs[pair]
        self._relabel(pair)
        weights = np.array([self.by_class[float(sign)] for sign in self.signs[pair]])
        walker.move(None, pair, weights)
        return True
