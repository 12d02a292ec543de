"""SVMs with a quadratic loss and no bias, and where their path over lambda begins.

    minimise over w   lambda/2 |w|^2 + 1/2 sum_i c_i phi(rho - y_i f(x_i)),   f(x) = w'x
    phi(xi) = 0 for xi <= 0,  xi^2 up to h,  2 h xi - h^2 beyond                            (5.6)

(rho, h) = (1, inf) is the squared hinge, (1, 2) the modified Huber loss, (1 + e, 2 e) Huber's. The
dual in the scaled variables a_i = alpha_i / sqrt(c_i), d_i = sqrt(c_i), is

    minimise  1/2 a' (Q + lambda I) a - lambda r' a,   0 <= a <= u                           (5.10)
    Q_ij = d_i y_i K_ij y_j d_j,  r = rho d,  u = h d,   f = K beta,  beta = y d a / lambda.

Legend: an instance is free (0 < a < u, the paper's C), at zero (R) or at its bound (L).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import _core
from ...errors import InvalidProblem
from ...kernels import KernelView
from ...problem.box_problem import FloatArray, Problem, freeze
from ...problem.solution import Solution, Status, make_solution
from ...solvers.native import admit_rounding, single_threaded

#: A KKT violation beyond this, relative to the targets, is reported as STALLED.
ENOUGH = 1e-6
#: (rho, h) by name; "huber" is the width 0.1 on which the method was published.
LOSSES: dict[str, tuple[float, float]] = {
    "squared_hinge": (1.0, np.inf),
    "modified_huber": (1.0, 2.0),
    "huber": (1.1, 0.2),
}


def parse_loss(loss: Any) -> tuple[float, float]:
    """(rho, h) from a name or from the two numbers themselves."""
    if isinstance(loss, str):
        if loss in LOSSES:
            return LOSSES[loss]
    elif len(loss) == 2 and 0.0 < loss[0] < np.inf and loss[1] > 0.0:
        return float(loss[0]), float(loss[1])
    raise InvalidProblem(
        f"loss is {loss!r}; it must be one of {sorted(LOSSES)}, or (rho, h) with rho positive and "
        f"finite and h positive (infinity is allowed)."
    )


class QuadraticModel:
    """One training set and loss, for every lambda.

    Parameters
    ----------
    view : KernelView
    y_signs : array of shape (n,)
        Labels +-1.
    weights : array of shape (n,)
        c > 0.
    loss : (rho, h) or a name in LOSSES
    """

    def __init__(self, view: KernelView, y_signs: ArrayLike, weights: ArrayLike, loss: Any) -> None:
        self.view = view
        self.y_signs = freeze(y_signs, "y_signs")
        self.weights = freeze(weights, "weights")
        self.loss = parse_loss(loss)
        is_valid = np.isfinite(self.weights) & (self.weights > 0.0)
        if not is_valid.all():
            i = int(np.argmin(is_valid))
            raise InvalidProblem(
                f"weights[{i}] is {self.weights[i]}; a path needs positive, finite weights: leave "
                f"rows of weight 0 out."
            )
        rho, h = self.loss
        root = np.sqrt(self.weights)
        self.scale: FloatArray = self.y_signs * root
        self.targets: FloatArray = rho * root
        self.upper: FloatArray = h * root
        matrix = view.rows(np.arange(view.n))
        self.native = _core.QuadraticProblem(matrix, self.scale, self.targets, self.upper)
        #: Large enough for trivial sets: all at the bound (h < rho) or all free (h > rho).
        self.start_lambda = self._find_start(matrix)

    def _find_start(self, matrix: FloatArray) -> float:
        first = np.minimum(self.targets, self.upper)
        q = self.scale * (matrix @ (self.scale * first))
        room = self.targets - self.upper
        if (room > 0.0).all():
            # All at the bound while q_i <= lambda (r_i - u_i), exactly.
            return 2.0 * max(float((q / room).max()), 1e-8)
        # |a_i - r_i| <= |(Q + lambda)^-1 Q r| <= |Q r| / lambda keeps a within (0, u). For h = rho
        # the sets follow from signs of Q r, which a solver settles.
        gap = np.minimum(self.targets, np.where(room < 0.0, -room, self.targets))
        return max(float(np.linalg.norm(q) / gap.min()), 1e-8)

    def problem_at(self, lam: float) -> Problem:
        """The dual at one lambda, for certificates and other solvers."""
        return Problem.quadratic_loss(self.view, self.y_signs, self.weights, self.loss, lam)

    def solve(self, lam: float, guess: ArrayLike | None = None, tol: float = 1e-10) -> Any:
        """Native solution at one lambda by active-set Newton, from the a of another."""
        if not 0.0 < lam < np.inf:
            raise ValueError(f"lam is {lam}; it must be positive and finite.")
        first = None if guess is None else np.ascontiguousarray(guess, dtype=np.float64)
        with single_threaded():
            result = _core.solve_quadratic(self.native, lam, first, tol)
        if result.is_interrupted:
            raise KeyboardInterrupt
        if not result.is_convex:
            raise not_convex(lam)
        return result

    def as_solution(self, lam: float, result: Any) -> Solution:
        """A native solution as a Solution of `problem_at(lam)`."""
        problem = self.problem_at(lam)
        beta = self.scale * result.a / lam
        at_bound = result.a == self.upper
        end = np.where(self.y_signs < 0.0, problem.lower, problem.upper)
        beta = np.where(at_bound, end, np.clip(beta, problem.lower, problem.upper))
        gradient = result.q / (self.scale * lam) + problem.ridges * beta - problem.targets
        # Newton aims at rounding and may miss that; what counts is the violation it reached.
        counts = {"status": Status.STALLED, "n_iter": result.n_iter}
        solution = make_solution(problem, beta, gradient, counts)
        return admit_rounding(solution, ENOUGH * float(np.abs(problem.targets).max()))


def not_convex(lam: float) -> InvalidProblem:
    """The error for a kernel whose negative eigenvalues exceed lambda."""
    return InvalidProblem(
        f"The kernel matrix plus lambda = {lam:g} is not positive definite on the free rows, so "
        f"there is no path: use a positive semi-definite kernel, or end at a larger lambda."
    )
