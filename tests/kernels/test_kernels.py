"""Kernel formulas, their parameters, the memory policy, BLAS threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import (
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from alphapath.errors import KernelError
from alphapath.kernels import (
    KERNELS,
    Callable,
    Linear,
    Poly,
    Precomputed,
    Rbf,
    Sigmoid,
    parse_memory_limit,
)
from alphapath.kernels.policy import Layout, choose_layout, row_bytes
from alphapath.kernels.rbf import squared_distances

RNG = np.random.default_rng(7)
X = RNG.normal(size=(23, 5))
Z = RNG.normal(size=(11, 5))

PAIRS = [
    (Linear(), linear_kernel),
    (Rbf(0.3), lambda A, B: rbf_kernel(A, B, 0.3)),
    (Poly(0.2, 3, 1.0), lambda A, B: polynomial_kernel(A, B, 3, 0.2, 1.0)),
    (Poly(0.2, 0), lambda A, B: np.ones((A.shape[0], B.shape[0]))),
    (Sigmoid(0.1, 0.5), lambda A, B: sigmoid_kernel(A, B, 0.1, 0.5)),
    (Callable(lambda A, B: linear_kernel(A, B)), linear_kernel),
]


@pytest.mark.parametrize(("kernel", "oracle"), PAIRS, ids=lambda p: getattr(p, "name", ""))
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_evaluate_is_the_textbook_formula(kernel, oracle, convert):
    A, B = convert(X), convert(Z)
    np.testing.assert_allclose(kernel.evaluate(A, B), oracle(A, B), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(oracle(A, A)), rtol=1e-12)


def test_registry_names_every_kernel():
    assert set(KERNELS) >= {"linear", "rbf", "poly", "sigmoid", "precomputed", "callable"}
    assert all(kernel.name == name for name, kernel in KERNELS.items())
    assert {kernel.name for kernel, _ in PAIRS} >= set(KERNELS) - {"precomputed"}


def test_keys_tell_kernels_apart():
    kernels = [Linear(), Rbf(1.0), Rbf(2.0), Poly(1.0), Poly(1.0, 2), Sigmoid(1.0), Precomputed()]
    assert len({kernel.key for kernel in kernels}) == len(kernels)
    assert Rbf(1).key == Rbf(1.0).key


def test_precomputed_rows_are_the_kernel():
    K = X @ X.T
    assert Precomputed().evaluate(K[[3, 1]], K) is not None
    np.testing.assert_array_equal(Precomputed().evaluate(K[[3, 1]], K), K[[3, 1]])
    np.testing.assert_array_equal(Precomputed().diagonal(K), np.diag(K))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rbf(0.0), r"gamma == 0\.0; it must be positive"),
        (lambda: Rbf(-1.0), r"gamma == -1\.0"),
        (lambda: Rbf(float("nan")), "gamma == nan"),
        (lambda: Poly(float("inf")), "gamma == inf"),
        (lambda: Poly(1.0, -1), "degree == -1"),
        (lambda: Poly(1.0, 2.5), r"degree == 2\.5"),
        (lambda: Poly(1.0, 2, float("nan")), "coef0 == nan"),
        (lambda: Sigmoid(0.0), r"gamma == 0\.0"),
        (lambda: Sigmoid(1.0, float("inf")), "coef0 == inf"),
        (lambda: Callable(lambda A, B: A).evaluate(X, Z), r"shape \(23, 5\); it must return"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(KernelError, match=message):
        make()


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_distances_survive_a_large_mean(convert):
    shifted = X + 1e6
    shifted[4] = shifted[9]
    exact = np.square(shifted[:, None, :] - shifted[None, :, :]).sum(axis=2)
    distances = squared_distances(convert(shifted), convert(shifted))
    np.testing.assert_allclose(distances, exact, rtol=1e-9)
    assert distances[4, 9] == 0.0
    assert not np.diag(distances).any()


def test_distances_of_mixed_and_empty_input():
    np.testing.assert_allclose(squared_distances(X, sp.csr_array(Z)), squared_distances(X, Z))
    assert squared_distances(X, Z[:0]).shape == (23, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("200MB", 200 * 10**6), ("1.5 GiB", 3 * 2**29), (" 4k ", 4000), ("17", 17), (10.0, 10)],
)
def test_memory_limits_are_read(text, value):
    assert parse_memory_limit(text) == value


@pytest.mark.parametrize("text", ["", "MB", "-5", "12 parsecs", "1.2.3MB", 0, -1, float("nan")])
def test_memory_limits_that_are_none(text):
    with pytest.raises(KernelError, match="memory_limit =="):
        parse_memory_limit(text)


def test_the_default_limit_is_half_of_the_memory():
    assert 2**20 < parse_memory_limit(None) < 2**50


@pytest.mark.parametrize(
    ("n", "tol", "limit", "layout"),
    [
        (2048, 1e-3, 2**40, Layout("float64", True, 2048)),
        (2049, 1e-3, 2**40, Layout("float32", True, 2049)),
        (2049, 1e-6, 2**40, Layout("float64", True, 2049)),
        (1024, 1e-3, 8 * 1024 * 1024 - 1, Layout("float32", True, 1024)),
        (1024, 1e-6, 8 * 1024 * 1024 - 1, Layout("float64", False, 1023)),
        (100_000, 1e-3, 10**9, Layout("float32", False, 2500)),
    ],
)
def test_the_policy_as_written(n, tol, limit, layout):
    assert choose_layout(n, tol, limit) == layout


def test_a_limit_below_two_rows_is_refused():
    with pytest.raises(KernelError, match="two rows of 1000 values"):
        choose_layout(1000, 1e-3, row_bytes(1000, "float64"))
