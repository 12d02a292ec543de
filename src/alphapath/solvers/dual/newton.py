"""Active-set Newton for problems without a sum constraint whose ridge is positive everywhere.

    minimise  1/2 beta' (K + D) beta - r' beta     each beta_i between 0 and one bound

It takes few steps, each a Cholesky factorization of the free block; see
cpp/src/quadratic/newton.cpp. It needs the whole kernel matrix in double precision.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ... import _core
from ...errors import SolverMismatch
from ...problem.box_problem import FloatArray, Problem, Start
from ...problem.solution import Solution, Status, make_solution
from ..native import admit_rounding, prepare_start, require_equality, single_threaded

#: Matrices of n x n doubles that the solver holds beside the kernel.
N_MATRICES = 3


def solve(
    problem: Problem, start: Start | None = None, *, tol: float = 1e-9, max_iter: int = 200
) -> Solution:
    """Solve `problem` until no |beta_i - clip(beta_i - g_i / D_i)| D_i exceeds `tol`.

    Examples
    --------
    >>> solution = newton.solve(problem)                         # doctest: +SKIP
    """
    _require_model(problem)
    if not tol > 0.0:
        raise ValueError(f"tol is {tol}; it must be positive.")
    begin = perf_counter()
    view: Any = problem.kernel
    n_rows_before = view.gram.n_rows_computed
    first, _ = prepare_start(problem, start)
    # beta = scale a turns K + D into Q + I; held-out instances keep scale 1 and the box [0, 0].
    is_in = problem.lower < problem.upper
    sign = np.where(problem.lower < 0.0, -1.0, 1.0)
    scale = sign / np.sqrt(np.where(is_in, problem.ridges, 1.0))
    bound = np.where(problem.lower < 0.0, problem.lower, problem.upper) / scale
    native = _core.QuadraticProblem(
        view.rows(np.arange(problem.n)), scale, scale * problem.targets, bound
    )
    with single_threaded():
        # The violation in a is that in beta over |scale|: the largest ridge makes it a slope.
        limit = tol / float(np.sqrt(problem.ridges[is_in].max(initial=1.0)))
        guess = None if first is None else np.ascontiguousarray(first / scale)
        result = _core.solve_quadratic(native, 1.0, guess, limit, max_iter)
    beta = _on_bounds(problem, scale * result.a, result.a == bound)
    gradient = result.q / scale + problem.ridges * beta - problem.targets
    counts = {
        "status": _status_of(result),
        "n_iter": result.n_iter,
        "n_rows_computed": view.gram.n_rows_computed - n_rows_before,
        "solve_time": perf_counter() - begin,
    }
    return admit_rounding(make_solution(problem, beta, gradient, counts), tol)


def has_room(problem: Problem) -> bool:
    """Whether the whole kernel matrix is stored and the memory limit leaves room for more."""
    view: Any = problem.kernel
    return bool(view.gram.is_full and N_MATRICES * 8 * problem.n**2 <= view.spare_bytes)


def _on_bounds(problem: Problem, beta: FloatArray, is_bound: Any) -> FloatArray:
    """Scaling back rounds: a bounded beta is set to the bound itself, as certificates expect."""
    bound = np.where(problem.lower < 0.0, problem.lower, problem.upper)
    return np.where(is_bound, bound, np.clip(beta, problem.lower, problem.upper))


def _status_of(result: Any) -> Status:
    if result.is_interrupted:
        return Status.INTERRUPTED
    if not result.is_convex:
        return Status.STATIONARY
    return Status.SOLVED if result.is_solved else Status.STALLED


def _require_model(problem: Problem) -> None:
    require_equality(problem, has_equality=False, solver="newton", instead="smo")
    is_in = problem.lower < problem.upper
    fits = problem.epsilon == 0.0 and bool((problem.ridges[is_in] > 0.0).all())
    if not fits or bool(((problem.lower != 0.0) & (problem.upper != 0.0)).any()):
        raise SolverMismatch(
            "The newton solver is for problems with a positive ridge, epsilon = 0 and boxes that "
            "begin or end at 0; use the coordinate solver."
        )
