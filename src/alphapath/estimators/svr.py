"""SVR: epsilon-insensitive regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import svm
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if

from ..paths.incremental import Terms
from ..problem.box_problem import FloatArray
from .common.base import POSITIVE, OneProblemSVM
from .common.declaration import Declaration, LibsvmType, declares
from .common.updating import WINDOW, UpdatingSVM, has_features
from .exchange.model_exchange import ModelExchange


@declares(
    Declaration(
        targets="numbers",
        family="dual",
        peer=svm.SVR,
        libsvm=LibsvmType(3, "epsilon_svr"),
        command="epsilon-svr",
        abilities=frozenset({"folds", "path", "updates", "gpu", "file"}),
    )
)
class SVR(RegressorMixin, ModelExchange, OneProblemSVM, UpdatingSVM):
    """Epsilon-support vector regression, with the results of scikit-learn's SVR.

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
    C : float, default=1.0
        Weight of the losses relative to the norm.
    epsilon : float, default=0.1
        Errors up to epsilon cost nothing.
    max_iter : int, default=-1
        Maximum number of iterations; -1 means no limit.
    memory_limit : int or str or None, default=None
        Memory limit for the kernel in bytes (or "200MB"); None uses a share of the RAM. This
        replaces scikit-learn's `cache_size`.
    time_limit : float or None, default=None
        Time limit in seconds; when it expires, the solver returns its current iterate.
    window : int or None, default=None
        Maximum number of rows that `partial_fit` and `update` keep; the oldest are forgotten.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the kernel is computed and the problems are solved. "cuda" needs an NVIDIA GPU and
        CuPy (`pip install alphapath[gpu]`); "auto" uses the GPU for 10,000 rows or more.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, shape_fit_
        As in scikit-learn; `dual_coef_` is always a dense array.
    fit_status_ : Status
        0 if the problem was solved.
    objective_, duality_gap_, kkt_violation_ : float
        Quality of the solution.
    solve_info_ : tuple of one Info
        Counts, times and quality of the solve.

    Examples
    --------
    >>> from alphapath import SVR
    >>> float(SVR(kernel="linear", C=10.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).score(
    ...     [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])) > 0.98
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **UpdatingSVM._parameter_constraints,
        "C": [POSITIVE],
        "epsilon": [Interval(Real, 0.0, np.inf, closed="left")],
        "window": WINDOW,
        **UpdatingSVM._device_constraint,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        max_iter: int = -1,
        memory_limit: Any = None,
        time_limit: float | None = None,
        window: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.window = window
        self.device = device

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            C_i = C * sample_weight_i; rows of weight 0 are ignored.
        """
        return self._fit(X, y, sample_weight)

    @available_if(has_features)
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows to the training set and update the model to the exact one of all rows.

        Parameters
        ----------
        X, y, sample_weight
            The rows to add, as in `fit`.

        Examples
        --------
        >>> model = SVR(window=1000).partial_fit(X[:500], y[:500])   # doctest: +SKIP
        """
        if not hasattr(self, "dual_coef_"):
            self._validate_params()
        rows = self._check_addition(X, y, sample_weight)
        return self._change(rows, np.zeros(0, dtype=np.int64))

    def predict(self, X: Any) -> FloatArray:
        """Predict the targets of the rows of X."""
        return self._predictions_of(self._decision_values(X))

    def _check_targets(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        return np.asarray(y, dtype=np.float64)

    def _weight_scale(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        return np.full_like(sample_weight, self.C)

    def _terms_at(self, number: int, targets: FloatArray, weights: FloatArray) -> Terms:
        ones = np.ones_like(targets)
        return Terms(targets, weights, -ones, ones)
