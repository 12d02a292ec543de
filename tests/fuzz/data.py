"""Random problems in which degenerate data are normal: the one home of all fuzzers.

Scales are powers of two or ten, so that ties and duplicates survive them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Generator = np.random.Generator


def generator(name: str, seed: int) -> Generator:
    """Random numbers of one case of one fuzzer; fuzzers with the same seed are independent."""
    return np.random.default_rng([seed, *name.encode()])


def pick(rng: Generator, options: Any, shares: Any = None) -> Any:
    """One of some objects; `shares` need not add up to 1."""
    p = None if shares is None else np.asarray(shares, dtype=float) / np.sum(shares)
    return options[int(rng.choice(len(options), p=p))]


def power(rng: Generator, low: float, high: float) -> float:
    """A number whose decimal logarithm is uniform between `low` and `high`."""
    return float(10.0 ** rng.uniform(low, high))


# -- rows


def normal_rows(rng: Generator, n: int, d: int) -> FloatArray:
    return rng.normal(size=(n, d))


def cloud_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """A few clusters, far apart or not."""
    centres = rng.normal(size=(int(rng.integers(2, 6)), d)) * power(rng, -0.5, 1.5)
    return centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d))


def grid_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """Small integers: many equal rows, distances and inner products."""
    width = int(rng.integers(1, 5))
    return rng.integers(-width, width + 1, size=(n, d)).astype(float)


def binary_rows(rng: Generator, n: int, d: int) -> FloatArray:
    return (rng.random((n, d)) < rng.uniform(0.05, 0.6)).astype(float)


def repeated_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """A few rows, each many times."""
    few = rng.normal(size=(max(1, int(n * rng.uniform(0.1, 0.7))), d))
    return few[rng.integers(len(few), size=n)]


def constant_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """Some features, or all, are constant."""
    X = rng.normal(size=(n, d))
    is_constant = rng.random(d) < rng.uniform(0.3, 1.1)
    X[:, is_constant] = rng.integers(-3, 4)
    return X


def offset_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """Small differences on a large common offset."""
    return rng.normal(size=(n, d)) + power(rng, 1.0, 4.0)


def uneven_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """Features, or rows, whose sizes differ by many decades."""
    if rng.random() < 0.5:
        return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-4, 4, d)
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, (n, 1))


def collinear_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """A matrix of rank one or two."""
    rank = min(d, int(rng.integers(1, 3)))
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))


def line_rows(rng: Generator, n: int, d: int) -> FloatArray:
    """0, 1, 2, ... in one feature, nothing in the others."""
    X = np.zeros((n, d))
    X[:, 0] = np.arange(n)
    return X


ROWS: tuple[Callable[[Generator, int, int], FloatArray], ...] = (
    normal_rows,
    cloud_rows,
    grid_rows,
    binary_rows,
    repeated_rows,
    constant_rows,
    offset_rows,
    uneven_rows,
    collinear_rows,
    line_rows,
)


def make_rows(rng: Generator, n: int, d: int | None = None) -> FloatArray:
    """n rows of some kind and scale, in float64."""
    d = int(rng.integers(1, 9)) if d is None else d
    X = pick(rng, ROWS, [3, 3, 3, 1, 2, 1, 1, 1, 1, 1])(rng, n, d)
    kind = rng.random()
    if kind < 0.12:
        X = X * 10.0 ** rng.integers(-8, 8)
    elif kind < 0.3:
        X = X * 2.0 ** rng.integers(-6, 7)
    if rng.random() < 0.15:  # some rows twice
        X[rng.integers(n, size=n // 4 + 1)] = X[rng.integers(n, size=n // 4 + 1)]
    return np.ascontiguousarray(X)


# -- targets


def make_codes(rng: Generator, X: FloatArray, n_classes: int) -> NDArray[np.int64]:
    """A class for each row, every class at least once."""
    n = len(X)
    kind = rng.random()
    if kind < 0.45:  # separable up to noise
        values = X @ rng.normal(size=X.shape[1])
        order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        codes = order * n_classes // n
        wrong = rng.random(n) < pick(rng, [0.0, 0.05, 0.2])
        codes[wrong] = rng.integers(n_classes, size=int(wrong.sum()))
    elif kind < 0.85:
        codes = rng.integers(n_classes, size=n)
    else:  # one class has nearly all rows
        codes = np.zeros(n, dtype=np.int64)
    missing = np.setdiff1d(np.arange(n_classes), codes)
    codes[rng.permutation(n)[: missing.size]] = missing
    for code in range(n_classes):  # the rows just taken may have been the last of another class
        if not (codes == code).any():
            codes[np.argmax(np.bincount(codes, minlength=n_classes)[codes])] = code
    return codes.astype(np.int64)


def make_labels(rng: Generator, codes: NDArray[np.int64]) -> NDArray[Any]:
    """Class labels as users have them."""
    n_classes = int(codes.max()) + 1
    names = pick(
        rng,
        [
            np.arange(n_classes),
            np.arange(n_classes) * 2.0 - 1.0,
            np.array([f"c{k}" for k in range(n_classes)]),
            np.arange(n_classes) - 5,
        ],
        [5, 3, 1, 1],
    )
    return names[codes]


def make_numbers(rng: Generator, X: FloatArray) -> FloatArray:
    """Regression targets."""
    n = len(X)
    size = float(np.abs(X).max()) or 1.0
    y = (X / size) @ rng.normal(size=X.shape[1])
    y += pick(rng, [0.0, 0.1, 1.0]) * rng.normal(size=n)
    kind = rng.random()
    if kind < 0.2:
        y = np.round(y * 2.0) / 2.0
    elif kind < 0.3:
        y = rng.integers(-3, 4, size=n).astype(float)
    elif kind < 0.36:
        y = np.full(n, float(rng.integers(-2, 3)))
    elif kind < 0.5:
        y = y * 10.0 ** rng.integers(-6, 7)
    elif kind < 0.56:
        y = y + 10.0 ** rng.integers(2, 7)
    return np.asarray(y)


def make_weights(rng: Generator, n: int, zeros: bool = True) -> FloatArray | None:
    """Sample weights, or None."""
    kind = rng.random()
    if kind < 0.6:
        return None
    if kind < 0.68:
        weights = np.ones(n)
    elif kind < 0.78:
        weights = rng.integers(1, 4, size=n).astype(float)
    elif kind < 0.9:
        weights = rng.uniform(0.1, 2.0, size=n)
    else:
        weights = 10.0 ** rng.uniform(-5, 5, size=n)
    if zeros and rng.random() < 0.4:
        weights[rng.random(n) < 0.2] = 0.0
    return weights


def make_C(rng: Generator) -> float:
    kind = rng.random()
    if kind < 0.6:
        return float(2.0 ** rng.integers(-5, 11))
    if kind < 0.85:
        return power(rng, -2.0, 4.0)
    return power(rng, -8.0, 8.0)


# -- containers


def contain(rng: Generator, X: FloatArray, allow_sparse: bool = True) -> Any:
    """The same numbers as users pass them; float32 is asked for by `make_set`, before labels."""
    kinds = ["C", "fortran", "list", "frame", "strided", "readonly"]
    shares = [12.0, 1, 1, 1, 1, 1]
    if allow_sparse:
        kinds += ["csr", "csc", "coo", "csr_array"]
        shares += [1.5, 0.5, 0.5, 1.0]
    kind = pick(rng, kinds, shares)
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "list":
        return X.tolist()
    if kind == "frame":
        import pandas as pd

        return pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    if kind == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if kind == "readonly":
        X = X.copy()
        X.flags.writeable = False
        return X
    if kind in ("csr", "csc", "coo"):
        return getattr(sp, f"{kind}_matrix")(X)
    return sp.csr_array(X) if kind == "csr_array" else X


# -- kernels


def laplacian(X: Any, Z: Any) -> FloatArray:
    """A callable kernel: exp(-|x - z|_1 / size), positive semi-definite."""
    A = X.toarray() if sp.issparse(X) else np.asarray(X)
    B = Z.toarray() if sp.issparse(Z) else np.asarray(Z)
    return np.exp(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


def inner(X: Any, Z: Any) -> Any:
    """A callable kernel: the inner product."""
    return X @ Z.T


@dataclass(frozen=True)
class KernelChoice:
    """Parameters of a kernel, and its values in extended precision by a formula of its own."""

    name: Any
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0

    @property
    def parameters(self) -> dict[str, Any]:
        named = {"kernel": self.name, "gamma": self.gamma}
        return named | {"degree": self.degree, "coef0": self.coef0}

    @property
    def is_convex(self) -> bool:
        """Whether the matrix is positive semi-definite for sure."""
        if self.name == "sigmoid":
            return False
        return self.name != "poly" or self.coef0 >= 0.0

    def gamma_of(self, X: FloatArray, weights: FloatArray | None = None) -> float:
        """The number for gamma on these training rows, as scikit-learn's documentation has it."""
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        if self.gamma != "scale":
            return float(self.gamma)
        share = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
        mean = float(np.average(X.mean(axis=1), weights=share))
        variance = float(np.average(((X - mean) ** 2).mean(axis=1), weights=share))
        return 1.0 / (X.shape[1] * variance) if variance > (1e-14 * mean) ** 2 else 1.0

    def evaluate(self, X: FloatArray, Z: FloatArray, gamma: float) -> NDArray[np.longdouble]:
        """K(X, Z) in extended precision."""
        if callable(self.name):
            return np.asarray(self.name(X, Z), dtype=np.longdouble)
        A, B = X.astype(np.longdouble), Z.astype(np.longdouble)
        if self.name == "rbf":
            distances = np.square(A[:, None, :] - B[None, :, :]).sum(axis=2)
            return np.asarray(np.exp(-np.longdouble(gamma) * distances))
        products = A @ B.T
        if self.name == "linear":
            return np.asarray(products)
        inside = np.longdouble(gamma) * products + np.longdouble(self.coef0)
        return np.asarray(inside**self.degree if self.name == "poly" else np.tanh(inside))

    def rounding(self, X: FloatArray, gamma: float, is_centred: bool = True) -> float:
        """The relative error of kernel values computed in double, in units of eps, at worst.

        exp turns the absolute error of its argument, gamma |x - z|^2 formed from |x|^2 of rows
        (centred unless they are sparse), into a relative one; powers multiply that of their base.
        """
        d = X.shape[1]
        if self.name == "rbf":
            about = X.mean(axis=0) if is_centred else 0.0
            size = float(np.square(X - about).sum(axis=1).max())
            return min(1.0 / np.finfo(float).eps, 8.0 + 4.0 * (d + 4) * gamma * size)
        if self.name == "sigmoid":
            size = float(np.square(X).sum(axis=1).max())
            return 8.0 + 4.0 * (d + 4) * (gamma * size + abs(self.coef0))
        return (d + 4.0) * (self.degree if self.name == "poly" else 1)


