"""The formulas of optimality, in one place, as pure functions of (problem, beta, gradient).

Legend: g = (K + D) beta - r with D = diag(ridge); l, u the box; eps the tube; b the bias.
With eps > 0 the objective has a kink at beta_i = 0, hence two slopes:
    right slope u_i = g_i + eps if beta_i >= 0 else g_i - eps      (what raising beta_i costs)
    left slope  d_i = g_i + eps if beta_i > 0  else g_i - eps      (what lowering beta_i saves)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .box_problem import FloatArray, Problem


def slopes(
    problem: Problem, beta: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Left and right slopes of the objective without the constraints."""
    eps = problem.epsilon
    if eps == 0.0:
        return gradient, gradient
    left = gradient + np.where(beta > 0.0, eps, -eps)
    right = gradient + np.where(beta >= 0.0, eps, -eps)
    return left, right


def slope_extremes(problem: Problem, beta: FloatArray, gradient: FloatArray) -> tuple[float, float]:
    """The largest left slope of those that can fall, the least right slope of those that can rise.

    Empty sets give -inf and +inf. Float comparisons with the bounds are exact on purpose: a
    solver sets a bounded beta to the bound itself.
    """
    left, right = slopes(problem, beta, gradient)
    can_fall = beta > problem.lower
    can_rise = beta < problem.upper
    down = float(np.max(left, where=can_fall, initial=-np.inf))
    up = float(np.min(right, where=can_rise, initial=np.inf))
    return down, up


def kkt_violation(problem: Problem, beta: FloatArray, gradient: FloatArray) -> float:
    """The distance from stationarity: LIBSVM's m(beta) - M(beta), at least 0; inf if not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(beta @ gradient):  # no number here is infinite or nan
            return np.inf
    down, up = slope_extremes(problem, beta, gradient)
    if problem.has_equality:
        return max(0.0, down - up)
    return max(0.0, down, -up)


def find_free(problem: Problem, beta: FloatArray) -> NDArray[np.bool_]:
    """Strictly inside the box, and off the kink at 0 where there is a tube."""
    is_free = (beta > problem.lower) & (beta < problem.upper)
    if problem.epsilon > 0.0:
        is_free &= beta != 0.0
    return is_free


def bias_from_gradient(problem: Problem, beta: FloatArray, gradient: FloatArray) -> float:
    """The bias: minus the mean slope of the free instances, or the middle of the allowed range."""
    if not problem.has_equality:
        return 0.0
    is_free = find_free(problem, beta)
    n_free = int(np.count_nonzero(is_free))
    if n_free:
        left, _ = slopes(problem, beta, gradient)
        return -float(np.sum(left, where=is_free)) / n_free
    return middle_bias(*slope_extremes(problem, beta, gradient))


def middle_bias(down: float, up: float) -> float:
    """LIBSVM's rule if no instance is free: the middle of the range that bounded ones allow."""
    if not np.isfinite(down):
        return -up if np.isfinite(up) else 0.0
    if not np.isfinite(up):
        return -down
    return -(down + up) / 2.0


def biases_without(problem: Problem, beta: FloatArray, gradient: FloatArray) -> FloatArray:
    """For each instance the bias without it, where it has no part in w (beta = 0); else nan.

    An instance that has no part in w may still set the bias: where it is the only free one (without
    a tube, one with beta = 0 is inside its box), or where none is free and it bounds the bias.
    """
    bias = bias_from_gradient(problem, beta, gradient)
    found = np.where(beta == 0.0, bias, np.nan)
    if not problem.has_equality:
        return found
    free = np.flatnonzero(find_free(problem, beta))
    left, right = slopes(problem, beta, gradient)
    down = np.where(beta > problem.lower, left, -np.inf)
    up = np.where(beta < problem.upper, right, np.inf)
    decisive = {int(down.argmax()), int(up.argmin())} if free.size == 0 else set(free.tolist())
    for i in decisive if free.size <= 1 else ():
        if beta[i] == 0.0:
            others = np.arange(beta.size) != i
            found[i] = middle_bias(
                float(np.max(down, where=others, initial=-np.inf)),
                float(np.min(up, where=others, initial=np.inf)),
            )
    return found


