"""MarginMonitor: the zero-one loss of a linear classifier that moves, on data that may move too.

A row whose decision value was v under (w', b') cannot have changed sides while

    |w - w'| |x| + |b - b'| + |w| |x - x'| < |v|

(eq. 2 of Guillory and Bilmes, and its counterpart for moving data in their section 5). Each row
keeps its own reference, so only rows near the boundary are computed again. For a kernel
classifier w = sum_j beta_j phi(z_j) (their eq. 6): |x| is sqrt(k(x, x)) and |w - w'|^2 the kernel
matrix of the z between the changes of beta; every skipped row saves a kernel row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import Kernel
from ..kernels.limits import check_decision_values
from ..problem.box_problem import FloatArray
from ..solvers.primal.rows import read_rows

#: Rounding of decision values, relative to |w| |x| + |b|, against the proof.
SLACK = 1e-12


class _KernelRows:
    """The rows of X under phi, as products with w = sum_j beta_j phi(z_j)."""

    def __init__(self, kernel: Kernel, X: Any, vectors: Any) -> None:
        self._kernel, self._X, self._vectors = kernel, X, vectors
        self._gram: FloatArray = np.asarray(kernel.evaluate(vectors, vectors))
        self.norms: FloatArray = np.sqrt(np.maximum(np.asarray(kernel.diagonal(X)), 0.0))

    def dots(self, beta: FloatArray, rows: NDArray[np.int32]) -> FloatArray:
        used = np.flatnonzero(beta)
        if rows.size == 0 or used.size == 0:
            return np.zeros(rows.size)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._kernel.evaluate(self._X[rows], self._vectors[used]) @ beta[used]
        return check_decision_values(np.asarray(values), self._kernel)

    def length(self, beta: FloatArray) -> float:
        """|w|; rounding below 0 is 0."""
        square: float = float(beta @ (self._gram @ beta))
        return float(np.sqrt(max(square, 0.0)))


class MarginMonitor:
    """Exact predictions and zero-one loss along a sequence of (w, b); most rows are skipped.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (n, d), float64 or float32
        The rows, which are read in place.
    y : array-like of shape (n,)
        Signs of the classes. The loss counts decision values of the other sign (0 counts as
        negative).
    kernel : kernel of `alphapath.kernels` or None
        None stands for a linear classifier.
    vectors : array of shape (m, d) or None
        The z, with a kernel; `coef` has one coefficient per z.

    Attributes
    ----------
    n_examined, n_pruned : int
        Number of rows computed and skipped so far.

    Examples
    --------
    >>> monitor = MarginMonitor(np.array([[1.0], [-2.0]]), [1.0, -1.0])
    >>> monitor.zero_one_loss([1.0]), monitor.zero_one_loss([0.9])
    (0.0, 0.0)
    >>> monitor.n_examined
    2
    """

    def __init__(
        self, X: Any, y: ArrayLike, *, kernel: Kernel | None = None, vectors: Any = None
    ) -> None:
        if (kernel is None) != (vectors is None):
            raise ValueError("A kernel and its vectors are given together, or neither of them.")
        self._has_kernel = kernel is not None
        self._rows: Any = read_rows(X) if kernel is None else _KernelRows(kernel, X, vectors)
        self._norms: FloatArray = self._rows.norms
        self._is_positive: NDArray[np.bool_] = np.asarray(y, dtype=np.float64) > 0.0
        n = self._norms.size
        if self._is_positive.shape != (n,):
            raise ValueError(f"y has shape {self._is_positive.shape}; X has {n} rows.")
        self._w = np.zeros(X.shape[1] if vectors is None else vectors.shape[0])
        self._b = 0.0
        self._signs = np.zeros(n, dtype=np.bool_)
        # Row i is proven while |x_i| path + drift - reach_i < 0.
        self._reach = np.full(n, -np.inf)
        self._path = 0.0
        self._drift = 0.0
        self.n_examined = 0
        self.n_pruned = 0

    def move_data(self, X: Any, change: ArrayLike | float) -> None:
        """Replace the rows by X; each moved by at most `change`, a scalar or one value per row."""
        if self._has_kernel:
            raise ValueError("Rows under a kernel cannot be moved; make a new MarginMonitor.")
        self._rows = read_rows(X)
        bound = np.asarray(change, dtype=np.float64)
        if not (bound >= 0.0).all():
            raise ValueError(f"change is {change!r}; it must not be negative.")
        # From here on w moves longer rows; the path so far moved the shorter ones.
        self._reach += bound * self._path - bound * np.linalg.norm(self._w)
        self._norms = self._norms + bound

    def predict(self, coef: ArrayLike, bias: float = 0.0) -> NDArray[np.bool_]:
        """Return whether x'coef + bias is positive; only rows that may change are computed."""
        w = np.ascontiguousarray(np.ravel(coef), dtype=np.float64)
        if w.shape != self._w.shape:
            what = "there are" if self._has_kernel else "X has"
            kind = "vectors" if self._has_kernel else "columns"
            raise ValueError(f"coef has {w.size} values; {what} {self._w.size} {kind}.")
        self._path += self._length(w - self._w)
        self._drift += abs(bias - self._b)
        self._w, self._b = w, float(bias)
        unproven = np.flatnonzero(self._norms * self._path + self._drift >= self._reach)
        values = self._rows.dots(w, unproven.astype(np.int32)) + bias
        self._signs[unproven] = values > 0.0
        norms = self._norms[unproven]
        slack = SLACK * (norms * (self._length(w) + self._path) + abs(bias) + self._drift)
        self._reach[unproven] = np.abs(values) - slack + norms * self._path + self._drift
        self.n_examined += unproven.size
        self.n_pruned += self._signs.size - unproven.size
        return self._signs.copy()

    def _length(self, w: FloatArray) -> float:
        return float(self._rows.length(w) if self._has_kernel else np.linalg.norm(w))

    def zero_one_loss(self, coef: ArrayLike, bias: float = 0.0) -> float:
        """Return the fraction of misclassified rows."""
        return float(np.mean(self.predict(coef, bias) != self._is_positive))
