"""Kernel values on a device: stored centred in float32, computed in double.

    K_ij = stored_ij + offset_i + offset_j

as in the native store: under the equality constraint, the offsets shift all slopes by a constant,
and the rest keeps its digits in float32 however constant K is. Products are computed in double,
which costs no more than float32 on the target devices, and no tensor format is used implicitly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import KernelError
from ..kernels import KERNELS, Kernel, Linear, Rbf

#: Bytes of one tile of double values.
TILE_BYTES = 1 << 27


class DeviceRows:
    """The rows of X on a device, minus their mean, with their squared norms."""

    def __init__(self, xp: Any, X: Any) -> None:
        self.xp = xp
        dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        self.X = xp.asarray(dense)
        self.mean = self.X.mean(axis=0)
        self.centred = self.X - self.mean
        self.norms = (self.centred * self.centred).sum(axis=1)
        self.n = int(self.X.shape[0])
        #: Squared distances in float32, from their first use on where they are kept.
        self.keeps_distances = False
        self._distances: Any = None

    @property
    def nbytes(self) -> int:
        held = 0 if self._distances is None else self._distances.nbytes
        return int(self.X.nbytes + self.centred.nbytes + self.norms.nbytes + held)

    def distances(self, idx: Any) -> Any:
        """Squared distances of some rows to all, in double."""
        xp = self.xp
        d = self.centred[idx] @ self.centred.T
        d *= -2.0
        d += self.norms[idx][:, None]
        d += self.norms
        d[xp.arange(len(idx)), idx] = 0.0
        return xp.maximum(d, 0.0, out=d)

    def kept_distances(self) -> Any:
        """All squared distances, in float32."""
        if self._distances is None:
            self._distances = fill_by_tiles(self.xp, self.n, self.distances)
        return self._distances


def is_on_devices(kernel: type[Kernel]) -> bool:
    """Whether a device can compute the kernel: from inner products, or the linear and the RBF."""
    return kernel.product == "dot" or issubclass(kernel, Rbf | Linear)


class DeviceMatrix:
    """One kernel on the rows of a device.

    Parameters
    ----------
    rows : DeviceRows
    kernel : Kernel
    is_full : bool
        Whether all values are stored; otherwise, rows are computed on demand.
    """

    def __init__(self, rows: DeviceRows, kernel: Kernel, is_full: bool) -> None:
        self.rows_of_data, self.kernel, self.xp, self.n = rows, kernel, rows.xp, rows.n
        if not is_on_devices(type(kernel)):
            known = [repr(name) for name, other in KERNELS.items() if is_on_devices(other)]
            raise KernelError(
                f"The kernel {kernel.name!r} cannot be computed on a device; "
                f"{', '.join(known[:-1])} and {known[-1]} can. Use device='cpu' for others."
            )
        self.offset = self._find_offsets()
        self.n_rows_computed = 0
        #: Rows that may be held at a time where not all are kept.
        self.row_capacity = 0
        #: Free instances that may be solved for exactly.
        self.max_members = 0
        self.full: Any = None
        if is_full:
            self.full = self._fill()
            self.n_rows_computed = self.n
        self.diagonal = self._find_diagonal()

    def _find_offsets(self) -> Any:
        xp, kernel, data = self.xp, self.kernel, self.rows_of_data
        if isinstance(kernel, Rbf):
            return xp.full(self.n, 0.5)
        products = data.X @ data.mean
        center = data.mean @ data.mean
        return self._function(products) - self._function(center) / 2.0

    def _function(self, dot: Any) -> Any:
        """The kernel as a function of the dot product."""
        return dot if isinstance(self.kernel, Linear) else self.kernel.of_products(dot, self.xp)

    def _find_diagonal(self) -> Any:
        if isinstance(self.kernel, Rbf):
            return self.xp.zeros(self.n, dtype=np.float32)
        data = self.rows_of_data
        if isinstance(self.kernel, Linear):
            return data.norms.astype(np.float32)
        own = self._function((data.X * data.X).sum(axis=1))
        return (own - 2.0 * self.offset).astype(np.float32)

    def values(self, idx: Any) -> Any:
        """Stored values of some rows, in double."""
        xp, kernel, data = self.xp, self.kernel, self.rows_of_data
        if isinstance(kernel, Rbf):
            d = data.distances(idx)
            d *= -kernel.gamma
            return xp.expm1(d, out=d)
        if isinstance(kernel, Linear):
            return data.centred[idx] @ data.centred.T
        values = self._function(data.X[idx] @ data.X.T)
        values -= self.offset[idx][:, None]
        values -= self.offset
        return values

    def _fill(self) -> Any:
        data = self.rows_of_data
        if isinstance(self.kernel, Rbf) and data.keeps_distances:
            stored = data.kept_distances() * np.float32(-self.kernel.gamma)
            return self.xp.expm1(stored, out=stored)
        return fill_by_tiles(self.xp, self.n, self.values)

    def float_rows(self, idx: Any) -> Any:
        """Stored values of some rows, in float32."""
        self.n_rows_computed += len(idx)
        out = self.xp.empty((len(idx), self.n), dtype=np.float32)
        step = tile_rows(self.n)
        for first in range(0, len(idx), step):
            out[first : first + step] = self.values(idx[first : first + step])
        return out

    def multiply(self, betas: Any) -> Any:
        """K beta in double for every row of `betas`, from values recomputed in double."""
        xp = self.xp
        support = xp.flatnonzero((betas != 0.0).any(axis=0))
        product = xp.zeros(betas.shape)
        step = tile_rows(self.n)
        for first in range(0, int(support.size), step):
            idx = support[first : first + step]
            product += betas[:, idx] @ self.values(idx)
        product += betas.sum(axis=1)[:, None] * self.offset
        product += (betas @ self.offset)[:, None]
        return product


def tile_rows(n: int) -> int:
    """Number of rows of a tile: whole warps, at least one."""
    return max(1, TILE_BYTES // (8 * n) // 32 * 32)


def fill_by_tiles(xp: Any, n: int, values: Any) -> Any:
    """A float32 matrix from a function that gives some of its rows in double."""
    out = xp.empty((n, n), dtype=np.float32)
    step = tile_rows(n)
    for first in range(0, n, step):
        idx = xp.arange(first, min(first + step, n))
        out[first : first + len(idx)] = values(idx)
    return out
