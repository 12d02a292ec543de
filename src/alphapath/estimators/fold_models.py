"""One estimator on the training sets of many folds: problems to solve, and fitted estimators back.

Rows are instances in their given order, so a fold is weights on one kernel. What scikit-learn
derives from the training rows is derived from those of each fold: the classes, "balanced" class
weights, and gamma="scale", which means a kernel for each fold.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ..kernels import KernelStore
from ..problem import FloatArray, Problem
from ..search.chain import FoldChain, Limits
from ..search.parents import FULL, Plan, make_plan
from ..solution import Info, Solution
from . import one_vs_one, training
from .base import BaseSVM, RawRows
from .merge_rows import MergedRows

Indices = NDArray[np.intp]
Split = tuple[Indices, Indices]


@dataclass(frozen=True)
class TrainingSet:
    """The rows of one fold: how often each is drawn, the classes there are, the weights c."""

    model: BaseSVM  # unfitted, with the classes and class weights of these rows
    times: FloatArray
    scale: FloatArray
    weights: FloatArray
    codes: NDArray[np.intp]  # the classes present, by their number in all data


@dataclass(frozen=True)
class PairFit:
    """What is kept of the Solution of one problem: its nonzero beta and the values asked for."""

    rows: Indices  # positions among the training rows
    beta: FloatArray
    bias: float
    info: Info
    test_values: FloatArray
    train_values: FloatArray | None


class FoldModels:
    """The problems of every fold, and the fitted estimator of a fold from their solutions.

    Parameters
    ----------
    estimator : BaseSVM
    X, y, sample_weight
        As in its fit.
    splits : sequence of (train, test)
        Row numbers; a training row may be drawn more than once.
    """

    def __init__(
        self,
        estimator: BaseSVM,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        splits: Sequence[Split],
    ) -> None:
        self.model: BaseSVM = clone(estimator)
        self.model._validate_params()
        self.rows = self.model._prepare(X, y, sample_weight, merge=False)
        self.splits = splits
        self.store = KernelStore(self.rows.X, memory_limit=estimator.memory_limit)
        kernel = estimator.kernel
        self.has_own_kernels = estimator.gamma == "scale" and kernel in ("rbf", "poly", "sigmoid")
        if self.has_own_kernels:
            self.store.keep_products()
        # Only its size is used: the problems of a fold are on the kernel of that fold.
        raw: Any = RawRows(self.model._kernel, self.rows.X)
        if not self.has_own_kernels:
            raw = self.store.view(self.model._kernel, tol=estimator.tol)
        self.problems = list(self.model._problems_on(raw, self.rows))
        # Three values a row each: few folds stay, of many only those at work.
        self.training_set = lru_cache(maxsize=64)(self._select)
        self.errors: dict[int, Exception] = {}
        self.codes: dict[int, NDArray[np.intp]] = {}
        for h in range(len(splits)):
            try:
                self.codes[h] = self.training_set(h).codes
            except ValueError as error:
                self.errors[h] = error

    @property
    def n_classes(self) -> int:
        """2 where there are no classes: one problem."""
        return len(self.model.classes_) if self.model._targets == "labels" else 2

    def _select(self, fold: int) -> TrainingSet:
        """The training set of a fold; refuses what fit would refuse."""
        rows, (train, _) = self.rows, self.splits[fold]
        times = np.bincount(train, minlength=rows.weights.size).astype(np.float64)
        drawn = rows.weights * times
        if not drawn.any():
            raise ValueError(f"All {train.size} training rows of this fold have sample_weight 0.")
        model, codes = self.model, np.arange(self.n_classes)
        targets = rows.targets
        if model._targets == "labels":
            is_present = np.bincount(targets[train].astype(np.intp), minlength=codes.size) > 0
            if not is_present.all() or (drawn[train] == 0.0).any():
                model = copy.copy(model)
                model._check_targets(self.model.classes_[targets[train].astype(int)], drawn[train])
                codes = np.flatnonzero(is_present)
                targets = np.searchsorted(codes, targets).clip(max=codes.size - 1).astype(float)
        if getattr(model, "class_weight", None) is None:
            scale = model._weight_scale(targets, drawn)
        else:
            model = copy.copy(model)
            scale = np.zeros_like(drawn)
            scale[train] = model._weight_scale(targets[train], rows.weights[train])
        return TrainingSet(model, times, scale, scale * drawn, codes)

    def make_chains(self, seeding: str, limits: Limits) -> list[FoldChain]:
        """One chain of folds a problem; a fold without one of the pair's classes is not in it."""
        held_out = [np.ones(self.rows.weights.size, dtype=bool) for _ in self.splits]
        for mask, (train, _) in zip(held_out, self.splits, strict=True):
            mask[train] = False
        plans: dict[tuple[int, ...], Plan] = {}
        chains = []
        for p, pair in enumerate(one_vs_one.class_pairs(self.n_classes)):
            folds = tuple(h for h, codes in self.codes.items() if set(pair).issubset(codes))
            if folds not in plans:
                plans[folds] = make_plan(folds, held_out, seeding, wants_full=False)
            chains.append(self._make_chain(p, plans[folds], limits))
        return chains

    def _make_chain(self, p: int, plan: Plan, limits: Limits) -> FoldChain:
        base = self.problems[p]
        is_member = base.weights > 0.0

        def problem_of(fold: int) -> Problem:
            problem: Problem = base
            if fold != FULL:
                problem = base.with_weights(
                    np.where(is_member, self.training_set(fold).weights, 0.0)
                )
            if self.has_own_kernels:
                view = self.store.view(self.kernel_of(fold)[1], tol=self.model.tol)
                problem = problem.with_kernel(view)
            return problem

        return FoldChain(problem_of, plan, limits)

    def kernel_of(self, fold: int) -> tuple[float, Any]:
        """gamma and the kernel of a fold, or of all data."""
        model = self.model
        if fold == FULL or not self.has_own_kernels:
            return model._gamma, model._kernel
        gamma = training.scale_gamma(self.rows.X, self.rows.weights * self.training_set(fold).times)
        return gamma, training.make_kernel(model.kernel, gamma, model.degree, model.coef0)

    def reduce(self, p: int, fold: int, solution: Solution, keep_train: bool) -> PairFit:
        """Keep what the fitted estimator and its scores need."""
        train, test = self.splits[fold]
        own = self.training_set(fold)
        # With two classes left of more, class 1 and not class 0 is the positive one.
        sign = -1.0 if self.n_classes > 2 and own.codes.size == 2 else 1.0
        values = sign * solution.decision_values
        merged = MergedRows(
            None, self.rows.targets, self.rows.weights * own.times, train, self.rows.weights[train]
        )
        is_simple = int(own.times.max()) == 1
        beta = solution.beta[train] if is_simple else merged.spread(solution.beta, own.scale)
        rows = np.flatnonzero(beta)
        return PairFit(
            rows,
            sign * beta[rows],
            sign * solution.bias,
            solution.info,
            values[test],
            values[train] if keep_train else None,
        )

    def fitted(self, fold: int, fits: Sequence[PairFit]) -> BaseSVM:
        """The estimator as its fit on the training rows would have left it."""
        train, _ = self.splits[fold]
        own = self.training_set(fold)
        model = copy.copy(own.model)
        targets = self.rows.targets[train]
        if model._targets == "labels":
            targets = np.searchsorted(own.codes, targets).astype(np.float64)
        model._pack([(fit.rows, fit.beta) for fit in fits], targets)
        model._gamma, model._kernel = self.kernel_of(fold)
        model.intercept_ = np.array([fit.bias for fit in fits])
        model.n_kernel_rows_ = sum(fit.info.n_rows_computed for fit in fits)
        if model.kernel == "precomputed":
            model.support_vectors_ = np.empty((0, 0))
            model.shape_fit_ = (train.size, train.size)
            model.n_features_in_ = train.size
        else:
            model.support_vectors_ = self.rows.X[train[model.support_]]
            model.shape_fit_ = (train.size, self.rows.X.shape[1])
        model._report(
            [fit.info for fit in fits],
            training.Budget(model.tol, model.max_iter, model.time_limit),
        )
        return model


class KnownValues:
    """Takes the place of an estimator's decision values where they are known for the very rows.

    Rows are known by identity: scorers hand on the array they were given.
    """

    def __init__(self, model: BaseSVM, known: Sequence[tuple[Any, FloatArray]]) -> None:
        self.model = model
        self.known = known

    def __call__(self, X: Any) -> FloatArray:
        for rows, values in self.known:
            if X is rows:
                return values.copy()
        return type(self.model)._decision_values(self.model, X)


@contextmanager
def knowing(model: BaseSVM, known: Sequence[tuple[Any, FloatArray]]) -> Iterator[BaseSVM]:
    """`model` with decision values known in advance, one column a problem, inside the context."""
    model.__dict__["_decision_values"] = KnownValues(model, known)
    try:
        yield model
    finally:
        del model.__dict__["_decision_values"]
