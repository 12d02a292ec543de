"""One estimator on the training sets of many folds: problems to solve, and fitted estimators back.

A fold is weights on one kernel; but gamma="scale", derived from the training rows as in
scikit-learn, means a kernel for each fold.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ...estimators.common import one_vs_one
from ...estimators.common.base import BLOCK_VALUES, CACHED_VALUES, BaseSVM
from ...estimators.common.merge_rows import MergedRows
from ...estimators.common.one_vs_one import PairBetas
from ...estimators.common.problems import (
    Budget,
    Parts,
    divide_rows,
    make_store,
    overall_status,
    warn_unsolved,
)
from ...gpu import DeviceStore
from ...kernels.choice import choose_kernel, choose_kernels, uses_gamma
from ...kernels.equal_rows import first_equal
from ...kernels.raw_rows import RawRows
from ...problem.box_problem import FloatArray, Problem
from ...problem.limits import Limits
from ...problem.solution import Info, Solution
from ...search.folds.plan import FULL, Plan, make_plan
from ...search.folds.run import FoldChain
from ...solvers.native import is_rounded
from ...solvers.precision import on_good_view
from .near_ties import EXACT, share_of_ties
from .protocol import Indices, Split
from .training_sets import FoldSets

#: The same as EXACT where kernel values are in float32.
ROUNDED = 2.0**-22

#: Ties of fewer rows, as a share, do not matter where kernel values are in float32.
TIED_SHARE = 0.02


@dataclass(frozen=True)
class PairFit:
    """What is kept of the Solution of one problem: its nonzero beta and the values asked for.

    A problem on a part of the instances has no values until all of its fold are solved.
    """

    rows: Indices  # positions among the training rows
    beta: FloatArray
    bias: float
    info: Info
    test_values: FloatArray | None
    train_values: FloatArray | None


class FoldModels(FoldSets):
    """The problems of every fold, and the fitted estimator of a fold from their solutions.

    Parameters
    ----------
    estimator : BaseSVM
    X, y, sample_weight
        As in its fit.
    splits : sequence of (train, test)
        Row numbers; a training row may be drawn more than once.
    precision : {"auto", "float64"}, default="auto"
        Of the kernel values.
    n_threads : int
        That compute a kernel.
    """

    def __init__(
        self,
        estimator: BaseSVM,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        splits: Sequence[Split],
        precision: Literal["auto", "float64"] = "auto",
        n_threads: int = 1,
    ) -> None:
        model: BaseSVM = clone(estimator)
        model._validate_params()
        super().__init__(model, model._prepare(X, y, sample_weight, merge=False), splits)
        self.store = make_store(
            self.rows.X, estimator.memory_limit, estimator.device, n_threads=n_threads
        )
        self.precision = precision
        self.has_own_kernels = estimator.gamma == "scale" and uses_gamma(estimator.kernel)
        if self.has_own_kernels:
            self.store.keep_products()
        #: The kernel of all data, where all folds are on it.
        self.whole: Any = None if self.has_own_kernels else self._view(self.model._kernel)
        self._set_parts(divide_rows(self.model, self.store, self.rows))

    def _set_parts(self, parts: Parts) -> None:
        self.parts = parts
        self._lock = threading.Lock()
        self._views: dict[int, Any] = {}
        self._kernels: dict[int, tuple[float, Any]] = {}
        #: Problems on all data, by their number, while somebody is at work on their folds.
        self._held: dict[int, Problem] = {}

    def make_plan(self, folds: tuple[int, ...], seeding: str) -> Plan:
        """Where folds begin."""
        return make_plan(folds, self._held_out, seeding, False, self.parts.largest)

    def _held_out(self, folds: Sequence[int]) -> list[NDArray[np.intp]]:
        """The rows that folds do not train on."""
        found = []
        for fold in folds:
            mask = np.ones(self.n_rows, dtype=bool)
            mask[self.splits[fold][0]] = False
            found.append(np.flatnonzero(mask))
        return found

    def make_chains(self, seeding: str, limits: Limits) -> list[FoldChain]:
        """One chain of folds a problem; a fold without one of the pair's classes is not in it."""
        present = {h: set(codes.tolist()) for h, codes in self.codes.items()}
        plans: dict[tuple[int, ...], Plan] = {}
        chains = []
        for p, pair in enumerate(one_vs_one.class_pairs(self.n_classes)):
            folds = tuple(h for h, classes in present.items() if classes.issuperset(pair))
            if folds not in plans:
                plans[folds] = self.make_plan(folds, seeding)
            chains.append(self._make_chain(p, plans[folds], limits))
        return chains

    def _make_chain(self, p: int, plan: Plan, limits: Limits) -> FoldChain:
        return FoldChain(
            partial(self.problem_of, p),
            plan,
            limits,
            shares_kernel=not self.has_own_kernels,
            on_finish=partial(self._held.pop, p, None),
        )

    def problem(self, p: int) -> Problem:
        """Problem `p` (of a pair of classes) on all data; without a kernel where folds have own."""
        if p not in self._held:
            # Of raw rows only the number is used.
            whole = self.whole or RawRows(self.model._kernel, self.rows.X)
            self._held[p] = self.parts.problem(p, whole)
        return self._held[p]

    @property
    def is_native(self) -> bool:
        """Whether sequences of the first problem can be solved in one native call."""
        problem = self.problem(0)
        return problem.has_equality and not problem.has_ridge

    def problem_of(self, p: int, fold: int) -> Problem:
        """Problem `p` with the weights and the kernel of a fold, or FULL."""
        problem = self.problem(p)
        own = self.parts.places[p]
        if fold != FULL:
            weights, is_member = self.training_set(fold).weights[own], problem.weights > 0.0
            problem = problem.with_weights(
                weights if is_member.all() else np.where(is_member, weights, 0)
            )
        if not self.has_own_kernels:
            return problem
        view = self.view_of(fold)
        return problem.with_kernel(view.part(own) if self.parts.is_divided else view)

    def kernel_of(self, fold: int) -> tuple[float, Any]:
        """gamma and the kernel of a fold, or of all data."""
        model = self.model
        if fold == FULL or not self.has_own_kernels:
            return model._gamma, model._kernel
        if fold in self._kernels:
            return self._kernels[fold]
        weights = self.rows.weights * self.training_set(fold).times
        return choose_kernel(model, self.rows.X, weights)

    def choose_kernels(self, folds: Sequence[int]) -> None:
        """Choose the kernels of few folds beforehand, all at once."""
        weights = np.stack([self.rows.weights * self.training_set(h).times for h in folds])
        self._kernels = dict(
            zip(folds, choose_kernels(self.model, self.rows.X, weights), strict=True)
        )

    @property
    def is_on_device(self) -> bool:
        return isinstance(self.store, DeviceStore)

    def view_of(self, fold: int) -> Any:
        """The kernel of a fold, or of all data, where each has its own."""
        with self._lock:
            if fold not in self._views:
                while len(self._views) >= self._n_views:
                    self._views.pop(next(iter(self._views)))
                self._views[fold] = self._make_view(fold)
            return self._views[fold]

    @property
    def _n_views(self) -> int:
        """Kernels that are kept: of the fold at work and, where both fit the memory limit, of the
        one it begins from."""
        return min(2, self._n_at_a_time)

    @cached_property
    def _n_at_a_time(self) -> int:
        """Kernels of folds that fit the memory limit together."""
        if isinstance(self.store, DeviceStore):
            return 1
        return max(1, self.store.room // self.store.work_bytes(self.model.tol))

    def limit_workers(self, n_jobs: int | None) -> int:
        """Threads that work on folds: no more than kernels fit, where each fold has its own."""
        n_workers: int = effective_n_jobs(n_jobs)
        return min(n_workers, self._n_at_a_time) if self.has_own_kernels else n_workers

    def _make_view(self, fold: int) -> Any:
        return self._view(self.kernel_of(fold)[1])

    def _view(self, kernel: Any) -> Any:
        return self.store.view(kernel, precision=self.precision, tol=self.model.tol)

    def reduce(self, p: int, fold: int, solution: Solution, keep_train: bool) -> PairFit:
        """Keep what the fitted estimator and its scores need."""
        members = self.parts.places[p] if self.parts.is_divided else None
        return reduce_solution(self, fold, solution, keep_train, members=members)

    def with_values(
        self, fold: int, fits: Sequence[PairFit], keep_train: bool
    ) -> Sequence[PairFit]:
        """The fits of all problems of a fold, with the values that those on parts lack."""
        if not fits or not self.parts.is_divided:  # none: a fold that was refused
            return fits
        train, test = self.splits[fold]
        own = self.training_set(fold)
        codes = np.searchsorted(own.codes, self.rows.targets)
        betas = PairBetas.join([(train[fit.rows], fit.beta) for fit in fits])
        if own.has_repeats:
            betas = betas.sum_repeats()
        view = self.whole or self.view_of(fold)
        parts = [test, train] if keep_train else [test]
        rows = np.concatenate(parts)
        (found,) = pair_values(view, rows, [betas], codes, own.codes.size, self.model.tol)
        found += np.array([fit.bias for fit in fits])
        test_values = found[: test.size].T
        train_values = found[test.size :].T if keep_train else [None] * len(fits)
        return [
            replace(fit, test_values=test_values[p], train_values=train_values[p])
            for p, fit in enumerate(fits)
        ]

    def fitted(self, fold: int, fits: Sequence[PairFit], *, for_values: bool = False) -> BaseSVM:
        """The estimator as its fit on the training rows would have left it.

        `for_values`: it is only asked for decision values that are known, and for predictions.
        """
        model = self.training_set(fold).model
        if for_values:
            self.warn_unsolved([fit.info for fit in fits])
            return model
        model = copy.copy(model)
        model._gamma, model._kernel = self.kernel_of(fold)
        return complete_model(self, fold, fits, model)

    def has_ties(
        self, fold: int, fits: Sequence[PairFit], rows: Indices, values: FloatArray
    ) -> bool:
        """Whether rounding of these decision values says which of some rows is ahead.

        Values of float32 kernels are off by so much that a few rows are near others in any data.
        """
        if len(fits) != 1 or self.is_on_device:
            return False
        view = self.whole or self.view_of(fold)
        largest = float(np.abs(view.diagonal()).max())
        off, least = EXACT * largest * float(self.training_set(fold).weights.sum()), 0.0
        if is_rounded(view):
            off += ROUNDED * largest * float(np.linalg.norm(fits[0].beta))
            least = TIED_SHARE
        off += EXACT * float(np.abs(values).max(initial=0.0))
        return share_of_ties(self.X_of(fold), rows, values[:, 0], off) > least

    def warn_unsolved(self, infos: Sequence[Info]) -> None:
        """Warn where a problem of a fold was not solved to the tolerance, as fit would."""
        model = self.model
        budget = Budget(model.tol, model.max_iter, model.time_limit)
        worst = max(info.kkt_violation for info in infos)
        warn_unsolved(overall_status(infos), budget, worst)


def reduce_solution(
    sets: FoldSets,
    fold: int,
    solution: Solution,
    keep_train: bool,
    factor: float = 1.0,
    members: Indices | None = None,
) -> PairFit:
    """What is kept of the solution of a fold whose weights are those of `sets` times `factor`.

    `members` are the instances that it is a solution on, None for all.
    """
    train, test = sets.splits[fold]
    own, rows = sets.training_set(fold), sets.rows
    sign = sets.sign_of(fold)
    if own.has_repeats:
        all_beta = solution.beta
        if members is not None:
            all_beta = np.zeros(rows.weights.size)
            all_beta[members] = solution.beta
        weights = rows.weights * own.times
        merged = MergedRows(None, rows.targets, weights, train, rows.weights[train])
        beta = merged.spread(all_beta, factor * own.scale)
        support = np.flatnonzero(beta != 0.0)
        beta = beta[support]
    elif members is not None:
        used = np.flatnonzero(solution.beta != 0.0)
        support, beta = own.position_of[members[used]], solution.beta[used]
    else:
        beta = solution.beta[train]
        support = np.flatnonzero(beta != 0.0)  # numpy finds booleans ten times faster than floats
        beta = beta[support]
    return PairFit(
        support,
        sign * beta,
        sign * solution.bias,
        solution.info,
        sign * solution.decision_values_at(test) if members is None else None,
        sign * solution.decision_values_at(train) if keep_train and members is None else None,
    )


def complete_model(sets: FoldSets, fold: int, fits: Sequence[PairFit], model: BaseSVM) -> BaseSVM:
    """`model`, which has its kernel and classes, with everything else that fit sets."""
    train, _ = sets.splits[fold]
    rows = sets.rows
    targets = rows.targets[train]
    if model._targets == "labels":
        codes = sets.training_set(fold).codes
        targets = np.searchsorted(codes, targets).astype(np.float64)
    model._pack(PairBetas.join([(fit.rows, fit.beta) for fit in fits]), targets)
    model.intercept_ = np.array([fit.bias for fit in fits])
    model.n_kernel_rows_ = sum(fit.info.n_rows_computed for fit in fits)
    if model.kernel == "precomputed":
        model.support_vectors_ = np.empty((0, 0))
        model.shape_fit_ = (train.size, train.size)
        model.n_features_in_ = train.size
    else:
        X = sets.X_of(fold)
        model.support_vectors_ = X[train[model.support_]]
        model.shape_fit_ = (train.size, X.shape[1])
    model._report(
        [fit.info for fit in fits],
        Budget(model.tol, model.max_iter, model.time_limit),
    )
    return model


def pair_values(
    view: Any,
    rows: Indices,
    steps: Sequence[one_vs_one.PairBetas],
    codes: NDArray[Any],
    n_classes: int,
    tol: float,
) -> FloatArray:
    """K beta, without the bias, of shape (n_steps, n_rows, n_pairs).

    Parameters
    ----------
    view : KernelView
        Of all instances.
    rows : array of int
        The instances to evaluate at.
    steps : sequence of PairBetas
        For each step the nonzero beta of all pairs.
    codes : array of shape (n,)
        The class of each instance that is among those.
    n_classes : int
    tol : float
        Slopes may be off by no more, or values in double are taken.
    """
    support, n_support = one_vs_one.group_support(steps, codes, n_classes)
    coefficients = [one_vs_one.fill_coefficients(step, codes, n_classes, support) for step in steps]
    n_pairs = len(one_vs_one.class_pairs(n_classes))
    longest = max(float(step.lengths(n_pairs).max()) for step in steps)
    view = on_good_view(view, longest, tol)
    # Pair after pair, as they are combined and counted; equal rows once, whose products would
    # else be rounded by where they stand.
    block = max(1, min(BLOCK_VALUES // max(1, support.size), CACHED_VALUES // n_pairs))
    firsts = find_equal(view, rows, support, block)
    distinct = rows if firsts is None else rows[firsts == np.arange(rows.size)]
    values = np.empty((len(steps), n_pairs, distinct.size))
    for first in range(0, distinct.size, block):
        here = slice(first, first + block)
        K = view.block(distinct[here], support)
        for k, dual_coef in enumerate(coefficients):
            values[k, :, here] = one_vs_one.combine_pairs(K, n_support, dual_coef).T
    if firsts is not None:
        values = values[:, :, np.unique(firsts, return_inverse=True)[1]]
    return values.transpose(0, 2, 1)


def find_equal(view: Any, rows: Indices, columns: NDArray[Any], block: int) -> Indices | None:
    """For each row the place of the first whose kernel values are the same; None where no two are.

    By the rows of X where the kernel is a function of them: then equal rows have equal values.
    """
    if view.kernel.native_function() is not None:
        return first_equal(view._X[rows])
    K = np.concatenate(
        [view.block(rows[k : k + block], columns) for k in range(0, rows.size, block)]
    )
    return first_equal(K)
