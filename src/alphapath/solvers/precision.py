"""When kernel values in float32 are not precise enough and double is used instead.

Values with a root mean square error of e change the slopes by about e |beta|. At large C, this is
far more than the tolerance, however small the violation that a solver sees. |beta| is at most the
length of the weights, which shows for some problems in advance that float32 will not suffice; for
the others, the solution shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem.box_problem import FloatArray, Problem
from ..problem.solution import Info, Solution, Status
from ..problem.steps import Known, Steps
from .native import is_rounded

#: The slopes that are furthest off, in standard deviations.
SPREAD = 4.0

#: Float32 is not tried if the weights allow slope errors of this many tolerances.
HOPELESS = 10.0

#: No stored value is further off than this share of the largest.
WORST = 2.0**-20

#: What a step of the second pass adds to what its first solve took, and what stays.
SUMS = ("n_iter", "n_free_set_solves", "n_bound_hits", "n_refreshes", "solve_time")
KEPT = ("seed", "seed_time")

Solve = Callable[[Problem, Steps, Sequence[Known], float | None], dict[str, Any]]


def slope_errors(view: Any, lengths: FloatArray | np.floating[Any], tol: float) -> FloatArray:
    """Possible slope errors for betas of these lengths; 0 where they cannot matter."""
    if not is_rounded(view):
        return np.zeros(np.shape(lengths))
    largest = float(np.abs(view.diagonal()).max())
    if SPREAD * WORST * largest * float(np.max(lengths, initial=0.0)) <= tol:
        return np.zeros(np.shape(lengths))
    return np.asarray(SPREAD * view.rounding * lengths)


def is_hopeless(view: Any, lengths: FloatArray | np.floating[Any], tol: float) -> NDArray[np.bool_]:
    """Whether problems with weights of these lengths should be solved in double immediately."""
    return np.asarray(slope_errors(view, lengths, tol) > HOPELESS * tol)


def in_double(problem: Problem) -> Problem | None:
    """The same problem on kernel values in double; None if they do not fit in memory."""
    view: Any = problem.kernel
    fine = view.in_double()
    return None if fine is None else problem.with_kernel(fine)


def gradient_at(problem: Problem, beta: FloatArray) -> FloatArray:
    """K beta - r on the kernel values of the problem."""
    view: Any = problem.kernel
    used = np.flatnonzero(beta)
    return np.asarray(view.multiply(used, beta[used]) - problem.targets)


def is_spoilt(solution: Solution, tol: float) -> bool:
    """Whether rounding of kernel values may have hidden a violation beyond the tolerance."""
    error = slope_errors(solution.problem.kernel, np.linalg.norm(solution.beta), tol)
    return solution.info.status is Status.SOLVED and bool(error > tol)


def on_good_view(view: Any, length: float, tol: float) -> Any:
    """The kernel values, these or in double, that products with betas of this length need."""
    if float(slope_errors(view, np.float64(length), tol)) <= tol:
        return view
    return view.in_double() or view


def on_good_values(solution: Solution, tol: float) -> Solution:
    """The same point on kernel values that are precise enough for the solves it warm-starts."""
    if not is_spoilt(solution, tol):
        return solution
    fine = in_double(solution.problem)
    if fine is None:
        return solution
    return replace(solution, problem=fine, gradient=gradient_at(fine, solution.beta))


def as_stalled(solution: Solution, tol: float) -> Solution:
    """The solution, with the violation that rounding may have hidden added to its own."""
    error = slope_errors(solution.problem.kernel, np.linalg.norm(solution.beta), tol)
    violation = solution.info.kkt_violation + float(error)
    info = replace(solution.info, status=Status.STALLED, kkt_violation=violation)
    return replace(solution, info=info)


def continue_counts(first: Info, then: Info) -> Info:
    """The total work of both solves; quality and status are those of the second."""
    names = ("n_iter", "n_free_set_solves", "n_bound_hits", "n_refreshes", "n_rows_computed")
    sums = {name: getattr(first, name) + getattr(then, name) for name in (*names, "solve_time")}
    return replace(then, seed=first.seed, seed_time=first.seed_time, **sums)


# A sequence of problems in two passes: on float32 kernel values, and in double what needs it.
#
# Steps of the second pass are warm-started from the results of the first.


class TwoPasses:
    """Runs the steps of a sequence; `solve` takes some, and a problem with the kernel to use."""

    def __init__(self, problem: Problem, weights: FloatArray, steps: Steps,
                 known: Sequence[Known], tol: float, solve: Solve) -> None:  # fmt: skip
        self.problem, self.weights, self.steps, self.known = problem, weights, steps, known
        self.tol, self.solve = tol, solve
        lengths = np.linalg.norm(weights, axis=1)[steps.rows] * steps.factors
        self.is_fine = is_hopeless(problem.kernel, lengths, tol)
        self.fine = in_double(problem) if self.is_fine.any() else None
        if self.fine is None:
            self.is_fine[:] = False
        for k, parent in enumerate(steps.parents):
            if parent >= len(known) and self.is_fine[parent - len(known)]:
                self.is_fine[k] = True

    def run(self, seconds: float | None) -> dict[str, Any]:
        """The columns of the first steps, up to the first that could not be solved in time."""
        begin = time.perf_counter()
        coarse = np.flatnonzero(~self.is_fine)
        found: dict[str, Any] = {}
        if coarse.size:
            found = self.solve(self.problem, self._first_pass(coarse), self.known, seconds)
        n_found = len(found.get("bias", ()))
        again = self._find_spoilt(found, coarse[:n_found])
        second = np.union1d(np.flatnonzero(self.is_fine), again)
        if n_found < coarse.size:  # a limit: only steps before the first that is missing
            missing = min(int(coarse[n_found]), *second.tolist(), len(self.steps))
            n_whole = int(np.searchsorted(coarse, missing))
            return {name: values[:n_whole] for name, values in found.items()}
        if second.size == 0:
            return found
        assert self.fine is not None
        left = None if seconds is None else max(seconds - (time.perf_counter() - begin), 1e-6)
        done = {int(k): i for i, k in enumerate(coarse)}
        steps, begins = self._second_pass(second, set(again.tolist()), found, done)
        return self._merge(found, done, self.solve(self.fine, steps, begins, left), second)

    def _first_pass(self, coarse: NDArray[np.int64]) -> Steps:
        """The steps as given, without those of the second pass, from which none of them begins."""
        n_known = len(self.known)
        number = {int(k): n_known + i for i, k in enumerate(coarse)}
        parents = [p if p < n_known else number[p - n_known] for p in self.steps.parents[coarse]]
        return self._some(coarse, parents, [self.steps.seeds[k] for k in coarse])

    def _some(self, numbers: NDArray[np.int64], parents: list[int], seeds: list[str]) -> Steps:
        rows, factors = self.steps.rows[numbers], self.steps.factors[numbers]
        return Steps(rows, factors, np.array(parents, dtype=np.int64), seeds)

    def _find_spoilt(self, found: dict[str, Any], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Solved steps that are to be solved again; STALLED where there is no room for it."""
        none = np.empty(0, dtype=np.int64)
        if numbers.size == 0:
            return none
        lengths = np.linalg.norm(found["beta"], axis=1)
        errors = slope_errors(self.problem.kernel, lengths, self.tol)
        is_spoilt = np.asarray((errors > self.tol) & (found["status"] == int(Status.SOLVED)))
        if not is_spoilt.any():
            return none
        if self.fine is None:
            self.fine = in_double(self.problem)
        if self.fine is None:
            found["status"] = np.where(is_spoilt, float(Status.STALLED), found["status"])
            found["kkt_violation"] = found["kkt_violation"] + np.where(is_spoilt, errors, 0.0)
            return none
        return np.asarray(numbers[is_spoilt])

    def _second_pass(
        self,
        second: NDArray[np.int64],
        again: set[int],
        found: dict[str, Any],
        done: dict[int, int],
    ) -> tuple[Steps, list[Known]]:
        """Solved steps are warm-started from their solutions, the others from their parents."""
        n_known = len(self.known)
        number = {int(k): i for i, k in enumerate(second)}
        begins: dict[int, Known] = {}  # by the number of a step; given solutions by k - n_known
        parents: list[tuple[bool, int]] = []  # whether one of `begins`, and the number
        for k in second.tolist():
            parent = k if k in again else int(self.steps.parents[k]) - n_known
            if k not in again and (parent < -n_known or parent in number):
                parents.append((False, number.get(parent, -1)))
                continue
            if parent not in begins:
                begins[parent] = self._in_double(parent, found, done)
            parents.append((True, parent))
        place = {k: i for i, k in enumerate(begins)}
        mapped = [
            place[k] if is_given else (k if k < 0 else len(begins) + k) for is_given, k in parents
        ]
        seeds = ["keep" if k in again else self.steps.seeds[k] for k in second.tolist()]
        return self._some(second, mapped, seeds), list(begins.values())

    def _in_double(self, k: int, found: dict[str, Any], done: dict[int, int]) -> Known:
        """Step k of the first pass, or the solution known[k], with its gradient in double."""
        if k < 0:
            known = self.known[k]
        else:
            row, factor = int(self.steps.rows[k]), float(self.steps.factors[k])
            beta = found["beta"][done[k]]
            known = Known(factor * self.weights[row], beta, beta, row, factor)
        assert self.fine is not None
        return known._replace(gradient=gradient_at(self.fine, known.beta))

    def _merge(self, found: dict[str, Any], done: dict[int, int], then: dict[str, Any],
               second: NDArray[np.int64]) -> dict[str, Any]:  # fmt: skip
        """Both passes in the order of the steps, up to the first that the second did not reach."""
        n_then = len(then["bias"])
        n = len(self.steps) if n_then == second.size else int(second[n_then])
        merged = {}
        for name, late in then.items():
            column = np.empty((len(self.steps), *late.shape[1:]), dtype=late.dtype)
            for k, i in done.items():
                column[k] = found[name][i]
            for i, k in enumerate(second[:n_then].tolist()):
                if k not in done or name not in KEPT:
                    before = column[k] if k in done and name in SUMS else 0
                    column[k] = late[i] + before
            merged[name] = column[:n]
        return merged
