"""Never trust, certify: the quality of a beta, recomputed from the raw data without a solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InfeasibleStart
from . import optimality
from .box_problem import FloatArray, Problem
from .margin_problem import MarginProblem

#: Kernel values held at once while K beta is recomputed (32 MiB of doubles).
BLOCK_VALUES = 1 << 22
#: What the rounding of K beta may come to, at worst.
LOST_AT_MOST = 1e-9

#: Widths of the Huber losses whose slopes are tried at the kink of the hinge.
WIDTHS = 10.0 ** np.arange(0.0, -10.0, -1.0)
#: How far from the kink a margin may be whose dual variable is fitted, how many at most, and the
#: rounds that a fit may take.
KINKS, MOST_FITTED, MOST_ROUNDS = (1e-1, 1e-2, 1e-3, 1e-5, 1e-7), 300, 100
#: Features up to which a system of their size is solved.
MOST_FEATURES = 500
#: A gap relative to the objective that needs no better point of the dual.
GOOD_ENOUGH = 1e-9


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
        The quantity that LIBSVM's stopping rule bounds.
    box_violation : float
        The largest distance of any beta from its box.
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
    """Recompute the quality of `beta` from the raw data.

    Parameters
    ----------
    problem : Problem
    beta : array of shape (n,)
    bias : float or None
        The bias used in predictions; None uses the one that follows from beta.

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


# Never trust, certify: the quality of a linear model, recomputed from the raw data.
#
# Every point of the dual bounds how far an objective is from the optimum. With f* the conjugate
# loss,
#
#     1/2 |theta|^2 + sum_i c_i loss(f_i)  -  [-sum_i (c_i loss)*(-beta_i) - 1/2 |A'beta|^2]  >=  0
#
# for every beta in its box (and sum(beta) = 0 where the offset is free). With beta_i = -c_i
# loss'(f_i) Fenchel's inequality is tight for every instance, and what is left is 1/2 |theta -
# A'beta|^2, half the squared norm of the gradient. Where the offset is free its slope leaves that
# beta infeasible: the larger side of it is scaled down. At the kink of the hinge that beta is one
# of many: the best that is found there counts, or the dual variables of a solver, where they are
# given.


@dataclass(frozen=True)
class MarginCertificate:
    """Objective and stationarity of one (w, b).

    Parameters
    ----------
    objective : float
        1/2 |theta|^2 plus the weighted losses.
    gradient_norm : float
        Euclidean norm of the gradient with respect to w and b, excluding dropped features.
    duality_gap : float
        The objective minus that of a dual point: no model has an objective that is lower by more
        than this.
    n_support : int
        Number of instances at which the loss is not flat.
    """

    objective: float
    gradient_norm: float
    duality_gap: float
    n_support: int

    @property
    def relative_gap(self) -> float:
        """duality_gap / objective, which `tol` of a LinearSVC bounds; 0 where both are 0."""
        return self.duality_gap / self.objective if self.objective else 0.0

    def __str__(self) -> str:
        rows = (
            ("objective", f"{self.objective:.10g}"),
            ("duality gap", f"{self.duality_gap:.3e}"),
            ("gradient norm", f"{self.gradient_norm:.3e}"),
            ("support vectors", str(self.n_support)),
        )
        return "\n".join(f"{name:<28}{value:>18}" for name, value in rows)


