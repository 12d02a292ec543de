"""Where kernel values in float32 are not good enough, and double is taken instead.

Values that are off by e, in the root mean square, put the slopes off by about e |beta|: at large C
far more than the tolerance, however small the violation that a solver sees. |beta| is at most the
length of the weights, which says for some problems beforehand that float32 will not do; for the
others the solution says it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import KernelView
from ..problem.box_problem import FloatArray, Problem
from ..problem.solution import Info, Solution, Status

#: The slopes that are furthest off, in standard deviations.
SPREAD = 4.0

#: Float32 is not tried where the weights allow slopes to be off by so many tolerances.
HOPELESS = 10.0

#: No stored value is further off than this share of the largest.
WORST = 2.0**-20


def is_rounded(view: Any) -> bool:
    """Whether the kernel values are in float32."""
    return isinstance(view, KernelView) and view.gram.precision == "float32"


def slope_errors(view: Any, lengths: FloatArray | np.floating[Any], tol: float) -> FloatArray:
    """How far slopes may be off for betas of these lengths; 0 where that can not matter."""
    if not is_rounded(view):
        return np.zeros(np.shape(lengths))
    largest = float(np.abs(view.diagonal()).max())
    if SPREAD * WORST * largest * float(np.max(lengths, initial=0.0)) <= tol:
        return np.zeros(np.shape(lengths))
    return np.asarray(SPREAD * view.rounding * lengths)


def is_hopeless(view: Any, lengths: FloatArray | np.floating[Any], tol: float) -> NDArray[np.bool_]:
    """Whether problems with weights of these lengths are to be solved in double at once."""
    return np.asarray(slope_errors(view, lengths, tol) > HOPELESS * tol)


def in_double(problem: Problem) -> Problem | None:
    """The same problem on kernel values in double; None where memory does not hold them."""
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
    """The kernel values, of these or in double, that products with betas of this length need."""
    if float(slope_errors(view, np.float64(length), tol)) <= tol:
        return view
    return view.in_double() or view


def on_good_values(solution: Solution, tol: float) -> Solution:
    """The same point on kernel values that are good enough for what begins from it."""
    if not is_spoilt(solution, tol):
        return solution
    fine = in_double(solution.problem)
    if fine is None:
        return solution
    return replace(solution, problem=fine, gradient=gradient_at(fine, solution.beta))


def as_stalled(solution: Solution, tol: float) -> Solution:
    """The solution with what rounding may have hidden added to its violation."""
    error = slope_errors(solution.problem.kernel, np.linalg.norm(solution.beta), tol)
    violation = solution.info.kkt_violation + float(error)
    info = replace(solution.info, status=Status.STALLED, kkt_violation=violation)
    return replace(solution, info=info)


def continue_counts(first: Info, then: Info) -> Info:
    """What both solves together took; quality and status are those of the second."""
    names = ("n_iter", "n_free_set_solves", "n_bound_hits", "n_refreshes", "n_rows_computed")
    sums = {name: getattr(first, name) + getattr(then, name) for name in (*names, "solve_time")}
    return replace(then, seed=first.seed, seed_time=first.seed_time, **sums)
