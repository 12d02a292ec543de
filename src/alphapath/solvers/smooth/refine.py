"""Correct in double precision what a factor in single precision answered.

    (D_S^-1 + A_S A_S') beta = t_S,    theta = A_S'beta

Given: a factor of a nearby matrix, and its beta. The residual goes through the rows of A in double,
never through their products; the factor turns it into a correction, which leaves a small share of
the error. How the corrections shrink tells what is left; where they do not, the products are
computed again in double.

States that were found by rough products may be wrong for instances next to the kink. Once theta is
precise enough, those of the known instances are looked at again, and the system is that of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem
from .design_rows import DesignRows, Indices, combine_all, values_at
from .instance_hessian import InstanceHessian
from .states import curvatures_of, goals_of, states_of

#: What may be left of the error of theta, as a share of its length.
LEFT = 1e-10
#: A correction must be this many times smaller than the one before.
LEAST_RATE = 4.0
#: Corrections of one system, and changes of its states.
MAX_CORRECTIONS, MAX_RESTATED = 20, 3


@dataclass
class DualSystem:
    """The system of one problem at some states, and its answer so far: instances and their beta."""

    problem: MarginProblem
    rows: DesignRows
    hessian: InstanceHessian
    states: FloatArray
    answer: tuple[Indices, FloatArray]
    is_settled: bool  # whether the states are the answer's own on the known instances
    is_refined: bool  # whether the answer is worth corrections
    n_restated: int = 0

    def looked_at(self) -> Indices:
        """Instances whose values are wanted."""
        return self.hessian.products.known if self.is_settled else self.answer[0]

    def correct(self, values: FloatArray) -> None:
        """Take the residual at A theta = `values` into account."""
        who, beta = self.answer
        goals = goals_of(self.problem, self.states)
        residual = np.zeros(self.rows.n)
        residual[who] = goals[who] - values[who] - beta / self.hessian.current[who]
        _, change = self.hessian.solve_dual(residual)
        self.answer = who, beta + change

    def restate(self, values: FloatArray) -> bool:
        """Go to the states that the known instances have at these values, if they are others."""
        if not self.is_settled or self.n_restated == MAX_RESTATED:
            return False
        known = self.hessian.products.known
        states = np.zeros(self.rows.n)
        states[known] = states_of(self.problem, values)[known]
        if (states == self.states).all():
            return False
        self.n_restated += 1
        self.states = states
        self.hessian.move(curvatures_of(self.problem, states))
        self.solve()
        return True

    def solve(self) -> None:
        self.answer = self.hessian.solve_newton(goals_of(self.problem, self.states))

    def solve_in_double(self) -> None:
        self.hessian.refresh()
        self.solve()


@dataclass
class _Refinement:
    """A system with its theta, and what is known of them."""

    system: DualSystem
    theta: FloatArray
    moved: float  # length of the last move of theta, from the first answer on
    is_near: bool = False  # whether theta is precise enough to tell the states
    is_enough: bool = False  # whether it needs no other correction

    def look(self, values: FloatArray) -> bool:
        """Correct the answer at A theta = `values`; whether theta is to be combined again.

        However small its corrections are, a system ends only when a precise theta has its states.
        """
        if self.is_near and self.system.restate(values):
            self.is_near = self.is_enough = False
            self.moved = np.inf
            return True
        if not self.is_enough:
            self.system.correct(values)
        return not self.is_enough

    def move(self, theta: FloatArray) -> bool:
        """Take the corrected theta; whether there is more to do."""
        length = float(np.linalg.norm(theta))
        is_first = self.moved == np.inf
        before, self.moved = self.moved, float(np.linalg.norm(theta - self.theta))
        self.theta = theta
        if is_first:
            self.moved = length
            return True
        self.is_near = True
        self.is_enough = _is_enough(self.moved, before, LEFT * length)
        if self.is_enough or LEAST_RATE * self.moved <= before:
            return self.system.is_settled or not self.is_enough
        self.system.solve_in_double()
        (self.theta,) = _combine([self.system])
        return False


def combine_refined(systems: Sequence[DualSystem]) -> list[FloatArray]:
    """theta of each system, refined where that is asked for and its factor is a rough one."""
    thetas = _combine(systems)
    courses = {
        k: _Refinement(one, thetas[k], float(np.linalg.norm(thetas[k])))
        for k, one in enumerate(systems)
        if one.is_refined and one.hessian.is_single
    }
    running = list(courses.values())
    for _ in range(MAX_CORRECTIONS):
        if not running:
            break
        used = np.unique(np.concatenate([one.system.looked_at() for one in running]))
        values = values_at(running[0].system.rows, used, [one.theta for one in running])
        running = [one for one, own in zip(running, values, strict=True) if one.look(own)]
        moved = _combine([one.system for one in running])
        running = [one for one, theta in zip(running, moved, strict=True) if one.move(theta)]
    for k, one in courses.items():
        thetas[k] = one.theta
    return thetas


def _is_enough(moved: float, before: float, left: float) -> bool:
    """The next move will be as much smaller than this one as this was than the one before."""
    return moved <= left or moved * moved <= left * before


def _combine(systems: Sequence[DualSystem]) -> list[FloatArray]:
    if not systems:
        return []
    return combine_all([system.rows for system in systems], [system.answer for system in systems])
