"""ATO, adjusting alpha towards the optimum (Wen et al. 2017, eqs. 6-11, algorithm 1).

Given a parent on S + R and the problem on S + T: beta_R moves to 0 and beta_T to its bound together
while M stays on the margin, to the first event; then again, until R is gone (at most MAX_STEPS
steps; what is left is dropped and adjusted). One step of length eta:

    [0 1'; 1 K_MM] [db; d_M] = [missing - sum d_A; -K_MA d_A]      A = R + T, d_A = goal - beta_A

Corrections: the paper leaves the bias out of this system and needs a pseudo-inverse (eq. 10);
with it, none. A step also ends where a beta in M reaches its box (or the kink at 0). A new
instance that is on the right side of its margin rests at 0 from the start. Any other change of the
box is the same move: a beta outside its new box goes to the bound, one that the old box held back
goes on.

The parent is optimal only to its tolerance; its slopes are taken as exactly optimal here.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ..kernels.store import KernelView
from ..problem.box_problem import FloatArray, Problem, Start
from ..problem.solution import Solution
from .move import Indices, Move

#: Steps to the next event, each of one product with M and A.
MAX_STEPS = 200
#: Beyond so many free instances the inverse is not worth its m^3: R is dropped at once.
MAX_FREE = 3000
#: Steps shorter than this make no progress.
SHORT = 1e-12

#: A member whose distance (squared) to the span of the others is below this share is dependent.
DEPENDENT = 1e-9


def seed(parent: Solution, problem: Problem) -> Start | None:
    """The parent's beta, followed some way towards the new optimum."""
    move = Move(parent, problem)
    walk = Walk(move)
    if walk.is_moving.any() and walk.free.size <= MAX_FREE:
        walk.run()
    return move.start_near(np.clip(walk.beta, problem.lower, problem.upper))


