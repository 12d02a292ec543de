"""Leave-one-out of a smooth SVM: every model without one instance, from the model with all.

Only instances with a loss change a linear model by leaving. Each refit is a few systems of the
order of the states that change, on the instances that are near enough to change theirs at all
(cpp/src/smooth/leave_one_out.cpp); G between these is one product. The exact screen: theta moves
by q in the norm of H, so |f_j - f0_j| <= q sqrt(G_jj), and instance j keeps its state while q is
below its *reach*, its distance from the kink over sqrt(G_jj). What does not settle is left to
Newton-Armijo.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...problem.box_problem import FloatArray
from ...problem.solution import Info, MarginSolution
from ..native import single_threaded
from . import newton as smooth_newton
from .design_rows import DesignRows, Indices
from .responses import Answers, make_answers
from .states import curvatures_of, distance_to_kink, goals_of, states_of
from .strategy import ChosenHessian

#: Up to this many instances all of them are near.
SMALL = 512
#: G is computed among at most this many instances (128 MiB).
MAX_NEAR = 4096
#: Flops a second of products of blocks, over those of a pass over the data.
SPEED = 8.0
#: Refits whose rows of G are held at once.
BLOCK = 1024
#: A removal that leaves less than this share of its diagonal has lost its digits.
LEAST_SHARE = 1e-7
DONE, OUT_OF_REACH, UNSETTLED, STOPPED = range(4)


@dataclass
class LeftOut:
    """Decision values at the requested instances; nan if the run was stopped before them.

    `n_iter` counts linear systems, `n_changes` the states that differ from the full model's,
    `refits` has the outcome of each instance that went to Newton-Armijo.
    """

    values: FloatArray
    n_iter: NDArray[np.int64]
    n_changes: NDArray[np.int64]
    refits: list[Info] = field(default_factory=list)
    reason: BaseException | None = None


def leave_out(
    full: MarginSolution,
    instances: Indices,
    *,
    strategy: str = "auto",
    drops_features: bool = False,
    tol: float = 1e-8,
    deadline: float | None = None,
) -> LeftOut:
    """Decision values at `instances`, each by the model trained without that instance.

    Parameters
    ----------
    full : MarginSolution
        The optimum with all instances.
    instances : array of int
    strategy : {"auto", "feature", "instance", "none"}
        How G is built; "none" solves every problem from zero.
    drops_features : bool
        Whether feature i leaves with instance i (X is a kernel matrix).
    deadline : float or None
        Value of time.monotonic() at which to stop.
    """
    run = _Removal(full, instances, strategy, drops_features, tol)
    try:
        with single_threaded():
            if strategy != "none":
                run.remove_all(deadline)
            run.refit_rest(deadline)
    except (KeyboardInterrupt, TimeoutError) as stop:
        run.result.reason = stop
    return run.result


class _Removal:
    """One run; `result` holds what is done at any time."""

    def __init__(
        self,
        full: MarginSolution,
        instances: Indices,
        strategy: str,
        drops_features: bool,
        tol: float,
    ) -> None:
        self.full, self.problem = full, full.problem
        self.strategy, self.drops_features, self.tol = strategy, drops_features, tol
        self.instances = instances
        m = instances.size
        self.result = LeftOut(
            np.full(m, np.nan), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        )
        self.states = states_of(self.problem, full.decision_values)
        if not drops_features:  # without a loss, an instance is not missed
            is_free = self.states[instances] == 0.0
            self.result.values[is_free] = full.decision_values[instances[is_free]]

    def remove_all(self, deadline: float | None) -> None:
        """Rounds with ever more near instances, while that is cheaper than Newton steps."""
        pending = np.flatnonzero(np.isnan(self.result.values))
        if pending.size == 0:
            return
        facts = _Facts(self.full, self.states, self.strategy)
        reach = facts.first_reach(self.instances, self.drops_features)
        pending = pending[facts.is_safe(self.instances[pending])]
        for share in (0.9, 0.9, 1.0):
            if pending.size == 0:
                return
            n_near = facts.count_near(1.3 * float(np.quantile(reach[pending], share)))
            if not facts.is_worth(n_near, pending.size):
                return
            near = facts.gather_near(n_near)
            for first in range(0, pending.size, BLOCK):
                chosen = pending[first : first + BLOCK]
                reach[chosen] = self._remove_block(facts, near, n_near, chosen)
                _check_time(deadline)
            pending = pending[np.isnan(self.result.values[pending])]
            pending = pending[reach[pending] >= facts.sorted_reach[n_near - 1]]
            if n_near in (MAX_NEAR, facts.order.size):
                return

    def _remove_block(
        self, facts: _Facts, near: _core.NearInstances, n_near: int, chosen: Indices
    ) -> FloatArray:
        """Enter the values of some removals; returns how far theta moved in each."""
        who = self.instances[chosen]
        features = feature_answers = None
        if self.drops_features:
            own, with_instance = facts.answers.feature_facts(who)
            features = np.stack([self.full.coef[who], own, with_instance])
            feature_answers = facts.answers.feature_block(who, facts.order[:n_near])
        found = _core.remove_each(
            near,
            facts.places(n_near)[who],
            facts.removal_facts(who),
            facts.answers.block(who, facts.order[:n_near]),
            features,
            feature_answers,
        )
        self.result.values[chosen] = found.values
        self.result.n_iter[chosen] += np.array(found.n_solves)
        self.result.n_changes[chosen] = found.n_changes
        if STOPPED in found.statuses:
            raise KeyboardInterrupt
        return np.asarray(found.reach)

    def refit_rest(self, deadline: float | None) -> None:
        """Newton-Armijo from the full model (from zero for "none") for what is left."""
        mask = np.zeros(self.problem.n, dtype=bool)
        start = None if self.strategy == "none" else self.full
        for k in np.flatnonzero(np.isnan(self.result.values)):
            i = self.instances[k]
            mask[i] = True
            problem = self.problem.with_held_out(mask, mask if self.drops_features else None)
            mask[i] = False
            found = smooth_newton.solve(problem, start, strategy=self.strategy, tol=self.tol)
            self.result.values[k] = found.decision_values[i]
            self.result.n_iter[k] += found.info.n_iter
            self.result.refits.append(found.info)
            _check_time(deadline)


class _Facts:
    """The full model as the native code wants it: instances sorted by reach, and G."""

    def __init__(self, full: MarginSolution, states: FloatArray, strategy: str) -> None:
        problem = full.problem
        self.problem, self.full, self.states = problem, full, states
        self.weights = 2.0 * problem.weights
        self.goals = goals_of(problem, states)
        self.active_weights = curvatures_of(problem, states)
        hessian = full.workspace
        if not isinstance(hessian, ChosenHessian):
            raise TypeError("The full model was not made by the smooth_newton solver.")
        self.answers: Answers = make_answers(
            DesignRows(problem), self.active_weights, hessian, strategy
        )
        norms = np.sqrt(self.answers.squared_norms)
        distance = distance_to_kink(problem, full.decision_values)
        self.reach = np.divide(distance, norms, out=np.full(problem.n, np.inf), where=norms > 0.0)
        used = np.flatnonzero(problem.weights)
        self.order = used[np.argsort(self.reach[used], kind="stable")]
        self.sorted_reach = self.reach[self.order]

    def first_reach(self, instances: Indices, drops_features: bool) -> FloatArray:
        """Distance that theta moves if no other instance changes its state: a first guess."""
        change = self.answers.removal[instances]
        short = self.goals[instances] - self.full.decision_values[instances]
        pull = np.divide(short, change, out=np.zeros_like(short), where=change < 0.0)
        reach = np.abs(pull) * np.sqrt(self.answers.squared_norms[instances])
        if drops_features:
            for first in range(0, instances.size, BLOCK):
                part = slice(first, first + BLOCK)
                own, _ = self.answers.feature_facts(instances[part])
                alone = np.abs(self.full.coef[instances[part]]) / np.sqrt(np.maximum(own, 1e-12))
                reach[part] = 1.5 * np.maximum(reach[part], alone)
        return reach

    def is_safe(self, instances: Indices) -> NDArray[np.bool_]:
        """Whether rounding has left the diagonal of the removal its digits."""
        share = -self.answers.removal[instances] * self.active_weights[instances]
        return np.asarray((share > LEAST_SHARE) | (self.active_weights[instances] == 0.0))

    def count_near(self, reach: float) -> int:
        n = self.order.size
        if n <= SMALL:
            return n
        return int(np.clip(np.searchsorted(self.sorted_reach, reach), 64, min(n, MAX_NEAR)))

    def is_worth(self, n_near: int, n_removals: int) -> bool:
        """Whether G among the near instances costs less than Newton steps for each removal."""
        d = float(self.problem.d)
        # Newton steps pass over the data; products of blocks run several times as fast.
        passes = 4.0 * n_removals * self.problem.n * d
        return n_near <= SMALL or n_near * d * (n_near + 2.0 * n_removals) <= SPEED * passes

    def gather_near(self, n_near: int) -> _core.NearInstances:
        near = self.order[:n_near]
        problem = self.problem
        sign = np.where(self.states[near] != 0.0, -1.0, 1.0)
        change = self.answers.squared_norms[near] + sign / self.weights[near]
        change = np.where(sign < 0.0, self.answers.removal[near], change)
        facts = np.stack(
            [
                self.sorted_reach[:n_near],
                self.full.decision_values[near],
                problem.targets[near],
                self.states[near],
                self.weights[near],
                change,
            ]
        )
        is_two_sided = problem.loss != "squared_hinge"
        answers = np.ascontiguousarray(self.answers.block(near, near))
        return _core.NearInstances(
            facts, answers, problem.width, is_two_sided, n_near == self.order.size
        )

    def places(self, n_near: int) -> NDArray[np.int64]:
        places = np.full(self.problem.n, -1, dtype=np.int64)
        places[self.order[:n_near]] = np.arange(n_near)
        return places

    def removal_facts(self, who: Indices) -> FloatArray:
        return np.stack(
            [
                self.full.decision_values[who],
                self.goals[who],
                self.active_weights[who],
                self.answers.removal[who],
            ]
        )


def _check_time(deadline: float | None) -> None:
    if deadline is not None and time.monotonic() > deadline:
        raise TimeoutError("The time limit was reached before all instances were left out.")
