"""MarginSolution: a linear model as a solver returns it, from which the next solve can start."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .box_problem import FloatArray, freeze
from .margin_problem import MarginProblem
from .solution import Info


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """(w, b) with its decision values on all instances, and how the solve went.

    Parameters
    ----------
    problem : MarginProblem
    coef : array of shape (d,)
    bias : float
    decision_values : array of shape (n,)
        X w + b on all instances, so held-out values are there.
    info : Info
        `kkt_violation` is the norm of the gradient, `duality_gap` bounds how far the objective is
        from the optimum.
    workspace : object
        Private to the algorithm that made it; never interpreted by others.
    alpha : array of shape (n,) or None
        Dual variables that certify the gap, where the model alone does not.
    """

    problem: MarginProblem
    coef: FloatArray
    bias: float
    decision_values: FloatArray
    info: Info
    workspace: object = field(default=None, repr=False)
    alpha: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef", freeze(self.coef, "coef"))
        object.__setattr__(self, "decision_values", freeze(self.decision_values, "decision_values"))

    def with_seed(self, name: str, seconds: float = 0.0) -> MarginSolution:
        """The same solution, with what it began from on record."""
        return replace(self, info=replace(self.info, seed=name, seed_time=seconds))
