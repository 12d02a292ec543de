"""The problems of a model on some rows, each on the instances that it involves.

With many classes, each pair involves few of the rows: its problem contains only these, on their
part of the kernel matrix. Decision values on other rows are a product with the kernel
(one_vs_one.combine_pairs).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...gpu import DeviceStore, has_gpu
from ...kernels import KernelStore
from ...kernels.raw_rows import Members
from ...problem.box_problem import FloatArray, Problem
from ...problem.certificate import MarginCertificate, certify_margin
from ...problem.limits import Limits
from ...problem.margin_problem import MarginProblem
from ...problem.solution import Info, Solution, Status, make_solution
from ...problem.steps import Steps
from ...solvers.dual import smo
from ...solvers.sequence.class_pairs import MOST_INSTANCES, ClassPairs, solve_class_pairs
from . import one_vs_one
from .merge_rows import MergedRows
from .one_vs_one import PairBetas

DEVICES = ("cpu", "cuda", "auto")

#: "auto" stays on the processor for fewer rows.
SMALLEST = 10_000

#: Most telling first: the status of a fit of several problems is the first that any of them has.
STATUS_ORDER = (
    Status.INTERRUPTED,
    Status.TIME_LIMIT,
    Status.ITERATION_LIMIT,
    Status.STALLED,
    Status.STATIONARY,
    Status.SOLVED,
)


class Parts:
    """The problems of a model, in the order of its `intercept_`.

    Parameters
    ----------
    model : BaseSVM
        A prepared model, whose classes are known.
    targets, weights : arrays of shape (n,)
        Targets and weights of all instances.
    members : sequence of arrays, or None
        The instances of each problem; None if each has all of them (those that it does not involve
        have weight 0).
    """

    def __init__(
        self,
        model: Any,
        targets: FloatArray,
        weights: FloatArray,
        members: list[Members] | None,
    ) -> None:
        self.model, self.targets, self.weights, self.members = model, targets, weights, members
        self.n_problems = int(model._n_problems)
        self.is_divided = members is not None
        #: The instances of the largest problem.
        self.largest = targets.size if members is None else max(map(len, members))
        #: Whether they are pairs of so few instances that they are best solved in one call.
        self.are_small = self.is_divided and self.largest <= MOST_INSTANCES
        #: For each problem, which values of an array over all instances are its own.
        self.places: list[Any] = [slice(None)] * self.n_problems if members is None else members

    @cached_property
    def pairs(self) -> ClassPairs:
        """The pairs of classes, for such a call."""
        assert self.members is not None
        members = np.concatenate(self.members)
        sizes = [own.size for own in self.members]
        pairs = one_vs_one.class_pairs(len(self.model.classes_))
        positive = np.repeat([pair[0] for pair in pairs], sizes)
        signs = np.where(self.targets[members] == positive, 1.0, -1.0)
        return ClassPairs(members, signs, np.concatenate([[0], np.cumsum(sizes)]))

    def problem(self, number: int, view: Any) -> Problem:
        """One problem, on its part of the kernel `view` of all instances."""
        own = self.places[number]
        part = view if self.members is None else view.part(own)
        problem: Problem = self.model._make_problem(
            number, part, self.targets[own], self.weights[own]
        )
        return problem


def divide(model: Any, store: Any, targets: FloatArray, weights: FloatArray) -> Parts:
    """The problems, on their parts of the kernels of a store if there is room for these."""
    parts = Parts(model, targets, weights, model._divide(targets))
    if parts.is_divided and not store.holds_part(parts.largest, model.tol):
        return Parts(model, targets, weights, None)
    return parts


def divide_rows(model: Any, store: Any, rows: MergedRows) -> Parts:
    """The same for rows with the weights that the model gives them."""
    scale = model._weight_scale(rows.targets, rows.weights)
    return divide(model, store, rows.targets, scale * rows.weights)


def make_store(
    X: Any, memory_limit: Any, device: str, *, n_threads: int = 1, defers_rows: bool = False
) -> KernelStore | DeviceStore:
    """Create the store of X on the given device.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    memory_limit : int, str or None
        Memory limit for kernels on that device.
    device : {"cpu", "cuda", "auto"}
        "auto" uses the GPU, if there is one, for 10,000 rows or more.
    n_threads, defers_rows
        As in KernelStore.
    """
    if is_on_gpu(device, X.shape[0]):
        return DeviceStore(X, memory_limit=memory_limit)
    return KernelStore(X, memory_limit=memory_limit, n_threads=n_threads, defers_rows=defers_rows)


def is_on_gpu(device: str, n: int) -> bool:
    """Whether `device` means the GPU for n rows."""
    return device == "cuda" or (device == "auto" and n >= SMALLEST and has_gpu())


@dataclass
class Budget:
    """Limits of a whole fit; the time starts at construction."""

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

        Problems that an interrupt or the time limit prevents are returned unsolved.
        """
        if parts.are_small:
            return self._solve_together(parts, view)
        stop: Status | None = None
        found = []
        for number in range(parts.n_problems):
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
    """One certificate per column of a model whose problems were rebuilt from its training data."""
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
    """Issue a ConvergenceWarning for every status except SOLVED and INTERRUPTED."""
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
