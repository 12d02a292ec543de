"""Models of one problem: support_, dual_coef_ and decision values of regression and one class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...problem.box_problem import FloatArray
from .base import BaseSVM
from .one_vs_one import PairBetas


class OneProblemSVM(BaseSVM):
    """Base of the estimators that solve a single Problem."""

    def _pack(self, betas: PairBetas, targets: FloatArray) -> None:
        self.support_ = betas.rows.astype(np.int32)
        self.n_support_ = np.array([betas.rows.size], dtype=np.int32)
        self.dual_coef_ = betas.values[np.newaxis]

    def _unpack(self) -> Iterator[FloatArray]:
        yield self.dual_coef_[0]

    def _combine(self, K: FloatArray) -> FloatArray:
        return K @ self.dual_coef_.T
