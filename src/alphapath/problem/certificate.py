"""Never trust, certify: the quality of a beta, recomputed from the raw data outside all solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InfeasibleStart
from . import optimality
from .box_problem import FloatArray, Problem

#: Kernel values held at once while K beta is recomputed (32 MiB of doubles).
BLOCK_VALUES = 1 << 22
#: What the rounding of K beta may come to, at worst.
LOST_AT_MOST = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Objective, feasibility, duality gap and KKT violation of one beta.

    Parameters
    ----------
    objective : float
        The minimised dual.
    primal_objective : float
        ``1/2 |w|^2`` plus the weighted losses at this beta and bias (plus bias times sum(beta)).
    duality_gap : float
        primal_objective + objective, summed instance by instance; 0 at the optimum.
    kkt_violation : float
        LIBSVM's stopping quantity.
    box_violation : float
        The furthest that any beta lies outside its box.
    sum_violation : float
        ``abs(sum(beta) - total)``, 0 for a problem without the sum constraint.
    n_support : int
        Number of nonzero beta.
    """

    objective: float
    primal_objective: float
    duality_gap: float
    kkt_violation: float
    box_violation: float
    sum_violation: float
    n_support: int

    @property
    def relative_gap(self) -> float:
        """duality_gap / (primal_objective + 1), the feasibility gap of the one-class model."""
        return self.duality_gap / (self.primal_objective + 1.0)

    def is_optimal(self, tol: float) -> bool:
        """Whether beta is feasible (to rounding) and stationary to within `tol`."""
        scale = max(1.0, abs(self.objective))
        return bool(
            self.kkt_violation <= tol
            and self.box_violation <= 1e-12 * scale
            and self.sum_violation <= 1e-8 * scale
        )

    def __str__(self) -> str:
        rows = (
            ("dual objective (minimised)", f"{self.objective:.10g}"),
            ("primal objective", f"{self.primal_objective:.10g}"),
            ("duality gap", f"{self.duality_gap:.3e}"),
            ("KKT violation", f"{self.kkt_violation:.3e}"),
            ("box violation", f"{self.box_violation:.3e}"),
            ("sum violation", f"{self.sum_violation:.3e}"),
            ("support vectors", str(self.n_support)),
        )
        return "\n".join(f"{name:<28}{value:>18}" for name, value in rows)


def multiply_exactly(problem: Problem, beta: FloatArray) -> FloatArray:
    """K beta from kernel.exact_rows, a block of rows with beta != 0 at a time.

    Where there is a way without them, as on pairs and for inner products, the kernel has
    `exact_multiply` itself.
    """
    support = np.flatnonzero(beta)
    multiply: Any = getattr(problem.kernel, "exact_multiply", None)
    found = None if multiply is None else multiply(support, beta[support])
    if found is not None:
        return np.asarray(found)
    product = np.zeros(problem.n)
    step = max(1, BLOCK_VALUES // problem.n)
    for first in range(0, support.size, step):
        rows = support[first : first + step]
        product += _multiply(beta[rows], problem.kernel.exact_rows(rows))
    return product


def _multiply(beta: FloatArray, rows: FloatArray) -> FloatArray:
    """beta @ rows, in extended precision where the terms are so large that doubles would show."""
    size = float(np.abs(beta).sum()) * float(np.abs(rows).max(initial=0.0))
    if size * np.finfo(np.float64).eps <= LOST_AT_MOST:
        return beta @ rows
    return np.asarray(beta.astype(np.longdouble) @ rows.astype(np.longdouble), dtype=np.float64)


def _check_finite(values: FloatArray, name: str) -> None:
    is_finite = np.isfinite(values)
    if not is_finite.all():
        i = int(np.argmin(is_finite))
        raise InfeasibleStart(
            f"{name}[{i}] is {values[i]}; only what is finite can be certified. Scale the features "
            f"or the kernel."
        )


def certify(problem: Problem, beta: ArrayLike, bias: float | None = None) -> Certificate:
    """Recompute the quality of `beta` from raw data.

    Parameters
    ----------
    problem : Problem
    beta : array of shape (n,)
    bias : float or None
        The bias that the model predicts with; None takes the one that follows from beta.

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import Problem, certify
    >>> from alphapath.kernels import KernelStore, Rbf
    >>> from alphapath.solvers import smo
    >>> view = KernelStore(np.array([[0.0], [1.0], [2.0], [3.0]])).view(Rbf(gamma=0.5))
    >>> problem = Problem.classification(view, [-1.0, -1.0, 1.0, 1.0], weights=np.full(4, 10.0))
    >>> solution = smo.solve(problem)
    >>> certify(problem, solution.beta, solution.bias).is_optimal(1e-3)
    True
    """
    values = np.asarray(beta, dtype=np.float64)
    if values.shape != (problem.n,):
        raise InfeasibleStart(
            f"beta has shape {values.shape}; the problem needs shape ({problem.n},)."
        )
    _check_finite(values, "beta")
    with np.errstate(over="ignore", invalid="ignore"):
        product = multiply_exactly(problem, values)
    _check_finite(product, "K beta")
    gradient = product - problem.targets
    if problem.has_ridge:
        gradient += problem.ridges * values
    if bias is None:
        bias = optimality.bias_from_gradient(problem, values, gradient)
    outside = np.maximum(problem.lower - values, values - problem.upper)
    return Certificate(
        objective=optimality.objective(problem, values, gradient),
        primal_objective=optimality.primal_objective(problem, values, gradient, bias),
        duality_gap=optimality.duality_gap(problem, values, gradient, bias),
        kkt_violation=optimality.kkt_violation(problem, values, gradient),
        box_violation=max(0.0, float(outside.max())),
        sum_violation=abs(float(values.sum()) - problem.total) if problem.has_equality else 0.0,
        n_support=int(np.count_nonzero(values)),
    )
