"""The nodes of a one-class grid as estimators, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer, roc_auc_score

from ..estimators.common.merge_rows import MergedRows
from ..estimators.one_class_maxminover import OneClassMaxMinOver
from ..kernels import Kernel
from ..kernels.equal_rows import distinct_rows
from ..kernels.limits import check_decision_values
from ..kernels.raw_rows import RawRows
from ..problem.box_problem import FloatArray
from ..problem.certificate import multiply_exactly
from ..problem.solution import make_solution
from ..search.grid_tree.one_class import GridSolutions

#: Kernel values held at once while scoring (32 MiB of doubles).
BLOCK_VALUES = 1 << 22


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
