"""The interface of all kernels, and sums over rows that several of them use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..errors import KernelError

FloatArray = NDArray[np.float64]
#: Columns from which sparse rows may be narrowed.
WIDE = 1 << 24


class LibsvmName(NamedTuple):
    """A kernel in LIBSVM: the number of its option -t and its name in model files."""

    number: int
    name: str


class Kernel(ABC):
    """A symmetric function of two rows, as a frozen value.

    ``evaluate`` is plain NumPy in double precision; it is the formula that users and certificates
    trust. The store computes the same values in native code. A subclass that states a ``name``
    registers itself in ``KERNELS``; all listings of kernels are derived from there.
    """

    #: What estimators call it.
    name: ClassVar[str]
    #: The parameters of estimators that it depends on, which are arguments of the class.
    parameters: ClassVar[tuple[str, ...]] = ()
    #: The product of rows of which all its values are functions and which a store may keep for
    #: other parameters: "dot" or "squared_distance".
    product: ClassVar[str | None] = None
    libsvm: ClassVar[LibsvmName | None] = None
    #: Whether estimators take its name; otherwise they take what makes one.
    has_option: ClassVar[bool] = True
    #: What a user can do where values are too large.
    advice_on_size: ClassVar[str] = "Scale the features, to [-1, 1] for example"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            if cls.name in KERNELS:
                raise KernelError(f"There is a kernel called {cls.name!r} already.")
            KERNELS[cls.name] = cls

    @classmethod
    def has_native_form(cls) -> bool:
        """Whether native code has the formula."""
        return cls.native_function is not Kernel.native_function

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """A key that is equal for kernels with the same values on the same data."""

    @abstractmethod
    def evaluate(self, X: Any, Z: Any) -> FloatArray:
        """Return K(X, Z), with one row per row of X and one column per row of Z."""

    @abstractmethod
    def diagonal(self, X: Any) -> FloatArray:
        """Return K(x, x) for each row of X."""

    def bound(self, max_squared_norm: float) -> float:
        """Return an upper bound of |K(x, z)| for rows of at most this squared norm."""
        return 1.0

    def combine(self, X: Any, Z: Any, coef: FloatArray) -> FloatArray | None:
        """Return K(X, Z) coef without forming kernel values, in more than double precision.

        The result is None if the formula does not allow this; kernel values must then be summed.
        """
        return None

    def of_products(self, products: Any, xp: Any = np) -> Any:
        """The values at inner products of rows; for kernels whose product is "dot".

        `xp` is the module of the array: numpy or, on a device, cupy.
        """
        raise NotImplementedError(f"{type(self).__name__} is no function of inner products.")

    def native_function(self) -> _core.KernelFunction | None:
        """Return the formula for native code, or None if the matrix comes from elsewhere."""
        return None


#: The class of each kernel, by the name scikit-learn gives it.
KERNELS: dict[str, type[Kernel]] = {}


def kernel_options() -> list[str]:
    """The names that the parameter `kernel` of an estimator can have."""
    return [name for name, kernel in KERNELS.items() if kernel.has_option]


def libsvm_kernels() -> dict[str, LibsvmName]:
    """LIBSVM's names of the kernels that it has, in LIBSVM's order."""
    found = {name: kernel.libsvm for name, kernel in KERNELS.items() if kernel.libsvm is not None}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def check_positive(value: float, name: str) -> None:
    """Reject a parameter that is not a positive finite number."""
    if not (math.isfinite(value) and value > 0.0):
        raise KernelError(f"{name} == {value}; it must be positive.")


def check_finite(value: float, name: str) -> None:
    """Reject a parameter that is infinite or NaN."""
    if not math.isfinite(value):
        raise KernelError(f"{name} == {value}; it must be a finite number.")


def narrow(*rows: Any) -> tuple[Any, ...]:
    """Drop the unused columns of sparse rows, if most of very many columns are unused.

    Inner products and distances do not change, and no array needs to be as long as the largest
    index.
    """
    width = rows[0].shape[1]
    if width < WIDE or not all(sp.issparse(X) for X in rows):
        return rows
    rows = tuple(X.tocsr() for X in rows)
    if width <= 4 * sum(X.nnz for X in rows):
        return rows
    used = np.unique(np.concatenate([X.indices for X in rows]))
    return tuple(
        sp.csr_array(
            (X.data, np.searchsorted(used, X.indices), X.indptr), shape=(X.shape[0], used.size)
        )
        for X in rows
    )


def dot_products(X: Any, Z: Any) -> FloatArray:
    """X Z' as a dense array, for any mix of dense and sparse rows."""
    X, Z = narrow(X, Z)
    product = X @ Z.T
    return np.asarray(product.toarray() if sp.issparse(product) else product, dtype=np.float64)


def squared_norms(X: Any) -> FloatArray:
    """|x|^2 of each row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
