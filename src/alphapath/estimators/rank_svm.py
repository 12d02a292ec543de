"""RankSVM: scores that order the rows of each query by relevance."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernels import Kernel, KernelStore, Linear, PairView, Precomputed, pairs_within
from ..kernels.choice import choose_gamma, make_kernel
from ..kernels.equal_rows import on_distinct_rows
from ..kernels.limits import check_decision_values, check_kernel_size, check_squared_norms
from ..kernels.pair_differences import LinearRows
from ..kernels.raw_rows import RawRows
from ..kernels.samples import check_sparse
from ..paths.ranking.ndcg import Queries, check_relevance, ndcg, read_queries
from ..problem.box_problem import FloatArray, Problem
from ..problem.certificate import Certificate, certify
from ..problem.solution import Solution, Status
from ..solvers import ranking as pair_solver
from .common.base import BLOCK_VALUES, POSITIVE
from .common.declaration import Declaration, LibsvmType, declares
from .common.inputs import check_weights
from .common.problems import Budget, warn_unsolved
from .exchange.libsvm_file import ModelTarget, write_model
from .exchange.libsvm_model import rank_to_libsvm
from .svc import SVC


@declares(Declaration(targets="relevance", family="pairs", libsvm=LibsvmType(3, "epsilon_svr")))
class RankSVM(BaseEstimator):
    """Ranking: 1/2 |w|^2 + sum over pairs of C_ij max(0, 1 - (f(x_i) - f(x_j))), no bias.

    Pairs (i, j) are rows of one query with y_i > y_j. Their differences and their kernel matrix are
    never formed: training on a million pairs takes only the memory of their indices and weights.
    The solution is exact to rounding if the final walk completes (it fails only for very large
    margin sets); otherwise it is within `tol`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of each pair.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="linear"
    degree, gamma, coef0
        Parameters of the kernel, as in `SVC`.
    pair_weights : {"uniform", "gain"}, default="uniform"
        C_ij = C, or C (2^y_i - 2^y_j): pairs with very different relevance count more.
    k : int or None, default=10
        Number of positions that count in `score`, NDCG@k; None for all.
    tol : float, default=1e-3
        KKT violation at which the solver stops, in units of the margin.
    max_iter : int, default=-1
        Maximum number of Newton steps (linear, up to 500 features) or passes over pairs; -1 for no
        limit. With a limit, the exact walk at the end is skipped.
    memory_limit : int, str or None, default=None
        Memory limit for kernel values in bytes; a linear model stores none.
    time_limit : float or None, default=None
        Time limit in seconds; when it expires, the solver returns its current iterate.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the features, for the linear kernel only.
    support_ : int array of shape (n_support,)
        Indices of the training rows with a nonzero coefficient.
    dual_coef_ : array of shape (n_support,)
        Coefficients of these rows, which are sums over pairs; they sum to 0.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        Empty for the linear and precomputed kernels.
    pair_coef_ : array of shape (n_pairs,)
        beta of the pairs, in the order of `pairs_of`.
    n_pairs_, n_queries_ : int
    objective_, duality_gap_, kkt_violation_ : float
    n_iter_ : int
    fit_status_ : Status
    solve_info_ : Info

    Examples
    --------
    >>> from alphapath import RankSVM
    >>> X, y, qid = [[0.0], [1.0], [2.0], [5.0], [6.0]], [0, 1, 2, 0, 1], [1, 1, 1, 2, 2]
    >>> model = RankSVM(C=1.0).fit(X, y, qid)
    >>> model.predict([[3.0], [1.0]]).tolist()
    [3.0, 1.0]
    >>> model.score(X, y, qid)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: SVC._parameter_constraints[name]
            for name in (
                "C",
                "kernel",
                "degree",
                "gamma",
                "coef0",
                "tol",
                "max_iter",
                "memory_limit",
            )
        },
        "pair_weights": [StrOptions({"uniform", "gain"})],
        "k": [None, Interval(Integral, 1, None, closed="left")],
        "time_limit": [None, POSITIVE],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        pair_weights: str = "uniform",
        k: int | None = 10,
        tol: float = 1e-3,
        max_iter: int = -1,
        memory_limit: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.pair_weights = pair_weights
        self.k = k
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.time_limit = time_limit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # -- fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For kernel="precomputed", the kernel matrix.
        y : array-like of shape (n_samples,)
            Relevance; higher is better.
        qid : array-like of shape (n_samples,) or None
            The query of each row, in any order. Without `qid` and `group`, all rows belong to one
            query.
        group : list of int or None
            Sizes of consecutive queries (as in LightGBM and XGBoost), instead of `qid`.
        sample_weight : array-like of shape (n_samples,) or None
            C_ij is multiplied by the weights of both rows.
        """
        problem = self._make_problem(X, y, qid, group, sample_weight)
        solution = pair_solver.solve(
            problem, tol=self.tol, max_iter=self.max_iter, time_limit=self.time_limit
        )
        self._take(solution)
        if self.fit_status_ is Status.INTERRUPTED:
            raise KeyboardInterrupt
        budget = Budget(self.tol, self.max_iter, self.time_limit)
        warn_unsolved(self.fit_status_, budget, self.kkt_violation_)
        return self

    def _prepare(
        self, X: Any, y: Any, qid: Any, group: Any, sample_weight: ArrayLike | None
    ) -> RankRows:
        """Rows in the order of their queries; sets the kernel."""
        X, y = self._check_rows(X, y)
        n = X.shape[0]
        relevance = check_relevance(y, n)
        queries = read_queries(n, qid, group)
        weights = check_weights(sample_weight, X)
        is_given = self.kernel == "precomputed"
        if is_given and n != X.shape[1]:
            raise ValueError(
                f"The precomputed kernel has shape {X.shape}; it must be square for fit."
            )
        rows = group_rows(X, relevance, weights, queries, is_given)
        self._gamma = squared_norm = 0.0
        if not is_given and not callable(self.kernel):
            squared_norm = check_squared_norms(rows.X)
            self._gamma = choose_gamma(self, rows.X, rows.weights)
        self._kernel = make_kernel(self.kernel, self._gamma, self.degree, self.coef0)
        check_kernel_size(self._kernel, squared_norm)
        return rows

    def _check_rows(self, X: Any, *y: Any, reset: bool = True) -> Any:
        check_sparse(X)
        if sp.issparse(X) and self.kernel == "precomputed":
            raise TypeError(
                f"The precomputed kernel is a sparse {type(X).__name__}; pass a dense array."
            )
        options = {"dtype": np.float64, "order": "C", "accept_sparse": "csr", "reset": reset}
        if not y:
            return validate_data(self, X, **options)
        X, target = validate_data(self, X, *y, y_numeric=True, **options)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X, target

    def _make_problem(
        self,
        X: Any,
        y: Any,
        qid: Any,
        group: Any,
        sample_weight: ArrayLike | None = None,
        pair_weights: str | ArrayLike | None = None,
    ) -> Problem:
        rows = self._prepare(X, y, qid, group, sample_weight)
        kind = self.pair_weights if pair_weights is None else pair_weights
        return rows.problem(rows.instances(self._kernel, self.memory_limit), kind, self.C)

    def _take(self, solution: Solution) -> None:
        """Set every fitted attribute from a solution of the problem of `_make_problem`."""
        view: Any = solution.problem.kernel
        alpha = view.aggregate(solution.beta)
        support = np.flatnonzero(alpha)
        support = support[np.argsort(view.order[support], kind="stable")]
        self.support_ = view.order[support].astype(np.int32)
        self.dual_coef_ = alpha[support]
        is_plain = view.is_linear or isinstance(self._kernel, Precomputed)
        self.support_vectors_ = np.empty((0, 0)) if is_plain else view._X[support]
        if view.is_linear:
            self.coef_ = np.asarray(view._X.T @ alpha)
        self.pair_coef_ = solution.beta
        self.n_pairs_, self.n_queries_ = view.n, view.first_row.size - 1
        self.solve_info_ = solution.info
        self.objective_ = solution.info.objective
        self.duality_gap_ = solution.info.duality_gap
        self.kkt_violation_ = solution.info.kkt_violation
        self.n_iter_ = solution.info.n_iter
        self.fit_status_ = solution.info.status

    def take_solution(
        self, solution: Solution, X: Any, y: Any, *, qid: Any = None, group: Any = None
    ) -> Self:
        """Become the fitted model of a solution of `to_problem(X, y, qid=qid)`."""
        self._prepare(X, y, qid, group, None)
        self._take(solution)
        return self

    def pairs_of(
        self, y: ArrayLike, qid: ArrayLike | None = None, *, group: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Return the pairs (better, worse) of rows, one per line, in the order of `pair_coef_`.

        Examples
        --------
        >>> RankSVM().pairs_of([0, 1, 0, 2], [7, 7, 8, 8]).tolist()
        [[1, 0], [3, 2]]
        """
        values = np.asarray(y, dtype=np.float64)
        queries = read_queries(values.size, qid, group)
        better, worse = pairs_within(values[queries.order], queries.first_row)
        return np.stack([queries.order[better], queries.order[worse]], axis=1)

    def to_problem(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pair_weights: str | ArrayLike | None = None,
    ) -> Problem:
        """Return the Problem of `fit`, over pairs; the estimator is not changed.

        `pair_weights` overrides the estimator's: a name, or one number per pair (including C).
        """
        model: Self = clone(self)
        model._validate_params()
        return model._make_problem(X, y, qid, group, sample_weight, pair_weights)

    def certify(
        self,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        pair_weights: str | ArrayLike | None = None,
    ) -> Certificate:
        """Recompute the quality of the fitted model from the raw training data.

        Pass the arguments of `fit` and, for a model taken from a path, the weights of its pairs.
        The computation uses `pair_coef_` and no solver.

        Examples
        --------
        >>> model = RankSVM().fit([[0.0], [1.0], [3.0]], [0, 1, 2])
        >>> model.certify([[0.0], [1.0], [3.0]], [0, 1, 2]).is_optimal(1e-9)
        True
        """
        check_is_fitted(self, "pair_coef_")
        model: Self = clone(self)
        rows = model._prepare(X, y, qid, group, sample_weight)
        kind = self.pair_weights if pair_weights is None else pair_weights
        problem = rows.problem(rows.raw_instances(self._kernel), kind, self.C)
        if problem.n != self.n_pairs_:
            raise ValueError(
                f"These rows make {problem.n} pairs, but the model was fitted on {self.n_pairs_}; "
                f"certify needs the training data."
            )
        return certify(problem, self.pair_coef_)

    def save_libsvm(self, path: ModelTarget) -> None:
        """Write the model as a LIBSVM model file of type epsilon_svr: its values are the scores.

        `SVR.load_libsvm`, `alphapath predict` and LIBSVM's svm-predict read it.
        """
        check_is_fitted(self, "dual_coef_")
        write_model(rank_to_libsvm(self), path)

    # -- predicting

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the rows of X; only their order within a query is meaningful."""
        check_is_fitted(self, "dual_coef_")
        X = self._check_rows(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            return check_decision_values(on_distinct_rows(X, self._scores_of), self._kernel)

    def _scores_of(self, X: Any) -> FloatArray:
        if self.kernel == "linear":
            return np.asarray(X @ self.coef_)
        scores = np.zeros(X.shape[0])
        step = max(1, BLOCK_VALUES // max(1, self.dual_coef_.size))
        for first in range(0, X.shape[0], step):
            block = X[first : first + step]
            if isinstance(self._kernel, Precomputed):
                K = block[:, self.support_]
            else:
                K = self._kernel.evaluate(block, self.support_vectors_)
            scores[first : first + step] = K @ self.dual_coef_
        return scores

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of the rows of X, as `decision_function` does."""
        return self.decision_function(X)

    def score(
        self,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean NDCG@k over the queries, with gains 2^y - 1 (see `alphapath.ndcg`).

        With `sample_weight`, each query is weighted by the mean weight of its rows.
        """
        scores = self.predict(X)
        return ndcg(y, scores, qid, k=self.k, group=group, sample_weight=sample_weight)


@dataclass(frozen=True)
class RankRows:
    """Validated rows grouped by query, without those of weight 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or the kernel matrix of these rows
    relevance, weights : arrays of shape (n,)
    queries : Queries
        `order` holds the indices of the rows as the caller passed them.
    """

    X: Any
    relevance: FloatArray
    weights: FloatArray
    queries: Queries

    def pair_view(self, instances: Any) -> PairView:
        """All pairs within queries, on a view of the instances."""
        first_row = self.queries.first_row
        better, worse = pairs_within(self.relevance, first_row)
        if better.size == 0:
            raise ValueError(
                f"There is no pair to rank among n_samples = {self.relevance.size} rows in "
                f"{self.queries.n_queries} queries: no query has two rows of different relevance. "
                f"Give queries whose rows differ in y."
            )
        return PairView(instances, better, worse, first_row, self.queries.order)

    def instances(self, kernel: Kernel, memory_limit: Any) -> Any:
        """What a solver reads: rows for a linear model, otherwise kernel values."""
        if not isinstance(kernel, Linear):
            store = KernelStore(self.X, memory_limit=memory_limit)
            return store.view(kernel, precision="float64")
        if sp.issparse(self.X):
            return LinearRows(self.X)
        # Differences do not see the mean, and keep more digits without it.
        return LinearRows(self.X - self.X.mean(axis=0))

    def raw_instances(self, kernel: Kernel) -> Any:
        """What a certificate reads."""
        return LinearRows(self.X) if isinstance(kernel, Linear) else RawRows(kernel, self.X)

    def weigh(self, view: PairView, kind: str | ArrayLike, C: float) -> FloatArray:
        """Weights of the pairs: C or C (2^y_i - 2^y_j), times those of both rows, or as passed."""
        if not isinstance(kind, str):
            weights = np.asarray(kind, dtype=np.float64)
            if weights.shape != (view.n,):
                raise ValueError(
                    f"The weights of pairs have shape {weights.shape}; there are {view.n} pairs."
                )
            if not (np.isfinite(weights) & (weights >= 0.0)).all():
                raise ValueError("A weight of a pair is negative or not finite; all must be >= 0.")
            return weights
        if kind not in ("uniform", "gain"):
            raise ValueError(
                f"pair_weights is {kind!r}; it must be 'uniform', 'gain' or one number a pair."
            )
        unit = C * self.weights[view.better] * self.weights[view.worse]
        if kind == "gain":
            power = np.exp2(self.relevance)
            unit *= power[view.better] - power[view.worse]
        return np.asarray(unit)

    def problem(self, instances: Any, kind: str | ArrayLike, C: float) -> Problem:
        """The ranking problem of these rows."""
        view = self.pair_view(instances)
        return Problem.ranking(view, self.weigh(view, kind, C))


def group_rows(
    X: Any, relevance: FloatArray, weights: FloatArray, queries: Queries, is_matrix: bool
) -> RankRows:
    """Group rows by query; rows of weight 0 are dropped."""
    is_in = weights[queries.order] > 0.0
    if not is_in.all():
        ends = np.concatenate([[0], np.cumsum(is_in)])[queries.first_row]
        queries = Queries(queries.order[is_in], np.unique(ends).astype(np.int64))
    order = queries.order
    rows = X[np.ix_(order, order)] if is_matrix else X[order]
    return RankRows(rows, relevance[order], weights[order], queries)