def make_kernel(rng: Generator, X: FloatArray, precomputed: bool = True) -> KernelChoice:
    """A kernel for these rows: moderate, near the identity, or near rank one."""
    size = float(np.square(X - X.mean(axis=0)).sum(axis=1).mean()) or 1.0
    kinds = ["rbf", "linear", "poly", "sigmoid", "callable"] + ["precomputed"] * precomputed
    name = pick(rng, kinds, [8, 5, 2, 0.7, 0.7] + [1.0] * precomputed)
    if name == "callable":
        return KernelChoice(pick(rng, [laplacian, inner]))
    gamma: Any = pick(
        rng,
        ["scale", "auto", 1.0 / size, 1e3 / size, 1e-6 / size, power(rng, -2, 2) / size],
        [4, 1, 4, 1, 1, 3],
    )
    if isinstance(gamma, float):
        gamma = float(np.clip(gamma, 1e-200, 1e200))
    if name == "poly":
        return KernelChoice(name, gamma, int(rng.integers(1, 5)), float(pick(rng, [0.0, 1.0, 2.5])))
    if name == "sigmoid":
        return KernelChoice(name, gamma, coef0=float(rng.normal()))
    return KernelChoice(name, gamma)


# -- whole problems


@dataclass(frozen=True)
class Rows:
    """A training set: `X` as it is given to the library, `values` the same numbers in float64."""

    X: Any
    values: FloatArray
    y: Any
    weights: FloatArray | None
    kernel: KernelChoice
    C: float
    tol: float = 1e-3
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def unit_weights(self) -> FloatArray:
        return np.ones(self.n) if self.weights is None else self.weights


