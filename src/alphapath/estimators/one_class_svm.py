"""OneClassSVM: the support of a distribution, by the nu one-class model."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import svm
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval

from ..problem.box_problem import FloatArray, KernelView, Problem
from .common.base import BaseSVM, OneProblemSVM
from .common.declaration import Declaration, LibsvmType, declares
from .exchange.model_exchange import ModelExchange


@declares(
    Declaration(
        targets="ignored",
        family="dual",
        weight=None,
        peer=svm.OneClassSVM,
        libsvm=LibsvmType(2, "one_class"),
        command="one-class",
        abilities=frozenset({"folds", "gpu", "file"}),
    )
)
class OneClassSVM(OutlierMixin, ModelExchange, OneProblemSVM):
    """Nu one-class SVM for outlier detection, with the answers of scikit-learn's OneClassSVM.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid". "scale" is 1 / (n_features * variance of X),
        with rows counted by their weight.
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    tol : float, default=1e-3
        Absolute KKT violation at which the solver stops.
    nu : float, default=0.5
        In (0, 1]: at most this fraction of the rows (by weight) are outliers, and at least this
        fraction are support vectors.
    max_iter : int, default=-1
        Maximum number of iterations; -1 means no limit.
    memory_limit : int or str or None, default=None
        Memory limit for the kernel in bytes (or "200MB"); None uses a share of the RAM. This
        replaces scikit-learn's `cache_size`.
    time_limit : float or None, default=None
        Time limit in seconds; when it expires, the solver returns its current iterate.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the kernel is computed and the problem is solved. "cuda" needs an NVIDIA GPU and
        CuPy (`pip install alphapath[gpu]`); "auto" uses the GPU for 10,000 rows or more.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, shape_fit_
        As in scikit-learn; `dual_coef_` is always a dense array.
    offset_ : array of shape (1,)
        decision_function = score_samples - offset_.
    fit_status_ : Status
        0 if the problem was solved.
    objective_, duality_gap_, kkt_violation_ : float
        Quality of the solution.
    solve_info_ : tuple of one Info
        Counts, times and quality of the solve.

    Examples
    --------
    >>> from alphapath import OneClassSVM
    >>> OneClassSVM(gamma=1.0, nu=0.3).fit([[0.0], [0.1], [0.2], [5.0]]).predict([[0.1], [9.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSVM._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        **BaseSVM._device_constraint,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        max_iter: int = -1,
        memory_limit: Any = None,
        time_limit: float | None = None,
        device: str = "cpu",
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.device = device

    @property
    def offset_(self) -> FloatArray:
        """Minus the intercept."""
        return -self.intercept_

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix of shape (n_samples, n_samples).
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 0 is left out.
        """
        return self._fit(X, None, sample_weight)

    def decision_function(self, X: Any) -> FloatArray:
        """Positive for inliers, negative for outliers."""
        return self._shape_decision(self._decision_values(X))

    def score_samples(self, X: Any) -> FloatArray:
        """The decision function without the offset."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for inliers, -1 for outliers."""
        return self._predictions_of(self._decision_values(X))

    def _predictions_of(self, values: FloatArray) -> NDArray[np.intp]:
        return np.where(values[:, 0] > 0.0, 1, -1).astype(np.intp, copy=False)

    def _check_targets(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        return np.zeros_like(sample_weight)

    def _weight_scale(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        return np.ones_like(sample_weight)

    def _make_problem(
        self, number: int, view: KernelView, targets: FloatArray, weights: FloatArray
    ) -> Problem:
        return Problem.one_class(view, weights, self.nu)
