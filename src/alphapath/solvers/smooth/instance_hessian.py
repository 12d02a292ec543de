"""Strategy II: systems with H = I + A'diag(D)A by one of the size of the active set S.

    theta = A_S'beta,   (D_S^-1 + K_SS) beta = targets_S,   K = A A'

Given: a factor of B0 = D^-1 + K on a set S0. Asked: answers for S, which lacks some of S0 and
contains others. After few changes, the factor is kept: beta of the instances that left is forced to
0, and that of the new ones follows from a bordered system of their number (the paper's eq. 6 and 7
without the inverse). After more changes, B is factored again, from products computed once.

Where the products are in single precision, so are the factor and its answers.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from ...problem.box_problem import FloatArray
from .design_rows import DesignRows, Indices
from .products import Products

#: LAPACK's functions for each precision.
POTRF, POTRS, GETRF, GETRS = (
    {np.dtype(kind): get_lapack_funcs(name, dtype=kind) for kind in (np.float64, np.float32)}
    for name in ("potrf", "potrs", "getrf", "getrs")
)
#: A correction of rank r costs about 2 r l^2, a factor l^3/3 (and runs at full speed).
CORRECTED_SHARE = 1.0 / 8.0
#: Rows of this many values together are not worth forgetting.
LARGE = 1 << 19
#: Products are forgotten where there are more than this times those needed.
SLACK = 2.0


class InstanceHessian:
    """H through its active instances. Arrays are replaced, never written to.

    Parameters
    ----------
    rows : DesignRows
    """

    name = "instance"

    def __init__(self, rows: DesignRows) -> None:
        self.rows = rows
        self.products = Products(rows)  # shared by forks
        self.base: Indices = np.empty(0, dtype=np.intp)  # S0
        self.base_weights = np.empty(0)
        self.factor: Any = None
        self.current = np.zeros(rows.n)  # D of the answers
        self.entering: Indices = self.base
        self.leaving: Indices = self.base  # positions in S0
        self.n_refreshes = 0

    def fork(self, rows: DesignRows) -> InstanceHessian:
        """A copy to continue from, on the same instances and the features that `rows` keeps."""
        other = copy.copy(self)
        other.rows = rows
        other.n_refreshes = 0
        lost = np.flatnonzero(self.rows.is_kept & ~rows.is_kept)
        if lost.size:
            other.products = self.products.without(lost)
            other.factor = None
        return other

    def lift(self, rows: DesignRows, own: Indices) -> InstanceHessian:
        """A copy for more instances, of which `own` are the current ones."""
        other = copy.copy(self)
        other.rows = rows
        other.products = self.products.lift(rows, own)
        other.base, other.current = own[self.base], np.zeros(rows.n)
        other.current[own] = self.current
        other.entering = own[self.entering]
        return other

    def predict_cost(self, weights: FloatArray) -> float:
        """Flops to answer for `weights`: new products, and a correction or a factor."""
        active = np.flatnonzero(weights)
        size, cost = float(active.size), self.products.predict_cost(active)
        r = self._count_changes(active, weights)
        if r is not None and r <= CORRECTED_SHARE * size:
            return cost + 2.0 * r * size**2
        return cost + size**3 / 3.0

    def _count_changes(self, active: Indices, weights: FloatArray) -> int | None:
        """How many entered or left since the factor was made; None where it cannot be used."""
        if self.factor is None:
            return None
        stays = weights[self.base] > 0.0
        if (weights[self.base[stays]] != self.base_weights[stays]).any():
            return None
        return int(active.size + self.base.size - 2 * np.count_nonzero(stays))

    def move(self, weights: FloatArray) -> None:
        """Use these D from now on."""
        self.current = weights
        active = np.flatnonzero(weights)
        self.products.learn(active)
        r = self._count_changes(active, weights)
        if r is None or r > CORRECTED_SHARE * active.size:
            self._factor(active, weights)
            r = 0
        self.leaving = np.flatnonzero(weights[self.base] == 0.0)
        is_based = np.zeros(self.rows.n, dtype=bool)
        is_based[self.base] = True
        self.entering = active[~is_based[active]]
        if r:
            self._prepare_correction()

    @property
    def is_single(self) -> bool:
        """Whether answers are in single precision."""
        return self.products.is_single

    def prepare(self, weights: FloatArray, in_double: bool) -> None:
        """Take products that are precise enough for these D, or in double anyhow."""
        if self.is_single and (in_double or self.products.is_too_rough(weights)):
            self._double()

    def _double(self) -> None:
        self.products, self.factor = self.products.doubled, None

    def factor_at(self, weights: FloatArray) -> tuple[Indices, FloatArray]:
        """The active instances, and the Cholesky factor of D^-1 + K on them, in double."""
        if self.is_single:
            self._double()
        self.move(weights)
        if self.leaving.size or self.entering.size:
            self._factor(np.flatnonzero(weights), weights)
            self.leaving = self.entering = self.base[:0]
        assert self.factor is not None
        return self.base, self.factor

    def compact(self) -> None:
        """Drop the products of instances that were active only during the descent, if many."""
        known = self.products.known
        if known.size * self.rows.width <= LARGE:
            return
        needed = np.union1d(self.base, np.flatnonzero(self.current))
        if known.size > SLACK * needed.size:
            self.products.keep(needed)

    def refresh(self) -> None:
        """Recompute products and factor from the rows, in double."""
        self.products = self.products.doubled if self.is_single else Products(self.rows, False)
        self.factor = None
        self.n_refreshes += 1
        self.move(self.current)

    def solve_dual(self, values: FloatArray) -> tuple[Indices, FloatArray]:
        """The active instances and their beta in (D_S^-1 + K_SS) beta = values_S."""
        kind = self.factor.dtype
        values = values.astype(kind, copy=False)
        beta = values[:0]
        if self.base.size:
            beta, _ = POTRS[kind](self.factor, values[self.base], lower=1)
        if not (self.entering.size or self.leaving.size):
            return self.base, beta.astype(np.float64, copy=False)
        n_entering = self.entering.size
        rhs = np.concatenate([values[self.entering] - self.K_I0 @ beta, -beta[self.leaving]])
        small, _ = GETRS[kind](*self.small, rhs)
        beta = beta - self.W @ small
        stays = np.ones(self.base.size, dtype=bool)
        stays[self.leaving] = False
        found = np.concatenate([self.base[stays], self.entering])
        return found, np.concatenate([beta[stays], small[:n_entering]], dtype=np.float64)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """H^-1 rhs = rhs - A_S'(D_S^-1 + K_SS)^-1 A_S rhs."""
        found, beta = self.solve_dual(self.rows.values(rhs))
        return rhs - self.rows.combine(found, beta)

    def solve_newton(self, targets: FloatArray) -> tuple[Indices, FloatArray]:
        """Instances and beta of the theta = A'beta at which H theta = A'diag(D) targets."""
        return self.solve_dual(targets)

    def _factor(self, active: Indices, weights: FloatArray) -> None:
        B = self.products.between(active, active).T  # in LAPACK's order, as it is symmetric
        B[np.diag_indices(active.size)] += 1.0 / weights[active]
        self.base, self.base_weights = active, weights[active]
        self.factor, failed = np.empty((0, 0), dtype=B.dtype), 0
        if active.size:
            self.factor, failed = POTRF[B.dtype](B, lower=1, overwrite_a=1)
        if failed and self.is_single:
            self._double()
            self.products.learn(active)
            self._factor(active, weights)

    def _prepare_correction(self) -> None:
        m, r = self.base.size, self.entering.size
        self.products.learn(self.base)  # another problem may have let them go
        self.K_I0 = self.products.between(self.entering, self.base)
        border = np.zeros((m, r + self.leaving.size), dtype=self.factor.dtype, order="F")
        border[:, :r] = self.K_I0.T
        border[self.leaving, r + np.arange(self.leaving.size)] = 1.0
        self.W, _ = POTRS[border.dtype](self.factor, border, lower=1)
        system = -np.concatenate([self.K_I0 @ self.W, self.W[self.leaving]])
        system[:r, :r] += self.products.between(self.entering, self.entering)
        system.flat[: r * (system.shape[1] + 1) : system.shape[1] + 1] += (
            1.0 / self.current[self.entering]
        )
        lu, pivots, _ = GETRF[system.dtype](system)
        self.small = (lu, pivots)