def objective(problem: Problem, beta: FloatArray, gradient: FloatArray) -> float:
    """The minimised dual: 1/2 beta'(K + D)beta - r'beta + eps |beta|_1."""
    value = 0.5 * float(beta @ (gradient - problem.targets))
    if problem.epsilon > 0.0:
        value += problem.epsilon * float(np.abs(beta).sum())
    return value


def best_response(problem: Problem, slope: FloatArray) -> FloatArray:
    """max over z in [l_i, u_i] of -(slope_i z + eps |z| + D_ii z^2 / 2), one value per instance.

    This is the loss of instance i, weighted, when slope_i = f_i - r_i. Without a ridge the function
    is concave and piecewise linear in z, so the maximum is at l_i, at u_i, or at 0 where the box
    holds 0. A ridge makes the loss quadratic: the maximum is at the clipped Newton step.
    """
    if problem.has_ridge:
        return _best_response_with_ridge(problem, slope)

    def value_at(bound: FloatArray) -> FloatArray:
        rate = slope + problem.epsilon * np.sign(bound) if problem.epsilon > 0.0 else slope
        if np.isinf(bound).any():
            # 0 * inf: a slope of exactly zero costs nothing, however far z may go.
            return -np.multiply(rate, bound, out=np.zeros_like(rate), where=rate != 0.0)
        return -rate * bound

    best = np.maximum(value_at(problem.lower), value_at(problem.upper))
    if problem.epsilon > 0.0:
        # Only a kink at 0 puts the maximum between the ends.
        holds_zero = (problem.lower <= 0.0) & (problem.upper >= 0.0)
        np.maximum(best, 0.0, out=best, where=holds_zero)
    return best


def _best_response_with_ridge(problem: Problem, slope: FloatArray) -> FloatArray:
    eps, ridge = problem.epsilon, problem.ridges
    # The minimiser of slope z + eps |z| + ridge z^2 / 2 without the box: soft thresholding. Where
    # an instance has no ridge, it is the end of the box that the pull points to.
    pull = -np.sign(slope) * np.maximum(np.abs(slope) - eps, 0.0)
    best = np.divide(pull, ridge, out=np.copysign(np.inf, pull), where=ridge > 0.0)
    best[pull == 0.0] = 0.0
    z = np.clip(best, problem.lower, problem.upper)
    finite = np.where(np.isfinite(z), z, 0.0)
    value = -(slope * finite + eps * np.abs(finite) + 0.5 * ridge * finite * finite)
    return np.where(np.isfinite(z), value, np.inf)


def primal_objective(
    problem: Problem, beta: FloatArray, gradient: FloatArray, bias: float
) -> float:
    """1/2 |w|^2 plus the weighted losses at this beta and bias (plus bias times sum(beta))."""
    values = gradient + problem.targets
    if problem.has_ridge:
        values = values - problem.ridges * beta
    losses = best_response(problem, values - problem.targets + bias)
    return 0.5 * float(beta @ values) + float(losses.sum()) + bias * problem.total


def relative_gap(problem: Problem, beta: FloatArray, gradient: FloatArray) -> float:
    """(primal - dual) / (primal + 1): the feasibility gap of Cristianini and Shawe-Taylor."""
    bias = bias_from_gradient(problem, beta, gradient)
    gap = duality_gap(problem, beta, gradient, bias)
    return gap / (primal_objective(problem, beta, gradient, bias) + 1.0)


def duality_gap(problem: Problem, beta: FloatArray, gradient: FloatArray, bias: float) -> float:
    """Primal minus dual for this beta and this bias, summed instance by instance (each >= 0).

    Infinite where an instance with an infinite box and no ridge violates its margin: its primal
    loss is.
    """
    slope = gradient + bias
    own = slope * beta
    if problem.has_ridge:
        # In the slope of the loss, f - r, the ridge has no part; of beta'D beta one half is left.
        ridge = problem.ridges
        own = own - 0.5 * ridge * beta * beta
        slope = slope - ridge * beta
    if problem.epsilon > 0.0:
        own = own + problem.epsilon * np.abs(beta)
    return float(np.sum(own + best_response(problem, slope)))


