"""Bias, objective, duality gap and violation of a batch of points, one row a problem."""

from __future__ import annotations

from typing import Any

from .state import BatchState


def measure_quality(state: BatchState, which: Any, gradient: Any) -> dict[str, Any]:
    """The columns of a sequence's solution for some problems.

    `gradient` is that of the true kernel at the members of these problems.
    """
    xp, epsilon = state.xp, state.family.epsilon
    beta, lower, upper = state.beta[which], state.lower[which], state.upper[which]
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
    # LIBSVM's rule where no instance is free: the middle of what the bounded ones allow.
    has_down, has_up = xp.isfinite(most_down), xp.isfinite(least_up)
    down = xp.where(has_down, most_down, xp.where(has_up, least_up, 0.0))
    up = xp.where(has_up, least_up, down)
    bias = xp.where(n_free > 0, mean, -(down + up) / 2.0)
    slope = gradient + bias[:, None]
    best = xp.maximum(response(xp, lower, slope, epsilon), response(xp, upper, slope, epsilon))
    if epsilon > 0.0:
        best = xp.where((lower <= 0.0) & (upper >= 0.0), xp.maximum(best, 0.0), best)
    gap = (slope * beta + epsilon * xp.abs(beta) + best).sum(axis=1)
    return {
        "bias": bias,
        "objective": state.objectives(which, gradient),
        "duality_gap": gap,
        "n_free": n_free,
        # A product with anything that is not finite is not finite.
        "kkt_violation": xp.where(
            xp.isfinite((beta * gradient).sum(axis=1)),
            xp.maximum(most_down - least_up, 0.0),
            xp.inf,
        ),
    }


def response(xp: Any, z: Any, slope: Any, epsilon: float) -> Any:
    """-(slope z + epsilon |z|), where a slope of exactly 0 costs nothing, however far z may go."""
    rate = slope + epsilon * xp.sign(z)
    return xp.where(rate == 0.0, 0.0, -rate * z)
