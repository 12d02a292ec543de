"""From checked arrays to the quantities of a Problem: weights, gamma, kernel, solves."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from ...problem.box_problem import FloatArray, Problem
from ...problem.certificate import MarginCertificate, certify_margin
from ...problem.limits import Limits
from ...problem.margin_problem import MarginProblem
from ...problem.solution import Info, Solution, Status, make_solution
from ...problem.steps import Steps
from ...solvers.dual import smo
from ...solvers.sequence.class_pairs import solve_class_pairs
from .one_vs_one import PairBetas
from .problems import Parts

#: What becomes double without a question.
PLAIN_TYPES = frozenset(map(np.dtype, (np.float64, np.float32, np.int64, np.int32)))

#: Most telling first: the status of a fit of several problems is the first that any of them has.
STATUS_ORDER = (
    Status.INTERRUPTED,
    Status.TIME_LIMIT,
    Status.ITERATION_LIMIT,
    Status.STALLED,
    Status.STATIONARY,
    Status.SOLVED,
)


def is_clean(X: Any, *y: Any) -> bool:
    """Whether scikit-learn's checks, which take longer than a small fit, would leave both as they
    are, but for the layout of X and its conversion to double.

    Where it says no, they may still find nothing to object to. y, where it is given, is to be one
    array of numbers.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype not in PLAIN_TYPES:
        return False
    if any(type(own) is not np.ndarray or own.shape != X.shape[:1] for own in y):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        if not math.isfinite(np.add.reduce(X, axis=None)):
            return False
        return all(
            own.dtype.kind in "iu" or (own.dtype.kind == "f" and math.isfinite(np.add.reduce(own)))
            for own in y
        )


def check_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Finite, nonnegative weights, one a row, not all zero; None means 1 for every row."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, allow_all_zero_weights=False
    )
    if weights.min() < 0.0:
        i = int(np.argmax(weights < 0.0))
        raise ValueError(
            f"sample_weight[{i}] is {weights[i]}; every weight must be zero (the row is left "
            f"out) or positive."
        )
    return weights


@dataclass
class Budget:
    """Limits of a whole fit; the time runs from its construction."""

    tol: float
    max_iter: int
    time_limit: float | None

    def __post_init__(self) -> None:
        self.end = None if self.time_limit is None else time.monotonic() + self.time_limit

    @property
    def seconds_left(self) -> float | None:
        return None if self.end is None else max(self.end - time.monotonic(), 1e-6)

    def solve(self, parts: Parts, view: Any) -> tuple[PairBetas, FloatArray, list[Info]]:
        """The nonzero beta, the bias and the Info of each problem on the kernel `view`.

        What an interrupt or the time limit leaves is returned unsolved.
        """
        if parts.are_small:
            return self._solve_together(parts, view)
        stop: Status | None = None
        found = []
        for number in range(len(parts)):
            problem = parts.problem(number, view)
            if stop is not None:
                solution = leave_unsolved(problem, stop)
            else:
                solution = smo.solve(
                    problem, tol=self.tol, max_iter=self.max_iter, time_limit=self.seconds_left
                )
            if solution.info.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
                stop = solution.info.status
            support = np.flatnonzero(solution.beta)
            instances = parts.members[number][support] if parts.members else support
            found.append((instances, solution.beta[support], solution.bias, solution.info))
        betas = PairBetas.join([(instances, beta) for instances, beta, _, _ in found])
        return betas, np.array([bias for _, _, bias, _ in found]), [info for *_, info in found]

    def _solve_together(self, parts: Parts, view: Any) -> tuple[PairBetas, FloatArray, list[Info]]:
        """The same in one call."""
        once = Steps(np.zeros(1, dtype=np.int64), np.ones(1), np.array([-1]), ["cold"])
        solved = solve_class_pairs(
            view,
            parts.pairs,
            parts.weights[np.newaxis],
            once,
            limits=Limits(self.tol, self.max_iter),
            total_time_limit=self.seconds_left,
        )
        biases = solved.columns["bias"][:, 0].copy()
        done = iter(solved.infos(0))
        stop = Status.INTERRUPTED if solved.is_interrupted else Status.TIME_LIMIT
        infos = []
        for number, n_solved in enumerate(solved.n_solved.tolist()):
            if n_solved:
                infos.append(next(done))
                continue
            solution = leave_unsolved(parts.problem(number, view), stop)
            biases[number] = solution.bias
            infos.append(solution.info)
        return PairBetas(*solved.support_of(0)), biases, infos


def leave_unsolved(problem: Problem, status: Status) -> Solution:
    """beta = 0, feasible for the pair problems of a classifier, with an honest status."""
    beta = np.zeros(problem.n)
    return make_solution(problem, beta, -problem.targets, {"status": status, "n_iter": 0})


def certify_columns(
    classes: Any, problems: list[MarginProblem], coefs: FloatArray, bias: FloatArray
) -> MarginCertificate | list[MarginCertificate]:
    """One certificate a column of a model whose problems were made anew from its training data."""
    if len(problems) != len(coefs):
        raise ValueError(
            f"y makes {len(problems)} columns and the model has {len(coefs)}, of the classes "
            f"{classes}; certify needs the training data, with rows of every class."
        )
    if problems[0].d != coefs.shape[1]:
        raise ValueError(
            f"X makes {problems[0].d} coefficients and the model has {coefs.shape[1]}; certify "
            f"needs the training data."
        )
    found = [
        certify_margin(problem, coef, float(b))
        for problem, coef, b in zip(problems, coefs, bias, strict=True)
    ]
    return found[0] if len(found) == 1 else found


def overall_status(infos: Sequence[Info]) -> Status:
    """One status for a fit that solved several problems."""
    found = {info.status for info in infos}
    return next(status for status in STATUS_ORDER if status in found)


def warn_unsolved(status: Status, budget: Budget, violation: float) -> None:
    """A ConvergenceWarning with a sentence for every status but SOLVED and INTERRUPTED."""
    if status is Status.SOLVED:
        return
    reached = f"the KKT violation reached is {violation:.3g}, the tolerance {budget.tol:g}"
    sentences = {
        Status.ITERATION_LIMIT: f"The fit stopped at max_iter={budget.max_iter}: {reached}. "
        f"Raise max_iter, or scale the features.",
        Status.TIME_LIMIT: f"The fit stopped at time_limit={budget.time_limit} seconds: {reached}. "
        f"Raise time_limit, or scale the features.",
        Status.STALLED: f"Rounding stopped the solver: {reached}. Raise tol, lower C, or scale "
        f"the features.",
        Status.STATIONARY: "The kernel matrix is not positive semi-definite, so the problem is not "
        "convex: the model is a stationary point and may not be the best one.",
    }
    if status in sentences:
        warnings.warn(sentences[status], ConvergenceWarning, stacklevel=4)
