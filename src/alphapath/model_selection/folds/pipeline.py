"""The folds of a pipeline that ends with an SVM: preprocessing fitted on each training set.

Every fold then has rows, and so a kernel, of its own. The instances keep their numbers, so that a
fold can still begin from the solution of another: the duals are the same variables, and their
gradient is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from ...estimators.common.base import BaseSVM
from ...estimators.common.problems import divide_rows, is_on_gpu, make_store
from ...estimators.pipelines import has_sampler
from ...kernels.choice import choose_kernel
from ...search.folds.plan import FULL
from .dual import FoldModels
from .preprocessing import SearchData, divide_params, transform_fold
from .protocol import Split
from .training_sets import FoldSets


class PipelineFolds(FoldModels):
    """The problems of every fold behind its preprocessing, and the fitted pipelines.

    Parameters
    ----------
    pipeline : Pipeline
    model : BaseSVM
        Its last step, as an estimator of this library.
    data : (X, y, params)
        As in its fit.
    splits : sequence of (train, test)
        Row numbers.
    n_threads : int
        That compute a kernel.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        model: BaseSVM,
        data: tuple[Any, Any, Mapping[str, Any]],
        splits: Sequence[Split],
        n_threads: int = 1,
    ) -> None:
        if has_sampler(pipeline):
            raise TypeError(
                "The Pipeline has a sampler, so that folds share no rows; use SVMSearchCV with one "
                "value of C, or sklearn.model_selection.cross_validate."
            )
        self.pipeline, self.base = pipeline, clone(model)
        self.base._validate_params()
        self.data = SearchData(*data, splits, None)
        self.n_threads = n_threads
        self.has_own_kernels = True
        self._heads: dict[int, Pipeline] = {}
        self._fold_X: dict[int, Any] = {}
        failed: dict[int, Exception] = {}
        for h in range(len(splits)):
            try:
                self._preprocess(h)
            except Exception as error:
                failed[h] = error
        if len(failed) == len(splits):
            raise ValueError(f"All the {len(splits)} fits failed: {failed[0]}") from failed[0]
        first = next(iter(self._fold_X.values()))
        prepared = clone(self.base)
        rows = prepared._prepare(first, self.data.y, self._sample_weight(), merge=False)
        FoldSets.__init__(self, prepared, rows, splits)
        self.errors |= failed
        for h in failed:
            self.codes.pop(h, None)
        self.whole = None
        store = make_store(rows.X, self.base.memory_limit, self.base.device)
        self._set_parts(divide_rows(prepared, store, rows))

    def X_of(self, fold: int) -> Any:
        """The rows behind the preprocessing of a fold; zeros for those in no part of it."""
        if fold not in self._fold_X:
            self._preprocess(fold)
        return self._fold_X[fold]

    def kernel_of(self, fold: int) -> tuple[float, Any]:
        model, X = self.base, self.X_of(fold)
        weights = self.rows.weights
        if fold != FULL:
            weights = weights * self.training_set(fold).times
        return choose_kernel(model, X, weights)

    def choose_kernels(self, folds: Sequence[int]) -> None:
        """Nothing: the rows of a fold are made when its kernel is asked for."""

    @property
    def is_on_device(self) -> bool:
        return is_on_gpu(self.base.device, self.rows.weights.size)

    @cached_property
    def _n_at_a_time(self) -> int:
        return 2  # each has a store, and a limit, of its own

    def limit_workers(self, n_jobs: int | None) -> int:
        return int(effective_n_jobs(n_jobs))

    def _make_view(self, fold: int) -> Any:
        store = make_store(
            self.X_of(fold), self.base.memory_limit, self.base.device, n_threads=self.n_threads
        )
        return store.view(self.kernel_of(fold)[1], tol=self.base.tol)

    def fitted(self, fold: int, fits: Sequence[Any], *, for_values: bool = False) -> Any:
        model: Any = super().fitted(fold, fits, for_values=for_values)
        if for_values:
            return model
        model.n_features_in_ = self.X_of(fold).shape[1]
        return Pipeline([*self._heads[fold].steps, (self._last[0], model)])

    # -- the parts

    @property
    def _last(self) -> tuple[str, Any]:
        name, step = self.pipeline.steps[-1]
        return name, step

    def _sample_weight(self) -> Any:
        own = divide_params(self.pipeline[:-1], self._last, self.data.fit_params)[1]
        weights = own.pop("sample_weight", None)
        if own:
            raise TypeError(
                f"params has {sorted(own)} for {self._last[0]!r}; the only parameter of an SVM's "
                f"fit is 'sample_weight'."
            )
        return weights

    def _preprocess(self, fold: int) -> None:
        """Fit the preprocessing of a fold, or of all data, and keep its rows by their numbers."""
        data, head = self.data, self.pipeline[:-1]
        if fold == FULL:
            head = clone(head)
            params = divide_params(head, self._last, data.fit_params)[0]
            X = head.fit_transform(data.X, data.y, **params)
        else:
            train, test = data.splits[fold]
            if np.isin(test, train).any():
                raise ValueError(
                    f"Fold {fold} tests on rows that it trains on; behind preprocessing their "
                    f"values differ. Give disjoint rows, or use sklearn.model_selection."
                )
            found = transform_fold(data, head, self._last, self.base, fold)
            head = found.head
            numbers = np.concatenate([train, test])
            X = place_rows(found.X, numbers, _num_samples(data.X), self.base.kernel)
        checked = clone(self.base)._prepare(X, data.y, self._sample_weight(), merge=False)
        self._heads[fold], self._fold_X[fold] = head, checked.X


def place_rows(X: Any, numbers: Any, n: int, kernel: Any) -> Any:
    """Rows (of a kernel matrix also columns) at their numbers among `n`, zeros elsewhere."""
    if sp.issparse(X):
        order = np.full(n, X.shape[0])
        order[numbers] = np.arange(X.shape[0])
        blank = sp.csr_array((1, X.shape[1]), dtype=X.dtype)
        return sp.csr_array(sp.vstack([X, blank], format="csr"))[order]
    is_matrix = not callable(kernel) and kernel == "precomputed"
    placed = np.zeros((n, n if is_matrix else X.shape[1]))
    placed[np.ix_(numbers, numbers) if is_matrix else numbers] = X
    return placed
