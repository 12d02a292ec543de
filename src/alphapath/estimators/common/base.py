"""Shared by SVC, SVR and OneClassSVM: parameters, checks, fitting, decision values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ...kernels import KernelStore, Precomputed
from ...kernels.choice import choose_kernel
from ...kernels.equal_rows import on_distinct_rows
from ...kernels.limits import check_decision_values
from ...kernels.raw_rows import Members, RawRows
from ...kernels.samples import check_sparse
from ...problem.box_problem import FloatArray, KernelView, Problem
from ...problem.certificate import Certificate, certify
from ...problem.solution import Info, Status
from .inputs import check_weights, is_clean
from .merge_rows import MergedRows, keep_rows, merge_rows, take_rows
from .one_vs_one import PairBetas
from .parameters import KernelOption, RememberedParameters
from .problems import DEVICES, Budget, Parts, divide, make_store, overall_status, warn_unsolved

POSITIVE: Any = Interval(Real, 0.0, np.inf, closed="neither")

#: Kernel values held at once while predicting (32 MiB of doubles).
BLOCK_VALUES = 1 << 22

#: Decision values of pairs of classes that are combined at once: they stay in the cache.
CACHED_VALUES = 1 << 18


class BaseSVM(RememberedParameters):
    """Base class of LIBSVM's models; a subclass adds its targets, weights and problems."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [KernelOption(), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "coef0": [Interval(Real, -np.inf, np.inf, closed="neither")],
        "tol": [POSITIVE],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "memory_limit": [None, str, Interval(Integral, 1, None, closed="left")],
        "time_limit": [None, POSITIVE],
    }
    #: Of models whose kernel may live on a GPU.
    _device_constraint: ClassVar[dict[str, list[Any]]] = {"device": [StrOptions(set(DEVICES))]}
    #: What y is: class labels, numbers, or ignored.
    _targets: ClassVar[Literal["labels", "numbers", "ignored"]]

    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    tol: float
    max_iter: int
    memory_limit: Any
    time_limit: float | None
    #: Where the kernel lives; models that know no other device stay on the processor.
    device: str = "cpu"

    support_: NDArray[np.int32]
    support_vectors_: Any
    n_support_: NDArray[np.int32]
    dual_coef_: FloatArray
    intercept_: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # -- what a model says about itself

    @abstractmethod
    def _check_targets(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        """One target a row: the number of its class, or its value."""

    @abstractmethod
    def _weight_scale(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        """C_i = scale_i * sample_weight_i."""

    @property
    def _n_problems(self) -> int:
        """How many problems there are to solve."""
        return 1

    @abstractmethod
    def _make_problem(
        self, number: int, view: KernelView, targets: FloatArray, weights: FloatArray
    ) -> Problem:
        """One of the problems to solve, numbered in the order of `intercept_`."""

    def _divide(self, targets: FloatArray) -> list[Members] | None:
        """The instances that each problem is about, where these are not all of them."""
        return None

    @abstractmethod
    def _pack(self, betas: PairBetas, targets: FloatArray) -> None:
        """Set support_, n_support_ and dual_coef_ from the nonzero beta of all problems."""

    @abstractmethod
    def _unpack(self) -> Iterator[FloatArray]:
        """One beta on the support vectors a problem, from dual_coef_."""

    @abstractmethod
    def _combine(self, K: FloatArray) -> FloatArray:
        """Decision values, one column a problem, from kernel values against the support."""

    # -- fitting

    def _check_rows(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """X and, where given, y: float64, finite, C-contiguous or canonical CSR."""
        if sp.issparse(X):
            check_sparse(X)
            if self.kernel == "precomputed":
                raise TypeError(
                    f"The precomputed kernel is a sparse {type(X).__name__}; pass a dense array."
                )
        if is_clean(X, *y) and (reset or self._knows_columns(X)):
            if reset:
                self.n_features_in_ = X.shape[1]
                self.__dict__.pop("feature_names_in_", None)
            X = np.ascontiguousarray(X, dtype=np.float64)
            return (X, y[0]) if y else X
        options = {"dtype": np.float64, "order": "C", "accept_sparse": "csr", "reset": reset}
        if y:
            options["y_numeric"] = self._targets == "numbers"
            X, target = validate_data(self, X, *y, **options)
        else:
            X, target = validate_data(self, X, **options), None
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return (X, target) if y else X

    def _knows_columns(self, X: Any) -> bool:
        """Whether the columns of a plain array are surely those of the training rows."""
        known = self.__dict__
        return X.shape[1] == known.get("n_features_in_") and "feature_names_in_" not in known

    def _prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None, merge: bool) -> MergedRows:
        """The checked instances; sets the kernel, which may depend on the data."""
        if self._targets == "ignored":
            X = self._check_rows(X)
        else:
            X, y = self._check_rows(X, y)
        weights = check_weights(sample_weight, X)
        targets = self._check_targets(y, weights)
        is_given = self.kernel == "precomputed" or callable(self.kernel)
        if merge and not is_given:
            merged = merge_rows(X, targets, weights, by_target=self._n_problems > 1)
        else:
            merged = keep_rows(X, targets, weights)
        self._gamma, self._kernel = choose_kernel(
            self, merged.X, merged.weights, given=None if is_given else X
        )
        self.shape_fit_ = X.shape
        return merged

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        """Merge equal rows, solve, and set every fitted attribute, even after an interrupt."""
        budget = Budget(self.tol, self.max_iter, self.time_limit)
        merged = self._prepare(X, y, sample_weight, merge=True)
        scale = self._weight_scale(merged.targets, merged.weights)
        is_single = self._n_problems == 1
        store = make_store(merged.X, self.memory_limit, self.device, defers_rows=is_single)
        view: Any = store.view(self._kernel, tol=self.tol)
        parts = divide(self, store, merged.targets, scale * merged.weights)
        betas, biases, infos = budget.solve(parts, view)
        self._pack(merged.spread_betas(betas, scale), merged.targets[merged.instance_of])
        if isinstance(self._kernel, Precomputed):
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = take_rows(merged.X, merged.instance_of[self.support_])
        self.intercept_ = biases
        self.n_kernel_rows_ = store.counts.rows_computed
        self._remember(merged)
        self._report(infos, budget)
        return self

    def _remember(self, rows: MergedRows) -> None:
        """What a model keeps of its training rows beside the support vectors: nothing."""

    def _parts_of(self, rows: MergedRows, members: list[Members] | None = None) -> Parts:
        scale = self._weight_scale(rows.targets, rows.weights)
        return Parts(self, rows.targets, scale * rows.weights, members)

    def _report(self, infos: Sequence[Info], budget: Budget) -> None:
        """Set how the fit went; warn where it did not converge; pass an interrupt on."""
        self.solve_info_ = tuple(infos)
        quality = {
            name: np.array([getattr(info, name) for info in infos])
            for name in ("objective", "duality_gap", "kkt_violation")
        }
        for name, values in quality.items():
            setattr(self, f"{name}_", float(values[0]) if len(infos) == 1 else values)
        self.n_iter_: Any = np.array([info.n_iter for info in infos], dtype=np.int32)
        if self._targets != "labels":
            self.n_iter_ = int(self.n_iter_[0])
        self.fit_status_ = overall_status(infos)
        if self.fit_status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt
        warn_unsolved(self.fit_status_, budget, float(quality["kkt_violation"].max()))

    def to_problem(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Problem | list[Problem]:
        """Return the Problem of `fit`, on all rows in their order; the estimator is not changed.

        Rows are neither dropped nor merged, so a mask over the rows is a mask over the instances.
        For more than two classes, the result is a list with one Problem per pair of classes; all
        share one kernel.

        Examples
        --------
        >>> problem = SVC(C=10).to_problem(X, y)                     # doctest: +SKIP
        """
        model: Self = clone(self)
        model._validate_params()
        rows = model._prepare(X, y, sample_weight, merge=False)
        store = KernelStore(rows.X, memory_limit=self.memory_limit)
        view = store.view(model._kernel, tol=self.tol)
        parts = model._parts_of(rows)
        problems = [parts.problem(number, view) for number in range(parts.n_problems)]
        return problems[0] if len(problems) == 1 else problems

    def certify(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Certificate | list[Certificate]:
        """Recompute the quality of the fitted model from the raw training data.

        Pass the arguments of `fit`. The computation uses dual_coef_, support_ and intercept_ and no
        solver. For more than two classes, the result is a list with one Certificate per pair.

        Examples
        --------
        >>> print(SVC().fit(X, y).certify(X, y))                     # doctest: +SKIP
        """
        check_is_fitted(self, "dual_coef_")
        if not hasattr(self, "shape_fit_"):
            raise ValueError(
                "The model was read from a file, which does not say which training rows the "
                "support vectors were; only a model that was fitted can be certified."
            )
        model = self._refit_parameters()
        rows = model._prepare(X, y, sample_weight, merge=False)
        if model.shape_fit_ != self.shape_fit_:
            raise ValueError(
                f"X has shape {model.shape_fit_}, but the model was fitted on shape "
                f"{self.shape_fit_}; certify needs the training data."
            )
        if model._n_problems != self.intercept_.size:
            raise ValueError(
                f"y has {len(model.classes_)} classes and the model {len(self.classes_)}; certify "
                f"needs the training data, with rows of every class."
            )
        parts = model._parts_of(rows, model._divide(rows.targets))
        raw = RawRows(self._kernel, rows.X)
        found = []
        for number, (coef, bias) in enumerate(zip(self._unpack(), self.intercept_, strict=True)):
            beta = np.zeros(rows.weights.size)
            beta[self.support_] = coef
            problem = parts.problem(number, raw)
            found.append(certify(problem, beta[parts.places[number]], float(bias)))
        return found[0] if len(found) == 1 else found

    def _refit_parameters(self) -> Self:
        """A copy whose parameters give exactly the weights of the fitted model."""
        model: Self = clone(self)
        return model

    # -- predicting

    def _require_fit(self) -> None:
        if "dual_coef_" not in self.__dict__:  # the question takes scikit-learn a while
            check_is_fitted(self, "dual_coef_")

    def _shape_decision(self, values: FloatArray) -> FloatArray:
        """What `decision_function` returns, from one column a problem."""
        return values[:, 0]

    def _predictions_of(self, values: FloatArray) -> NDArray[Any]:
        """What `predict` returns, from one column a problem."""
        return values[:, 0]

    def _decision_values(self, X: Any) -> FloatArray:
        """One column a problem; the same bits for equal rows."""
        self._require_fit()
        X = self._check_rows(X, reset=False)
        if isinstance(self._kernel, Precomputed):
            X = X[:, self.support_]
        return check_decision_values(on_distinct_rows(X, self._evaluate), self._kernel)

    def _evaluate(self, X: Any) -> FloatArray:
        """Decision values from blocks of kernel values against the support vectors."""
        values = np.empty((self.intercept_.size, X.shape[0])).T  # as they are combined
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, K in self._kernel_blocks(X):
                values[rows] = self._combine(K)
        values += self.intercept_
        return values

    def _kernel_blocks(self, X: Any) -> Iterator[tuple[slice, FloatArray]]:
        Z = self.support_vectors_
        n_support = self.dual_coef_.shape[1]
        if sp.issparse(Z) and not sp.issparse(X):
            X = sp.csr_array(X)
        is_mixed = sp.issparse(X) and not sp.issparse(Z)
        step = BLOCK_VALUES // max(1, n_support, X.shape[1] if is_mixed else 1)
        step = max(1, min(step, CACHED_VALUES // self.intercept_.size))
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            block = X[rows].toarray() if is_mixed else X[rows]
            if isinstance(self._kernel, Precomputed):
                yield rows, block
            elif n_support == 0:
                yield rows, np.empty((block.shape[0], 0))
            else:
                yield rows, self._kernel.evaluate(block, Z)

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features, one row per problem; only for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError(
                f"coef_ exists only for kernel='linear', and the kernel is {self.kernel!r}."
            )
        self._require_fit()
        rows = [np.asarray(beta @ self.support_vectors_) for beta in self._unpack()]
        coef = np.stack(rows) if len(rows) > 1 else rows[0][np.newaxis]
        coef.flags.writeable = False
        return coef


class OneProblemSVM(BaseSVM):
    """Base class of the estimators that solve a single Problem."""

    def _pack(self, betas: PairBetas, targets: FloatArray) -> None:
        self.support_ = betas.rows.astype(np.int32)
        self.n_support_ = np.array([betas.rows.size], dtype=np.int32)
        self.dual_coef_ = betas.values[np.newaxis]

    def _unpack(self) -> Iterator[FloatArray]:
        yield self.dual_coef_[0]

    def _combine(self, K: FloatArray) -> FloatArray:
        return K @ self.dual_coef_.T
