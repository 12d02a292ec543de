"""LinearSVC: large linear SVMs, trained in the primal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn import svm
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernels import Linear
from ..kernels.choice import row_blocks
from ..kernels.equal_rows import on_distinct_rows
from ..kernels.limits import check_decision_values
from ..kernels.samples import check_sparse
from ..problem.box_problem import FloatArray
from ..problem.certificate import MarginCertificate, tighten
from ..problem.margin_problem import MarginProblem, scale_weights
from ..problem.solution import Info, MarginSolution, Status
from ..solvers.primal import auto as margin_auto
from ..solvers.primal import dual_descent as margin_dual
from ..solvers.primal import gradient, pegasos
from ..solvers.primal import newton as margin_newton
from ..solvers.primal.rows import read_rows
from .common.base import POSITIVE
from .common.declaration import Declaration, declares
from .common.inputs import check_weights, encode_labels, weigh_classes
from .common.problems import Budget, certify_columns, overall_status, warn_unsolved
from .exchange.sklearn_bridge import linear_from_sklearn, linear_to_sklearn

#: The gap that a fit goes for, as a share of `tol`, and the least. With these a fit is at least as
#: close to the optimum as one of LIBLINEAR with the same `tol`; the smooth losses converge
#: quadratically, so that they come at next to no cost.
AIM, AIM_OF_HINGE, LEAST_AIM = 1e-7, 5e-3, 1e-11


class Column(NamedTuple):
    """What a fitted model keeps of a solution: no array with one entry per row.

    The exception are the dual variables where nothing else certifies the solution.
    """

    coef: FloatArray
    bias: float
    info: Info
    alpha: FloatArray | None = None


@declares(
    Declaration(
        targets="labels", family="linear", peer=svm.LinearSVC, abilities=frozenset({"folds"})
    )
)
class LinearSVC(ClassifierMixin, BaseEstimator):
    """Linear support vector classification: 1/2 |w|^2 + C sum loss(y (w'x + b)).

    The model is trained in the primal, on dense or sparse data of float64 or float32, which is read
    in place. With the defaults, the results match those of scikit-learn's `LinearSVC`, to a duality
    gap that is reported.
    More than two classes are handled one-vs-rest. `SVMSearchCV` searches C (and other
    parameters) at little more than the cost of one fit; `linear_c_search` is LIBLINEAR's search,
    with its grid.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "huber"}, default="squared_hinge"
    C : float, default=1.0
        Weight of the losses relative to the norm.
    lam : float or None, default=None
        If given, replaces C by the form lam / 2 |w|^2 + mean loss, where
        C = 1 / (lam * sum of the weights).
    width : float, default=0.01
        Half-width of the quadratic part of the "huber" loss.
    solver : {"auto", "newton", "dual", "gradient", "pegasos"}, default="auto"
        "newton" supports all losses. "dual" is coordinate descent on the dual; it requires a
        penalised offset or none, and is the fastest for small C or many features. "auto" starts
        with "dual" where possible for the hinge loss, and for all losses with more than 1200
        features, and switches to "newton" where that is predicted to be faster.
        "gradient" is plain gradient descent that halves its step whenever the objective rises,
        "pegasos" is stochastic subgradient descent (hinge loss only). All solvers except "newton"
        use bounds on the change in the margin.
    margin_bounds : bool, default=True
        Whether "dual", "gradient" and "pegasos" skip margins that provably do not matter. The
        results are the same to `tol` (those of "dual" bit for bit); without the bounds, the solvers
        take longer.
    fit_intercept : bool, default=True
    penalise_intercept : bool, default=True
        Whether to penalise b like a weight, as scikit-learn and LIBLINEAR do.
    class_weight : dict or "balanced" or None, default=None
        The C of each class is class_weight[class] * C.
    tol : float, default=1e-4
        Duality gap, relative to the objective, at which a problem counts as solved. A fit by
        "auto", "newton" or "dual" continues until it is at least as close to the optimum as
        scikit-learn's with the same `tol`: to 1e-7 `tol` for smooth losses (but not below 1e-11)
        and to `tol` / 200 for the hinge, as far as rounding allows. "pegasos" runs all its steps.
    max_iter : int, default=10000
        Maximum number of Newton systems, sweeps over all rows, descent steps or Pegasos steps, for
        each class.
    n_sampled : int, default=100
        Number of rows sampled in each step of Pegasos.
    random_state : int, RandomState or None, default=None
        Seed of the samples of Pegasos and of the order in which "dual" visits rows. For "dual" and
        "auto", None means 0, so that every run gives the same result.
    time_limit : float or None, default=None
        Time limit in seconds for each class; when it expires, the current iterate is returned.

    Attributes
    ----------
    classes_, class_weight_ : arrays of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    n_iter_ : int
        Largest number of iterations over the classes.
    fit_status_ : Status
        0 if the problem was solved.
    objective_, duality_gap_, kkt_violation_ : float, or array of shape (n_classes,)
        Quality of the solution. The gap bounds the distance of the objective from the optimum, and
        is recomputed from all rows after the solve. The violation is the norm of the (sub)gradient;
        for "dual" it is the largest projected gradient.
    solve_info_ : tuple of Info

    Examples
    --------
    >>> from alphapath import LinearSVC
    >>> model = LinearSVC().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.2]]).tolist()
    ['a']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"squared_hinge", "hinge", "huber"})],
        "C": [POSITIVE],
        "lam": [None, POSITIVE],
        "width": [POSITIVE],
        "solver": [StrOptions({"auto", "newton", "dual", "gradient", "pegasos"})],
        "margin_bounds": ["boolean"],
        "fit_intercept": ["boolean"],
        "penalise_intercept": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "tol": [Interval(Real, 0.0, 1.0, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_sampled": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "time_limit": [None, POSITIVE],
    }

    def __init__(
        self,
        loss: str = "squared_hinge",
        *,
        C: float = 1.0,
        lam: float | None = None,
        width: float = 0.01,
        solver: str = "auto",
        margin_bounds: bool = True,
        fit_intercept: bool = True,
        penalise_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        n_sampled: int = 100,
        random_state: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.lam = lam
        self.width = width
        self.solver = solver
        self.margin_bounds = margin_bounds
        self.fit_intercept = fit_intercept
        self.penalise_intercept = penalise_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_sampled = n_sampled
        self.random_state = random_state
        self.time_limit = time_limit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, float64 or float32; any other type is converted to float64.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            C_i = C * class_weight * sample_weight_i; rows of weight 0 are ignored.
        """
        X, codes, sample = self._prepare(X, y, sample_weight)
        weights = self._weigh(codes, sample)
        del sample
        rows = read_rows(X)
        columns = []
        for problem in self._each_problem(X, codes, weights):
            solution = self._solve(problem, rows)
            columns.append(Column(solution.coef, solution.bias, solution.info, solution.alpha))
            del solution
        self._take(columns)
        if self.fit_status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt
        is_stochastic = self.solver == "pegasos"
        if self.fit_status_ is not Status.SOLVED and not is_stochastic:
            budget = Budget(self.tol, self.max_iter, self.time_limit)
            worst = float(np.max(self.kkt_violation_))
            warn_unsolved(self.fit_status_, budget, worst)
        return self

    def _make_problems(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> list[MarginProblem]:
        """One problem a column of the decision values, all on one X."""
        X, codes, sample = self._prepare(X, y, sample_weight)
        return self._problems_on(X, codes, self._weigh(codes, sample))

    def _prepare(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[Any], FloatArray]:
        """X, the number of each row's class, and the sample weights, checked."""
        X, y = self._check_rows(X, y)
        if sample_weight is None:
            sample = np.broadcast_to(np.float64(1.0), X.shape[:1])
        else:
            sample = check_weights(sample_weight, X)
        self.classes_, codes = encode_labels(y, sample)
        return X, codes.astype(np.min_scalar_type(len(self.classes_))), sample

    def _weigh(self, codes: NDArray[Any], sample: FloatArray) -> FloatArray:
        """The weights c of rows of these classes."""
        self.class_weight_ = weigh_classes(self.class_weight, self.classes_, codes, sample)
        if self.class_weight is not None:
            sample = sample * self.class_weight_[codes]
        C = self.C if self.lam is None else 1.0 / (self.lam * float(sample.sum()))
        return scale_weights(sample, C)

    def _problems_on(self, X: Any, codes: NDArray[Any], weights: FloatArray) -> list[MarginProblem]:
        return list(self._each_problem(X, codes, weights))

    def _each_problem(
        self, X: Any, codes: NDArray[Any], weights: FloatArray
    ) -> Iterator[MarginProblem]:
        """One problem a column, made when it is asked for."""
        offset = "none" if not self.fit_intercept else "free"
        if self.fit_intercept and self.penalise_intercept:
            offset = "penalised"
        width = self.width if self.loss == "huber" else 0.0
        for number in [1] if len(self.classes_) == 2 else range(len(self.classes_)):
            targets = np.where(codes == number, np.int8(1), np.int8(-1))
            targets.flags.writeable = False  # so that the problem shares it
            yield MarginProblem(X, targets, weights, self.loss, width, offset)

    def _check_rows(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """X and, where given, y: float64 or float32, finite, C-contiguous or canonical CSR."""
        options: dict[str, Any] = {
            "dtype": [np.float64, np.float32],
            "order": "C",
            "accept_sparse": "csr",
            "reset": reset,
        }
        check_sparse(X)
        checked = validate_data(self, X, *y, **options)
        X = checked[0] if y else checked
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return (X, checked[1]) if y else X

    def _solve(self, problem: MarginProblem, rows: Any) -> MarginSolution:
        if self.solver == "gradient":
            return gradient.solve(
                problem,
                tol=self.tol,
                bounds="lazy" if self.margin_bounds else "full",
                limits=(self.max_iter, self.time_limit),
                rows=rows,
            )
        if self.solver == "pegasos":
            seed = int(check_random_state(self.random_state).randint(2**31))
            sampling = pegasos.Sampling(self.n_sampled, self.max_iter, seed)
            return pegasos.solve(
                problem,
                sampling,
                bounds=self.margin_bounds,
                time_limit=self.time_limit,
                rows=rows,
            )
        if self.solver == "dual":
            limits = margin_dual.DualLimits(self._aim, self.max_iter, self.time_limit)
            is_given = self.random_state is not None
            return margin_dual.solve(
                problem,
                limits=limits,
                bounds=self.margin_bounds,
                seed=int(check_random_state(self.random_state).randint(2**31)) if is_given else 0,
                rows=rows,
            )
        solve = margin_newton.solve if self.solver == "newton" else margin_auto.solve
        return solve(problem, limits=replace(self._limits, aim=self._aim), rows=rows)

    @property
    def _aim(self) -> float:
        """The gap that a fit goes for."""
        share = AIM_OF_HINGE if self.loss == "hinge" else AIM
        return min(self.tol, max(share * self.tol, LEAST_AIM))

    @property
    def _limits(self) -> margin_newton.NewtonLimits:
        return margin_newton.NewtonLimits(self.tol, self.max_iter, self.time_limit)

    def _take(self, solutions: Sequence[Any]) -> None:
        """Set the fitted attributes from one solution a column."""
        self.coef_ = np.stack([solution.coef for solution in solutions])
        self.intercept_ = np.array([solution.bias for solution in solutions])
        self._alphas = [getattr(solution, "alpha", None) for solution in solutions]
        infos = [solution.info for solution in solutions]
        self.solve_info_ = tuple(infos)
        for name in ("objective", "duality_gap", "kkt_violation"):
            values = np.array([getattr(info, name) for info in infos])
            setattr(self, f"{name}_", float(values[0]) if len(infos) == 1 else values)
        self.n_iter_ = max(info.n_iter for info in infos)
        self.fit_status_ = overall_status(infos)

    def to_problem(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> MarginProblem | list[MarginProblem]:
        """Return the MarginProblem of `fit`; for more than two classes a list, one per class."""
        model: Self = clone(self)
        model._validate_params()
        problems = model._make_problems(X, y, sample_weight)
        return problems[0] if len(problems) == 1 else problems

    def certify(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> MarginCertificate | list[MarginCertificate]:
        """Recompute the quality of the fitted model from the raw training data.

        Pass the arguments of `fit`. The computation uses coef_ and intercept_ and no solver, and
        the dual variables of a fit that rounding stopped before interior points finished it. For
        more than two classes it returns a list with one certificate per class.

        Examples
        --------
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
        >>> LinearSVC().fit(X, y).certify(X, y).relative_gap < 1e-9
        True
        """
        check_is_fitted(self, "coef_")
        problems = clone(self)._make_problems(X, y, sample_weight)
        found = certify_columns(self.classes_, problems, self.coef_, self.intercept_)
        certificates = found if isinstance(found, list) else [found]
        for k, alpha in enumerate(getattr(self, "_alphas", [])):
            model = self.coef_[k], float(self.intercept_[k])
            certificates[k] = tighten(problems[k], model, certificates[k], alpha)
        return certificates if isinstance(found, list) else certificates[0]

    def as_sklearn(self) -> Any:
        """Return the equivalent scikit-learn LinearSVC, fitted if this one is."""
        return linear_to_sklearn(self)

    @classmethod
    def from_sklearn(cls, estimator: Any) -> Self:
        """Return a LinearSVC with the parameters of scikit-learn's and, if fitted, its model."""
        model = cls()
        linear_from_sklearn(model, estimator)
        return model

    def decision_function(self, X: Any) -> FloatArray:
        """Decision values: shape (n,) for two classes, else one column per class."""
        check_is_fitted(self, "coef_")
        values = self._decision_values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def _decision_values(self, X: Any) -> FloatArray:
        """One column a problem; the same bits for equal rows."""
        X = self._check_rows(X, reset=False)
        return check_decision_values(on_distinct_rows(X, self._evaluate), Linear())

    def _evaluate(self, X: Any) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(X):
                values: FloatArray = np.asarray(X @ self.coef_.T)
            else:
                values = np.empty((X.shape[0], self.intercept_.size))
                for rows in row_blocks(X):  # float32 is not copied as a whole
                    values[rows] = X[rows] @ self.coef_.T
        values += self.intercept_
        return values

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class labels of X; a decision value of 0 gives the first class."""
        return self._predictions_of(self.decision_function(X))

    def _predictions_of(self, values: FloatArray) -> NDArray[Any]:
        """The labels that decision values stand for, one column or one a class."""
        is_single = values.ndim == 1 or values.shape[1] == 1
        codes = (values.ravel() > 0.0).astype(np.intp) if is_single else np.argmax(values, axis=1)
        labels: NDArray[Any] = self.classes_.take(codes)
        return labels
