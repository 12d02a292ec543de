"""How the folds of cross_validate are solved, by the kind of their model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from ...problem.box_problem import FloatArray
from ...problem.limits import Limits
from ...problem.solution import Info, Status
from ...problem.steps import Steps
from ...search.folds.plan import FEW_INSTANCES, FULL
from ...search.folds.run import MAX_BATCH_VALUES, solve_chains
from ...seeds import native_fold_seeds
from ...solvers.sequence.class_pairs import PairsSolution, solve_class_pairs
from ...solvers.sequence.sequence import Moved, solve_on_kernels, solve_sequence
from .dual import FoldModels, PairFit
from .linear import LinearFolds
from .smooth import SmoothFolds
from .table import FoldTable

#: No row.
NOWHERE = np.empty(0, dtype=np.intp)


class Run(Protocol):
    """The solves of all folds."""

    folds: Any  # as fold_table.Folds

    def fill(self, table: FoldTable, n_jobs: int | None) -> None:
        """Solve every fold and enter it; those that are done are there after an exception."""

    def full_infos(self) -> list[Info]:
        """How the solves on all data went."""


class FoldRun(ABC):
    """A Run that enters one fold after the other."""

    folds: Any

    def fill(self, table: FoldTable, n_jobs: int | None) -> None:
        for h, fits in self.solve(n_jobs):
            table.add(h, fits)

    @abstractmethod
    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, Any]]:
        """Each fold with the fits of its problems; none for a fold that was refused."""

    @abstractmethod
    def full_infos(self) -> list[Info]: ...


class DualRun(FoldRun):
    """The folds of a model that is solved in the dual: chains on shared kernels."""

    def __init__(self, folds: FoldModels, seeding: str, keep_train: bool) -> None:
        self.folds, self.keep_train = folds, keep_train
        model = folds.model
        if seeding == "auto" and folds.is_on_device:
            seeding = "none"  # all folds are solved at the same time
        limits = Limits(model.tol, model.max_iter, model.time_limit)
        self.chains = folds.make_chains(seeding, limits)

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, list[Any]]]:
        def reduce(p: int, h: int, solution: Any) -> Any:
            return self.folds.reduce(p, h, solution, keep_train=self.keep_train)

        n_workers = self.folds.limit_workers(n_jobs)
        for h, fits in solve_chains(self.chains, len(self.folds.splits), reduce, n_workers):
            yield h, list(self.folds.with_values(h, list(fits.values()), self.keep_train))

    def full_infos(self) -> list[Info]:
        infos = [chain.full_info for chain in self.chains]
        return [info for info in infos if info is not None]


class SmoothRun(FoldRun):
    """The folds of a smooth SVM: updates of one Hessian, on one thread."""

    def __init__(self, folds: SmoothFolds, seeding: str, keep_train: bool) -> None:
        self.folds: SmoothFolds = folds
        self.seeding, self.keep_train = seeding, keep_train

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, list[Any]]]:
        return self.folds.solve(self.seeding, self.keep_train)

    def full_infos(self) -> list[Info]:
        return [solution.info for solution in self.folds.full]


class LinearRun(FoldRun):
    """The folds of a LinearSVC: one reading of the data, on one thread."""

    def __init__(self, folds: LinearFolds, keep_train: bool) -> None:
        self.folds: LinearFolds = folds
        self.keep_train = keep_train

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, list[Any]]]:
        return self.folds.solve(self.keep_train)

    def full_infos(self) -> list[Info]:
        return []


# The folds of one problem on few instances: solved in one native call, scored all at once.
#
# Fold by fold, to state such a problem and to enter its solution would take longer than the solve.


class SequenceRun:
    """The folds of a model of one problem, of which only a metric is asked for.

    On one kernel they are one native call. Where folds have kernels of their own, they are solved
    one by one, each on its kernel.

    Parameters
    ----------
    folds : FoldModels
    seeding : {"auto", "none", "greedy"}
    """

    def __init__(self, folds: FoldModels, seeding: str) -> None:
        self.folds = folds
        self.plan = folds.make_plan(tuple(folds.codes), seeding)
        self._full: list[Info] = []

    @staticmethod
    def is_for(folds: FoldModels, seeding: str, n_jobs: int | None) -> bool:
        """Whether folds can be solved so, and are so small that it pays."""
        if folds.has_own_kernels and folds.limit_workers(n_jobs) > 1:
            return False  # workers solve them side by side
        return (
            seeding in ("auto", "none", *native_fold_seeds())
            and folds.n_classes == 2
            and folds.n_rows <= FEW_INSTANCES
            and 2 * folds.n_rows * (len(folds.splits) + 1) <= MAX_BATCH_VALUES
            and not (folds.is_on_device or folds.errors)
            and not any(folds.training_set(h).has_repeats for h in folds.codes)
            and all(test.size for _, test in folds.splits)
            and folds.is_native
        )

    def fill(self, table: FoldTable, n_jobs: int | None) -> None:
        """Enter every fold; after Ctrl-C those that are solved."""
        folds = self.folds
        everybody = list(self.plan.parents)
        order = [FULL] * self.plan.needs_full + everybody
        weights = np.stack(
            [folds.parts.weights if h == FULL else folds.training_set(h).weights for h in order]
        )
        steps = self.plan.as_steps(order)
        tests = [folds.splits[h][1] if h != FULL else NOWHERE for h in order]
        if folds.has_own_kernels:
            solved = self._solve_on_kernels(order, weights, steps, tests)
        else:
            solved = self._solve_together(weights, steps, tests, effective_n_jobs(n_jobs))
        n_before = len(order) - len(everybody)
        self._full = solved.infos[:n_before]
        for info in solved.infos[n_before:]:
            if info.status is not Status.SOLVED:
                folds.warn_unsolved([info])
        done = everybody[: max(len(solved.infos) - n_before, 0)]
        if done:
            columns = {name: column[n_before:] for name, column in solved.columns.items()}
            seeds = [info.seed for info in solved.infos[n_before:]]
            table.add_steps(done, columns, seeds, solved.values, folds.model)
        if solved.is_interrupted:
            raise KeyboardInterrupt

    @property
    def _limits(self) -> Limits:
        model = self.folds.model
        return Limits(model.tol, model.max_iter, model.time_limit)

    def _solve_on_kernels(
        self, order: list[int], weights: FloatArray, steps: Steps, tests: list[Any]
    ) -> Moved:
        folds = self.folds
        folds.choose_kernels([h for h in order if h != FULL])
        return solve_on_kernels(
            folds.problem(0),
            weights,
            steps,
            lambda k: folds.view_of(order[k]),
            tests,
            limits=self._limits,
        )

    def _solve_together(
        self, weights: FloatArray, steps: Steps, tests: list[Any], n_threads: int
    ) -> Moved:
        solved = solve_sequence(
            self.folds.problem(0), weights, steps, limits=self._limits, n_threads=n_threads
        )
        sizes = [test.size for test in tests[: solved.n_solved]]
        rows = np.concatenate([NOWHERE, *tests[: solved.n_solved]])
        values = solved.values_of_parts(rows, sizes, slice(None))
        infos = [solved.info_of(k) for k in range(solved.n_solved)]
        return Moved(solved.columns, infos, values, solved.is_interrupted)

    def full_infos(self) -> list[Info]:
        return self._full


class PairRun(FoldRun):
    """The folds of a model, each pair of classes solved on its own rows.

    On one kernel a pair goes from fold to fold, all pairs in one call. Where folds have kernels of
    their own, one fold comes after the other, each from zero.

    Parameters
    ----------
    folds : FoldModels
        Of pairs that are small.
    seeding : {"auto", "none", "greedy"}
        "greedy" on one kernel only.
    keep_train : bool
        Whether values of the training rows are wanted.
    """

    def __init__(self, folds: FoldModels, seeding: str, keep_train: bool) -> None:
        self.folds, self.keep_train = folds, keep_train
        own = "none" if folds.has_own_kernels else seeding
        self.plan = folds.make_plan(tuple(folds.codes), own)
        self._full: list[Info] = []

    @staticmethod
    def is_for(folds: FoldModels, seeding: str) -> bool:
        """Whether folds can be solved so."""
        seeds = [] if folds.has_own_kernels else native_fold_seeds()
        return (
            folds.parts.are_small
            and seeding in ("auto", "none", *seeds)
            and len(folds.codes) > 0
            and all(codes.size == folds.n_classes for codes in folds.codes.values())
            and not any(folds.training_set(h).has_repeats for h in folds.codes)
        )

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, Any]]:
        n_threads = effective_n_jobs(n_jobs)
        everybody = list(self.plan.parents)
        if self.folds.has_own_kernels:
            for h in everybody:
                yield from self._solve(self.folds.view_of(h), [h], n_threads)
        else:
            order = [FULL] * self.plan.needs_full + everybody
            yield from self._solve(self.folds.whole, order, n_threads)
        for h in self.folds.errors:
            yield h, []

    def _solve(self, view: Any, order: list[int], n_threads: int) -> Iterator[tuple[int, Any]]:
        """Folds, in the order in which they are solved, on one kernel."""
        folds, model = self.folds, self.folds.model
        weights = [
            folds.parts.weights if h == FULL else folds.training_set(h).weights for h in order
        ]
        solved = solve_class_pairs(
            view,
            folds.parts.pairs,
            np.stack(weights),
            self.plan.as_steps(order),
            limits=Limits(model.tol, model.max_iter, model.time_limit),
            n_threads=n_threads,
        )
        if order[0] == FULL:
            self._full = solved.infos(0)
        for k, h in enumerate(order):
            if h != FULL and (solved.n_solved > k).all():
                yield h, folds.with_values(h, self._fits(solved, k, h), self.keep_train)
        if solved.is_interrupted or not solved.is_complete:
            raise KeyboardInterrupt

    def full_infos(self) -> list[Info]:
        return self._full

    def _fits(self, solved: PairsSolution, k: int, fold: int) -> list[PairFit]:
        """What is kept of all pairs on a fold."""
        position_of = self.folds.training_set(fold).position_of
        fits = []
        biases = solved.columns["bias"][:, k].tolist()
        for p, (bias, info) in enumerate(zip(biases, solved.infos(k), strict=True)):
            rows, beta = solved.support_in(p, k)
            fits.append(PairFit(position_of[rows], beta, bias, info, None, None))
        return fits
