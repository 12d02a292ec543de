"""A sequence of problems on one kernel, solved at the same time.

These are the steps of solvers/sequence on a device: all start at once, since there is room for all.
Steps that are not solved soon wait for their parents (the same weights at a smaller C) and continue
from them if that is better than their current point. See smo.cu.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..interrupt import is_wanted
from ..problem.box_problem import FloatArray
from ..problem.limits import Limits
from ..problem.optimality import measure_rows, snap_to_box
from ..problem.solution import Status
from .free_set import solve_free_set
from .state import BatchState, Family, to_host
from .store import DeviceView

#: Rounds between two looks at how far the problems are.
ROUNDS = 8
#: Iterations inside a working set, an instance of it.
INNER = 2
#: Rounds in which all problems are worked on.
COMMON_ROUNDS = 96
#: Rounds of a problem after these, before its free set is solved exactly, and again after as many.
FREE_SET_ROUNDS = 16
#: Looks without progress before rounding is taken to have stopped a problem.
PATIENCE = 100
#: A fall of the objective by less than this share of it is rounding, not progress.
OBJECTIVE_ROUNDING = 1e-10
#: Problems whose objectives are summed at a time.
PART = 128
#: Maximum number of gradients recomputed because of float32 kernel values.
REFINEMENTS = 3
#: Iterating stops at this share of the tolerance: what float32 values may add has room then.
TOL_SHARE = 0.9

#: Numbers of the seeds, as the native code gives them.
COLD, KEEP, SCALE = int(_core.Seed.cold), int(_core.Seed.keep), int(_core.Seed.scale)


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows of the weights, factors, and the step that warm-starts each step (-1: none)."""

    rows: NDArray[np.int64]
    factors: FloatArray
    parents: NDArray[np.int64]

    def part(self, index: NDArray[np.int64]) -> Plan:
        """A plan of some consecutive steps; parents that are not among them are dropped."""
        parents = self.parents[index] - index[0]
        return Plan(self.rows[index], self.factors[index], np.where(parents >= 0, parents, -1))


