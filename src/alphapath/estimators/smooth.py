"""SmoothSVC and SmoothSVR: squared losses, a penalised offset, exact fast cross-validation."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..problem.box_problem import FloatArray
from .common.inputs import encode_labels, weigh_classes
from .smooth_base import BaseSmooth


class SmoothSVC(ClassifierMixin, BaseSmooth):
    """Smooth support vector classification: 1/2 |(w, b)|^2 + c/2 sum (1 - y f(x))_+^2.

    The offset is penalised like a weight, so a linear model is LIBLINEAR's L2-loss primal with
    C = c / 2. More than two classes are handled one against the rest. `cross_validate` and
    `leave_one_out` of `alphapath.model_selection` start from the model on all data and update its
    Hessian by the few instances that change: leave-one-out costs about as much as a few fits.

    Parameters
    ----------
    c : float, default=1.0
        Weight of the losses against the norm.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="linear"
        With any but "linear" the rows of the kernel matrix are the data, and |u|^2 of the decision
        function sum_j u_j K(x, x_j) + b is penalised: no kernel needs to be positive definite.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    fit_intercept : bool, default=True
    strategy : {"auto", "feature", "instance", "none"}, default="auto"
        Where the Hessian is kept up to date: over the features, over the instances with a loss, or
        the cheaper of the two at every step; "none" forms it anew at every step.
    class_weight : dict or "balanced" or None, default=None
        c of a class is class_weight[class] * c.
    tol : float, default=1e-8
        Norm of the gradient that passes where the exact optimum is not reached.
    max_iter : int, default=200
        Newton steps of each class.
    time_limit : float or None, default=None
        Seconds after which to stop with what there is.

    Attributes
    ----------
    classes_, class_weight_ : arrays of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Only for the linear kernel.
    kernel_coef_, X_fit_ : arrays
        u, one row a column of the decision function, and the training rows; for the others.
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
        Most Newton steps of any class.
    fit_status_ : Status
        0 if solved.
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

    _targets: ClassVar[Literal["labels"]] = "labels"
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
            c_i = c * class_weight * sample_weight_i; a row of weight 0 is left out.
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X: Any) -> FloatArray:
        """Shape (n,) for two classes, else one column a class."""
        return self._shape_decision(self._decision_values(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels of the rows of X."""
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


class SmoothSVR(RegressorMixin, BaseSmooth):
    """Smooth support vector regression: 1/2 |(w, b)|^2 + c/2 sum (|y - f(x)| - epsilon)_+^2.

    A linear model is LIBLINEAR's L2-loss SVR primal with C = c / 2 and a penalised offset.

    Parameters
    ----------
    c : float, default=1.0
        Weight of the losses against the norm.
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

    _targets: ClassVar[Literal["numbers"]] = "numbers"
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
            c_i = c * sample_weight_i; a row of weight 0 is left out.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> FloatArray:
        """Predicted values of the rows of X."""
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
