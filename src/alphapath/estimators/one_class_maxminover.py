"""OneClassMaxMinOver: the support of one class, with squared slacks."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OutlierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernels import Kernel, KernelStore, Precomputed
from ..kernels.choice import choose_gamma, make_kernel
from ..kernels.equal_rows import on_distinct_rows
from ..kernels.limits import check_decision_values, check_squared_norms
from ..kernels.raw_rows import RawRows
from ..kernels.samples import check_sparse
from ..problem.box_problem import FloatArray, KernelView, Problem
from ..problem.certificate import Certificate, certify
from ..problem.solution import Solution, Status
from ..solvers.dual import coordinate, maxminover
from .common.base import BLOCK_VALUES, POSITIVE
from .common.declaration import Declaration, LibsvmType, declares
from .common.inputs import check_weights
from .common.merge_rows import MergedRows, keep_rows, merge_rows
from .common.parameters import KernelOption
from .exchange import libsvm_file, libsvm_model
from .exchange.libsvm_file import ModelTarget


@declares(Declaration(targets="ignored", family="ridge", libsvm=LibsvmType(2, "one_class")))
class OneClassMaxMinOver(OutlierMixin, BaseEstimator):
    """One-class SVM with squared slacks, solved to a given feasibility gap.

    The problem is ::

        minimise  1/2 |w|^2 + C/2 sum xi_i^2    subject to  w'phi(x_i) >= 1 - xi_i

    A row is an inlier where w'phi(x) >= 1. At the optimum every support vector lies just outside,
    by beta_i / C, so the leave-one-out error is the fraction of support vectors.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared slacks.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid", as in scikit-learn.
    sigma : float or None, default=None
        Width of "rbf", which replaces gamma: gamma = 1 / (2 sigma^2).
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    gap_tol : float, default=1e-4
        The solver stops when (primal - dual) / (primal + 1) is at most this value.
    solver : {"coordinate", "maxminover"}, default="coordinate"
        "maxminover" counts steps of +2 and -1 as in the paper; the coordinate solver reaches the
        same gap in a fraction of the time.
    max_iter : int, default=-1
        Maximum number of iterations; -1 means no limit.
    memory_limit : int or str or None, default=None
        Memory limit for the kernel in bytes (or "200MB"); None uses a share of the RAM.
    time_limit : float or None, default=None
        Time limit in seconds; when it expires, the solver returns its current iterate.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Indices of the rows with a positive beta, to which `support_vectors_` and `dual_coef_` (of
        shape (1, n_support)) belong.
    offset_ : float
        1.0; ``decision_function = score_samples - offset_``.
    n_iter_ : int
    relative_gap_ : float
        The gap of the returned model.
    objective_, duality_gap_, kkt_violation_ : float
        Quality of the solution; the objective is the minimised dual.
    fit_status_ : Status
        0 if the problem was solved.
    gap_trace_ : array of shape (n_evaluations, 2) or None
        Number of steps and gap at each evaluation, for solver="maxminover".

    Examples
    --------
    >>> from alphapath import OneClassMaxMinOver
    >>> model = OneClassMaxMinOver(C=100, sigma=1.0).fit([[0.0], [0.1], [0.2], [0.3]])
    >>> model.predict([[0.15], [9.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "kernel": [KernelOption(), callable],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "sigma": [None, POSITIVE],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, -np.inf, np.inf, closed="neither")],
        "gap_tol": [POSITIVE],
        "solver": [StrOptions({"coordinate", "maxminover"})],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "memory_limit": [None, str, Interval(Integral, 1, None, closed="left")],
        "time_limit": [None, POSITIVE],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        sigma: float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        gap_tol: float = 1e-4,
        solver: str = "coordinate",
        max_iter: int = -1,
        memory_limit: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.sigma = sigma
        self.degree = degree
        self.coef0 = coef0
        self.gap_tol = gap_tol
        self.solver = solver
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.time_limit = time_limit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix of shape (n_samples, n_samples).
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared slacks; rows of weight 0 are ignored.
        """
        rows = self._prepare(X, sample_weight, merge=True)
        store = KernelStore(rows.X, memory_limit=self.memory_limit)
        view = store.view(self._kernel, tol=self.gap_tol)
        self._set_solution(self._solve(self._problem_on(view, rows)), rows)
        if self.fit_status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if self.fit_status_ is not Status.SOLVED:
            warnings.warn(
                f"The fit ended as {self.fit_status_.name}: the gap reached is "
                f"{self.relative_gap_:.3g}, the tolerance {self.gap_tol:g}. Raise the limits or "
                f"gap_tol, lower C, or scale the features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Decision values: at least 0 for inliers, negative for outliers."""
        return self.score_samples(X) - self.offset_

    def score_samples(self, X: Any) -> FloatArray:
        """Return w'phi(x) for each row."""
        check_is_fitted(self, "dual_coef_")
        X = self._check_rows(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return check_decision_values(on_distinct_rows(X, self._products_with), self._kernel)

    def _products_with(self, X: Any) -> FloatArray:
        beta = self.dual_coef_[0]
        if isinstance(self._kernel, Precomputed):
            return np.asarray(X[:, self.support_] @ beta)
        Z = self.support_vectors_
        if sp.issparse(Z) != sp.issparse(X):
            X, Z = sp.csr_array(X), sp.csr_array(Z)
        step = max(1, BLOCK_VALUES // max(1, beta.size))
        blocks = [X[first : first + step] for first in range(0, X.shape[0], step)]
        return np.concatenate([self._kernel.evaluate(block, Z) @ beta for block in blocks])

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Predict +1 for inliers and -1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1).astype(np.intp, copy=False)

    def to_problem(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Problem:
        """Return the Problem of `fit`, on all rows in their order; the estimator is not changed."""
        model: Self = clone(self)
        model._validate_params()
        rows = model._prepare(X, sample_weight, merge=False)
        store = KernelStore(rows.X, memory_limit=self.memory_limit)
        return model._problem_on(store.view(model._kernel, tol=self.gap_tol), rows)

    def certify(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Certificate:
        """Recompute the quality of the fitted model from the raw training data.

        Pass the arguments of `fit`; compare the `relative_gap` of the result with `gap_tol`.
        """
        check_is_fitted(self, "dual_coef_")
        rows = clone(self)._prepare(X, sample_weight, merge=False)
        if rows.X.shape != self.shape_fit_:
            raise ValueError(
                f"X has shape {rows.X.shape}, but the model was fitted on shape "
                f"{self.shape_fit_}; certify needs the training data."
            )
        problem = self._problem_on(RawRows(self._kernel, rows.X), rows)
        beta = np.zeros(problem.n)
        beta[self.support_] = self.dual_coef_[0]
        return certify(problem, beta)

    def save_libsvm(self, path: ModelTarget) -> None:
        """Write the model as a LIBSVM model file of type one_class, which OneClassSVM reads.

        Examples
        --------
        >>> OneClassMaxMinOver().fit(X).save_libsvm("model.txt")     # doctest: +SKIP
        """
        check_is_fitted(self, "dual_coef_")
        libsvm_file.write_model(libsvm_model.to_libsvm(self), path)

    @property
    def intercept_(self) -> FloatArray:
        """Minus the offset."""
        return np.array([-self.offset_])

    # -- from rows to a problem and back

    def _check_rows(self, X: Any, reset: bool = True) -> Any:
        check_sparse(X)
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError(
                f"The precomputed kernel is a sparse {type(X).__name__}; pass a dense array."
            )
        X = validate_data(self, X, dtype=np.float64, order="C", accept_sparse="csr", reset=reset)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _prepare(self, X: Any, sample_weight: ArrayLike | None, merge: bool) -> MergedRows:
        """The checked instances; sets the kernel, which may depend on the data."""
        X = self._check_rows(X)
        weights = check_weights(sample_weight, X)
        is_given = self.kernel == "precomputed" or callable(self.kernel)
        zeros = np.zeros_like(weights)
        rows = (merge_rows if merge and not is_given else keep_rows)(X, zeros, weights)
        if not is_given:
            check_squared_norms(X)
        self._kernel = self._make_kernel(rows)
        self.shape_fit_ = X.shape
        return rows

    def _make_kernel(self, rows: MergedRows) -> Kernel:
        if self.sigma is None:
            gamma = choose_gamma(self, rows.X, rows.weights)
            return make_kernel(self.kernel, gamma, self.degree, self.coef0)
        if self.kernel != "rbf" or self.gamma != "scale":
            raise ValueError(
                f"sigma={self.sigma} is the width of kernel='rbf' in place of gamma, but kernel is "
                f"{self.kernel!r} and gamma {self.gamma!r}; leave gamma at 'scale', or sigma None."
            )
        return make_kernel("rbf", gamma_of(self.sigma), self.degree, self.coef0)

    def _problem_on(self, view: KernelView, rows: MergedRows) -> Problem:
        return Problem.squared_slack_one_class(view, self.C * rows.weights)

    def _solve(self, problem: Problem) -> Solution:
        solve = maxminover.solve if self.solver == "maxminover" else coordinate.solve
        return solve(
            problem,
            gap_tol=self.gap_tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
        )

    def _set_solution(self, solution: Solution, rows: MergedRows) -> None:
        """Set every fitted attribute; a merged instance's beta is shared by weight."""
        total = rows.weights[rows.instance_of]
        beta = solution.beta[rows.instance_of] * np.where(
            rows.row_weights > 0.0, rows.row_weights / total, 0.0
        )
        self.support_ = np.flatnonzero(beta).astype(np.int32)
        self.dual_coef_ = beta[self.support_][np.newaxis]
        is_matrix = isinstance(self._kernel, Precomputed)
        self.support_vectors_ = (
            np.empty((0, 0)) if is_matrix else rows.X[rows.instance_of[self.support_]]
        )
        self.offset_ = 1.0
        self.n_iter_ = solution.info.n_iter
        self.objective_ = solution.info.objective
        self.duality_gap_ = solution.info.duality_gap
        self.kkt_violation_ = solution.info.kkt_violation
        self.relative_gap_ = solution.relative_gap
        self.fit_status_ = solution.info.status
        self.solve_info_ = (solution.info,)
        counters = solution.workspace
        self.gap_trace_ = counters.trace if isinstance(counters, maxminover.Counters) else None


def gamma_of(sigma: float) -> float:
    """1 / (2 sigma^2), refused where it is no positive number in double precision."""
    with np.errstate(all="ignore"):
        gamma = float(0.5 / np.square(np.float64(sigma)))
    if not 0.0 < gamma < np.inf:
        raise ValueError(
            f"sigma is {sigma}; 1 / (2 sigma^2) = {gamma} is no positive number in double "
            f"precision. Take a sigma near the distances between the rows."
        )
    return gamma
