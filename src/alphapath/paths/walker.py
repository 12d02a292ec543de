"""The interface of the native walker: a Problem whose exact solution is followed as it changes.

The walk itself, its events and the factor of the margin set live in cpp/src/path. This file adds
what surrounds it: starting from any feasible beta, checking the end against recomputed residuals,
and handing over to SMO where a walk cannot continue.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import SolverMismatch
from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.solution import Info, Solution, Status
from ..problem.solution import judge as judge_by
from ..solvers.dual import smo
from ..solvers.native import single_threaded

IntArray = NDArray[np.int64]

NOBODY: IntArray = np.zeros(0, dtype=np.int64)
NOTHING: FloatArray = np.zeros(0)

#: The KKT violation that counts as exact, relative to the targets, or in units of rounding.
EXACT = 1e-10
ROUNDING = 4.0
#: A violation beyond this, relative to the targets, is reported as STALLED: rounding left it.
TOO_MUCH = 1e-3
#: What the solver is asked for before a walk takes over.
ENTRY_TOL = 1e-5
#: The share of |beta| by which their sum may be off 0. Those that went may have left more.
BALANCED = 1e-12
#: Iterations of the solver where rounding keeps it from every tolerance, as LIBSVM has it.
MOST_ITERATIONS = 10_000_000
#: By how much rounding must have become less for another solve.
LESS = 0.1
#: How often the way from a moved target back to the true one is repeated.
N_CORRECTIONS = 3
#: Steps after which residuals are recomputed; each adds one rounding to them.
STEPS_ALONE = 500


class PathStatus(IntEnum):
    """How a walk ended; the numbers are those of the native core."""

    ARRIVED = 0
    EVENT_LIMIT = 1
    TIME_LIMIT = 2
    INTERRUPTED = 3
    NOT_DEFINITE = 4
    UNBOUNDED = 5


class Place(IntEnum):
    """Where an instance is on a path; the numbers are those of the native core."""

    OUTSIDE = 0
    MARGIN = 1
    ABOVE = 2
    BELOW = 3
    DRIVEN = 4
    ABSENT = 5


class Walker:
    """The exact solution of one problem, and walks to neighbouring problems.

    Parameters
    ----------
    view : kernel view with `gram` in float64
    epsilon : float
    has_equality : bool
    is_centred : bool
        Whether the stored kernel values are inner products about a common origin (GrowingView).
    """

    def __init__(
        self, view: Any, epsilon: float, *, has_equality: bool = True, is_centred: bool = False
    ) -> None:
        if getattr(view.gram, "precision", "float64") != "float64":
            raise SolverMismatch(
                "A path needs kernel values in float64; make the view with precision='float64'."
            )
        self.view = view
        self.epsilon = float(epsilon)
        self.has_equality = has_equality
        self.native = _core.PathWalker(view.gram, self.epsilon, has_equality, is_centred)
        self.targets = np.zeros(view.n)
        self.lower_scale = np.zeros(view.n)
        self.upper_scale = np.zeros(view.n)
        self.weights = np.zeros(view.n)
        self.n_fallbacks = 0
        self._n_checked = -STEPS_ALONE - 1

    @classmethod
    def of_problem(cls, problem: Problem) -> Walker:
        """Create a walker on all instances of a problem, without starting it."""
        require_path(problem)
        walker = cls(problem.kernel, problem.epsilon, has_equality=problem.has_equality)
        walker.define(
            np.arange(problem.n), problem.targets, problem.lower_scale, problem.upper_scale
        )
        walker.weights = problem.weights.copy()
        return walker

    def copy(self) -> Walker:
        """Return a copy of the walker in the same state."""
        other = copy.copy(self)
        other.native = self.native.copy()
        other.n_fallbacks = 0
        for name in ("targets", "lower_scale", "upper_scale", "weights"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def define(
        self, instances: IntArray, targets: FloatArray, lower: FloatArray, upper: FloatArray
    ) -> None:
        """Describe absent instances, for example new slots of a view that grew."""
        n_more = self.view.n - self.targets.size
        if n_more > 0:
            self.native.grow()
            for name in ("targets", "lower_scale", "upper_scale", "weights"):
                setattr(self, name, np.pad(getattr(self, name), (0, n_more)))
        self.targets[instances] = targets
        self.lower_scale[instances] = lower
        self.upper_scale[instances] = upper
        self.weights[instances] = 0.0
        self.native.define(
            np.ascontiguousarray(instances, dtype=np.int64),
            np.ascontiguousarray(targets, dtype=np.float64),
            np.ascontiguousarray(lower, dtype=np.float64),
            np.ascontiguousarray(upper, dtype=np.float64),
        )

    @property
    def problem(self) -> Problem:
        """The problem that the current solution solves."""
        return Problem(
            self.view,
            self.targets,
            self.weights,
            self.lower_scale,
            self.upper_scale,
            epsilon=self.epsilon,
            has_equality=self.has_equality,
        )

    @property
    def max_events(self) -> int:
        return int(self.native.counts.n_events + 60 * self.view.n + 20_000)

    def begin(self, beta: FloatArray) -> None:
        """Move from any feasible beta to the exact solution (the polish)."""
        with single_threaded():
            status = PathStatus(self.native.start(beta, self.weights))
            self._n_checked = self.native.counts.n_steps  # a start computes all residuals
            if status is PathStatus.ARRIVED:
                status = PathStatus(self.native.walk(1.0, self.max_events))
        self._finish(status)

    def move(
        self,
        weights: FloatArray | None,
        add: IntArray = NOBODY,
        add_weights: FloatArray = NOTHING,
        remove: IntArray = NOBODY,
    ) -> None:
        """Move to other weights in one walk, while instances are added and removed.

        With `weights` None, the weights of the remaining instances do not change.
        """
        before = self.weights
        after = before.copy() if weights is None else weights.copy()
        after[add] = add_weights
        after[remove] = 0.0
        change = np.zeros_like(before)
        if weights is not None:
            np.subtract(after, before, out=change, where=(before > 0.0) & (after > 0.0))
        self.weights = after
        with single_threaded():
            self.native.aim(before, change, 0.0)
            self.native.drive(add, add_weights, remove)
            status = PathStatus(self.native.walk(1.0, self.max_events))
            if weights is not None and status is PathStatus.ARRIVED:
                # before + (after - before) may be off by a bit, and a bound by as much.
                self.native.aim(after, np.zeros_like(after), 0.0)
        self._finish(status)

    def _finish(self, status: PathStatus) -> None:
        """Exact by recomputed residuals (after some steps), or by the solver."""
        if status is PathStatus.INTERRUPTED:
            raise KeyboardInterrupt
        native = self.native
        is_recent = native.counts.n_steps - self._n_checked <= STEPS_ALONE
        is_arrived = status is PathStatus.ARRIVED and is_recent
        if is_arrived and self.is_balanced and self.is_exact(native.past_rounding):
            return
        self.confirm(status)

    def confirm(self, status: PathStatus = PathStatus.ARRIVED) -> None:
        """Check exactness by recomputed residuals; `status` is that of the last walk."""
        native = self.native
        zeros = np.zeros(self.view.n)
        self._n_checked = native.counts.n_steps
        for _ in range(N_CORRECTIONS):
            if status is not PathStatus.ARRIVED:
                break
            if self.is_exact(native.refresh()) and self.is_balanced:
                return
            native.aim(self.weights, zeros, 0.0)
            status = PathStatus(native.walk(1.0, self.max_events))
        if status is PathStatus.ARRIVED and self.is_exact(native.refresh()) and self.is_balanced:
            return
        self._leave_to_solver()

    @property
    def is_balanced(self) -> bool:
        """Whether the betas of the present instances sum to 0, to rounding."""
        return not self.has_equality or bool(self.native.imbalance <= BALANCED)

    def is_exact(self, violation: float) -> bool:
        """Whether a violation is at the level of rounding."""
        floor = ROUNDING * float(self.native.rounding_floor)
        return bool(violation <= max(EXACT * self.native.target_scale, floor))

    def solve(self, beta: FloatArray | None = None) -> None:
        """Solve the current problem by the solver and polish the solution."""
        start = None if beta is None else Start(beta)
        solution = smo.solve(self.problem, start, tol=ENTRY_TOL, max_iter=MOST_ITERATIONS)
        if solution.info.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        self.begin(solution.beta)

    def _leave_to_solver(self) -> None:
        """Run the solver from the current point; the walker continues from its result."""
        self.n_fallbacks += 1
        self._n_checked = -STEPS_ALONE - 1
        native, problem = self.native, self.problem
        last = np.inf
        while True:
            # Beyond rounding it would go on for ever; that of betas which lead nowhere may be
            # large.
            floor = ROUNDING * float(native.rounding_floor)
            tol = max(EXACT * native.target_scale, 1e-9, floor if np.isfinite(floor) else 0.0)
            if not tol < LESS * last:
                return
            beta, start, last = native.beta(), None, tol
            if np.isfinite(beta).all():
                start = Start(make_feasible(beta, problem.lower, problem.upper, self.has_equality))
            solution = smo.solve(problem, start, tol=tol, max_iter=MOST_ITERATIONS)
            if solution.info.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            native.start(solution.beta, self.weights)
            native.refresh()

    def solution(self, problem: Problem, work: Work) -> Solution:
        """The current solution, for `problem` on all instances."""
        native = self.native
        beta = native.beta()
        gradient = native.residuals()
        gradient -= native.bias
        if self.has_equality:
            offset = self.view.gram.offset()
            gradient += float(offset @ beta) + offset * float(beta.sum())
        beta.flags.writeable = gradient.flags.writeable = False
        bias, info = self.describe(work)
        return Solution(problem, beta, gradient, bias, info)

    def describe(self, work: Work, tol: float | None = None) -> tuple[float, Info]:
        """Return (bias, quality of the current solution and the work it took).

        The status is solved if the violation is at most `tol`, or else TOO_MUCH of the targets.
        """
        bias, objective, gap, violation, rounding = self.native.quality()
        limit = TOO_MUCH * self.native.target_scale if tol is None else tol
        status, violation = judge_by(violation, rounding, limit)
        return bias, Info(status, objective, gap, violation, **work.as_fields())


def judge(violation: float, rounding: float, target_scale: float) -> tuple[Status, float]:
    """(status, violation) of a point of a path, with what rounding of its slopes may hide."""
    return judge_by(violation, rounding, TOO_MUCH * target_scale)


@dataclass(frozen=True)
class Work:
    """The work of a walk."""

    n_events: int
    n_breakpoints: int
    n_refreshes: int
    n_fallbacks: int
    seconds: float

    @classmethod
    def since(
        cls, before: _core.PathCounts, walker: Walker, n_fallbacks: int, seconds: float
    ) -> Work:
        """The work since the native counts and fallbacks had the given values."""
        now = walker.native.counts
        return cls(
            now.n_events - before.n_events,
            now.n_steps - before.n_steps,
            now.n_refreshes - before.n_refreshes,
            walker.n_fallbacks - n_fallbacks,
            seconds,
        )

    def as_fields(self) -> dict[str, Any]:
        """The fields of Info that a walk provides."""
        return {
            "n_iter": self.n_events,
            "n_breakpoints": self.n_breakpoints,
            "n_refreshes": self.n_refreshes,
            "n_fallbacks": self.n_fallbacks,
            "solve_time": self.seconds,
        }


def make_feasible(
    beta: FloatArray, lower: FloatArray, upper: FloatArray, has_equality: bool = True
) -> FloatArray:
    """Clip beta to the box and scale down its heavier sign so that the sum is 0."""
    inside = np.clip(beta, lower, upper)
    if not has_equality:
        return inside
    above, below = inside[inside > 0.0].sum(), -inside[inside < 0.0].sum()
    if above > below:
        inside[inside > 0.0] *= below / above
    elif below > above:
        inside[inside < 0.0] *= above / below
    return inside


def require_path(problem: Problem) -> None:
    """Reject, in one sentence, a problem that paths do not support."""
    if problem.ridge != 0.0 or problem.total_share != 0.0:
        raise SolverMismatch(
            f"Paths are for problems without a ridge whose betas sum to 0 (SVC, SVR, ranking); "
            f"this one has ridge {problem.ridge} and total_share {problem.total_share}."
        )
    if not np.isfinite(problem.weights).all():
        raise SolverMismatch("Paths are for finite weights; this problem has infinite ones.")


def polish(solution: Solution) -> Solution:
    """Return the exact solution near an approximate one, with a KKT violation of rounding only.

    The targets are shifted so that the given beta is optimal, then walked back to the true ones.

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import Problem
    >>> from alphapath.kernels import KernelStore, Rbf
    >>> from alphapath.paths import polish
    >>> from alphapath.solvers import smo
    >>> view = KernelStore(np.array([[0.0], [1.0], [2.0], [3.0]])).view(Rbf(gamma=0.5))
    >>> problem = Problem.classification(view, [-1.0, -1.0, 1.0, 1.0], np.full(4, 10.0))
    >>> bool(polish(smo.solve(problem)).info.kkt_violation < 1e-12)
    True
    """
    begin = time.perf_counter()
    walker = Walker.of_problem(solution.problem)
    before = walker.native.counts
    walker.begin(solution.beta)
    work = Work.since(before, walker, 0, time.perf_counter() - begin)
    return walker.solution(solution.problem, work)
