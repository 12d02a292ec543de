"""Kernel values of the store against NumPy: every kernel, layout, precision, instruction set."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath.kernels import (
    Callable,
    KernelStore,
    Linear,
    Poly,
    Rbf,
    Sigmoid,
)

KERNELS = [
    Linear(),
    Rbf(0.3),
    Poly(0.2, 3, 1.0),
    Sigmoid(0.1, 0.5),
    Callable(lambda A, B: np.asarray(np.tanh((A @ B.T).toarray() if sp.issparse(A) else A @ B.T))),
]
CONVERTERS = {
    "dense": np.asarray,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "int64": lambda X: with_int64(sp.csr_array(X)),
}
#: Relative to the largest entry.
TOLERANCE = {"float32": 3e-7, "float64": 3e-15}


def with_int64(X):
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    return X


def sample(n=210, d=9, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X[n // 2] = X[0]
    X[n - 1] = X[0]
    return X


def stored(view):
    """The values as they are kept: without offsets."""
    offset = view.gram.offset()
    return view.rows(np.arange(view.n)) - (offset[:, None] + offset[None, :])


def curvature(K):
    """K_ii + K_jj - 2 K_ij: what a step of a pair of instances divides by."""
    diagonal = np.diag(K)
    return diagonal[:, None] + diagonal[None, :] - 2.0 * K


@pytest.mark.parametrize("limit", [None, "40KB"], ids=["whole", "cached"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("form", CONVERTERS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_values_against_numpy(kernel, form, precision, limit):
    X = CONVERTERS[form](sample(60))
    K = kernel.evaluate(X, X)
    limit = None if limit is None else 10_000 if precision == "float32" else 20_000
    if limit is not None and kernel.name == "callable":
        limit //= 2
    view = KernelStore(X, memory_limit=limit).view(kernel, precision=precision)
    assert view.gram.is_full == (limit is None)
    assert view.gram.precision == precision
    tolerance = TOLERANCE[precision] * np.abs(K).max()
    rows = view.rows(np.arange(60))
    np.testing.assert_allclose(rows, K, rtol=0, atol=3 * tolerance)
    np.testing.assert_array_equal(rows, rows.T)
    np.testing.assert_allclose(view.diagonal(), np.diag(K), rtol=0, atol=3 * tolerance)
    np.testing.assert_array_equal(view.block([5, 2], [7, 7, 1]), rows[[5, 2]][:, [7, 7, 1]])
    coef = np.linspace(-1, 1, 33)
    idx = np.arange(33) * 31 % 60
    np.testing.assert_allclose(view.multiply(idx, coef), rows[:, idx] @ coef, rtol=0, atol=1e-11)
    np.testing.assert_allclose(view.exact_rows(idx), K[idx], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=lambda kernel: kernel.name)
def test_truly_sparse_data_stays_sparse(kernel):
    rng = np.random.default_rng(3)
    X = sp.random_array((150, 5000), density=0.004, format="csr", rng=rng)
    store = KernelStore(X)
    view = store.view(kernel)
    assert not store._samples.is_dense
    K = kernel.evaluate(X, X)
    np.testing.assert_allclose(view.rows(np.arange(150)), K, rtol=0, atol=1e-12)
    single = store.view(kernel, precision="float32")
    np.testing.assert_allclose(single.rows(np.arange(150)), K, rtol=1e-6, atol=1e-6)


def test_features_that_often_meet_are_taken_dense():
    share = np.where(np.arange(123) < 14, 0.6, 0.05)
    X = sp.csr_array((np.random.default_rng(0).random((400, 123)) < share).astype(float))
    store = KernelStore(X)
    view = store.view(Rbf(0.5))
    assert store._samples.is_dense
    np.testing.assert_allclose(view.rows([3]), Rbf(0.5).evaluate(X[[3]], X), atol=1e-15)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("limit", [None, 40_000])
def test_equal_rows_have_distance_exactly_zero(precision, convert, limit):
    X = sample() + 0.1
    view = KernelStore(convert(X), memory_limit=limit).view(Rbf(2.0), precision=precision)
    K = stored(view)
    assert K[0, 105] == K[105, 0] == K[0, 209] == K[209, 105] == 0.0
    assert not np.diag(K).any()
    assert K.max() == 0.0
    np.testing.assert_array_equal(K[0], K[105])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_large_mean_costs_no_digits(precision):
    X = np.random.default_rng(1).normal(size=(100, 4))
    shifted = X + 1e4
    view = KernelStore(shifted).view(Rbf(0.5), precision=precision)
    np.testing.assert_allclose(
        view.rows(np.arange(100)), Rbf(0.5).evaluate(shifted, shifted), rtol=0, atol=1e-6
    )
    linear = KernelStore(shifted).view(Linear(), precision=precision)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(stored(linear), centred @ centred.T, rtol=0, atol=1e-5)


def test_two_distant_clusters_keep_their_digits():
    X = np.random.default_rng(1).normal(size=(80, 3))
    X[:40] += 1e7
    for precision in ("float32", "float64"):
        view = KernelStore(X).view(Rbf(0.5), precision=precision)
        expected = Rbf(0.5).evaluate(X, X)
        np.testing.assert_allclose(view.rows(np.arange(80)), expected, rtol=0, atol=2e-7)


def test_constant_features_do_not_matter():
    X = sample(50, 6)
    wide = np.hstack([X, np.full((50, 3), 123.456)])
    for precision in ("float32", "float64"):
        a = KernelStore(X).view(Rbf(0.4), precision=precision).rows(np.arange(50))
        b = KernelStore(wide).view(Rbf(0.4), precision=precision).rows(np.arange(50))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 if precision == "float32" else 1e-14)


def test_integers_are_exact_in_float32():
    X = np.random.default_rng(2).integers(0, 12, size=(90, 30)).astype(float)
    K = stored(KernelStore(X).view(Rbf(1e-3), precision="float32"))
    distances = np.square(X[:, None] - X[None]).sum(axis=2)
    np.testing.assert_allclose(K, np.expm1(-1e-3 * distances), rtol=3e-7, atol=0)
    linear = KernelStore(X).view(Linear(), precision="float32")
    np.testing.assert_array_equal(linear.rows(np.arange(90)), X @ X.T)


@pytest.mark.parametrize("kernel", [Linear(), Rbf(0.3), Poly(0.1, 3, 1.0), Sigmoid(0.05, 0.1)])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_a_matrix_of_its_own_has_the_bits_of_the_rows(kernel, convert):
    store = KernelStore(convert(sample(101, 11)))
    K = store.matrix(kernel)
    np.testing.assert_array_equal(K, store.view(kernel, precision="float64").rows(np.arange(101)))
    K[0, 0] = 7.0  # the caller's
    assert store.matrix(kernel)[0, 0] != 7.0


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("density", [0.5, 0.01])
def test_bits_do_not_depend_on_threads(convert, density):
    X = convert(sample(700, 40, density=density))
    views = [
        KernelStore(X, n_threads=n_threads).view(Rbf(0.3), precision="float32")
        for n_threads in (1, 2, 3)
    ]
    rows = [view.rows(np.arange(700)) for view in views]
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_a_cached_row_has_the_bits_of_the_whole_matrix():
    X = sample(300, 11)
    whole = KernelStore(X).view(Rbf(0.3), precision="float32")
    cached = KernelStore(X, memory_limit=60_000).view(Rbf(0.3), precision="float32")
    order = np.random.default_rng(0).permutation(300)
    np.testing.assert_array_equal(cached.rows(order), whole.rows(order))
    np.testing.assert_array_equal(cached.block(order[:5], order), whole.block(order[:5], order))


ISA_SCRIPT = """
import numpy as np
from alphapath import _core
from alphapath.kernels import KernelStore, Linear, Poly, Rbf, Sigmoid
rng = np.random.default_rng(0)
X = rng.normal(size=(333, 17))
X[300] = X[2]
for kernel in (Linear(), Rbf(0.05), Rbf(2.0), Poly(0.1, 3, 1.0), Sigmoid(0.05, 0.1)):
    K = kernel.evaluate(X, X)
    for precision, tolerance in (("float32", 1e-6), ("float64", 5e-15)):
        for limit in (None, 100_000 if precision == "float32" else 150_000):
            view = KernelStore(X, memory_limit=limit).view(kernel, precision=precision)
            rows = view.rows(np.arange(333))
            assert abs(rows - K).max() <= tolerance * abs(K).max(), (kernel, precision)
            assert (rows == rows.T).all()
            product = view.multiply(np.arange(9), np.ones(9))
            assert abs(product - rows[:, :9].sum(axis=1)).max() < 1e-11
