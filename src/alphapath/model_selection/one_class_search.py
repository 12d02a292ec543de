"""OneClassSearch: C and kernel width of OneClassMaxMinOver, searched over a tree of solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OutlierMixin, _fit_context, clone
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..estimators.common.merge_rows import MergedRows
from ..estimators.one_class_maxminover import OneClassMaxMinOver, gamma_of
from ..kernels import Kernel, KernelStore, Rbf
from ..kernels.equal_rows import distinct_rows
from ..kernels.limits import check_decision_values
from ..kernels.raw_rows import RawRows
from ..problem.box_problem import FloatArray
from ..problem.certificate import multiply_exactly
from ..problem.limits import Limits
from ..problem.solution import make_solution
from ..search.grid_tree.one_class import (
    GridSolutions,
    OneClassGrid,
    find_support,
    measure_costs,
)
from ..search.grid_tree.plan import plan_of_tree
from ..search.grid_tree.tree import TREES, cheapest_tree
from ..search.grid_tree.walk import walk_learning, walk_parts

PLAN_NAMES = (*TREES, "arborescence", "learned")

#: Kernel values held at once while scoring (32 MiB of doubles).
BLOCK_VALUES = 1 << 22


class OneClassSearch(OutlierMixin, BaseEstimator):
    """Grid search over C and sigma of OneClassMaxMinOver, each node warm-started from another.

    Parameters
    ----------
    estimator : OneClassMaxMinOver
        The grid replaces its C, gamma and sigma; the other parameters are kept.
    param_grid : dict
        "C" and either "sigma" or "gamma": lists of positive numbers.
    plan : {"heuristic", "arborescence", "learned", "sequential", "independent"}
        Which solution each node is warm-started from. "heuristic": upwards along C at the widest
        kernel, from width to width at the largest C, and downwards along C everywhere else.
        "arborescence": the cheapest tree for the given `costs`; if they are missing, they are
        measured first (about as expensive as "independent"). "learned": costs are learned during
        the search. "sequential": the previous node.
    scoring : str or callable, default="leave_one_out"
        "leave_one_out": minus the leave-one-out error, which is the fraction of rows that a model
        trained without them rejects. All other scores need labelled validation rows: "roc_auc"
        (the area under the ROC curve of the decision values), the name of any scorer, or
        scorer(estimator, X, y).
    costs : dict or None, default=None
        Costs of edges for plan="arborescence", as a mapping from (parent, child) to a number, with
        parent -1 for a cold start. Nodes are numbered from narrow to wide kernels and, within a
        width, from small to large C.
    refit : bool, default=True
        Whether to set `best_estimator_` and offer its methods.
    n_parts : int, default=1
        Number of parts into which the tree is cut; each part begins with a cold start.
    n_jobs : int or None, default=None
        Number of threads that solve the parts. The result depends on n_parts alone.

    Attributes
    ----------
    results_ : dict of arrays, one value per node
        param_C, param_sigma (or param_gamma), score, rank, leave_one_out_error, n_support,
        relative_gap, status, n_iter, fit_time, parent (-1 for a cold start).
    best_index_, best_score_, best_params_, best_estimator_
        Among equal scores, the narrowest kernel wins, then the smallest C.
    plan_ : Plan
        Chains on one kernel and the links between them; `print(plan_)` shows them.
    tree_ : GridTree
        The tree that was followed.
    edge_costs_ : dict or None
        The costs measured for plan="arborescence".
    n_iter_ : int
        Total iterations of all nodes, excluding those spent on measuring costs.

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import OneClassMaxMinOver
    >>> from alphapath.model_selection import OneClassSearch
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> grid = {"C": np.geomspace(1, 1e3, 4), "sigma": np.geomspace(0.3, 5, 4)}
    >>> search = OneClassSearch(OneClassMaxMinOver(), grid).fit(X)
    >>> search.best_estimator_.predict([[0.0, 0.0], [40.0, 0.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "score_samples"])],
        "param_grid": [Mapping],
        "plan": [StrOptions(set(PLAN_NAMES))],
        "scoring": [str, callable],
        "costs": [None, Mapping],
        "refit": ["boolean"],
        "n_parts": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, ArrayLike],
        *,
        plan: str = "heuristic",
        scoring: Any = "leave_one_out",
        costs: Mapping[tuple[int, int], float] | None = None,
        refit: bool = True,
        n_parts: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.plan = plan
        self.scoring = scoring
        self.costs = costs
        self.refit = refit
        self.n_parts = n_parts
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Solve the grid on X and select a node.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows of the single class.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
        validation : (X, y) or None
            Labelled rows: +1 (or True) for inliers, -1 (or False) for outliers. Required by every
            scoring except "leave_one_out".
        """
        name, widths, C_values = read_grid(self.estimator, self.param_grid)
        if validation is None and self.scoring != "leave_one_out":
            raise ValueError(
                f"scoring={self.scoring!r} needs labelled rows; pass validation=(X, y), or use "
                f"scoring='leave_one_out'."
            )
        model = clone(self.estimator).set_params(gamma="scale", sigma=1.0)
        model._validate_params()
        rows = model._prepare(X, sample_weight, merge=True)
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, attribute):
                setattr(self, attribute, getattr(model, attribute))
        store = KernelStore(rows.X, memory_limit=model.memory_limit)
        store.keep_products()
        limits = Limits(max_iter=model.max_iter, time_limit=model.time_limit, gap_tol=model.gap_tol)
        gammas = [gamma_of(width) if name == "sigma" else float(width) for width in widths]
        kernels = [Rbf(gamma) for gamma in gammas]
        grid = OneClassGrid(store, kernels, C_values, rows.weights, limits, model.solver)
        solutions = self._solve(grid)
        labels = [f"{name}={width:g}" for width in widths]
        self.plan_ = plan_of_tree(self.tree_, self.plan, labels, [float(C) for C in C_values])
        axes = {"C": C_values, name: widths}
        self._read_solutions(grid, solutions, rows, axes)
        self._models = NodeModels(model, kernels, solutions, rows, axes)
        self._choose(validation)
        return self

    # -- what a fitted search offers

    def estimator_at(self, index: int) -> OneClassMaxMinOver:
        """Return the fitted estimator of a node (a row of `results_`) without solving again."""
        check_is_fitted(self, "results_")
        return self._models.model_of(index)

    @available_if(lambda self: self.refit)
    def decision_function(self, X: Any) -> FloatArray:
        """Return the values of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        values: FloatArray = self.best_estimator_.decision_function(X)
        return values

    @available_if(lambda self: self.refit)
    def score_samples(self, X: Any) -> FloatArray:
        """Return the values of the best estimator."""
        check_is_fitted(self, "best_estimator_")
        values: FloatArray = self.best_estimator_.score_samples(X)
        return values

    @available_if(lambda self: self.refit)
    def predict(self, X: Any) -> NDArray[np.intp]:
        """Predict +1 for inliers and -1 for outliers by the best estimator."""
        check_is_fitted(self, "best_estimator_")
        labels: NDArray[np.intp] = self.best_estimator_.predict(X)
        return labels

    # -- the walk

    def _solve(self, grid: OneClassGrid) -> GridSolutions:
        """Walk the tree that the plan names, or that it makes on the way."""
        self.edge_costs_ = None
        solutions = GridSolutions(grid.shape, grid.store.n)
        if self.plan == "learned":
            self.tree_ = walk_learning(grid, solutions)
            return solutions
        if self.plan == "arborescence":
            costs = self.costs
            if costs is None:
                costs, _ = measure_costs(grid)
                self.edge_costs_ = costs
            tree = cheapest_tree(grid.shape, costs)
        else:
            tree = TREES[self.plan](grid.shape)
        self.tree_ = walk_parts(grid, tree, solutions, self.n_parts, self.n_jobs)
        return solutions

    def _read_solutions(
        self,
        grid: OneClassGrid,
        solutions: GridSolutions,
        rows: MergedRows,
        axes: dict[str, FloatArray],
    ) -> None:
        n_widths, n_C = solutions.shape
        (C_values, widths), (_, name) = axes.values(), axes
        is_support = find_support(grid, solutions)
        n_rows = np.bincount(rows.instance_of[rows.row_weights > 0.0], minlength=len(rows.weights))
        self.results_ = {
            "param_C": np.tile(C_values, n_widths),
            f"param_{name}": np.repeat(widths, n_C),
            "leave_one_out_error": is_support @ rows.weights / rows.weights.sum(),
            "n_support": (solutions.beta > 0.0) @ n_rows,
            "relative_gap": solutions.relative_gap,
            "status": solutions.status,
            "n_iter": solutions.n_iter,
            "fit_time": solutions.seconds,
            "parent": np.array(self.tree_.parents),
        }
        self.n_iter_ = int(solutions.n_iter.sum())

    def _choose(self, validation: tuple[Any, Any] | None) -> None:
        if validation is None:
            score = -self.results_["leave_one_out_error"]
        else:
            score = self._models.score(self.scoring, *validation)
        self.results_["score"] = score
        order = np.argsort(-score, kind="stable")
        self.results_["rank"] = np.searchsorted(np.sort(-score), -score) + 1
        self.best_index_ = int(order[0])
        self.best_score_ = float(score[self.best_index_])
        self.best_params_ = self._models.params_of(self.best_index_)
        if self.refit:
            self.best_estimator_ = self.estimator_at(self.best_index_)
            self.offset_ = self.best_estimator_.offset_