class Walk:
    """beta and q = g + bias on the way; who moves where, who is on the margin, who rests."""

    def __init__(self, move: Move) -> None:
        self.move, self.problem = move, move.problem
        old, problem = move.parent.problem, move.problem
        self.beta = move.parent.beta.copy()
        self.q = move.parent.gradient + move.parent.bias
        self.is_removed = move.kept != self.beta
        self.is_shut = (problem.lower == problem.upper) & ~self.is_removed
        was_free = (self.beta > old.lower) & (self.beta < old.upper)
        is_free = np.zeros(self.beta.size, dtype=np.bool_)
        is_free[move.find_free(self.beta)] = True
        is_free &= was_free
        self.free: Indices = np.flatnonzero(is_free)
        left, right = self.slopes()
        rises = (self.beta < problem.upper) & (self.beta == old.upper) & (right < 0.0)
        falls = (self.beta > problem.lower) & (self.beta == old.lower) & (left > 0.0)
        far = 10.0 * (1.0 + float(np.abs(self.beta).max()))  # stands in for an infinite bound
        self.goal = move.kept.copy()
        self.goal[rises] = np.minimum(problem.upper, self.beta + far)[rises]
        self.goal[falls] = np.maximum(problem.lower, self.beta - far)[falls]
        self.is_moving = self.is_removed | rises | falls
        self.is_resting = ~(self.is_moving | is_free | self.is_shut)
        self.settle_slopes(is_free)

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Left and right slopes, bias included."""
        eps = self.problem.epsilon
        if eps == 0.0:
            return self.q, self.q
        left = self.q + np.where(self.beta > 0.0, eps, -eps)
        right = self.q + np.where(self.beta >= 0.0, eps, -eps)
        return left, right

    def settle_slopes(self, is_free: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Remove the parent's own violations from q, so that no event is due at once."""
        left, right = self.slopes()
        q = self.q.copy()
        q[is_free] -= left[is_free]
        q -= np.where(self.is_resting & (self.beta < self.problem.upper), np.minimum(right, 0), 0)
        q -= np.where(self.is_resting & (self.beta > self.problem.lower), np.maximum(left, 0), 0)
        self.q = q

    def run(self) -> None:
        """Step from event to event until nothing moves any more."""
        margin = BorderedInverse(self.move.kernel, self.problem, self.free)
        for _ in range(MAX_STEPS):
            direction = self.find_direction(margin)
            if direction is None:
                return
            d, dq = direction
            eta, event, bound = self.find_event(margin, d, dq)
            self.beta += eta * d
            self.q += eta * dq
            if event < 0:
                self.beta[self.is_moving] = self.goal[self.is_moving]
                return
            positions = np.flatnonzero(margin.members == event)
            if positions.size:
                self.beta[event] = bound
                margin.remove(int(positions[0]))
                self.is_resting[event] = True
            else:
                self.is_moving[event] = self.is_resting[event] = False
                margin.insert(event)

    def find_direction(self, margin: BorderedInverse) -> tuple[FloatArray, FloatArray] | None:
        """d beta and dq for the whole way to the goal; None where M can not keep the sum."""
        moving = np.flatnonzero(self.is_moving)
        d = np.zeros(self.beta.size)
        d[moving] = self.goal[moving] - self.beta[moving]
        pull = self.move.kernel.multiply(moving, d[moving])
        missing = self.problem.total - float(self.beta.sum()) - float(d.sum())
        if margin.members.size == 0 and self.problem.has_equality:
            scale = float(np.abs(self.beta).sum() + np.abs(d).sum())
            if abs(missing) > SHORT * scale and not self.enter_first(margin, missing):
                return None
        db, d_free = margin.solve(missing, -pull[margin.members])
        d[margin.members] = d_free
        if margin.members.size:
            pull += self.move.kernel.multiply(margin.members, d_free)
        return d, pull + self.problem.ridges * d + db

    def enter_first(self, margin: BorderedInverse, missing: float) -> bool:
        """With M empty the bias is free: move it until the first instance is on the margin."""
        left, right = self.slopes()
        if missing > 0.0:
            can_move = self.is_resting & (self.beta < self.problem.upper)
            j = int(np.where(can_move, right, np.inf).argmin())
            shift = right[j]
        else:
            can_move = self.is_resting & (self.beta > self.problem.lower)
            j = int(np.where(can_move, left, -np.inf).argmax())
            shift = left[j]
        if not can_move[j]:
            return False
        self.q -= shift
        self.is_resting[j] = False
        return margin.insert(j)

    def find_event(
        self, margin: BorderedInverse, d: FloatArray, dq: FloatArray
    ) -> tuple[float, int, float]:
        """Length of the step, the instance that ends it (-1: the goal), the bound it reached."""
        left, right = self.slopes()
        up = self.is_resting & (self.beta < self.problem.upper) & (dq < 0.0)
        down = self.is_resting & (self.beta > self.problem.lower) & (dq > 0.0)
        is_added = self.is_moving & ~self.is_removed
        up |= is_added & (d > 0.0) & (dq > 0.0)
        down |= is_added & (d < 0.0) & (dq < 0.0)
        length = np.full(d.size, np.inf)
        np.divide(right, -dq, out=length, where=up)
        other = np.full(d.size, np.inf)
        np.divide(left, -dq, out=other, where=down)
        length = np.maximum(np.minimum(length, other), 0.0)

        members = margin.members
        bound = self.find_bounds(members, d[members])
        room = bound - self.beta[members]
        step = d[members]
        length[members] = np.divide(room, step, out=np.full(step.size, np.inf), where=step != 0.0)
        event = int(length.argmin())
        if length[event] >= 1.0:
            return 1.0, -1, 0.0
        reached = bound[members == event]
        return float(length[event]), event, float(reached[0]) if reached.size else 0.0

    def find_bounds(self, members: Indices, step: FloatArray) -> FloatArray:
        """The bound that each member of M is heading for; the kink at 0 is one."""
        beta = self.beta[members]
        bound = np.where(step > 0.0, self.problem.upper[members], self.problem.lower[members])
        if self.problem.epsilon > 0.0:
            bound = np.where(beta * bound < 0.0, 0.0, bound)
        return bound


# The inverse of the free set's bordered system, with members that come and go.
#
#     B = [0 1'; 1 K_MM + D_MM]        (without the border where the model has no bias)
#
# Insert and remove cost O(m^2). Members that depend on others (duplicates, a kernel of low rank)
# are refused, so B stays invertible. Good enough for a seed, whose gradient is computed anew.


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
