"""Kernel matrices of rows on a grid: whole numbers times a step."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath import _core
from alphapath.kernels import KernelStore, Rbf
from alphapath.kernels.samples import find_step, pays


def make_whole(n=90, d=40, top=255, seed=0):
    whole = np.random.default_rng(seed).integers(0, top + 1, size=(n, d)).astype(np.float64)
    whole[3] = whole[0]
    return whole


@pytest.mark.parametrize("step", [1.0 / 255.0, 0.1, 3.0, 2.0**-7, 1e-5])
def test_a_grid_is_found(step):
    whole = make_whole() - 100.0
    assert find_step(whole * step) == pytest.approx(step, rel=1e-14)
    largest = float(np.square(whole).sum(axis=1).max())
    assert _core.Samples(whole * step, step).max_squared_norm == largest


def test_a_quotient_is_on_a_grid_too():
    assert find_step(make_whole() / 255.0) == pytest.approx(1.0 / 255.0, rel=1e-14)


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(90, 5)),
        make_whole(),  # whole numbers as they are
        np.zeros((5, 2)),
        np.ones((5, 2)),
        make_whole(top=100_000) / 7.0,
        sp.csr_array(make_whole() / 255.0),
    ],
    ids=["normal", "whole", "zeros", "ones", "large", "sparse"],
)
def test_no_grid(X):
    assert find_step(X) is None


@pytest.mark.parametrize("shift", [1e-13, 1e-3])
def test_one_value_beside_the_grid(shift):
    X = make_whole() / 255.0
    X[37, 5] += shift  # whether or not it is among those from which the step is guessed
    assert find_step(X) is None


@pytest.mark.parametrize("top", [1, 255, 4000, 30_000])
@pytest.mark.parametrize("step", [1.0, 1.0 / 255.0])
def test_the_kernel_is_that_of_the_formula(top, step):
    """Beyond exact single products (4,000 and 100 columns) too."""
    X = make_whole(n=1010, d=100, top=top) * step
    assert pays(*X.shape)
    assert (find_step(X) is None) == (step == 1.0 or top > 4096)
    kernel = Rbf(0.5 / np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    exact = kernel.evaluate(X, X)
    K = KernelStore(X).matrix(kernel)
    np.testing.assert_allclose(K, exact, atol=2e-13)
    assert (K == K.T).all()
    assert (K[3] == K[0]).all()
    assert (np.diag(K) == 1.0).all()
    for keeps_products in (False, True):
        for precision, atol in (("float64", 2e-13), ("float32", 2e-6)):
            store = KernelStore(X)
            if keeps_products:
                store.keep_products()
            stored = store.view(kernel, precision=precision).rows([0, 3, 700])
            np.testing.assert_allclose(stored, exact[[0, 3, 700]], atol=atol)
            assert (stored[0] == stored[1]).all()


def test_whole_numbers_have_the_bits_of_double_products():
    """One value of 2^13 keeps the products from single precision; the others must not notice."""
    X = make_whole(n=100)
    with_one = np.vstack([X, np.full((1, X.shape[1]), 2.0**13)])
    kernel = Rbf(1e-6)
    K = KernelStore(X).view(kernel, precision="float64").exact_rows(np.arange(100))
    single = KernelStore(X).matrix(kernel)
    double = KernelStore(with_one).matrix(kernel)[:100, :100]
    assert (single == double).all()
    np.testing.assert_allclose(single, K, atol=1e-14)
