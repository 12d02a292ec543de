"""Strategy I: the Hessian H = I + A'diag(D)A in feature space, d x d, under rank-r changes of D.

Given: a factored H for weights D0. Asked: systems with the H of D, where r entries differ. Few
entries: the factor stays and a system of order r corrects its answers,

    H^-1 = H0^-1 - V (E^-1 + A_M V)^-1 V',    V = H0^-1 A_M',  E = D_M - D0_M   (paper's eq. 4),

without forming the inverse. More: A'diag(D)A takes the rank-r difference and is factored again.
D is a multiple of D0 on most instances after a change of c, which then costs a scaling.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs, dpotrf, dpotrs

from ...problem.box_problem import FloatArray
from .design_rows import DesignRows, Indices

#: A correction of rank r costs about 2 r d^2, a factor d^3/3 (and runs at full speed).
CORRECTED_SHARE = 1.0 / 8.0


class FeatureHessian:
    """H in feature space. Arrays are replaced, never written to, so copies may share them.

    Parameters
    ----------
    rows : DesignRows
    """

    name = "feature"

    def __init__(self, rows: DesignRows) -> None:
        self.rows = rows
        self.weights = np.zeros(rows.n)  # D of `gram`
        self.current = self.weights  # D of the answers
        self.gram: FloatArray | None = None
        self.factor: FloatArray | None = None
        self.changed: Indices = np.empty(0, dtype=np.intp)
        self.pull = self.weights  # D * targets of `moment`
        self.moment: FloatArray = np.zeros(rows.width)  # A' pull
        self.n_refreshes = 0

    def fork(self, rows: DesignRows) -> FeatureHessian:
        """A copy to continue from, on the same instances and the features that `rows` keeps."""
        other = copy.copy(self)
        other.rows = rows
        other.n_refreshes = 0
        if rows.kept is not None and self.gram is not None and rows.n_kept < self.rows.n_kept:
            inside = rows.kept
            if self.rows.kept is not None:
                inside = np.searchsorted(self.rows.kept, rows.kept)
            other.gram = np.ascontiguousarray(self.gram[np.ix_(inside, inside)])
            other.factor = None
            other.moment = np.where(rows.is_kept, self.moment, 0.0)
        return other

    def lift(self, rows: DesignRows, own: Indices) -> FeatureHessian:
        """A copy for more instances, of which `own` are the current ones."""
        other = copy.copy(self)
        other.rows = rows
        other.changed = own[self.changed]
        for name in ("weights", "current", "pull"):
            wider = np.zeros(rows.n)
            wider[own] = getattr(self, name)
            setattr(other, name, wider)
        return other

    def predict_cost(self, weights: FloatArray) -> float:
        """Flops to move to `weights`: for the difference or everything, and the factor."""
        d = float(self.rows.n_kept)
        n_active = float(np.count_nonzero(weights))
        if self.gram is None:
            return d * d * n_active + d**3 / 3.0
        scale = _common_scale(self.weights, weights)
        r = float(np.count_nonzero(weights != scale * self.weights))
        if self.factor is not None and scale == 1.0 and r <= CORRECTED_SHARE * d:
            return 2.0 * r * d * d + 4.0 * d * d
        return d * d * min(2.0 * r, n_active) + d**3 / 3.0

    def move(self, weights: FloatArray) -> None:
        """Use these D from now on."""
        self.current = weights
        scale = _common_scale(self.weights, weights) if self.gram is not None else 0.0
        changed = np.flatnonzero(weights != scale * self.weights)
        is_corrected = (
            self.factor is not None
            and scale == 1.0
            and changed.size <= CORRECTED_SHARE * self.rows.n_kept
        )
        if not is_corrected:
            self._factor(weights, scale, changed)
            changed = changed[:0]
        self.changed = changed
        if changed.size:
            self._prepare_correction()

    def factor_at(self, weights: FloatArray) -> FloatArray:
        """The Cholesky factor of H itself at these D."""
        self.move(weights)
        if self.changed.size:
            self._factor(weights, 1.0, self.changed)
            self.changed = self.changed[:0]
        assert self.factor is not None
        return self.factor

    def refresh(self) -> None:
        """Form and factor H again from the rows."""
        self.gram = None
        self.pull, self.moment = np.zeros(self.rows.n), np.zeros(self.rows.width)
        self.n_refreshes += 1
        self.move(self.current)

    def solve(self, rhs: FloatArray) -> FloatArray:
        """H^-1 rhs; rhs and answer are on all features, 0 on those dropped."""
        kept = self.rows.kept
        answer, _ = dpotrs(self.factor, rhs if kept is None else rhs[kept], lower=1)
        if self.changed.size:
            small, _ = dgetrs(*self.small, self.V.T @ (rhs if kept is None else rhs[kept]))
            answer = answer - self.V @ small
        if kept is None:
            return np.asarray(answer)
        theta = np.zeros(self.rows.width)
        theta[kept] = answer
        return theta

    def solve_newton(self, targets: FloatArray) -> FloatArray:
        """The theta at which H theta = A'diag(D) targets."""
        pull = self.current * targets
        changed = np.flatnonzero(pull != self.pull)
        if 2 * changed.size < np.count_nonzero(self.current):
            difference = pull[changed] - self.pull[changed]
            self.moment = self.moment + self.rows.combine(changed, difference)
        else:
            active = np.flatnonzero(pull)
            self.moment = self.rows.combine(active, pull[active])
        self.pull = pull
        return self.solve(self.moment)

    def _factor(self, weights: FloatArray, scale: float, changed: Indices) -> None:
        active = np.flatnonzero(weights)
        if self.gram is None or active.size <= changed.size:
            self.gram = self.rows.gram(active, weights[active])
        else:
            difference = weights[changed] - scale * self.weights[changed]
            self.gram = scale * self.gram + self.rows.gram(changed, difference)
        H: Any = self.gram.copy(order="F")
        H.flat[:: H.shape[0] + 1] += 1.0
        self.factor, failed = dpotrf(H, lower=1, overwrite_a=1)
        if failed:  # differences have eaten the small eigenvalues: those of a fresh sum are there
            H = self.rows.gram(active, weights[active])
            self.gram = H.copy()
            H = np.asfortranarray(H)
            H.flat[:: H.shape[0] + 1] += 1.0
            self.factor, _ = dpotrf(H, lower=1)
            self.n_refreshes += 1
        self.weights = weights

    def _prepare_correction(self) -> None:
        A_M = self.rows.take(self.changed)
        self.V, _ = dpotrs(self.factor, A_M.T, lower=1)
        system = A_M @ self.V
        difference = self.current[self.changed] - self.weights[self.changed]
        system.flat[:: system.shape[0] + 1] += 1.0 / difference
        lu, pivots, _ = dgetrf(system)
        self.small = (lu, pivots)


def _common_scale(old: FloatArray, new: FloatArray) -> float:
    """The factor by which most weights that stay active have changed; 1 where none stays."""
    both = np.flatnonzero((old > 0.0) & (new > 0.0))
    if both.size == 0:
        return 1.0
    ratios = new[both] / old[both]
    return 1.0 if (ratios == 1.0).mean() > 0.5 else float(np.median(ratios))
