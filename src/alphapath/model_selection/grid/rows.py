"""The rows of a search: checked once, their kernels in one store, every fold weights on them.

Without preprocessing all folds share one set of rows. Preprocessing is fitted on the training rows
of a fold only, so each fold then has rows of its own: its training rows, followed by its test rows.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ...estimators.common.base import BaseSVM
from ...estimators.common.problems import Parts, divide, make_store
from ...kernels import Kernel
from ...kernels.choice import choose_kernel
from ...problem.box_problem import FloatArray
from ..folds.preprocessing import SearchData, transform_fold
from ..folds.protocol import Split
from ..folds.training_sets import FoldSets
from .candidates import Model, identify


class SearchRows:
    """One set of rows with its store, and what the models of a search need on its folds.

    Parameters
    ----------
    model : BaseSVM
        Any model of the search: the data are checked as it would.
    X, y, sample_weight
        As in its fit.
    splits : sequence of (train, test)
        The folds on these rows.
    memory_limit
        Of the store; None for the default.
    head : Pipeline or None
        The fitted preprocessing that made X.
    """

    def __init__(
        self,
        model: BaseSVM,
        X: Any,
        y: Any,
        sample_weight: Any,
        splits: Sequence[Split],
        memory_limit: Any,
        head: Pipeline | None = None,
    ) -> None:
        self.model = copy.copy(model)
        self.rows = self.model._prepare(X, y, sample_weight, merge=False)
        self.splits = splits
        self.head = head
        self.store = make_store(self.rows.X, memory_limit, model.device)
        self._sets: dict[Any, FoldSets] = {}
        self._parts: dict[Any, Parts] = {}
        self.weights = lru_cache(maxsize=256)(self._weights)

    def keep_products(self) -> None:
        """Distances or dot products are kept: several kernels are made of them."""
        self.store.keep_products()

    def sets(self, model: Model) -> FoldSets:
        """The training sets of the folds; they depend on the class weights only."""
        key = identify(model.params.get("class_weight"))
        if key not in self._sets:
            self._sets[key] = FoldSets(self.as_prepared(model), self.rows, self.splits)
        return self._sets[key]

    def parts(self, model: Model) -> Parts:
        """The problems, one a pair of classes; their weights are those of no fold."""
        key = tuple(identify(model.params.get(name)) for name in ("epsilon", "nu", "tol"))
        if key not in self._parts:
            plain = self.as_prepared(model)
            if hasattr(plain, "class_weight"):
                plain.class_weight = None
            targets = self.rows.targets
            weights = plain._weight_scale(targets, self.rows.weights) * self.rows.weights
            self._parts[key] = divide(plain, self.store, targets, weights)
        return self._parts[key]

    def _weights(self, sets: FoldSets, fold: int, pair: tuple[int, int] | None) -> FloatArray:
        """The weights of a fold for C = 1; only of the rows of a pair of classes, if given."""
        weights = sets.training_set(fold).weights
        if pair is None:
            return weights
        return np.where(np.isin(self.rows.targets, pair), weights, 0.0)

    def as_prepared(self, model: Model, base: BaseSVM | None = None) -> BaseSVM:
        """A copy of `base` (the prepared model) with the parameters of `model`."""
        base = self.model if base is None else base
        prepared = base.__new__(type(base))  # copy.copy asks scikit-learn for its version
        prepared.__dict__.update(base.__dict__, **model.params)
        return prepared

    def kernel_of(self, model: Model, fold: int) -> tuple[float, Kernel]:
        """gamma and the kernel of a fold: "scale" is derived from its training rows."""
        svm = model.estimator
        weights = self.rows.weights
        if model.has_own_kernels:
            weights = weights * self.sets(model).training_set(fold).times
        return choose_kernel(svm, self.rows.X, weights)


def shared_rows(data: SearchData, model: BaseSVM) -> SearchRows:
    """The rows of all folds, without preprocessing."""
    weights = data.sample_weight()
    return SearchRows(model, data.X, data.y, weights, data.splits, data.memory_limit)


def fold_rows(
    data: SearchData, head: Pipeline, last: tuple[str, Any], model: BaseSVM, fold: int
) -> SearchRows:
    """The rows of one fold, behind their preprocessing, with their store."""
    found = transform_fold(data, head, last, model, fold)
    rows = (found.X, found.y, found.sample_weight)
    return SearchRows(model, *rows, [found.split], data.memory_limit, found.head)
