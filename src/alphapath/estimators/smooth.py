"""What SmoothSVC and SmoothSVR share: parameters, the design matrix, fitting, decision values.

A kernel model has the kernel matrix as its data: decision values are K u + b, and |u|^2 + b^2 is
penalised. An instance of sample weight s stands for s equal rows, whose columns combine into one of
sqrt(s) times the length; an instance of weight 0 has neither a loss nor a column.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernels import KernelStore, Precomputed
from ..kernels.choice import choose_gamma, make_kernel
from ..kernels.equal_rows import on_distinct_rows
from ..kernels.limits import check_decision_values, check_kernel_size, check_squared_norms
from ..kernels.samples import check_sparse
from ..problem.box_problem import FloatArray
from ..problem.certificate import MarginCertificate
from ..problem.margin_problem import MarginProblem
from ..problem.solution import Status
from ..solvers.smooth import newton as smooth_newton
from ..solvers.smooth.strategy import STRATEGIES
from .common.base import BLOCK_VALUES, POSITIVE
from .common.declaration import Declaration, declares
from .common.inputs import check_weights, encode_labels, weigh_classes
from .common.parameters import KernelOption
from .common.problems import Budget, certify_columns, overall_status, warn_unsolved


@dataclass(frozen=True)
class SmoothRows:
    """Validated instances."""

    X: Any
    targets: FloatArray  # class numbers, or values
    weights: FloatArray  # sample weights
    column_scale: FloatArray | None  # of the kernel matrix; None for a linear model


class BaseSmooth(BaseEstimator):
    """Base class of the smooth SVMs; a subclass adds its targets and weights."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "c": [POSITIVE],
        "kernel": [KernelOption(), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "coef0": [Interval(Real, -np.inf, np.inf, closed="neither")],
        "fit_intercept": ["boolean"],
        "strategy": [StrOptions(set(STRATEGIES))],
        "tol": [POSITIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [None, POSITIVE],
    }
    _targets: ClassVar[Literal["labels", "numbers"]]
    _loss: ClassVar[str]

    c: float
    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    fit_intercept: bool
    strategy: str
    tol: float
    max_iter: int
    time_limit: float | None

    classes_: NDArray[Any]  # of a classifier
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
    def _columns(self, targets: FloatArray) -> list[FloatArray]:
        """The targets of each problem: signs of one class against the rest, or the values."""

    @abstractmethod
    def _weight_scale(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        """c_i = scale_i * sample_weight_i."""

    @property
    def _tube(self) -> float:
        return 0.0

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    # -- fitting

    def _check_rows(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """X and, where given, y: float64, finite, C-contiguous or canonical CSR."""
        check_sparse(X)
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError(
                f"The precomputed kernel is a sparse {type(X).__name__}; pass a dense array."
            )
        options: dict[str, Any] = {
            "dtype": np.float64,
            "order": "C",
            "accept_sparse": "csr",
            "reset": reset,
        }
        if not y:
            return validate_data(self, X, **options)
        return validate_data(self, X, *y, y_numeric=self._targets == "numbers", **options)

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        order: NDArray[np.intp] | None = None,
    ) -> SmoothRows:
        """The checked instances, in this order; sets the kernel, which may depend on the data."""
        X, y = self._check_rows(X, y)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"The precomputed kernel has shape {X.shape}; it must be square to fit."
            )
        weights = check_weights(sample_weight, X)
        if order is not None:
            X = X[np.ix_(order, order)] if self.kernel == "precomputed" else X[order]
            y, weights = y[order], weights[order]
        targets = self._check_targets(y, weights)
        self._gamma = squared_norm = 0.0
        is_given = self.kernel == "precomputed" or callable(self.kernel)
        if not is_given:
            squared_norm = check_squared_norms(X)
            self._gamma = choose_gamma(self, X, weights)
        self._kernel = make_kernel(self.kernel, self._gamma, self.degree, self.coef0)
        check_kernel_size(self._kernel, squared_norm)
        scale = None if self._is_linear else np.sqrt(weights)
        return SmoothRows(X, targets, weights, scale)

    def _make_design(self, rows: SmoothRows) -> Any:
        """X, or K diag(scale), whole and in double."""
        if rows.column_scale is None:
            return rows.X
        is_given = isinstance(self._kernel, Precomputed)
        K = rows.X if is_given else KernelStore(rows.X).matrix(self._kernel)
        if (rows.column_scale != 1.0).any():
            K = np.multiply(K, rows.column_scale, out=None if is_given else K)
        return np.asarray(K)

    def _make_problems(self, rows: SmoothRows) -> list[MarginProblem]:
        """One problem a column of the decision values."""
        return self._problems_on(self._make_design(rows), rows)

    def _problems_on(self, design: Any, rows: SmoothRows) -> list[MarginProblem]:
        # The loss of a MarginProblem is (.)^2, that of the smooth SVM (.)^2 / 2.
        weights = 0.5 * self._weight_scale(rows.targets, rows.weights) * rows.weights
        return [
            MarginProblem(
                design,
                column,
                weights,
                self._loss,
                self._tube,
                "penalised" if self.fit_intercept else "none",
            )
            for column in self._columns(rows.targets)
        ]

    @property
    def _limits(self) -> smooth_newton.NewtonLimits:
        return smooth_newton.NewtonLimits(self.tol, self.max_iter, self.time_limit)

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        rows = self._prepare(X, y, sample_weight)
        solutions = []
        for problem in self._make_problems(rows):
            # Columns of one against the rest differ in many states: each begins from zero.
            (found,) = smooth_newton.solve_side_by_side(
                [problem], strategy=self.strategy, limits=self._limits
            )
            solutions.append(found)
        self._take(solutions, rows.X, rows.column_scale)
        self._warn()
        return self

    def _take(self, solutions: Sequence[Any], X: Any, column_scale: FloatArray | None) -> None:
        """Set the fitted attributes from one solution a column."""
        coefs = np.stack([solution.coef for solution in solutions])
        if column_scale is None:
            self.coef_ = coefs
        else:
            self.kernel_coef_ = coefs * column_scale
            self.X_fit_ = np.empty((0, 0)) if isinstance(self._kernel, Precomputed) else X
        self.intercept_ = np.array([solution.bias for solution in solutions])
        infos = [solution.info for solution in solutions]
        self.solve_info_ = tuple(infos)
        for name in ("objective", "duality_gap", "kkt_violation"):
            values = np.array([getattr(info, name) for info in infos])
            setattr(self, f"{name}_", float(values[0]) if len(infos) == 1 else values)
        self.n_iter_ = max(info.n_iter for info in infos)
        self.fit_status_ = overall_status(infos)

    def _warn(self) -> None:
        if self.fit_status_ is not Status.SOLVED:
            budget = Budget(self.tol, self.max_iter, self.time_limit)
            violation = float(np.max(self.kkt_violation_))
            warn_unsolved(self.fit_status_, budget, violation)

    def to_problem(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> MarginProblem | list[MarginProblem]:
        """Return the MarginProblem of `fit`, on all rows in order; the estimator is not changed.

        For more than two classes, the result is a list with one problem per class.
        """
        model: Self = clone(self)
        model._validate_params()
        problems = model._make_problems(model._prepare(X, y, sample_weight))
        return problems[0] if len(problems) == 1 else problems

    def certify(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> MarginCertificate | list[MarginCertificate]:
        """Recompute the quality of the fitted model from the raw training data.

        Pass the arguments of `fit`. The computation uses the coefficients, the formula of the
        kernel and no solver. For more than two classes it returns a list with one certificate per
        class.
        """
        check_is_fitted(self, "intercept_")
        model: Self = clone(self)
        rows = model._prepare(X, y, sample_weight)
        design, coefs = rows.X, self.coef_ if self._is_linear else self.kernel_coef_
        classes = getattr(self, "classes_", None)
        scale = rows.column_scale
        if scale is not None:
            if not isinstance(self._kernel, Precomputed):
                design = np.asarray(self._kernel.evaluate(rows.X, rows.X), dtype=np.float64)
            design = design * scale
            if coefs.shape[1] == scale.size:
                coefs = np.divide(coefs, scale, out=np.zeros_like(coefs), where=scale > 0.0)
        problems = model._problems_on(design, rows)
        return certify_columns(classes, problems, coefs, self.intercept_)

    # -- predicting

    def _decision_values(self, X: Any) -> FloatArray:
        """One column a problem."""
        check_is_fitted(self, "intercept_")
        X = self._check_rows(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return check_decision_values(on_distinct_rows(X, self._values_of), self._kernel)

    def _values_of(self, X: Any) -> FloatArray:
        if self._is_linear:
            return np.asarray(X @ self.coef_.T) + self.intercept_
        values = np.empty((X.shape[0], self.intercept_.size))
        step = max(1, BLOCK_VALUES // self.kernel_coef_.shape[1])
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            is_matrix = isinstance(self._kernel, Precomputed)
            K = X[rows] if is_matrix else self._kernel.evaluate(X[rows], self.X_fit_)
            values[rows] = K @ self.kernel_coef_.T
        return values + self.intercept_

    def _shape_decision(self, values: FloatArray) -> FloatArray:
        """What `decision_function` returns, from one column a problem."""
        return values[:, 0] if values.shape[1] == 1 else values

    def _predictions_of(self, values: FloatArray) -> NDArray[Any]:
        """What `predict` returns, from one column a problem."""
        return values[:, 0]


@declares(
    Declaration(targets="labels", family="smooth", weight="c", abilities=frozenset({"folds"}))
)
class SmoothSVC(ClassifierMixin, BaseSmooth):
    """Smooth support vector classification: 1/2 |(w, b)|^2 + c/2 sum (1 - y f(x))_+^2.

    The offset is penalised like a weight, so a linear model is LIBLINEAR's L2-loss primal with
    C = c / 2. More than two classes are handled one-vs-rest. `cross_validate` and `leave_one_out`
    of `alphapath.model_selection` start from the model on all data and update its Hessian for the
    few instances that change: leave-one-out costs about as much as a few fits.

    Parameters
    ----------
    c : float, default=1.0
        Weight of the losses relative to the norm.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="linear"
        For every kernel except "linear", the rows of the kernel matrix are the data, and |u|^2 of
        the decision function sum_j u_j K(x, x_j) + b is penalised, so the kernel need not be
        positive definite.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    fit_intercept : bool, default=True
    strategy : {"auto", "feature", "instance", "none"}, default="auto"
        How the Hessian is updated: over the features ("feature"), over the instances with a loss
        ("instance"), or the cheaper of the two at every step ("auto"). "none" forms it again at
        every step.
    class_weight : dict or "balanced" or None, default=None
        The c of each class is class_weight[class] * c.
    tol : float, default=1e-8
        Norm of the gradient to accept where the exact optimum is not reached.
    max_iter : int, default=200
        Maximum number of Newton steps for each class.
    time_limit : float or None, default=None
        Time limit in seconds; when it expires, the solver returns its current iterate.

    Attributes
    ----------
    classes_, class_weight_ : arrays of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Only for the linear kernel.
    kernel_coef_, X_fit_ : arrays
        For the other kernels: u, with one row per column of the decision function, and the training
        rows.
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
        Largest number of Newton steps over the classes.
    fit_status_ : Status
        0 if the problem was solved.
    objective_, duality_gap_, kkt_violation_ : float, or array of shape (n_classes,)
        Quality of the solution; the violation is the norm of the gradient.
    solve_info_ : tuple of Info

    Examples
    --------
    >>> from alphapath import SmoothSVC
    >>> model = SmoothSVC().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.2]]).tolist()
    ['a']
    """

    _loss = "squared_hinge"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSmooth._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        c: float = 1.0,
        *,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        strategy: str = "auto",
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 200,
        time_limit: float | None = None,
    ) -> None:
        self.c = c
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.strategy = strategy
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            c_i = c * class_weight * sample_weight_i; rows of weight 0 are ignored.
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X: Any) -> FloatArray:
        """Decision values: shape (n,) for two classes, else one column per class."""
        return self._shape_decision(self._decision_values(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class labels of the rows of X."""
        return self._predictions_of(self._decision_values(X))

    def _predictions_of(self, values: FloatArray) -> NDArray[Any]:
        if values.shape[1] == 1:
            codes = (values[:, 0] >= 0.0).astype(np.intp)
        else:
            codes = np.argmax(values, axis=1)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels

    def _check_targets(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        self.classes_, codes = encode_labels(y, sample_weight)
        return codes

    def _weight_scale(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        self.class_weight_ = weigh_classes(self.class_weight, self.classes_, targets, sample_weight)
        return np.asarray(self.c * self.class_weight_[targets.astype(np.intp)])

    def _columns(self, targets: FloatArray) -> list[FloatArray]:
        codes = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(targets == code, 1.0, -1.0) for code in codes]


@declares(
    Declaration(targets="numbers", family="smooth", weight="c", abilities=frozenset({"folds"}))
)
class SmoothSVR(RegressorMixin, BaseSmooth):
    """Smooth support vector regression: 1/2 |(w, b)|^2 + c/2 sum (|y - f(x)| - epsilon)_+^2.

    A linear model is LIBLINEAR's L2-loss SVR primal with C = c / 2 and a penalised offset.

    Parameters
    ----------
    c : float, default=1.0
        Weight of the losses relative to the norm.
    epsilon : float, default=0.1
        Errors up to epsilon cost nothing.
    kernel, degree, gamma, coef0, fit_intercept, strategy, tol, max_iter, time_limit
        As in SmoothSVC.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Only for the linear kernel.
    kernel_coef_, X_fit_, intercept_, n_iter_, fit_status_, objective_, duality_gap_, \
kkt_violation_, solve_info_
        As in SmoothSVC.

    Examples
    --------
    >>> from alphapath import SmoothSVR
    >>> model = SmoothSVR(c=100.0, epsilon=0.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> round(float(model.predict([[1.5]])[0]), 1)
    1.5
    """

    _loss = "squared_epsilon_insensitive"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSmooth._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, np.inf, closed="left")],
    }

    def __init__(
        self,
        c: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        strategy: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 200,
        time_limit: float | None = None,
    ) -> None:
        self.c = c
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.strategy = strategy
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            c_i = c * sample_weight_i; rows of weight 0 are ignored.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of the rows of X."""
        return self._predictions_of(self._decision_values(X))

    @property
    def _tube(self) -> float:
        return self.epsilon

    def _check_targets(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        return np.asarray(y, dtype=np.float64)

    def _weight_scale(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        return np.full_like(sample_weight, self.c)

    def _columns(self, targets: FloatArray) -> list[FloatArray]:
        return [targets]
