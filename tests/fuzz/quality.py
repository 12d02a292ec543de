"""The quality of an answer from raw data, in extended precision and outside the library.

    minimise 1/2 beta'(K + D) beta - r'beta + eps |beta|_1,  lower <= beta <= upper,  sum(beta) = s

The violation is that of LIBSVM's stopping rule. What it can not go below is the rounding of the
gradient, stated by `Quality.floor`:

    ULPS eps (E sum_j |beta_j| max_i |K_ij| + F sum_j |beta_j| + max |r| + |bias|)

with E the error of one kernel value in units of eps (`KernelChoice.rounding`) and F `coarse` of the
problem, mostly 0: a solver in double
sees kernel values and their sum no better than that, and moves no beta by less than its last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cases import CaseError
from .data import FloatArray, KernelChoice

EPS = float(np.finfo(float).eps)
#: How many roundings may add up in the same direction.
ULPS = 16.0

LongArray = NDArray[np.longdouble]


@dataclass(frozen=True)
class Dual:
    """One problem, as plain numbers: what the model's definition says, not what the library does.

    `error` is that of a kernel value in units of eps; `coarse` is what a unit of |beta| adds to
    the rounding of all slopes, in units of eps, where K is made of larger values (differences of
    pairs). `made_of` is the largest of the values that a solver makes K of where those may be much
    larger; a solution is judged without it, and only what is not called solved is excused by it.
    """

    K: LongArray
    targets: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float = 0.0
    total: float | None = 0.0
    ridge: FloatArray | None = None
    error: float = 8.0
    coarse: float = 0.0
    made_of: float = 0.0


@dataclass(frozen=True)
class Quality:
    """What raw data say of one beta, with the floor that rounding sets to `violation`."""

    violation: float
    floor: float
    gap: float
    outside: float
    off_sum: float
    bias_low: float
    bias_high: float
    values: FloatArray
    objective: float

    def check(self, tol: float, what: str = "") -> None:
        """Raise CaseError where this is no solution to `tol`."""
        label = f"{what}: " if what else ""
        numbers = [self.violation, self.gap, self.outside, self.off_sum]
        if not np.isfinite(numbers).all():
            raise CaseError(f"{label}quality is not finite: {numbers}")
        if self.violation > 10.0 * tol + self.floor:
            raise CaseError(
                f"{label}called solved at tol={tol:g}, certified violation {self.violation:.3g} "
                f"(floor {self.floor:.2g})"
            )


def measure(problem: Dual, beta: FloatArray, bias: float | None = None) -> Quality:
    """Violation, gap and floor of `beta`."""
    if not np.isfinite(beta).all() or (bias is not None and not np.isfinite(bias)):
        raise CaseError("beta or the bias is not finite")
    product = problem.K @ beta.astype(np.longdouble)
    gradient = product - problem.targets
    if problem.ridge is not None:
        gradient = gradient + problem.ridge * beta.astype(np.longdouble)
    eps = problem.epsilon
    left = gradient + np.where(beta > 0.0, eps, -eps)
    right = gradient + np.where(beta >= 0.0, eps, -eps)
    # Shares of merged rows, and what a sum of boxes rounds to.
    inset = 4.0 * EPS * np.maximum(np.abs(problem.lower), np.abs(problem.upper))
    # In boxes that are never felt all betas are small beside the width, and no rounding.
    inset = np.minimum(inset, 4.0 * EPS * np.abs(beta).max(initial=0.0))
    can_fall, can_rise = beta > problem.lower + inset, beta < problem.upper - inset
    down = float(left[can_fall].max(initial=-np.inf))
    up = float(right[can_rise].min(initial=np.inf))
    if problem.total is None:
        violation = max(0.0, down, -up)
        off_sum = 0.0
    else:
        violation = max(0.0, down - up)
        off_sum = abs(float(beta.astype(np.longdouble).sum()) - problem.total)
    used = 0.0 if bias is None else bias
    outside = float(np.maximum(problem.lower - beta, beta - problem.upper).max())
    size = np.abs(beta) @ np.abs(problem.K).max(axis=0, initial=0.0).astype(float)
    if problem.ridge is not None:
        size += float(np.abs(problem.ridge * beta).max(initial=0.0))
    size = problem.error * size + problem.coarse * float(np.abs(beta).sum())
    floor = ULPS * EPS * (size + np.abs(problem.targets).max() + eps + abs(used))
    slope = gradient + used
    if problem.ridge is not None:
        slope = slope - problem.ridge * beta
    return Quality(
        violation,
        float(floor),
        _gap(problem, beta, slope),
        outside,
        off_sum,
        -up,
        -down,
        product.astype(float) + used,
        _objective(problem, beta, product),
    )


def _objective(problem: Dual, beta: FloatArray, product: Any) -> float:
    value = 0.5 * (beta @ product) - problem.targets @ beta
    value += problem.epsilon * np.abs(beta).sum()
    if problem.ridge is not None:
        value += 0.5 * (problem.ridge * beta) @ beta
    return float(value)


def _gap(problem: Dual, beta: FloatArray, slope: Any) -> float:
    """Primal minus dual: for each instance its weighted loss and beta (f - r) + eps |beta|."""
    eps = problem.epsilon
    own = slope * beta + eps * np.abs(beta)
    pull = -np.sign(slope) * np.maximum(np.abs(slope) - eps, 0.0)
    if problem.ridge is None:
        ends = np.where(pull > 0.0, problem.upper, problem.lower)
        ends = np.where(pull == 0.0, np.clip(0.0, problem.lower, problem.upper), ends)
    else:
        own = own + 0.5 * problem.ridge * beta * beta
        step = np.divide(pull, problem.ridge, out=np.zeros_like(pull), where=problem.ridge > 0.0)
        ends = np.clip(step, problem.lower, problem.upper)
    loss = -(slope * ends + eps * np.abs(ends))
    if problem.ridge is not None:
        loss = loss - 0.5 * problem.ridge * ends * ends
    return float((own + loss).sum())


def check_feasible(problem: Dual, found: Quality) -> None:
    """The box to a few bits, the sum to the rounding of the kernel's row sums."""
    ends = np.concatenate([problem.lower, problem.upper])
    size = float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))
    if found.outside > 8.0 * EPS * size:
        raise CaseError(f"beta is {found.outside:.3g} outside a box of size {size:.3g}")
    if found.off_sum > 1e-11 * len(problem.targets) * size:
        raise CaseError(f"sum(beta) is off by {found.off_sum:.3g} with a box of size {size:.3g}")


def gram(kernel: KernelChoice, X: FloatArray, gamma: float) -> LongArray:
    """The kernel matrix of training rows, or what was given as one."""
    if kernel.name == "precomputed":
        return X.astype(np.longdouble)
    with np.errstate(over="ignore", under="ignore"):
        return kernel.evaluate(X, X, gamma)
