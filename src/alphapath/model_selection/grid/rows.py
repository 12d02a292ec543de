"""The rows of a search: checked once, their kernels in one store, every fold weights on them.

Without preprocessing all folds share one set of rows. Preprocessing is fitted on the training rows
of a fold only, so each fold then has rows of its own: its training rows, followed by its test rows.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params, _num_samples

from ...estimators.common.base import BaseSVM
from ...estimators.common.problems import Parts, divide, make_store
from ...estimators.registry import last_step
from ...gpu import DeviceStore
from ...kernels import Kernel, parse_memory_limit
from ...kernels.choice import GAMMA_KERNELS, choose_gamma, make_kernel
from ...kernels.policy import row_bytes
from ...kernels.store import Shelf
from ...problem.box_problem import FloatArray
from ..folds.training_sets import FoldSets, Split
from .candidates import Model, identify

#: Matrices that the rows of a fold with preprocessing may hold at a time: products and kernels.
N_MATRICES = 4

#: Bytes that the rows of all folds with preprocessing may take together, at most the memory limit,
#: for them to be kept; else all kernels of a fold are run before the next fold.
MAX_KEPT_BYTES = 1 << 30


@dataclass(frozen=True)
class SearchData:
    """What was given to fit: rows, targets, its other parameters, and the folds.

    `estimator` is the one that was given: it says whose parameters they are.
    """

    X: Any
    y: Any
    fit_params: Mapping[str, Any]
    splits: Sequence[Split]
    memory_limit: Any
    estimator: Any = None

    def fold_bytes(self, fold: int) -> int:
        """Bytes that the rows of a fold behind its preprocessing may take, with their kernels."""
        n = sum(part.size for part in self.splits[fold])
        return min(N_MATRICES * n * row_bytes(n, "float64"), parse_memory_limit(self.memory_limit))

    @property
    def kept_bytes(self) -> int:
        """What the rows of all folds take where all of them are kept; 0 where they are not."""
        total = sum(map(self.fold_bytes, range(len(self.splits))))
        most = min(MAX_KEPT_BYTES, parse_memory_limit(self.memory_limit))
        return total if total <= most else 0

    def fold_params(self, fold: int) -> dict[str, Any]:
        """The parameters of fit on the training rows of a fold."""
        params: dict[str, Any] = _check_method_params(
            self.X, params=self.fit_params, indices=self.splits[fold][0]
        )
        return params

    def sample_weight(self) -> Any:
        """The weights of all rows, for an SVM without preprocessing."""
        return read_params(self.fit_params, self.estimator)


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
        self.store = make_store(self.rows.X, memory_limit, model._device)
        self.shelf = Shelf(self.store.memory_limit)
        self._sets: dict[Any, FoldSets] = {}
        self._parts: dict[Any, Parts] = {}
        self.weights = lru_cache(maxsize=256)(self._weights)

    def keep_products(self) -> None:
        """Distances or dot products are kept: several kernels are made of them."""
        self.store.keep_products()
        if isinstance(self.store, DeviceStore):
            self.shelf = Shelf(self.store.room_for_jobs())
        else:
            self.shelf = Shelf(self.store.room)

    def job_bytes(self, tol: float, n_problems: int) -> int:
        """Bytes of a kernel matrix, as if it were alone; at most the limit. A device holds the
        problems as well.
        """
        if isinstance(self.store, DeviceStore):
            return self.store.job_bytes(n_problems)
        return self.store.work_bytes(tol)

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
        kernel = svm.kernel
        weights = self.rows.weights
        if has_own_kernels(svm):
            weights = weights * self.sets(model).training_set(fold).times
        gamma = choose_gamma(svm, self.rows.X, weights)
        return gamma, make_kernel(kernel, gamma, svm.degree, svm.coef0)


def has_own_kernels(model: Any) -> bool:
    """Whether each fold has a kernel of its own even on shared rows."""
    kernel = getattr(model, "kernel", "linear")
    uses_gamma = not callable(kernel) and kernel in GAMMA_KERNELS
    return uses_gamma and isinstance(model.gamma, str) and model.gamma == "scale"


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


@dataclass(frozen=True)
class TransformedFold:
    """Training rows and, below them, test rows behind a fitted preprocessing."""

    X: Any
    y: Any
    sample_weight: Any
    split: Split
    head: Pipeline


def transform_fold(
    data: SearchData, head: Pipeline, last: tuple[str, Any], model: Any, fold: int
) -> TransformedFold:
    """Fit a copy of the preprocessing on the training rows, and apply it to the test rows.

    `last` is the name and the given estimator of the last step of the pipeline.
    """
    train, test = data.splits[fold]
    head = clone(head)
    head_params, own_params = divide_params(head, last, data.fold_params(fold))
    X_train, y_train = _safe_split(head, data.X, data.y, train)
    X_test, y_test = _safe_split(head, data.X, data.y, test, train)
    weights = own_params.get("sample_weight")
    if has_sampler(head):
        refuse_params({**head_params, **own_params})
        Z_train, y_train, Z_test = resample_fold(head, X_train, y_train, X_test)
    else:
        Z_train = head.fit_transform(X_train, y_train, **head_params)
        Z_test = head.transform(X_test)
    kernel = getattr(model, "kernel", "linear")
    if not callable(kernel) and kernel == "precomputed":
        Z = extend_kernel(Z_train, Z_test)
    else:
        Z = stack_rows(Z_train, Z_test)
    if weights is not None:
        weights = np.concatenate([np.asarray(weights), np.ones(test.size)])
    y = None if data.y is None else np.concatenate([np.asarray(y_train), np.asarray(y_test)])
    n_train = _num_samples(Z_train)  # a sampler changes it
    n = n_train + test.size
    return TransformedFold(Z, y, weights, (np.arange(n_train), np.arange(n_train, n)), head)


def has_sampler(head: Pipeline) -> bool:
    """Whether a step resamples training rows, as the samplers of imbalanced-learn do."""
    return any(hasattr(step, "fit_resample") for _, step in head.steps)


def refuse_params(params: Mapping[str, Any]) -> None:
    """A sampler draws rows, and knows nothing of their parameters."""
    if params:
        raise ValueError(
            f"fit was given {sorted(params)}, but the Pipeline has a sampler, which draws other "
            f"rows; leave out one of the two."
        )


def resample_fold(head: Pipeline, X_train: Any, y_train: Any, X_test: Any) -> tuple[Any, Any, Any]:
    """Training rows and their targets behind a head with samplers, and test rows.

    The steps of `head` are fitted in place. Samplers act on training rows alone.
    """
    for _, step in head.steps:
        if step is None or step == "passthrough":
            continue
        if hasattr(step, "fit_resample"):
            X_train, y_train = step.fit_resample(X_train, y_train)
            continue
        fit_transform = getattr(step, "fit_transform", None)
        if fit_transform is not None:
            X_train = fit_transform(X_train, y_train)
        else:
            X_train = step.fit(X_train, y_train).transform(X_train)
        X_test = step.transform(X_test)
    return X_train, y_train, X_test


def read_params(params: Mapping[str, Any], estimator: Any) -> Any:
    """The sample weights among the parameters of fit; without preprocessing it knows no other."""
    step = last_step(estimator)[0]
    given = dict(params)
    name = "sample_weight"
    if step and params and get_config()["enable_metadata_routing"]:
        given = dict(process_routing(estimator, "fit", **params)[step].fit)
    elif step:
        name = f"{step}__sample_weight"
    sample_weight = given.pop(name, None)
    if given:
        raise TypeError(f"fit was given {sorted(given)}; its only parameter is {name!r}.")
    return sample_weight


def divide_params(
    head: Pipeline, last: tuple[str, Any], params: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of fit that go to the preprocessing, and those of the SVM."""
    name, estimator = last
    if get_config()["enable_metadata_routing"]:
        to_head = get_routing_for_object(head).consumes("fit_transform", params)
        whole = Pipeline([*head.steps, (name, estimator)])
        to_own = process_routing(whole, "fit", **params)[name].fit if params else {}
        return {k: params[k] for k in to_head}, dict(to_own)
    for key in params:
        if "__" not in key:
            raise ValueError(
                f"fit was given {key!r}; a parameter of a step of the pipeline is given as "
                f"step__parameter, for instance {name}__{key}."
            )
    prefix = f"{name}__"
    own = {k.removeprefix(prefix): v for k, v in params.items() if k.startswith(prefix)}
    return {k: v for k, v in params.items() if not k.startswith(prefix)}, own


def stack_rows(first: Any, second: Any) -> Any:
    """Two sets of rows, one below the other."""
    if sp.issparse(first) or sp.issparse(second):
        return sp.csr_array(sp.vstack([first, second], format="csr"))
    return np.concatenate([np.asarray(first), np.asarray(second)])


def extend_kernel(K_train: Any, K_test: Any) -> FloatArray:
    """A kernel matrix of training and test rows; what is between test rows is never used."""
    n_train, n_test = len(K_train), len(K_test)
    K = np.zeros((n_train + n_test, n_train + n_test))
    K[:n_train, :n_train] = K_train
    K[n_train:, :n_train] = K_test
    K[:n_train, n_train:] = np.asarray(K_test).T
    return K
