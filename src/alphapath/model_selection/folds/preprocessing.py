"""What was given to fit, and what a pipeline does to the rows of a fold before its SVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params, _num_samples

from ...estimators.pipelines import has_sampler, last_step
from ...kernels import parse_memory_limit
from ...kernels.policy import row_bytes
from ...problem.box_problem import FloatArray
from .protocol import Split

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
        return read_params(self.fit_params, self.estimator) if self.fit_params else None


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