class BatchSolver:
    """Runs one batch on the kernel of a DeviceView."""

    def __init__(
        self,
        view: DeviceView,
        family: Family,
        plan: Plan,
        limits: Limits,
        start: FloatArray | None = None,
    ) -> None:
        self.matrix, self.family, self.plan, self.limits = view.matrix, family, plan, limits
        self.xp = view.matrix.xp
        self.state = BatchState(self.xp, family, plan.rows, plan.factors)
        self.engine = view.store.engine_type(self.state)
        n = len(plan.rows)
        self.status = np.full(n, int(Status.INTERRUPTED))
        self.seeds = np.full(n, COLD)
        self.least_violation, self.least_objective = np.full(n, np.inf), np.full(n, np.inf)
        self.n_looks = np.zeros(n, dtype=np.int64)
        self.n_rounds = np.zeros(n, dtype=np.int64)
        self.n_solves = np.zeros(n, dtype=np.int64)
        self.patience = np.full(n, FREE_SET_ROUNDS)
        self.is_done = np.zeros(n, dtype=bool)
        self.solve_time = np.zeros(n)
        self.begin = time.perf_counter()
        self.start = start
        self.is_interrupted = self.is_out_of_time = False

    def run(self) -> dict[str, Any]:
        """The columns of all steps; after Ctrl-C or a limit, those before the first unsolved."""
        active = np.arange(len(self.plan.rows), dtype=np.int32)
        self._set_gradients(active)
        for _ in range(1 + REFINEMENTS):
            try:
                self._descend(active)
            except KeyboardInterrupt:
                self.is_interrupted = True
            columns = self._measure()
            # Where float32 values were too rough, the gradient is corrected and solving goes on.
            is_off = columns["kkt_violation"] > self.limits.tol
            active = np.flatnonzero(is_off & (self.status == int(Status.SOLVED))).astype(np.int32)
            if self.is_interrupted or self.is_out_of_time:
                self.is_done[active] = False
                self.status[active] = int(Status.TIME_LIMIT)
                return self._with_counts(columns)
            if active.size == 0:
                break
            self._go_on_from(active, columns["gradient"])
        self.status[active] = int(Status.STALLED)
        return self._with_counts(columns)

    def _descend(self, active: NDArray[np.int32]) -> None:
        unsolved, n_rounds = active, 0
        while unsolved.size:
            if is_wanted():
                raise KeyboardInterrupt
            self._rounds(active)
            n_rounds += ROUNDS
            self._look(active)
            unsolved = unsolved[~self.is_done[unsolved]]
            active = active[~self.is_done[active]]
            if n_rounds >= COMMON_ROUNDS:
                ready = unsolved[~self._is_waiting(unsolved)]
                for p in ready[~np.isin(ready, active)]:
                    self._go_on_from_parent(int(p), int(self.plan.parents[p]))
                active = ready
                self._solve_free_sets(active)
            limit = self.limits.time_limit
            if unsolved.size and limit is not None and time.perf_counter() - self.begin >= limit:
                self.is_out_of_time = True
                self.status[~self.is_done] = int(Status.TIME_LIMIT)
                return

    def _go_on_from(self, which: NDArray[np.int32], gradient: FloatArray) -> None:
        for p in which:
            self.state.gradient[int(p)] = self.state.take(int(p), self.xp.asarray(gradient[p]))
        self.is_done[which] = False
        self.least_violation[which] = self.least_objective[which] = np.inf
        self.n_looks[which] = 0

    # -- rounds

    def _rounds(self, active: NDArray[np.int32]) -> None:
        tol = TOL_SHARE * self.limits.tol
        for _ in range(ROUNDS):
            self.engine.select(active, tol)
            for group, rows in self._row_groups(active):
                self.engine.solve(group, rows, self.matrix.diagonal, tol, INNER * self.state.size)
                self.engine.update(group, rows)

    def _solve_free_sets(self, active: NDArray[np.int32]) -> None:
        """Exact steps for problems that take long; rarer for those that they do not help."""
        if self.matrix.full is None:
            return
        self.n_rounds[active] += ROUNDS
        for p in active[self.n_rounds[active] >= self.patience[active]]:
            is_better = solve_free_set(self.engine, self.matrix, int(p))
            self.n_solves[p] += is_better
            self.n_rounds[p] = 0
            if not is_better:
                self.patience[p] *= 2

    def _row_groups(self, active: NDArray[np.int32]) -> Any:
        """Problems whose rows are held together, and where the rows of each working set are."""
        state, xp, matrix = self.state, self.xp, self.matrix
        if matrix.full is not None:
            yield active, matrix.full  # the rows are where the columns are
            return
        for first in range(0, active.size, self._group_size()):
            group = active[first : first + self._group_size()]
            index = xp.asarray(group)
            columns = state.columns[state.weighting[index][:, None], state.working[index]]
            wanted, where = xp.unique(columns.ravel(), return_inverse=True)
            state.row_of[index] = where.reshape(columns.shape).astype(np.int32)
            yield group, matrix.float_rows(wanted)

    def _group_size(self) -> int:
        return max(1, self.matrix.row_capacity // self.state.size)

    def _look(self, active: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of the active problems that are finished now, one way or the other."""
        violation = to_host(self.state.violation)[active]
        is_better = self._makes_progress(active, violation)
        self.n_looks[active] = np.where(is_better, 0, self.n_looks[active] + 1)
        is_solved = violation <= TOL_SHARE * self.limits.tol
        ready = active[is_solved]
        is_stuck = self.n_looks[active] > PATIENCE
        is_over = np.zeros(active.size, dtype=bool)
        if self.limits.max_iter >= 0:
            is_over = to_host(self.state.n_iter)[active] >= self.limits.max_iter
        stuck = active[is_stuck & ~is_solved]
        over = active[is_over & ~is_solved & ~is_stuck]
        self.status[ready] = int(Status.SOLVED)
        self.status[stuck] = int(Status.STALLED)
        self.status[over] = int(Status.ITERATION_LIMIT)
        found = np.concatenate([ready, stuck, over])
        self.is_done[found] = True
        self.solve_time[found] = time.perf_counter() - self.begin
        return found

    def _makes_progress(
        self, active: NDArray[np.int32], violation: FloatArray
    ) -> NDArray[np.bool_]:
        """Whether the violation or the objective is clearly less than ever before.

        The largest violation of many rows may rest for thousands of rounds while the objective
        falls in each of them: alone it does not tell slow progress from rounding.
        """
        parts = np.array_split(active, -(-active.size // PART))
        objective = np.concatenate(
            [to_host(self.state.objectives(p, self.state.gradient[p])) for p in parts]
        )
        least = self.least_objective[active]
        is_lower = np.isinf(least) | (least - objective > OBJECTIVE_ROUNDING * np.abs(least))
        self.least_objective[active] = np.where(is_lower, objective, least)
        is_closer = violation < 0.9 * self.least_violation[active]
        self.least_violation[active] = np.where(is_closer, violation, self.least_violation[active])
        return np.asarray(is_lower | is_closer)

    # -- gradients and starts

    def _products(self, which: NDArray[np.int32]) -> Any:
        """K beta on all instances."""
        betas = self.xp.stack([self.state.spread(int(p)) for p in which])
        return self.matrix.multiply(betas)

    def _set_gradients(self, which: NDArray[np.int32]) -> None:
        """Gradients at the start; beta is 0 but for problems with a sum."""
        gradient = -self.xp.asarray(self.family.targets)
        if self.start is not None:
            for p in which:
                self.state.beta[int(p)] = self.state.take(int(p), self.xp.asarray(self.start))
        if self.start is not None or self.family.total_share != 0.0:
            gradient = gradient + self._products(which)
        rows = self.xp.broadcast_to(gradient, (which.size, self.matrix.n))
        for p, row in zip(which, rows, strict=True):
            self.state.gradient[int(p)] = self.state.take(int(p), row)

    def _is_waiting(self, which: NDArray[np.int32]) -> NDArray[np.bool_]:
        parents = self.plan.parents[which]
        return np.asarray((parents >= 0) & ~self.is_done[parents])

    def _go_on_from_parent(self, p: int, parent: int) -> None:
        """Along C: beta grows with its box, or stays where no bound was felt. Only where the
        objective is lower there than at p's own point."""
        state, xp = self.state, self.xp
        factor = float(state.factors[p] / state.factors[parent])
        beta, lower, upper = state.beta[parent], state.lower[parent], state.upper[parent]
        is_low, is_high = (beta == lower) & (beta != 0.0), (beta == upper) & (beta != 0.0)
        targets = state.take(p, xp.asarray(self.family.targets))
        seed, start, gradient = KEEP, beta, state.gradient[parent]
        if factor < 1.0 or state.totals[p] != 0.0 or bool((is_low | is_high).any()):
            grown = xp.where(is_low, state.lower[p], factor * beta)
            seed, start = SCALE, xp.where(is_high, state.upper[p], grown)
            gradient = factor * (gradient + targets) - targets

        def objective(beta: Any, gradient: Any) -> float:
            smooth = beta @ (gradient - targets) / 2.0
            return float(smooth + self.family.epsilon * xp.abs(beta).sum())

        if objective(start, gradient) < objective(state.beta[p], state.gradient[p]):
            state.beta[p], state.gradient[p] = start, gradient
            self.seeds[p] = seed

    # -- what is returned

    def _measure(self) -> dict[str, Any]:
        """Every point with its gradient on all instances, and its quality, in double."""
        columns: dict[str, list[Any]] = {}
        which = np.arange(len(self.plan.rows), dtype=np.int32)
        for part in np.array_split(which, -(-len(which) // PART)):
            lower, upper = self.state.lower[part], self.state.upper[part]
            self.state.beta[part] = snap_to_box(self.state.beta[part], lower, upper, self.xp)
            product = self._products(part)
            product -= self.xp.asarray(self.family.targets)
            members = self.xp.stack(
                [self.state.take(int(p), row) for p, row in zip(part, product, strict=True)]
            )
            beta, epsilon = self.state.beta[part], self.family.epsilon
            found = measure_rows(beta, members, lower, upper, epsilon, self.xp)
            found["objective"] = self.state.objectives(part, members)
            found["beta"] = self.xp.stack([self.state.spread(int(p)) for p in part])
            found["gradient"] = product
            for name, values in found.items():
                columns.setdefault(name, []).append(to_host(values))
        return {name: np.concatenate(parts) for name, parts in columns.items()}

    def _with_counts(self, columns: dict[str, Any]) -> dict[str, Any]:
        n = len(self.plan.rows)
        columns |= {
            "status": self.status.astype(np.float64),
            "seed": self.seeds.astype(np.float64),
            "n_iter": to_host(self.state.n_iter),
            "n_free_set_solves": self.n_solves,
            "n_bound_hits": np.zeros(n, dtype=np.int64),
            "n_refreshes": np.zeros(n, dtype=np.int64),
            "seed_time": np.zeros(n),
            "solve_time": self.solve_time,
        }
        if self.is_interrupted:
            n = int(np.argmin(np.append(self.is_done, False)))
        return {name: values[:n] for name, values in columns.items()}


def parents_along_c(
    rows: NDArray[np.int64], factors: FloatArray, parents: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Parents that a device uses: steps of the same weights at a smaller factor."""
    return np.array(
        [
            parent if parent >= 0 and rows[parent] == row and factors[parent] <= factor else -1
            for row, factor, parent in zip(rows, factors, parents, strict=True)
        ],
        dtype=np.int64,
    )
