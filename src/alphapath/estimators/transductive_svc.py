"""TransductiveSVC: labels for unlabelled rows by Joachims' algorithm, every step exact."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..kernels.choice import choose_gamma
from ..kernels.samples import check_sparse
from ..paths.transduction import transduce
from ..paths.weights import read_estimator
from ..problem.box_problem import FloatArray
from ..problem.certificate import Certificate
from .common.base import POSITIVE
from .common.declaration import Declaration, declares
from .svc import SVC

#: The label of a row without one, as in scikit-learn's semi-supervised estimators.
UNLABELLED = -1


@declares(Declaration(targets="labels", family="transduction"))
class TransductiveSVC(ClassifierMixin, BaseEstimator):
    """Classification of two classes from labelled and unlabelled rows.

    Unlabelled rows (label -1) first receive the labels of the supervised model and weights close to
    0. The weights are then doubled until they reach `C_unlabelled`; between doublings, pairs of
    opposite labels are switched where both rows favour it. Each of these problems is solved
    exactly, warm-started from the solution of the previous one.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the labelled rows.
    C_unlabelled : float, default=1.0
        Final weight of the unlabelled rows.
    kernel, degree, gamma, coef0, memory_limit
        As in `SVC`.
    positive_share : float or None, default=None
        Fraction of the unlabelled rows to assign to the second class; None uses the fraction among
        the labelled rows.

    Attributes
    ----------
    classes_ : array of shape (2,)
    transduction_ : array of shape (n_samples,)
        The label of every row, including the labelled ones.
    model_ : SVC
        The model fitted on all rows with these labels.
    n_switches_, n_doublings_, n_rounds_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import TransductiveSVC
    >>> X = np.array([[0.0], [0.2], [0.4], [3.0], [3.2], [3.4]])
    >>> TransductiveSVC(gamma=1.0).fit(X, [0, -1, -1, 1, -1, -1]).transduction_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: SVC._parameter_constraints[name]
            for name in ("C", "kernel", "degree", "gamma", "coef0", "memory_limit")
        },
        "C_unlabelled": [POSITIVE],
        "positive_share": [None, Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        C_unlabelled: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        positive_share: float | None = None,
        memory_limit: Any = None,
    ) -> None:
        self.C = C
        self.C_unlabelled = C_unlabelled
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.positive_share = positive_share
        self.memory_limit = memory_limit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model; rows whose label is -1 are unlabelled."""
        check_sparse(X)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        is_labelled = y != UNLABELLED
        self.classes_ = np.unique(y[is_labelled])
        if len(self.classes_) != 2:
            raise ValueError(
                f"The labelled rows have the classes {self.classes_}; a transductive SVM needs "
                f"two (-1 marks a row without a label)."
            )
        model = SVC(
            C=self.C,
            kernel=self.kernel,
            degree=self.degree,
            gamma=self._choose_gamma(X),
            coef0=self.coef0,
            memory_limit=self.memory_limit,
        )
        labels = np.where(is_labelled, y, self.classes_[0])
        problem, _ = read_estimator(model, X, labels)
        share = self.positive_share
        if share is None:
            share = float(np.mean(y[is_labelled] == self.classes_[1]))
        n_open = int(np.count_nonzero(~is_labelled))
        weights = self._weigh(is_labelled)
        limit = self.C * (self.C_unlabelled / self.C)  # to the last bit the bound of the model
        found = transduce(problem, is_labelled, limit, round(share * n_open))
        self.transduction_ = self.classes_[(found.signs > 0.0).astype(np.intp)]
        self.model_ = model.take_solution(
            found.solution, X, self.transduction_, sample_weight=weights
        )
        self.n_switches_, self.n_doublings_ = found.n_switches, found.n_doublings
        self.n_rounds_ = found.n_rounds
        return self

    def _weigh(self, is_labelled: NDArray[np.bool_]) -> FloatArray:
        """The sample weights of the model of all rows."""
        return np.where(is_labelled, 1.0, self.C_unlabelled / self.C)

    def _check_rows(self, X: Any) -> Any:
        """Rows as the model of all rows was fitted on them: without names of features."""
        check_is_fitted(self, "model_")
        check_sparse(X)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _choose_gamma(self, X: Any) -> Any:
        """A number, so that the weights of the unlabelled rows do not move it later."""
        return choose_gamma(self, X, np.ones(X.shape[0])) or self.gamma

    def certify(self, X: Any, y: Any) -> Certificate:
        """Recompute the quality of the fitted model from the raw training data.

        Pass the arguments of `fit`. The certificate is for the model on all rows with the labels of
        `transduction_` and uses no solver; it does not certify that these labels are the best.
        """
        check_is_fitted(self, "model_")
        labels = column_or_1d(y)
        is_labelled = labels != UNLABELLED
        if labels.shape != self.transduction_.shape:
            raise ValueError(
                f"y has {labels.size} rows, but the model was fitted on "
                f"{self.transduction_.size}; certify needs the training data."
            )
        if not np.array_equal(labels[is_labelled], self.transduction_[is_labelled]):
            raise ValueError(
                "The labels of y are not those that the model was fitted on; certify needs the "
                "training data."
            )
        weights = self._weigh(is_labelled)
        found = self.model_.certify(self._check_rows(X), self.transduction_, weights)
        assert isinstance(found, Certificate)  # two classes make one problem
        return found

    def decision_function(self, X: Any) -> FloatArray:
        """Decision values; positive for the second class."""
        return self.model_.decision_function(self._check_rows(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class labels of the rows of X."""
        return self.model_.predict(self._check_rows(X))
