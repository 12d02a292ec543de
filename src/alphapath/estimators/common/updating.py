"""partial_fit, forget and update: the exact model of a changing training set."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if

from ...kernels.choice import choose_gamma, make_kernel
from ...kernels.growing import GrowingView
from ...kernels.limits import check_kernel_size, check_squared_norms
from ...paths.incremental import Terms
from ...problem.box_problem import FloatArray, KernelView, Problem
from ...problem.solution import Solution
from .base import BaseSVM
from .inputs import check_weights, is_clean
from .merge_rows import MergedRows
from .one_vs_one import PairBetas
from .online_set import IntArray, OnlineSet, Rows
from .problems import Budget

WINDOW: list[Any] = [None, Interval(Integral, 1, None, closed="left")]


def has_features(model: Any) -> bool:
    """Whether kernel values between old and new rows can be computed."""
    if model.kernel == "precomputed":
        raise AttributeError(
            "A model with kernel='precomputed' cannot be updated: the kernel values between old "
            "and new rows are unknown; use a kernel that is computed from features."
        )
    return True


class UpdatingSVM(BaseSVM):
    """Base class of the estimators whose training set may change row by row.

    The training set is a list in order of arrival: position 0 is the oldest row. An updated model
    has exactly the attributes that a fit on the current list would give it (to rounding, not to
    `tol`), except that gamma="scale" keeps its value for the first rows.
    """

    window: int | None
    _online: OnlineSet | None = None
    _fitted_rows: MergedRows | None = None

    def __getstate__(self) -> Any:
        # A model that was only fitted travels light: its training rows stay behind.
        state = dict(super().__getstate__())
        state.pop("_fitted_rows", None)
        return state

    def _remember(self, rows: MergedRows) -> None:
        """Called by fit: what an update would begin from."""
        self._fitted_rows = rows
        self._online = None

    @available_if(has_features)
    def forget(self, indices: ArrayLike) -> Self:
        """Remove rows from the training set, exactly and at a fraction of the cost of a fit.

        Parameters
        ----------
        indices : array-like of int
            Positions in the current training set, where 0 is the oldest; without repetition.

        Examples
        --------
        >>> model.forget([0, 1])                                     # doctest: +SKIP
        """
        self._require_fit()
        return self._change(None, self._check_positions(indices))

    @available_if(has_features)
    def update(
        self,
        X_add: Any,
        y_add: Any,
        *,
        forget: ArrayLike = (),
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows and remove others in a single step, which is cheaper than two steps.

        Parameters
        ----------
        X_add, y_add, sample_weight
            As in `partial_fit`.
        forget : array-like of int
            Positions before the update, as in `forget`.

        Examples
        --------
        >>> model.update(X_new, y_new, forget=range(len(y_new)))     # doctest: +SKIP
        """
        self._require_fit()
        positions = self._check_positions(forget)
        return self._change(self._check_addition(X_add, y_add, sample_weight), positions)

    def take_solution(
        self,
        solution: Solution,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        C: float | None = None,
    ) -> Self:
        """Become the fitted model of a Solution on the rows of X, for example of a path.

        Examples
        --------
        >>> SVC().take_solution(path.at(10.0), X, y, C=10.0)         # doctest: +SKIP
        """
        if C is not None:
            self.set_params(C=C)
        rows = self._prepare(X, y, sample_weight, merge=False)
        self._weight_scale(rows.targets, rows.weights)
        support = np.flatnonzero(solution.beta)
        self._pack(PairBetas.join([(support, solution.beta[support])]), rows.targets)
        self.support_vectors_ = rows.X[self.support_]
        self.intercept_ = np.array([solution.bias])
        self._remember(rows)
        self._report([solution.info], Budget(self.tol, self.max_iter, None))
        return self

    # -- checks: all of them before anything changes; on plain arrays they take microseconds

    def _check_addition(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Rows:
        is_first = not hasattr(self, "dual_coef_")
        if not self._is_plain(X, y):
            X, y = self._check_rows(X, y, reset=is_first)
        weights = check_weights(sample_weight, X)
        targets = self._check_new_targets(y, weights)
        if not callable(self.kernel):
            squared_norm = check_squared_norms(X)
            if not is_first:
                check_kernel_size(self._kernel, squared_norm)
        return Rows(X, targets, weights)

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Whether rows need no conversion: scikit-learn's checks cost as much as a small update."""
        if not is_clean(X) or not self._knows_columns(X):
            return False
        if type(y) is not np.ndarray or y.shape != X.shape[:1]:
            return False
        is_expected = (
            y.dtype == np.float64 if self._targets == "numbers" else y.dtype.kind in "iuUf"
        )
        return is_expected and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))

    def _check_new_targets(self, y: Any, sample_weight: Any) -> Any:
        """Targets of added rows; a classifier finds its classes again."""
        return self._check_targets(y, sample_weight)

    def _check_positions(self, indices: ArrayLike) -> IntArray:
        n = self.shape_fit_[0] if hasattr(self, "shape_fit_") else 0
        positions = np.asarray(indices)
        if positions.size == 0:
            return np.zeros(0, dtype=np.int64)
        if positions.ndim != 1 or positions.dtype.kind not in "iu":
            raise ValueError(
                f"The positions to forget have shape {positions.shape} and dtype "
                f"{positions.dtype}; they must be a one-dimensional list of integers."
            )
        outside = (positions < 0) | (positions >= n)
        if outside.any():
            raise IndexError(
                f"There is no row {positions[np.argmax(outside)]} to forget: the training set has "
                f"{n} rows, numbered from 0."
            )
        values = np.sort(positions)
        is_repeated = values[1:] == values[:-1]
        if is_repeated.any():
            repeated = values[np.argmax(is_repeated)]
            raise ValueError(
                f"Row {repeated} is to be forgotten {np.sum(values == repeated)} times; each row "
                f"can be forgotten once."
            )
        return values.astype(np.int64)

    # -- the change

    def _set_up(self, rows: Rows) -> None:
        """Kernel and empty training set for the first rows ever seen."""
        self._gamma = choose_gamma(self, rows.X, rows.sample_weight)
        self._kernel = make_kernel(self.kernel, self._gamma, self.degree, self.coef0)
        if not callable(self.kernel):
            check_kernel_size(self._kernel, check_squared_norms(rows.X))

    def _find_online(self) -> OnlineSet:
        """The training set as it is: from the last update, or from fit."""
        if self._online is not None:
            return self._online
        online = OnlineSet(self._kernel, self.memory_limit, getattr(self, "epsilon", 0.0))
        if not hasattr(self, "dual_coef_"):
            return online
        rows = self._fitted_rows
        if rows is None:
            raise ValueError(
                "The training rows of this model are not here (it was read from a file, copied by "
                "pickle, or comes from scikit-learn), so it cannot be updated; fit it again, or "
                "build it by partial_fit, whose models keep their rows."
            )
        betas = []
        for coef in self._unpack():
            beta = np.zeros(self.shape_fit_[0])
            beta[self.support_] = coef
            betas.append(beta)
        of_row = rows.instance_of
        online.begin(Rows(rows.X[of_row], rows.targets[of_row], rows.row_weights), betas)
        return online

    def _choose_window(self, n_old: int, add: Rows | None, forget: IntArray) -> Any:
        """Rows to add and positions to forget so that `window` rows are left."""
        if self.window is None:
            return add, forget
        n_add = 0 if add is None else add.n
        if add is not None and n_add > self.window:
            add = add.take(slice(n_add - self.window, None))
            n_add = self.window
        n_excess = n_old - forget.size + n_add - self.window
        if n_excess > 0:
            is_gone = np.zeros(n_old, dtype=bool)
            is_gone[forget] = True
            is_gone[np.flatnonzero(~is_gone)[:n_excess]] = True
            forget = np.flatnonzero(is_gone)
        return add, forget

    def _change(self, add: Rows | None, forget: IntArray) -> Self:
        begin = time.perf_counter()
        budget = Budget(self.tol, self.max_iter, None)
        is_first = not hasattr(self, "dual_coef_")
        if is_first:
            assert add is not None
            self._set_up(add)
        online = self._find_online()
        online.set_epsilon(getattr(self, "epsilon", 0.0))
        add, forget = self._choose_window(online.n, add, forget)
        n_new = online.n - forget.size + (0 if add is None else add.n)
        if n_new == 0:
            raise ValueError(
                f"All {online.n} rows would be forgotten; at least one must stay in the model."
            )
        GrowingView.check_size(n_new + forget.size, self.memory_limit)
        answers = online.change(add, forget, self._weigh, self._terms_of, self.tol)
        self._online, self._fitted_rows = online, None
        betas = []
        for beta in online.betas:
            rows = np.flatnonzero(beta)
            betas.append((rows, beta[rows]))
        self._pack(PairBetas.join(betas), online.targets)
        self.support_vectors_ = online.X_at(self.support_)
        self.intercept_ = np.array([answer.bias for answer in answers])
        self.shape_fit_ = (n_new, self.n_features_in_)
        self.update_time_ = time.perf_counter() - begin
        self._report([answer.info for answer in answers], budget)
        return self

    @abstractmethod
    def _terms_at(self, number: int, targets: FloatArray, weights: FloatArray) -> Terms:
        """What one of the problems says about these rows."""

    def _terms_of(self, targets: FloatArray, weights: FloatArray) -> Iterator[Terms]:
        """What each problem, in the order of `intercept_`, says about these rows."""
        return (self._terms_at(k, targets, weights) for k in range(self._n_problems))

    def _make_problem(
        self, number: int, view: KernelView, targets: FloatArray, weights: FloatArray
    ) -> Problem:
        terms = self._terms_at(number, targets, weights)
        return Problem(view, *terms, epsilon=getattr(self, "epsilon", 0.0))

    def _weigh(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        """C_i of all rows."""
        return self._weight_scale(targets, sample_weight) * sample_weight