def certify_margin(
    problem: MarginProblem, coef: ArrayLike, bias: float, alpha: ArrayLike | None = None
) -> MarginCertificate:
    """Recompute the quality of (coef, bias) from the raw data.

    Parameters
    ----------
    problem : MarginProblem
    coef : array of shape (d,)
    bias : float
    alpha : array of shape (n,) or None
        Dual variables of a margin loss: alpha_i >= 0 and, except for the squared hinge, at most
        c_i. The gap is then that between model and alpha; gradient and support are those of alpha.

    Examples
    --------
    >>> problem = MarginProblem(np.eye(2), [1.0, -1.0], [0.5, 0.5], offset="none")
    >>> certify_margin(problem, [0.5, -0.5], 0.0).duality_gap
    0.0
    """
    w = np.asarray(coef, dtype=np.float64)
    if w.shape != (problem.d,):
        raise InfeasibleStart(f"coef has shape {w.shape}; the problem needs ({problem.d},).")
    if problem.dropped is not None and w[problem.dropped].any():
        raise InfeasibleStart("coef is not 0 on the dropped features; it must be 0 there.")
    if problem.offset == "none" and bias != 0.0:
        raise InfeasibleStart(f"bias is {bias}; a problem without an offset needs 0.")
    with np.errstate(over="ignore", invalid="ignore"):
        values = problem.decision_values(w, bias)
    if not np.isfinite(values).all():
        i = int(np.argmin(np.isfinite(values)))
        raise InfeasibleStart(
            f"The decision value of row {i} is {values[i]}; only what is finite can be certified. "
            f"Scale the features."
        )
    is_penalised = problem.offset == "penalised"
    with np.errstate(over="ignore", invalid="ignore"):
        objective = float(problem.weights @ problem.losses(values))
        objective += 0.5 * float(w @ w + np.square(is_penalised * np.float64(bias)))
    if not np.isfinite(objective):
        raise InfeasibleStart(
            f"The objective is {objective}; only what is finite can be certified. Scale the "
            f"features."
        )
    if alpha is None:
        beta = -problem.weights * problem.slopes(values)
    else:
        beta = problem.targets * _check_alpha(problem, alpha)
    gradient = w - _combine(problem, beta)
    bias_slope = 0.0 if problem.offset == "none" else is_penalised * bias - float(beta.sum())
    squared_norm = float(gradient @ gradient) + bias_slope**2
    gap = objective  # that of beta = 0
    if alpha is None and problem.loss != "hinge" and problem.offset != "free":
        gap = min(gap, 0.5 * squared_norm)
    points = _dual_points(problem, values, (w, bias)) if alpha is None else iter((beta,))
    while gap > GOOD_ENOUGH * objective and (point := next(points, None)) is not None:
        dual = dual_objective(problem, balance(problem, point))
        gap = min(gap, max(objective - dual, 0.0))
    return MarginCertificate(
        objective=objective,
        gradient_norm=float(np.sqrt(squared_norm)),
        duality_gap=gap,
        n_support=int(np.count_nonzero(beta)),
    )


def tighten(
    problem: MarginProblem,
    model: tuple[FloatArray, float],
    found: MarginCertificate,
    alpha: FloatArray | None,
) -> MarginCertificate:
    """The certificate of `model`, with the gap to `alpha` if that is feasible and smaller."""
    if alpha is None or alpha.shape != (problem.n,):
        return found
    beta = problem.targets * np.clip(alpha, 0.0, _upper_ends(problem))
    other = found.objective - dual_objective(problem, balance(problem, beta))
    return replace(found, duality_gap=min(found.duality_gap, max(other, 0.0)))


def dual_objective(problem: MarginProblem, beta: FloatArray) -> float:
    """The objective of the dual at a feasible beta, which no objective of the primal is below."""
    size = np.abs(beta)
    used = size > 0.0
    c, size = problem.weights[used], size[used]
    if problem.loss == "squared_epsilon_insensitive":
        value = float(problem.targets[used] @ beta[used] - problem.width * size.sum())
        value -= 0.25 * float(np.sum(size * (size / c)))
    elif problem.loss == "squared_hinge":
        value = float(size.sum()) - 0.25 * float(np.sum(size * (size / c)))
    else:  # the hinge is the Huber loss of width 0
        value = float(size.sum()) + problem.width * float(np.sum(size * (1.0 - size / c)))
    u = _combine(problem, beta)
    value -= 0.5 * float(u @ u)
    if problem.offset == "penalised":
        value -= 0.5 * float(beta.sum()) ** 2
    return value