def read_grid(
    estimator: Any, param_grid: Mapping[str, ArrayLike]
) -> tuple[str, FloatArray, FloatArray]:
    """("sigma" or "gamma", widths from narrow to wide, C ascending)."""
    if not isinstance(estimator, OneClassMaxMinOver) or estimator.kernel != "rbf":
        raise ValueError(
            f"estimator is {estimator!r}; the search over widths is for OneClassMaxMinOver with "
            f"kernel='rbf'."
        )
    names = set(param_grid)
    if names not in ({"C", "sigma"}, {"C", "gamma"}):
        raise ValueError(
            f"param_grid has the names {sorted(names)}; it must have 'C' and either 'sigma' or "
            f"'gamma'."
        )
    values = {key: np.unique(np.asarray(param_grid[key], dtype=np.float64)) for key in names}
    for key, numbers in values.items():
        if numbers.size == 0 or not (np.isfinite(numbers) & (numbers > 0.0)).all():
            raise ValueError(
                f"param_grid[{key!r}] is {param_grid[key]!r}; it must be a list of positive "
                f"numbers."
            )
    name = "sigma" if "sigma" in names else "gamma"
    widths = values[name] if name == "sigma" else values[name][::-1].copy()
    return name, widths, values["C"]


class NodeModels:
    """Fitted estimators of the nodes, made when they are wanted, and their scores.

    Parameters
    ----------
    model : OneClassMaxMinOver
        With the parameters that all nodes share, after it has checked the rows.
    kernels : sequence of Kernel
        Of the widths.
    solutions : GridSolutions
    rows : MergedRows
    axes : dict
        "C" and "sigma" or "gamma": the values along the grid.
    """

    def __init__(
        self,
        model: OneClassMaxMinOver,
        kernels: Sequence[Kernel],
        solutions: GridSolutions,
        rows: MergedRows,
        axes: dict[str, FloatArray],
    ) -> None:
        self.model, self.kernels, self.solutions = model, kernels, solutions
        self.rows, self.axes = rows, axes

    def params_of(self, node: int) -> dict[str, float]:
        """C and the width."""
        i, j = self.solutions.shape.place(node)
        return {name: float(values[j if name == "C" else i]) for name, values in self.axes.items()}

    def model_of(self, node: int) -> OneClassMaxMinOver:
        """The estimator of a node, as a fit with its parameters would leave it."""
        kernel = self.kernels[self.solutions.shape.place(node)[0]]
        fitted: OneClassMaxMinOver = clone(self.model).set_params(sigma=None, gamma="scale")
        fitted.set_params(**self.params_of(node))
        for attribute in ("n_features_in_", "feature_names_in_", "shape_fit_"):
            if hasattr(self.model, attribute):
                setattr(fitted, attribute, getattr(self.model, attribute))
        fitted._kernel = kernel
        problem = fitted._problem_on(RawRows(kernel, self.rows.X), self.rows)
        beta = self.solutions.beta[node]
        gradient = multiply_exactly(problem, beta) - 1.0 + problem.ridges * beta
        counts = {
            "status": float(self.solutions.status[node]),
            "n_iter": float(self.solutions.n_iter[node]),
            "solve_time": float(self.solutions.seconds[node]),
        }
        fitted._set_solution(make_solution(problem, beta, gradient, counts), self.rows)
        return fitted

    def score(self, scoring: Any, X: Any, y: Any) -> FloatArray:
        """One value a node, on labelled rows."""
        if scoring == "roc_auc":
            return self._roc_areas(X, y)
        scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        return np.array(
            [float(scorer(self.model_of(k), X, y)) for k in range(self.solutions.shape.n_nodes)]
        )

    def _roc_areas(self, X: Any, y: Any) -> FloatArray:
        """Areas under the ROC curve: all C of a width share one block of kernel values."""
        rows = self.model._check_rows(X, reset=False)
        is_inlier = np.asarray(y) > 0
        if is_inlier.all() or not is_inlier.any():
            raise ValueError(
                f"The validation part has {int(is_inlier.sum())} inliers among {is_inlier.size} "
                f"rows; the ROC area needs inliers (+1) and outliers (-1)."
            )
        n_C = self.solutions.shape.n_C
        areas = np.empty(self.solutions.shape.n_nodes)
        distinct, places = distinct_rows(rows)
        step = max(1, BLOCK_VALUES // max(1, self.rows.X.shape[0]))
        for i, kernel in enumerate(self.kernels):
            nodes = slice(i * n_C, (i + 1) * n_C)
            beta = self.solutions.beta[nodes].T
            with np.errstate(over="ignore", invalid="ignore"):
                blocks = [
                    kernel.evaluate(distinct[first : first + step], self.rows.X) @ beta
                    for first in range(0, distinct.shape[0], step)
                ]
            values = check_decision_values(np.concatenate(blocks), kernel)[places]
            areas[nodes] = [roc_auc_score(is_inlier, values[:, j]) for j in range(n_C)]
        return areas