#: Shares of the width of a box, or of the largest |beta| where that is less: nearer to its end,
#: only rounding keeps a beta off it; the second where no beta is further inside and some are at an
#: end that is not 0. See BoxRounding of cpp/src/problem/quality.hpp.
BOX_ROUNDING, BOX_ROUNDING_OF_ALL = 1e-13, 1e-11


def snap_to_box(beta: Any, lower: Any, upper: Any, xp: Any = np) -> Any:
    """Betas in their boxes, and on a bound or at 0 where only rounding keeps them off.

    One instance that seems free would set the bias, where all are bounded and the bias is the
    middle of an interval. All instances of the problem are along the last axis: rounding is
    relative to the largest of their betas, which may be small beside every box. `xp` is the module
    of the arrays.
    """
    largest = xp.abs(beta).max(axis=-1, keepdims=True)
    width = upper - lower
    size = xp.where(xp.isfinite(width), xp.minimum(width, largest), 0.0)

    def snap(share: float) -> Any:
        margin = share * size
        snapped = xp.where(beta <= lower + margin, lower, beta)
        snapped = xp.where(snapped >= upper - margin, upper, snapped)
        return xp.where(xp.abs(snapped) <= margin, 0.0, snapped)

    loose = snap(BOX_ROUNDING_OF_ALL)
    is_end = (loose == lower) | (loose == upper)
    all_bounded = (is_end | (loose == 0.0)).all(axis=-1, keepdims=True)
    has_bounded = (is_end & (loose != 0.0)).any(axis=-1, keepdims=True)
    return xp.where(all_bounded & has_bounded, loose, snap(BOX_ROUNDING))


def measure_rows(
    beta: Any, gradient: Any, lower: Any, upper: Any, epsilon: float, xp: Any = np
) -> dict[str, Any]:
    """Bias, duality gap, number of free instances and KKT violation of many points, one per row.

    `xp` is the namespace of the arrays; `gradient` is that of the true kernel.
    """
    falling = gradient + xp.where(beta > 0.0, epsilon, -epsilon)
    rising = gradient + xp.where(beta >= 0.0, epsilon, -epsilon)
    may_fall, may_rise = beta > lower, beta < upper
    most_down = xp.where(may_fall, falling, -xp.inf).max(axis=1)
    least_up = xp.where(may_rise, rising, xp.inf).min(axis=1)
    is_free = may_fall & may_rise
    if epsilon > 0.0:
        is_free &= beta != 0.0
    n_free = is_free.sum(axis=1)
    mean = -xp.where(is_free, falling, 0.0).sum(axis=1) / xp.maximum(n_free, 1)
    # LIBSVM's rule if no instance is free: the middle of the range that bounded ones allow.
    has_down, has_up = xp.isfinite(most_down), xp.isfinite(least_up)
    down = xp.where(has_down, most_down, xp.where(has_up, least_up, 0.0))
    up = xp.where(has_up, least_up, down)
    bias = xp.where(n_free > 0, mean, -(down + up) / 2.0)
    slope = gradient + bias[:, None]
    best = xp.maximum(_response(xp, lower, slope, epsilon), _response(xp, upper, slope, epsilon))
    if epsilon > 0.0:
        best = xp.where((lower <= 0.0) & (upper >= 0.0), xp.maximum(best, 0.0), best)
    gap = (slope * beta + epsilon * xp.abs(beta) + best).sum(axis=1)
    return {
        "bias": bias,
        "duality_gap": gap,
        "n_free": n_free,
        # A product with anything that is not finite is not finite.
        "kkt_violation": xp.where(
            xp.isfinite((beta * gradient).sum(axis=1)),
            xp.maximum(most_down - least_up, 0.0),
            xp.inf,
        ),
    }


def _response(xp: Any, z: Any, slope: Any, epsilon: float) -> Any:
    """-(slope z + epsilon |z|), where a slope of exactly 0 costs nothing, however far z may go."""
    rate = slope + epsilon * xp.sign(z)
    return xp.where(rate == 0.0, 0.0, -rate * z)
