"""SVC: classification, one-vs-one for more than two classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import svm
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from ..kernels.raw_rows import Members
from ..paths.incremental import Terms
from ..problem.box_problem import FloatArray
from .common import one_vs_one
from .common.base import POSITIVE
from .common.declaration import Declaration, LibsvmType, declares
from .common.inputs import encode_labels, weigh_classes
from .common.updating import WINDOW, UpdatingSVM, has_features
from .exchange.model_exchange import ModelExchange


@declares(
    Declaration(
        targets="labels",
        family="dual",
        peer=svm.SVC,
        libsvm=LibsvmType(0, "c_svc"),
        command="c-svc",
        abilities=frozenset({"folds", "path", "updates", "gpu", "file"}),
    )
)
class SVC(ClassifierMixin, ModelExchange, UpdatingSVM):
    """C-support vector classification, with the results of scikit-learn's SVC.

    More than two classes are handled one-vs-one; all pairs share one kernel.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses relative to the norm.
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
    class_weight : dict or "balanced" or None, default=None
        The C of each class is class_weight[class] * C; "balanced" gives all classes the same total
        weight, with rows counted by their sample weight.
    max_iter : int, default=-1
        Maximum number of iterations for each pair; -1 means no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function` for more than two classes: one column per class or per pair.
    break_ties : bool, default=False
        Whether `predict` uses the "ovr" decision function instead of the votes of the pairs.
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
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in scikit-learn; `dual_coef_` is always a dense array.
    n_iter_ : array of shape (n_pairs,)
    fit_status_ : Status
        0 if every pair was solved.
    objective_, duality_gap_, kkt_violation_ : float, or array of shape (n_pairs,)
        Quality of the solution, as an array for more than two classes.
    solve_info_ : tuple of Info
        Counts, times and quality of each solve, one per pair of classes.

    Notes
    -----
    There is no `probability`: wrap the estimator in `CalibratedClassifierCV`. scikit-learn's
    `shrinking`, `cache_size`, `verbose` and `random_state` have no meaning here and are rejected;
    `SVC.from_sklearn` converts an estimator that has them.

    Examples
    --------
    >>> from alphapath import SVC
    >>> SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]).predict([[0.2]]).tolist()
    ['a']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **UpdatingSVM._parameter_constraints,
        "C": [POSITIVE],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "window": WINDOW,
        **UpdatingSVM._device_constraint,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: Any = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        memory_limit: Any = None,
        time_limit: float | None = None,
        window: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
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
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            C_i = C * class_weight * sample_weight_i; rows of weight 0 are ignored.
        """
        return self._fit(X, y, sample_weight)

    @available_if(has_features)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Add rows to the training set and update the model to the exact one of all rows.

        Parameters
        ----------
        X, y, sample_weight
            The rows to add, as in `fit`.
        classes : array-like, default=None
            All classes that will ever occur; by default, those of the first rows.

        Examples
        --------
        >>> model = SVC(window=1000).partial_fit(X[:500], y[:500])   # doctest: +SKIP
        """
        if not hasattr(self, "dual_coef_"):
            self._validate_params()
            self._set_classes(y, classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes is {np.unique(classes)}, but the model was started with {self.classes_}; "
                f"leave it out, or give the same."
            )
        rows = self._check_addition(X, y, sample_weight)
        return self._change(rows, np.zeros(0, dtype=np.int64))

    def _set_classes(self, y: Any, classes: ArrayLike | None) -> None:
        labels = np.unique(np.asarray(y if classes is None else classes))
        if len(labels) < 2:
            raise ValueError(
                f"The rows have one class only, {labels}; give all classes that will come by "
                f"classes=."
            )
        self.classes_ = labels

    def _check_new_targets(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        codes = np.searchsorted(self.classes_, y)
        is_known = self.classes_[np.minimum(codes, len(self.classes_) - 1)] == y
        if not is_known.all():
            raise ValueError(
                f"y has the label {y[np.argmin(is_known)]!r}, which is none of the classes "
                f"{self.classes_}; give all classes that will come by classes= in the first call."
            )
        return np.asarray(codes, dtype=np.float64)

    def decision_function(self, X: Any) -> FloatArray:
        """Decision values: shape (n,), or one column per class ("ovr") or pair ("ovo")."""
        return self._shape_decision(self._decision_values(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class labels of the rows of X."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        return self._predictions_of(self._decision_values(X))

    def _shape_decision(self, values: FloatArray) -> FloatArray:
        n_classes = len(self.classes_)
        if n_classes == 2:
            return values[:, 0]
        if self.decision_function_shape == "ovo":
            return values
        return one_vs_one.score_classes(values, n_classes)

    def _predictions_of(self, values: FloatArray) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_.take(self._codes_of(values))
        return labels

    def _codes_of(self, values: FloatArray) -> NDArray[np.intp]:
        """The numbers of the predicted classes, from one column a problem."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.asarray(values[:, 0] >= 0.0, dtype=np.intp)
        if self.break_ties:
            return np.asarray(np.argmax(self._shape_decision(values), axis=1))
        return np.asarray(np.argmax(one_vs_one.count_votes(values, n_classes), axis=1))

    def _check_targets(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        self.classes_, codes = encode_labels(y, sample_weight)
        return codes

    def _weight_scale(self, targets: FloatArray, sample_weight: FloatArray) -> FloatArray:
        self.class_weight_ = weigh_classes(self.class_weight, self.classes_, targets, sample_weight)
        return np.asarray(self.C * self.class_weight_[targets.astype(np.intp)])

    @property
    def _n_problems(self) -> int:
        return len(one_vs_one.class_pairs(len(self.classes_)))

    def _terms_at(self, number: int, targets: FloatArray, weights: FloatArray) -> Terms:
        n_classes = len(self.classes_)
        if n_classes == 2:  # every row is one of the pair
            signs = 2.0 * targets - 1.0
            return Terms(signs, weights, np.minimum(signs, 0.0), np.maximum(signs, 0.0))
        pair = one_vs_one.class_pairs(n_classes)[number]
        signs, is_member = one_vs_one.pair_signs(targets, pair, n_classes)
        own = np.where(is_member, weights, 0.0)
        return Terms(signs, own, np.minimum(signs, 0.0), np.maximum(signs, 0.0))

    def _divide(self, targets: FloatArray) -> list[Members] | None:
        n_classes = len(self.classes_)
        return one_vs_one.pair_members(targets, n_classes) if n_classes > 2 else None

    def _refit_parameters(self) -> Self:
        # "balanced" weights summed in another order may differ in the last bit, and a beta at its
        # bound would then look free.
        weights = dict(zip(self.classes_, self.class_weight_, strict=True))
        model: Self = super()._refit_parameters().set_params(class_weight=weights)
        return model

    def _pack(self, betas: one_vs_one.PairBetas, targets: FloatArray) -> None:
        packed = one_vs_one.pack_pairs(betas, targets, len(self.classes_))
        self.support_, self.n_support_, self.dual_coef_ = packed

    def _unpack(self) -> Iterator[FloatArray]:
        return one_vs_one.unpack_pairs(self.n_support_, self.dual_coef_)

    def _combine(self, K: FloatArray) -> FloatArray:
        return one_vs_one.combine_pairs(K, self.n_support_, self.dual_coef_)
