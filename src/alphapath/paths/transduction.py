"""Joachims' transductive SVM; each problem is solved exactly, warm-started from the last.

The labelled instances have weight C. The unlabelled instances receive the labels of the supervised
model (with the requested number of positive labels) and tiny weights. Pairs of unlabelled instances
with opposite labels that both favour a switch are switched, one pair at a time; then the weights of
the unlabelled instances are doubled, until they reach C_unlabelled. The result is the labels and
the exact solution. (T. Joachims 1999; M. Karasuyama, section 4.5.3.) The loop is
cpp/src/sequence/transduction, the solves are cpp/src/dual/active_set.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import SolverMismatch
from ..problem.box_problem import FloatArray, Problem
from ..problem.limits import Limits
from ..problem.solution import Solution, Status, make_solution
from ..solvers.native import single_threaded, solve_options
from .walker import EXACT, polish, require_path

BoolArray = NDArray[np.bool_]

#: The weight of unlabelled instances of the negative class at the beginning.
FIRST_WEIGHT = 1e-5
#: The KKT violation that problems on the way are solved to, where rounding allows it.
TOL = EXACT


@dataclass(frozen=True)
class Transduction:
    """Labels of all instances, the corresponding solution, and the work it took.

    `n_rounds` counts the guesses of the free set, over all problems.
    """

    signs: FloatArray
    solution: Solution
    n_switches: int
    n_doublings: int
    n_rounds: int


def transduce(
    problem: Problem, is_labelled: BoolArray, C_unlabelled: float, n_positive: int
) -> Transduction:
    """Label the unlabelled instances.

    Parameters
    ----------
    problem : Problem
        Classification problem on all instances, with the kernel in float64. The labels and weights
        of the unlabelled instances are ignored.
    is_labelled : boolean array of shape (n,)
    C_unlabelled : float
        The final weight of the unlabelled instances.
    n_positive : int
        The number of unlabelled instances to label as positive.

    Examples
    --------
    >>> from alphapath import SVC
    >>> X = [[0.0], [0.2], [0.4], [3.0], [3.2], [3.4]]
    >>> problem = SVC(gamma=1.0).to_problem(X, [-1, -1, -1, 1, 1, 1])
    >>> known = np.array([True, False, False, True, False, False])
    >>> transduce(problem, known, C_unlabelled=1.0, n_positive=2).signs.tolist()
    [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
    """
    begin = time.perf_counter()
    require_path(problem)
    view: Any = problem.kernel
    if view.gram.precision != "float64":
        raise SolverMismatch(
            "Transduction needs kernel values in float64; make the view with precision='float64'."
        )
    n_open = int(np.count_nonzero(~is_labelled))
    with single_threaded():
        found = _core.transduce(
            view.gram,
            np.where(is_labelled, problem.targets, 0.0),
            np.where(is_labelled, problem.weights, 0.0),
            float(C_unlabelled),
            FIRST_WEIGHT,
            min(max(n_positive, 1), max(n_open - 1, 1)),
            solve_options(Limits(TOL), view.spare_bytes),
        )
    if Status(found.status) is Status.INTERRUPTED:
        raise KeyboardInterrupt
    weights = np.where(is_labelled, problem.weights, C_unlabelled)
    solution = solution_of(Problem.classification(view, found.signs, weights), found, begin)
    return Transduction(found.signs, solution, found.n_switches, found.n_doublings, found.n_rounds)


def solution_of(problem: Problem, found: _core.TransductionResult, begin: float) -> Solution:
    """The solution with the final labels; polished where SMO had to finish."""
    beta = found.beta
    support = np.flatnonzero(beta)
    view: Any = problem.kernel
    counts = {
        "status": found.status,
        "n_iter": found.n_rounds,
        "n_fallbacks": found.n_descents - 1,  # SMO makes the first solution
        "solve_time": time.perf_counter() - begin,
    }
    gradient = view.multiply(support, beta[support]) - problem.targets
    solution = make_solution(problem, beta, gradient, counts)
    return polish(solution) if solution.info.kkt_violation > 10.0 * TOL else solution