def balance(problem: MarginProblem, beta: FloatArray) -> FloatArray:
    """`beta`, its larger side scaled down where the offset is free, so that its sum is 0."""
    if problem.offset != "free":
        return beta
    up, down = float(beta[beta > 0.0].sum()), -float(beta[beta < 0.0].sum())
    if up == down:
        return beta
    if min(up, down) == 0.0:
        return np.zeros_like(beta)
    return np.where((beta > 0.0) == (up > down), beta * (min(up, down) / max(up, down)), beta)


def _combine(problem: MarginProblem, beta: FloatArray) -> FloatArray:
    """X'beta, without the features that are dropped."""
    u: FloatArray = np.asarray(problem.X.T @ beta, dtype=np.float64)
    if problem.dropped is not None:
        u[problem.dropped] = 0.0
    return u


def _dual_points(
    problem: MarginProblem, values: FloatArray, model: tuple[FloatArray, float]
) -> Iterator[FloatArray]:
    """Points of the dual that fit the model, from the cheapest on."""
    if problem.loss != "hinge":
        beta = -problem.weights * problem.slopes(values)
        yield beta
        n_fitted = int(np.count_nonzero(beta))
        if n_fitted and min(n_fitted, problem.d) <= MOST_FEATURES:
            for _ in range(2):
                beta = _fit_parabola(problem, beta, values, model)
                yield beta
    if problem.loss not in ("hinge", "huber"):
        return
    # Next to the edge of a narrow parabola, as at the kink, slopes say little.
    y, c = problem.targets, problem.weights
    short = 1.0 - y * values
    for width in WIDTHS:
        yield y * c * np.clip(0.5 + short / (2.0 * width), 0.0, 1.0)
    n_before = -1
    for far in KINKS:
        is_kink = (np.abs(short) <= far) & (c > 0.0)
        n_fitted = int(np.count_nonzero(is_kink))
        if 0 < n_fitted <= MOST_FITTED and n_fitted != n_before:
            yield _fit_kink(problem, np.where(short > 0.0, y * c, 0.0), is_kink, model)
        n_before = n_fitted