def gram_rows(rng: Generator, values: FloatArray) -> FloatArray:
    """A positive semi-definite matrix to be passed as kernel="precomputed"."""
    kind = rng.random()
    n = len(values)
    if kind < 0.5:
        K = values @ values.T
    elif kind < 0.7:
        K = np.eye(n) * power(rng, -3, 3)
    elif kind < 0.8:
        K = np.outer(values[:, 0], values[:, 0])
    else:
        K = np.asarray(laplacian(values, values))
    return np.ascontiguousarray(K + K.T) / 2.0


def make_set(
    rng: Generator,
    task: str = "labels",
    *,
    n: tuple[int, int] = (4, 60),
    most_classes: int = 2,
    precomputed: bool = True,
    sparse: bool = True,
    weighted: bool = True,
    zero_weights: bool = True,
) -> Rows:
    """A random training set for `task`: "labels", "numbers" or "none"."""
    n_rows = (
        int(rng.integers(n[0], n[1] + 1))
        if rng.random() < 0.5
        else int(rng.integers(n[0], (n[0] + n[1]) // 2 + 1))
    )
    values = make_rows(rng, n_rows)
    if rng.random() < 0.07:  # read back from single precision
        values = values.astype(np.float32).astype(float)
    X: Any = values
    kernel = make_kernel(rng, values, precomputed)
    is_single = rng.random() < 0.06 and kernel.name != "precomputed"
    y: Any = None
    if task == "labels":
        highest = min(most_classes, n_rows // 2)
        n_classes = 2 if rng.random() < 0.6 else int(rng.integers(2, max(2, highest) + 1))
        y = make_labels(rng, make_codes(rng, values, n_classes))
    elif task == "numbers":
        y = make_numbers(rng, values)
    if kernel.name == "precomputed":
        X = values = gram_rows(rng, values)
    elif is_single:
        X = values.astype(np.float32)
        values = X.astype(float)
    elif (values == np.round(values)).all() and np.abs(values).max() < 1e9 and rng.random() < 0.1:
        X = values.astype(np.int64)
    else:
        X = contain(rng, values, sparse)
    weights = make_weights(rng, n_rows, zero_weights) if weighted else None
    tol = float(pick(rng, [1e-3, 1e-5, 1e-8], [6, 2, 1]))
    return Rows(X, values, y, weights, kernel, make_C(rng), tol)
