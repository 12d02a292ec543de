"""What a solve cost, by count: the same number on every run and every machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from ..problem.box_problem import FloatArray
from ..problem.solution import Solution
from ..solvers.native import SEED_NAMES
from ..solvers.sequence.sequence import SequenceSolution

GREEDY = SEED_NAMES.index("greedy")

#: Nanoseconds that making a start takes, whatever its size.
SEED_WORK = 2e4


def multiply_work(n: int, n_support: int) -> float:
    """Nanoseconds by count of K beta."""
    return 0.1 * n * n_support


def iteration_work(n: Any) -> Any:
    """Nanoseconds by count of one iteration on n instances."""
    return 60.0 + 0.4 * n


def estimate_work(solution: Solution, has_sisters: bool = False) -> float:
    """Nanoseconds by count, after the cost model by which the solver itself decides.

    Iterations stream two rows; the free set of m instances is factored once and then solved
    exactly now and then; a refresh of the gradient reads the rows of the support vectors. From the
    solution on all data, as its sisters, a fold iterates on what is near that solution.
    """
    info, problem = solution.info, solution.problem
    n = float(np.count_nonzero(problem.weights > 0.0))  # numpy counts booleans ten times faster
    support = np.flatnonzero(solution.beta != 0.0)
    beta, weights = solution.beta[support], problem.weights[support]
    lower, upper = problem.lower_scale[support], problem.upper_scale[support]
    # beta is on a side that its scale does not shut, so an infinite weight makes no nan here.
    bound = np.where(beta > 0.0, upper, lower) * weights
    m = float(np.count_nonzero(np.abs(beta) < np.abs(bound)))
    n_support = float(support.size)
    n_near = _core.near_size(int(m), int(n)) if has_sisters else 0
    work: float = info.n_iter * iteration_work(n_near or n)
    work += info.n_refreshes * multiply_work(int(n), int(n_support))
    if info.n_free_set_solves:
        work += m**3 / 50.0
        work += info.n_free_set_solves * (5000.0 + 0.25 * m * n + 0.75 * m * m)
        work += info.n_bound_hits * 0.2 * m * m
    return work


def count_work(solved: SequenceSolution) -> FloatArray:
    """The work of each step of a sequence, after the same model, and that of the greedy seed."""
    rows = solved.steps.rows[: solved.n_solved]
    n = np.count_nonzero(solved.weights, axis=1).astype(np.float64)[rows]
    return work_of_steps(solved.columns, n)


def work_of_steps(columns: Mapping[str, FloatArray], n: FloatArray) -> FloatArray:
    """The same from the columns of steps (arrays of any one shape) on n instances each."""
    m, n_iter, n_solves = (columns[name] for name in ("n_free", "n_iter", "n_free_set_solves"))
    is_seeded = columns["seed"] == GREEDY
    work: FloatArray = n_iter * iteration_work(n)
    work += columns["n_refreshes"] * 0.1 * n * m
    work += is_seeded * SEED_WORK
    work += (n_solves > 0) * (m**3 / 50.0 + columns["n_bound_hits"] * 0.2 * m * m)
    work += n_solves * (5000.0 + 0.25 * m * n + 0.75 * m * m)
    return work
