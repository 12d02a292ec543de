"""QuadraticLossSVC: squared hinge and Huber-type losses, at one lambda or along the whole path."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernels import Kernel, KernelStore, Precomputed
from ..kernels.choice import choose_gamma, make_kernel
from ..kernels.equal_rows import on_distinct_rows
from ..kernels.limits import check_decision_values, check_squared_norms
from ..kernels.raw_rows import RawRows
from ..kernels.samples import check_sparse
from ..paths.quadratic.follow import PathLimits, follow
from ..paths.quadratic.model import LOSSES, QuadraticModel, parse_loss
from ..paths.quadratic.path import LambdaPath, PathEnd
from ..problem.box_problem import FloatArray, Problem
from ..problem.certificate import Certificate, certify
from ..problem.optimality import snap_to_box
from ..problem.solution import Solution, Status
from ..solvers.dual import coordinate, newton
from .common.base import BLOCK_VALUES, POSITIVE
from .common.declaration import Declaration, declares
from .common.inputs import check_weights
from .common.merge_rows import MergedRows, keep_rows, merge_rows
from .common.parameters import KernelOption
from .common.problems import Budget, warn_unsolved

#: What ended a path before its end.
ENDS = {
    PathEnd.EVENT_LIMIT: "at its limit of set changes, max_events",
    PathEnd.TIME_LIMIT: "at its time_limit",
    PathEnd.INTERRUPTED: "because it was interrupted",
}


@declares(Declaration(targets="labels", family="ridge", weight="lam"))
class QuadraticLossSVC(ClassifierMixin, BaseEstimator):
    """Two-class SVM without a bias, with a quadratic loss.

    Minimises lam/2 |w|^2 + 1/2 sum_i sample_weight_i phi(rho - y_i f(x_i)), where phi is 0 below 0,
    quadratic up to h and linear beyond. With kernel="linear" and the squared hinge this is
    LIBLINEAR's L2-loss model with C = 1 / (2 lam) and no bias.

    Parameters
    ----------
    loss : {"squared_hinge", "modified_huber", "huber"} or (rho, h), default="squared_hinge"
        The names stand for (1, inf), (1, 2) and (1.1, 0.2).
    lam : float, default=1.0
        Weight of the norm.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid".
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    tol : float, default=1e-6
        Absolute KKT violation at which the solver stops.
    memory_limit : int or str or None, default=None
        Memory limit for the kernel in bytes (or "200MB"). If the Newton solver does not fit,
        coordinate descent replaces it.

    Attributes
    ----------
    classes_ : array of shape (2,)
    support_, support_vectors_, dual_coef_ : arrays
        f(x) = sum_j dual_coef_[0, j] K(support_vectors_[j], x).
    intercept_ : array of shape (1,)
        Zero: the model has no bias.
    objective_, duality_gap_, kkt_violation_ : float
    n_iter_ : int
    fit_status_ : Status

    Examples
    --------
    >>> from alphapath import QuadraticLossSVC
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> QuadraticLossSVC(lam=0.1, gamma=1.0).fit(X, y).predict([[0.2], [4.4]]).tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES)), tuple, list],
        "lam": [POSITIVE],
        "kernel": [KernelOption(), callable],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, -np.inf, np.inf, closed="neither")],
        "tol": [POSITIVE],
        "memory_limit": [None, str, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        loss: Any = "squared_hinge",
        lam: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-6,
        memory_limit: Any = None,
    ) -> None:
        self.loss = loss
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.memory_limit = memory_limit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.classifier_tags.multi_class = False
        return tags

    # -- from arrays to the model

    def _check_rows(self, X: Any, **options: Any) -> Any:
        options |= {"dtype": np.float64, "order": "C", "accept_sparse": "csr"}
        check_sparse(X)
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError(
                f"The precomputed kernel is a sparse {type(X).__name__}; pass a dense array."
            )
        return validate_data(self, X, **options)

    def _prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None, merge: bool) -> MergedRows:
        """The checked instances, targets +-1; sets classes_, the kernel and n_features_in_."""
        X, y = self._check_rows(X, y=y)
        weights = check_weights(sample_weight, X)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y has {len(classes)} classes; wrap the estimator in "
                f"OneVsRestClassifier."
            )
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes[0]}; a classifier needs two classes.")
        is_used = np.bincount(codes, weights=weights) > 0.0
        if not is_used.all():
            raise ValueError(
                f"All rows of class {classes[np.argmin(is_used)]} have sample_weight 0; give a "
                f"row of each class a positive weight."
            )
        self.classes_ = classes
        is_given = self.kernel == "precomputed" or callable(self.kernel)
        signs = np.where(codes == 1, 1.0, -1.0)
        rows = (merge_rows if merge and not is_given else keep_rows)(X, signs, weights)
        gamma = 0.0
        if not is_given:
            check_squared_norms(X)
            gamma = choose_gamma(self, rows.X, rows.weights)
        self._kernel: Kernel = make_kernel(self.kernel, gamma, self.degree, self.coef0)
        return rows

    def _problem_on(self, view: Any, rows: MergedRows) -> Problem:
        loss = parse_loss(self.loss)
        return Problem.quadratic_loss(view, rows.targets, rows.weights, loss, float(self.lam))

    def to_problem(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Problem:
        """Return the Problem of `fit`, on all rows in their order; the estimator is not changed."""
        model: Self = clone(self)
        model._validate_params()
        rows = model._prepare(X, y, sample_weight, merge=False)
        store = KernelStore(rows.X, memory_limit=self.memory_limit)
        return model._problem_on(store.view(model._kernel, precision="float64"), rows)

    # -- fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model at one lambda.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the losses; rows of weight 0 are ignored.
        """
        rows = self._prepare(X, y, sample_weight, merge=True)
        store = KernelStore(rows.X, memory_limit=self.memory_limit)
        view = store.view(self._kernel, precision="float64")
        solution = self._solve(self._problem_on(view, rows))
        total = rows.weights[rows.instance_of]
        share = np.divide(rows.row_weights, total, out=np.zeros_like(total), where=total > 0.0)
        beta = solution.beta[rows.instance_of] * share
        self.support_ = np.flatnonzero(beta)
        self.dual_coef_ = beta[np.newaxis, self.support_]
        self.intercept_ = np.zeros(1)
        is_matrix = isinstance(self._kernel, Precomputed)
        self.support_vectors_ = (
            np.empty((0, 0)) if is_matrix else rows.X[rows.instance_of[self.support_]]
        )
        self._n_rows_fit = len(beta)
        self.objective_ = solution.info.objective
        self.duality_gap_ = solution.info.duality_gap
        self.kkt_violation_ = solution.info.kkt_violation
        self.n_iter_ = solution.info.n_iter
        self.fit_status_ = solution.info.status
        if self.fit_status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt
        budget = Budget(self.tol, -1, None)
        warn_unsolved(self.fit_status_, budget, self.kkt_violation_)
        return self

    def _solve(self, problem: Problem) -> Solution:
        if newton.has_room(problem):
            return newton.solve(problem, tol=self.tol)
        return coordinate.solve(problem, tol=self.tol)

    def lambda_path(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        lam_from: float | None = None,
        lam_to: float | None = 1e-5,
        max_events: int | None = None,
        time_limit: float | None = None,
    ) -> LambdaPath:
        """Follow the exact path over lambda for this loss and kernel; `lam` is not used.

        A limit or Ctrl-C ends the path early: the part followed so far is returned, its
        `info_.status` gives the reason, and a ConvergenceWarning is raised.

        Parameters
        ----------
        X, y : as for `fit`
        sample_weight : array-like of shape (n_samples,), default=None
            Positive weights of the losses.
        lam_from, lam_to : float or None
            The two ends, in either order. None stands for a lambda so large that no set changes
            beyond it.
        max_events : int or None
            Maximum number of set changes; None stands for 60 per row plus 20,000.
        time_limit : float or None
            Time limit in seconds.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from alphapath import QuadraticLossSVC
        >>> X, y = make_moons(80, noise=0.3, random_state=0)
        >>> path = QuadraticLossSVC(loss="huber").lambda_path(X[:60], y[:60])
        >>> 0.0 <= path.validate(X[60:], y[60:]).best_value < 0.5
        True
        """
        model = self._path_model(X, y, sample_weight)
        limits = PathLimits(max_events, time_limit)
        path = follow(model, np.unique(np.asarray(y)), (lam_from, lam_to), limits)
        warn_ended(path)
        return path

    def _path_model(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> QuadraticModel:
        """The model for every lambda."""
        own: Self = clone(self)
        own._validate_params()
        rows = own._prepare(X, y, sample_weight, merge=False)
        store = KernelStore(rows.X, memory_limit=self.memory_limit)
        view = store.view(own._kernel, precision="float64")
        return QuadraticModel(view, rows.targets, rows.weights, self.loss)

    def certify(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Certificate:
        """Recompute the quality of the fitted model from the raw training data."""
        check_is_fitted(self, "dual_coef_")
        model: Self = clone(self)
        rows = model._prepare(X, y, sample_weight, merge=False)
        problem = model._problem_on(RawRows(self._kernel, rows.X), rows)
        if problem.n != self._n_rows_fit:
            raise ValueError(
                f"X has {problem.n} rows, but the model was fitted on {self._n_rows_fit}; certify "
                f"needs the training data."
            )
        beta = np.zeros(problem.n)
        beta[self.support_] = self.dual_coef_[0]
        # Shares of a merged row at its bound are at theirs but for rounding.
        return certify(problem, snap_to_box(beta, problem.lower, problem.upper), 0.0)

    # -- predicting

    def decision_function(self, X: Any) -> FloatArray:
        """Decision values f at the rows of X; positive for the second class."""
        check_is_fitted(self, "dual_coef_")
        X = self._check_rows(X, reset=False)
        return check_decision_values(on_distinct_rows(X, self._evaluate), self._kernel)

    def _evaluate(self, X: Any) -> FloatArray:
        values = np.zeros(X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, K in self._kernel_blocks(X):
                values[rows] = K @ self.dual_coef_[0]
        return values

    def _kernel_blocks(self, X: Any) -> Iterator[tuple[slice, FloatArray]]:
        n_support = self.support_.size
        if n_support == 0:
            return
        step = max(1, BLOCK_VALUES // n_support)
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            if isinstance(self._kernel, Precomputed):
                yield rows, X[rows][:, self.support_]
            else:
                yield rows, self._kernel.evaluate(X[rows], self.support_vectors_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class labels of the rows of X."""
        codes = (self.decision_function(X) >= 0.0).astype(np.intp)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features, shape (1, n_features); only for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError(
                f"coef_ exists only for kernel='linear', and the kernel is {self.kernel!r}."
            )
        check_is_fitted(self, "dual_coef_")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)


def warn_ended(path: LambdaPath) -> None:
    """Issue a ConvergenceWarning for a path that ended early."""
    reason = ENDS.get(path.info_.status)
    if reason is not None:
        warnings.warn(
            f"The path over lambda ended {reason}, at lambda = {path.range_[1]:.6g}; it is known "
            f"up to there.",
            ConvergenceWarning,
            stacklevel=3,
        )
