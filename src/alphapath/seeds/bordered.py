"""The inverse of the free set's bordered system, with members that come and go.

    B = [0 1'; 1 K_MM + D_MM]        (without the border where the model has no bias)

Insert and remove cost O(m^2). Members that depend on others (duplicates, a kernel of low rank) are
refused, so B stays invertible. Good enough for a seed, whose gradient is computed anew.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ..kernels.store import KernelView
from ..problem.box_problem import FloatArray, Problem
from .move import Indices

#: A member whose distance (squared) to the span of the others is below this share is dependent.
DEPENDENT = 1e-9


class BorderedInverse:
    """B^-1 for the members of M, in the order `members`."""

    def __init__(self, kernel: KernelView, problem: Problem, members: Indices) -> None:
        self.kernel = kernel
        self.ridge = problem.ridges
        self.n_border = int(problem.has_equality)
        self.diagonal = kernel.diagonal() + problem.ridges
        self.members: Indices = np.empty(0, dtype=np.intp)
        self.inverse: FloatArray = np.zeros((self.n_border, self.n_border))
        if members.size:
            self._start(members)

    def _start(self, members: Indices) -> None:
        """The largest independent subset by pivoted Cholesky, then B^-1 from its factor.

        A = K_MM - h 1' - 1 h' + sigma 1 1' equals K_MM on sum(delta) = 0, and is definite just
        where B is invertible; h moves the origin of feature space to the first member.
        """
        A = self.kernel.block(members, members)
        A.flat[:: members.size + 1] += self.ridge[members]
        h = A[0] - A[0, 0] / 2.0
        sigma = float(np.mean(np.diag(A)))
        if self.n_border:
            A += sigma - h - h[:, None]
        largest = float(np.max(np.diag(A)))
        if not largest > 0.0:
            return
        factor, pivots, rank, _ = lapack.dpstrf(A, tol=DEPENDENT * largest, lower=1)
        inverse, info = lapack.dpotri(factor[:rank, :rank], lower=1)
        if info != 0:
            return
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        self.members = members[pivots[:rank] - 1]
        self.inverse = inverse
        if self.n_border:
            self.inverse = border(inverse, h[pivots[:rank] - 1], sigma)

    def solve(self, total: float, right: FloatArray) -> tuple[float, FloatArray]:
        """(db, d_M) with sum(d_M) = total and K_MM d_M + db = right."""
        k = self.n_border
        if self.members.size == 0:
            return 0.0, right
        solution = self.inverse[:, k:] @ right
        if not k:
            return 0.0, solution
        solution += total * self.inverse[:, 0]
        return float(solution[0]), solution[1:]

    def insert(self, j: int) -> bool:
        """Add instance j; False where it depends on the members."""
        k, m = self.n_border, self.members.size
        column = np.ones(m + k)
        column[k:] = self.kernel.block([j], self.members)[0] if m else 1.0
        own = float(self.diagonal[j])
        if m == 0:
            if k:
                self.inverse = np.array([[-own, 1.0], [1.0, 0.0]])
            elif own > 0.0:
                self.inverse = np.array([[1.0 / own]])
            else:
                return False
        else:
            z = self.inverse @ column
            pivot = own - float(column @ z)
            if not pivot > DEPENDENT * max(abs(own), 1e-300):
                return False
            grown = np.empty((m + k + 1, m + k + 1))
            grown[:-1, :-1] = self.inverse
            grown[:-1, :-1] += np.outer(z / pivot, z)
            grown[:-1, -1] = grown[-1, :-1] = -z / pivot
            grown[-1, -1] = 1.0 / pivot
            self.inverse = grown
        self.members = np.append(self.members, j)
        return True

    def remove(self, position: int) -> None:
        """Take out the member at `position`."""
        self.members = np.delete(self.members, position)
        if self.members.size == 0:
            self.inverse = np.zeros((self.n_border, self.n_border))
            return
        p = position + self.n_border
        stays = np.delete(np.arange(self.inverse.shape[0]), p)
        column = self.inverse[stays, p]
        rest = self.inverse[np.ix_(stays, stays)]
        self.inverse = rest - np.outer(column / self.inverse[p, p], column)


def border(A_inverse: FloatArray, h: FloatArray, sigma: float) -> FloatArray:
    """B^-1 from A^-1, A = K_MM - h 1' - 1 h' + sigma 1 1'.

    K d + 1 db = v, 1'd = s becomes A d + 1 mu = v - h s with mu = db + h'd - sigma s, so d is
    A^-1 (v - h s - 1 mu), and 1'd = s gives mu.
    """
    w = A_inverse.sum(axis=1)
    w_sum = float(w.sum())
    mu = -(float(w @ h) + 1.0) / w_sum  # for v = 0, s = 1
    d = -(A_inverse @ h) - mu * w
    bordered = np.empty((h.size + 1, h.size + 1))
    bordered[0, 0] = mu - float(h @ d) + sigma
    bordered[0, 1:] = bordered[1:, 0] = d
    bordered[1:, 1:] = A_inverse - np.outer(w / w_sum, w)
    return bordered
