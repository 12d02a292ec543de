"""Never trust, certify: the quality of a linear model, recomputed from the raw data.

With beta_i = -c_i loss'(f_i) Fenchel's inequality is tight for every instance, so what is left of
the duality gap is 1/2 |theta - A'beta|^2, half the squared norm of the gradient. It bounds what
the objective can still lose, and |theta - A'beta| the distance to the best theta. At the kink of
the hinge that beta is one of many: there the dual variables of a solver can be given instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .errors import InfeasibleStart
from .margin_problem import MarginProblem
from .problem import FloatArray


@dataclass(frozen=True)
class MarginCertificate:
    """Objective and stationarity of one (w, b).

    Parameters
    ----------
    objective : float
        1/2 |theta|^2 plus the weighted losses.
    gradient_norm : float
        Euclidean norm of the gradient with respect to w and b, features that are dropped left out.
    duality_gap : float
        Half the squared gradient norm; where the offset is free, its slope leaves the dual
        infeasible, and the gap is infinite unless that slope is 0. With dual variables given: the
        objective less that of the dual.
    n_support : int
        Instances with a loss that is not flat.
    """

    objective: float
    gradient_norm: float
    duality_gap: float
    n_support: int


def certify_margin(
    problem: MarginProblem, coef: ArrayLike, bias: float, alpha: ArrayLike | None = None
) -> MarginCertificate:
    """Recompute the quality of (coef, bias) from raw data.

    Parameters
    ----------
    problem : MarginProblem
    coef : array of shape (d,)
    bias : float
    alpha : array of shape (n,) or None
        Dual variables 0 <= alpha_i <= c_i of the hinge loss with a penalised offset or none. The
        gap is then that of both; gradient and support are those of alpha.

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
    objective = float(problem.weights @ problem.losses(values))
    if alpha is None:
        beta = -problem.weights * problem.slopes(values)
    else:
        beta = problem.targets * _check_alpha(problem, alpha)
    gradient = w - np.asarray(problem.X.T @ beta, dtype=np.float64)
    if problem.dropped is not None:
        gradient[problem.dropped] = 0.0
    is_penalised = problem.offset == "penalised"
    bias_slope = 0.0 if problem.offset == "none" else is_penalised * bias - float(beta.sum())
    squared_norm = float(gradient @ gradient)
    objective += 0.5 * (float(w @ w) + is_penalised * bias**2)
    if alpha is not None:
        theta = np.append(w - gradient, is_penalised * bias - bias_slope)
        gap = objective - (float(np.sum(alpha)) - 0.5 * float(theta @ theta))
    elif is_penalised:
        gap = 0.5 * (squared_norm + bias_slope**2)
    else:
        gap = 0.5 * squared_norm if bias_slope == 0.0 else np.inf
    return MarginCertificate(
        objective=objective,
        gradient_norm=float(np.sqrt(squared_norm + bias_slope**2)),
        duality_gap=gap,
        n_support=int(np.count_nonzero(beta)),
    )


def _check_alpha(problem: MarginProblem, alpha: ArrayLike) -> FloatArray:
    if problem.loss != "hinge" or problem.offset == "free" or problem.dropped is not None:
        raise InfeasibleStart(
            f"Dual variables are for the hinge loss on all features with a penalised offset or "
            f"none, but the loss is {problem.loss} and the offset {problem.offset}."
        )
    checked = np.asarray(alpha, dtype=np.float64)
    if checked.shape != (problem.n,) or not ((checked >= 0) & (checked <= problem.weights)).all():
        raise InfeasibleStart(
            f"alpha has shape {checked.shape}; it must have ({problem.n},), with every value "
            f"between 0 and the weight of its row."
        )
    return checked
