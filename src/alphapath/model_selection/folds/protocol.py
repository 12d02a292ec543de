"""What a search asks of the folds of a model trained in the primal, and what they give."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...problem.box_problem import FloatArray
from ...problem.solution import Info

Indices = NDArray[np.intp]
Split = tuple[Indices, Indices]


@dataclass(frozen=True)
class ColumnFit:
    """What is kept of one column's solution; the fields of a MarginSolution that a model takes."""

    coef: FloatArray
    bias: float
    info: Info
    test_values: FloatArray
    train_values: FloatArray | None


def read_columns(
    model: Any, coefs: FloatArray, test_values: FloatArray, train_values: FloatArray | None
) -> list[ColumnFit]:
    """What is kept of a fitted model; values have one column a problem."""
    return [
        ColumnFit(
            coef,
            float(model.intercept_[j]),
            model.solve_info_[j],
            test_values[:, j],
            None if train_values is None else train_values[:, j],
        )
        for j, coef in enumerate(coefs)
    ]


#: One C of one fold: the number of the C, that of the fold, and a fit a column.
Visit = tuple[int, int, list[ColumnFit]]


@dataclass(frozen=True)
class Wanted:
    """What is asked of a walk along C.

    Parameters
    ----------
    is_warm : bool
        Whether a C begins from a solution that is there, or from zero.
    is_alone : bool
        Whether the rows are those of a single fold.
    has_train : bool
        Whether decision values of training rows are wanted.
    is_sign_enough : bool
        Whether of the decision values of a single column only the sign counts.
    has_coef : bool
        Whether the models are wanted; without them paths side by side leave coef empty.
    deadline : float or None
        Of time.time(): what is not begun by then is left out.
    """

    is_warm: bool = True
    is_alone: bool = False
    has_train: bool = False
    is_sign_enough: bool = False
    has_coef: bool = True
    deadline: float | None = None

    @property
    def is_late(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline


class PrimalFolds(Protocol):
    """The folds of one model."""

    splits: Sequence[Split]
    errors: dict[int, Exception]  # of the folds that were refused

    def walk(self, factors: Sequence[float], wanted: Wanted) -> Iterator[Visit]:
        """Every fold that was not refused at every C, ascending within a fold."""

    def fitted(self, fold: int, fits: Sequence[Any], *, for_values: bool) -> Any:
        """The estimator of a fold at the C of the last visit."""