def _gradient_columns(
    problem: MarginProblem, chosen: NDArray[np.bool_], beta: FloatArray, model: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The chosen rows with the offset, what A'beta lacks of theta, and the penalty of each."""
    w, bias = model
    rows = problem.X[chosen]
    rows = np.asarray(rows.toarray() if problem.is_sparse else rows, dtype=np.float64)
    lacks = w - _combine(problem, beta)
    penalty = np.ones(problem.d)
    if problem.dropped is not None:
        rows = np.where(problem.dropped, 0.0, rows)
    if problem.offset != "none":
        is_penalised = float(problem.offset == "penalised")
        rows = np.column_stack([rows, np.ones(rows.shape[0])])
        lacks = np.append(lacks, is_penalised * bias - beta.sum())
        penalty = np.append(penalty, is_penalised)
    return rows, lacks, penalty


def _fit_parabola(
    problem: MarginProblem, beta: FloatArray, values: FloatArray, model: tuple[FloatArray, float]
) -> FloatArray:
    """`beta` with a step to the best dual values of the rows on the parabola.

    Where margins are large numbers their rounding, times the curvature, is all that is left in
    beta. Its correction Q^-1 A z solves (P + A'Q^-1 A) z = theta - A'beta, Q = 1 / curvature.
    """
    size = np.abs(beta)
    is_top = size >= problem.weights if problem.loss == "huber" else np.zeros(size.size, bool)
    chosen = (size > 0.0) & ~is_top
    if not chosen.any():
        return beta
    rows, lacks, penalty = _gradient_columns(problem, chosen, beta, model)
    curvature = problem.weights[chosen] * (0.5 / problem.width if problem.loss == "huber" else 2.0)
    if len(rows) <= problem.d:
        near = 1.0 / np.sqrt(np.maximum(penalty, 1e-12))  # a free offset has next to no slope
        A = np.vstack([rows.T * near[:, None], np.diag(1.0 / np.sqrt(curvature))])
        wanted = np.append(lacks * near, np.zeros(len(rows)))
        change = np.linalg.lstsq(A, wanted, rcond=None)[0]
    else:
        R = np.linalg.qr(np.vstack([rows * np.sqrt(curvature)[:, None], np.diag(penalty)]))[1]
        system = R.T @ R
        z = np.linalg.lstsq(system, lacks, rcond=None)[0]
        for _ in range(2):
            product = rows.T @ (curvature * (rows @ z)) + penalty * z
            z += np.linalg.lstsq(system, lacks - product, rcond=None)[0]
        change = curvature * (rows @ z)
    fitted = beta.copy()
    fitted[chosen] += change
    top = problem.weights if problem.loss == "huber" else np.inf
    sign = np.sign(beta)
    return sign * np.clip(sign * fitted, 0.0, top)


def _fit_kink(
    problem: MarginProblem,
    beta: FloatArray,
    is_kink: NDArray[np.bool_],
    model: tuple[FloatArray, float],
) -> FloatArray:
    """`beta` with the values at the kink that bring A'beta closest to theta."""
    y, c = problem.targets[is_kink], problem.weights[is_kink]
    beta = np.where(is_kink, 0.0, beta)
    rows, wanted, _ = _gradient_columns(problem, is_kink, beta, model)
    columns = rows.T * (y * c)
    Q, R = np.linalg.qr(columns)
    beta[is_kink] = y * c * _fit_shares(R, Q.T @ wanted)
    return beta


def _fit_shares(A: FloatArray, b: FloatArray) -> FloatArray:
    """x in [0, 1] that brings A x close to b: least squares with bounds, for a few rounds."""
    x: FloatArray = np.clip(np.linalg.lstsq(A, b, rcond=None)[0], 0.0, 1.0)
    is_free = (x > 0.0) & (x < 1.0)
    for _ in range(MOST_ROUNDS):
        if is_free.any():
            rest = b - A[:, ~is_free] @ x[~is_free]
            step = np.linalg.lstsq(A[:, is_free], rest, rcond=None)[0] - x[is_free]
            ends = np.where(step > 0.0, 1.0, 0.0) - x[is_free]
            lengths = np.divide(ends, step, out=np.ones_like(step), where=step != 0.0)
            length = min(1.0, float(lengths.min()))
            x[is_free] = np.clip(x[is_free] + length * step, 0.0, 1.0)
            if length < 1.0:
                is_free[np.flatnonzero(is_free)[lengths <= length]] = False
                continue
        slope = A.T @ (b - A @ x)
        pull = np.where(is_free, 0.0, np.where(x > 0.5, -slope, slope))
        if not pull.max(initial=0.0) > 1e-12 * np.abs(slope).max(initial=0.0):
            break
        is_free[np.argmax(pull)] = True
    return x


def _upper_ends(problem: MarginProblem) -> FloatArray:
    """The largest dual variable of each instance."""
    if problem.loss == "squared_hinge":
        return np.where(problem.weights > 0.0, np.inf, 0.0)
    return problem.weights


def _check_alpha(problem: MarginProblem, alpha: ArrayLike) -> FloatArray:
    if problem.loss == "squared_epsilon_insensitive":
        raise InfeasibleStart(
            "Dual variables are for a margin loss, but the loss is squared_epsilon_insensitive."
        )
    checked = np.asarray(alpha, dtype=np.float64)
    upper = _upper_ends(problem)
    if checked.shape != (problem.n,) or not ((checked >= 0) & (checked <= upper)).all():
        raise InfeasibleStart(
            f"alpha has shape {checked.shape}; it must have ({problem.n},), with every value "
            f"between 0 and the weight of its row."
        )
    return checked