for largest, d in ((255, 30), (255, 31), (3000, 17)):  # bytes, and integers that are none
    whole = rng.integers(0, largest + 1, size=(333, d)).astype(float)
    whole[:, 4:14] *= rng.random((333, 10)) < 0.02
    view = KernelStore(whole).view(Linear(), precision="float64")
    assert (view.rows(np.arange(333)) == whole @ whole.T).all()
    gamma = 3.0 / largest**2 / d
    K = Rbf(gamma).evaluate(whole, whole)
    for precision, tolerance in (("float32", 1e-6), ("float64", 5e-15)):
        rows = KernelStore(whole).view(Rbf(gamma), precision=precision).rows(np.arange(333))
        assert abs(rows - K).max() <= tolerance, (largest, d, precision)
print(_core.instruction_set())
"""


def run_with_isa(isa, script):
    """What the script prints where the processor is told to have this instruction set at most."""
    variables = {key: value for key, value in os.environ.items() if key != "ALPHAPATH_ISA"}
    if isa is not None:
        variables["ALPHAPATH_ISA"] = isa
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=variables,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512", "avx512vnni"])
def test_every_instruction_set(isa):
    sets = ["baseline", "avx2", "avx512", "avx512vnni"]
    best = run_with_isa(None, "from alphapath import _core; print(_core.instruction_set())")
    used = run_with_isa(isa, ISA_SCRIPT)
    assert sets.index(used) == min(sets.index(best), sets.index(isa))
