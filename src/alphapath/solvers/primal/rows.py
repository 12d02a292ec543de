"""The data of a MarginProblem as the native primal solvers read it: in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ...errors import SolverMismatch
from ...kernels import Linear
from ...kernels.limits import check_kernel_size, check_squared_norms
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MARGIN_LOSSES, MarginProblem


def read_rows(X: Any) -> _core.MarginRows:
    """The rows of X, a C-contiguous array or a canonical CSR matrix; only int64 columns are copied.

    Examples
    --------
    >>> read_rows(np.eye(2)).norms.tolist()
    [1.0, 1.0]
    """
    if not hasattr(X, "indptr"):
        X = np.ascontiguousarray(X)
        check_kernel_size(Linear(), check_squared_norms(X))
        return _core.MarginRows.dense(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    columns = X.indices.astype(np.int32, copy=False)
    rows = _core.MarginRows.csr(X.data, columns, X.indptr, X.shape[1])
    check_kernel_size(Linear(), float(rows.norms.max(initial=0.0)) ** 2)
    return rows


def native_loss(problem: MarginProblem) -> _core.MarginLoss:
    """The loss of a problem with margins."""
    if problem.loss == "huber":
        return _core.MarginLoss.huber(problem.width)
    if problem.loss == "hinge":
        return _core.MarginLoss.hinge()
    return _core.MarginLoss.squared_hinge()


def require_margins(problem: MarginProblem, solver: str) -> None:
    """Reject problems that the primal solvers do not support, in one sentence."""
    if problem.loss not in MARGIN_LOSSES:
        raise SolverMismatch(
            f"The {solver} solver is for the losses {', '.join(MARGIN_LOSSES)}, but the loss is "
            f"{problem.loss}; use the smooth_newton solver."
        )
    if problem.dropped is not None:
        raise SolverMismatch(
            f"The {solver} solver keeps all features, but some are dropped; use the smooth_newton "
            f"solver."
        )


def make_task(
    problem: MarginProblem, rows: _core.MarginRows | None, weights: FloatArray | None = None
) -> _core.MarginTask:
    """Rows, labels, weights (those of the problem unless given) and loss."""
    return _core.MarginTask(
        read_rows(problem.X) if rows is None else rows,
        problem.targets,
        problem.weights if weights is None else weights,
        native_loss(problem),
    )


def decision_values(rows: _core.MarginRows, coef: FloatArray, bias: float) -> FloatArray:
    """X w + b on all rows, in one array."""
    values: FloatArray = rows.dots(coef)
    values += bias
    values.flags.writeable = False  # so that a solution shares it
    return values
