"""Correct in double precision what a factor in single precision answered.

    (D_S^-1 + A_S A_S') beta = t_S,    theta = A_S'beta

Given: a factor of a nearby matrix, and its beta. The residual goes through the rows of A in double,
never through their products; the factor turns it into a correction, which leaves a small share of
the error. How the corrections shrink tells what is left; where they do not, the products are
computed again in double.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..problem import FloatArray
from .design_rows import DesignRows, Indices, combine_all, values_at
from .smooth_instance import InstanceHessian

#: What may be left of the error of theta, as a share of its length.
LEFT = 1e-10
#: A correction must be this many times smaller than the one before.
LEAST_RATE = 4.0
MAX_CORRECTIONS = 12


@dataclass
class DualSystem:
    """The system of one problem, and its answer so far: instances and their beta."""

    rows: DesignRows
    hessian: InstanceHessian
    goals: FloatArray  # t
    answer: tuple[Indices, FloatArray]
    is_final: bool  # whether the answer is worth correcting

    def correct(self, values: FloatArray) -> None:
        """Take the residual at A theta = `values` (of all instances) into account."""
        who, beta = self.answer
        residual = np.zeros(self.rows.n)
        residual[who] = self.goals[who] - values[who] - beta / self.hessian.current[who]
        _, change = self.hessian.solve_dual(residual)
        self.answer = who, beta + change

    def solve_in_double(self) -> None:
        self.hessian.refresh()
        self.answer = self.hessian.solve_newton(self.goals)


def combine_refined(systems: Sequence[DualSystem]) -> list[FloatArray]:
    """theta of each system, corrected where its factor is in single precision and it is final."""
    thetas = _combine(systems)
    rough = [k for k, system in enumerate(systems) if system.is_final and system.hessian.is_single]
    moved = {k: float(np.linalg.norm(thetas[k])) for k in rough}
    for _ in range(MAX_CORRECTIONS):
        if not rough:
            break
        running = [systems[k] for k in rough]
        used = np.unique(np.concatenate([system.answer[0] for system in running]))
        for system, values in zip(
            running, values_at(running[0].rows, used, [thetas[k] for k in rough]), strict=True
        ):
            system.correct(values)
        rest = []
        for k, theta in zip(rough, _combine(running), strict=True):
            before, moved[k] = moved[k], float(np.linalg.norm(theta - thetas[k]))
            thetas[k] = theta
            enough = LEFT * float(np.linalg.norm(theta))
            # The next correction will be as much smaller than this one as this was than the last.
            if moved[k] <= enough or moved[k] ** 2 <= enough * before:
                continue
            if not LEAST_RATE * moved[k] <= before:
                systems[k].solve_in_double()
                (thetas[k],) = _combine([systems[k]])
            else:
                rest.append(k)
        rough = rest
    return thetas


def _combine(systems: Sequence[DualSystem]) -> list[FloatArray]:
    return combine_all([system.rows for system in systems], [system.answer for system in systems])
