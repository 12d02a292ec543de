"""Pegasos: stochastic subgradient descent on the hinge loss, with bounds on the margins.

    minimise  lam / 2 |theta|^2 + mean loss,      lam = 1 / sum_i c_i

Step t is 1 / (lam t) on a sample of rows, followed by a projection into the ball of radius
1 / sqrt(lam) (Shalev-Shwartz, Singer and Srebro). Bounds on the change in the margin save most
dot products (Algorithm 3 of Guillory and Bilmes); they are paused while they save too few.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ... import _core
from ...errors import SolverMismatch
from ...problem.margin_problem import MarginProblem
from ...problem.solution import Info, MarginSolution, Status
from .gap import measure_point
from .rows import make_task, read_rows, require_margins

#: Width of the Huber loss whose slopes give the dual point of the gap.
SLOPE_WIDTH = 0.1


@dataclass(frozen=True)
class Sampling:
    """How a run of Pegasos samples: rows per step, steps, and the random seed."""

    n_sampled: int = 100
    n_steps: int = 10_000
    seed: int = 0


def solve(
    problem: MarginProblem,
    sampling: Sampling | None = None,
    *,
    bounds: bool = True,
    time_limit: float | None = None,
    rows: _core.MarginRows | None = None,
) -> MarginSolution:
    """Run `sampling.n_steps` steps from 0; for the hinge loss without a free offset."""
    require_margins(problem, "pegasos")
    if problem.loss != "hinge" or problem.offset == "free":
        raise SolverMismatch(
            f"The pegasos solver is for the hinge loss with a penalised offset or none, but the "
            f"loss is {problem.loss} and the offset {problem.offset}; use the newton solver."
        )
    began = time.perf_counter()
    sampling = sampling or Sampling()
    rows = read_rows(problem.X) if rows is None else rows
    options = _core.PegasosOptions()
    options.lam = 1.0 / float(problem.weights.sum())
    options.has_bias = problem.offset == "penalised"
    options.n_sampled, options.n_steps = sampling.n_sampled, sampling.n_steps
    options.seed, options.uses_bounds = sampling.seed, bounds
    found = _core.run_pegasos(make_task(problem, rows), options, time_limit or 0.0)
    point = measure_point(problem, rows, found.theta, width=SLOPE_WIDTH, wants_values=True)
    info = Info(
        status=Status(found.status),
        objective=point.objective,
        duality_gap=point.gap,
        kkt_violation=point.gradient_norm,
        n_iter=found.n_steps,
        n_rows_computed=found.n_examined,
        solve_time=time.perf_counter() - began,
    )
    coef, bias = found.theta[:-1], float(found.theta[-1])
    return MarginSolution(problem, coef, bias, point.values, info, found)
