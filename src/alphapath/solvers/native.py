"""Conversion of a Problem for a native solver, and of its result to a Solution."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack
from threadpoolctl import ThreadpoolController

from .. import _core
from ..errors import SolverMismatch
from ..gpu import DeviceView
from ..kernels import KernelView
from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.limits import Limits
from ..problem.solution import Info, Solution, Status, judge

#: A solution accepted by its solver is reported as solved up to this multiple of the tolerance.
MAX_LEFT = 10.0

#: The seeds of the native core, by their numbers there.
SEED_NAMES = tuple(seed.name for seed in _core.Seed)

#: The one that leads from one row of weights to another; the others stay on a row.
ACROSS_ROWS = _core.Seed.greedy.name

_lock = threading.Lock()
_n_inside = 0
_limiter: Any = None


def is_on_device(problem: Problem) -> bool:
    """Whether the problem's kernel lives on a GPU."""
    return isinstance(problem.kernel, DeviceView)


def is_rounded(view: Any) -> bool:
    """Whether the kernel values are in float32."""
    return isinstance(view, KernelView) and view.gram.precision == "float32"


def solve_options(limits: Limits, spare_bytes: int) -> _core.SolveOptions:
    """Limits as the native solvers take them; refuses those that no solve can meet."""
    tol, gap_tol, seconds = limits.tol, limits.gap_tol, limits.time_limit
    if not tol > 0.0:
        raise ValueError(f"tol is {tol}; it must be positive.")
    if gap_tol is not None and not gap_tol > 0.0:
        raise ValueError(f"gap_tol is {gap_tol}; it must be positive.")
    if seconds is not None and not seconds > 0.0:
        raise ValueError(f"time_limit is {seconds}; it must be positive, or None.")
    return _core.SolveOptions(
        tol=float(tol),
        max_iter=int(limits.max_iter),
        time_limit=0.0 if seconds is None else float(seconds),
        free_set=bool(limits.free_set),
        memory_limit=spare_bytes,
        gap_tol=0.0 if gap_tol is None else float(gap_tol),
    )


def require_equality(problem: Problem, *, has_equality: bool, solver: str, instead: str) -> None:
    """Reject a problem of the other family in one sentence."""
    if problem.has_equality != has_equality:
        wanted = "with" if has_equality else "without"
        found = "has one" if problem.has_equality else "has none"
        raise SolverMismatch(
            f"The {solver} solver is for problems {wanted} a sum constraint, but this one "
            f"{found}; use the {instead} solver."
        )


def require_no_ridge(problem: Problem, *, solver: str) -> None:
    """Reject a ridge, which the pair steps of this solver do not support, in one sentence."""
    if problem.has_ridge:
        raise SolverMismatch(
            f"The {solver} solver is for problems with ridge = 0, but ridge is {problem.ridge}; "
            f"use a problem without a sum constraint and the coordinate solver."
        )


def require_one_class(problem: Problem, rule: str) -> None:
    """Reject any model other than one class with squared slacks, in one sentence."""
    is_open = (problem.upper == np.inf) | (problem.upper == 0.0)
    fits = (
        not problem.has_equality
        and problem.epsilon == 0.0
        and bool((problem.targets == 1.0).all())
        and not problem.lower.any()
        and bool(is_open.all())
    )
    if not fits:
        raise SolverMismatch(
            f"{rule} is for one class with squared slacks (no sum constraint, no tube, targets 1, "
            f"beta >= 0 without an upper bound), as made by Problem.squared_slack_one_class; this "
            f"is another model."
        )


def as_native(problem: Problem) -> _core.BoxProblem:
    """Convert the problem for the native solvers; its arrays are shared."""
    view: Any = problem.kernel
    return _core.BoxProblem(
        view.gram,
        problem.targets,
        problem.lower,
        problem.upper,
        problem.epsilon,
        problem.ridges if problem.has_ridge else None,
        problem.total,
    )


def prepare_start(
    problem: Problem, start: Start | None
) -> tuple[FloatArray | None, FloatArray | None]:
    """Check a start and return its beta and gradient; None if there is no start."""
    if start is None:
        return None, None
    problem.check_feasible(start.beta)
    return start.beta, start.gradient


def wrap_result(problem: Problem, result: Any, n_rows_before: int) -> Solution:
    """Convert the result of a native solver to a Solution."""
    view: Any = problem.kernel
    info = Info(
        status=Status(result.status),
        objective=result.objective,
        duality_gap=result.duality_gap,
        kkt_violation=result.kkt_violation,
        n_iter=result.n_iter,
        n_free_set_solves=result.n_free_set_solves,
        n_bound_hits=result.n_bound_hits,
        n_refreshes=result.n_refreshes,
        # Rows that other threads computed on the same kernel meanwhile count too.
        n_rows_computed=view.gram.n_rows_computed - n_rows_before,
        solve_time=result.solve_time,
    )
    beta, gradient = result.beta, result.gradient
    # No other object holds these arrays: read-only, the Solution shares instead of copying them.
    beta.flags.writeable = gradient.flags.writeable = False
    return Solution(problem, beta, gradient, result.bias, info)


def admit_rounding(solution: Solution, limit: float) -> Solution:
    """SOLVED or STALLED by the violation, plus what rounding may hide if that exceeds `limit`.

    Native solvers do the same themselves (cpp/src/problem/quality.cpp); this function is for
    solutions assembled in NumPy.
    """
    problem, info = solution.problem, solution.info
    view: Any = problem.kernel
    rounding = _core.slope_rounding(view.gram, solution.beta, problem.has_equality)
    status, violation = judge(info.kkt_violation, rounding, limit)
    if info.status is Status.SOLVED and rounding <= limit and violation <= MAX_LEFT * limit:
        status = Status.SOLVED
    if info.status not in (Status.SOLVED, Status.STALLED):
        status = info.status
    return replace(solution, info=replace(info, status=status, kkt_violation=violation))


def run(
    function: Callable[..., Any], problem: Problem, start: Start | None, limits: Limits
) -> Solution:
    """Check the start, call the native solver with the GIL released, and wrap its result."""
    view: Any = problem.kernel
    options = solve_options(limits, view.spare_bytes)
    beta, gradient = prepare_start(problem, start)
    n_rows_before = view.gram.n_rows_computed
    with single_threaded():
        result = function(as_native(problem), beta, gradient, options)
    return wrap_result(problem, result, n_rows_before)


# SciPy's BLAS and LAPACK for the native solvers, and their threads.
#
# The solvers factor the free set by LAPACK, on one thread: bits must not depend on how many there
# are, and problems are solved side by side rather than one on many threads.


def install() -> None:
    """Pass the function pointers that SciPy exports to the native code."""
    _core.use_blas(cython_blas.__pyx_capi__, cython_lapack.__pyx_capi__)


@cache
def _controller() -> Any:
    """Finding the loaded libraries takes milliseconds, so it is done once and when first asked."""
    return ThreadpoolController().select(user_api="blas")


def current_threads() -> int:
    """The largest number of threads that a loaded BLAS would use now; 1 if none is known."""
    libraries = _controller().lib_controllers
    return max((int(library.num_threads or 1) for library in libraries), default=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS to one thread; may be entered by several threads and repeatedly."""
    global _limiter, _n_inside
    with _lock:
        if _n_inside == 0 and current_threads() > 1:
            _limiter = _controller().limit(limits=1)
        _n_inside += 1
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if _n_inside == 0 and _limiter is not None:
                _limiter.restore_original_limits()
                _limiter = None
