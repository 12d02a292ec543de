"""The store as a keeper: budget, counts, shared views, kept products, refusals, threads."""

from __future__ import annotations

import gc
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from test_store_values import TOLERANCE, curvature, sample, stored

from alphapath import _core
from alphapath.errors import KernelError
from alphapath.kernels import Callable, KernelStore, Linear, Poly, Precomputed, Rbf, Sigmoid


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_byte_budget_is_held(precision):
    limit = 400_000
    X = sample(1000, 20)
    store = KernelStore(X, memory_limit=limit)
    view = store.view(Rbf(0.3), precision=precision)
    for _ in range(3):
        view.multiply(np.arange(1000), np.ones(1000))
        assert store.nbytes <= limit
    assert not view.gram.is_full


def test_counts_of_rows_and_hits():
    store = KernelStore(sample(200, 5), memory_limit=120_000)
    view = store.view(Rbf(0.3), precision="float32")
    view.rows([1, 2, 3])
    assert (store.counts.rows_computed, store.counts.views) == (3, 1)
    hits = store.counts.hits
    view.rows([3, 2])
    assert store.counts.rows_computed == 3
    assert store.counts.hits == hits + 2
    del view
    gc.collect()
    assert store.counts.rows_computed == 3
    assert store.nbytes == 0


def test_a_larger_cache_never_computes_more_rows():
    X = sample(400, 8)
    rng = np.random.default_rng(0)
    wanted = rng.zipf(1.3, size=4000) % 400
    computed = []
    for share in (1.1, 0.8, 0.5, 0.3, 0.1):
        store = KernelStore(X, memory_limit=int(share * 4 * 400 * 400) + 40_000)
        view = store.view(Rbf(0.3), precision="float32")
        for i in wanted:
            view.rows([i])
        computed.append(store.counts.rows_computed)
    n_distinct = len(set(wanted))
    assert computed[0] == 400  # the whole matrix
    assert n_distinct <= computed[1] < 1.1 * n_distinct
    assert computed[1:] == sorted(computed[1:])


def test_the_same_key_gives_the_same_view_while_it_lives():
    store = KernelStore(sample(40))
    view = store.view(Rbf(0.5))
    assert store.view(Rbf(0.5)) is view
    assert store.view(Rbf(0.6)) is not view
    assert store.view(Rbf(0.5), precision="float32") is not view
    assert store.counts.views == 3
    assert view.key == store.view(Rbf(0.5)).key


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("limit", [None, 260_000])
def test_kept_products_give_the_same_kernels(convert, precision, limit):
    X = convert(sample(150, 9))
    store = KernelStore(X, memory_limit=limit)
    store.keep_products()
    for kernel in (Rbf(0.1), Rbf(3.0), Poly(0.2, 2, 1.0), Poly(0.1, 3), Sigmoid(0.1), Linear()):
        view = store.view(kernel, precision=precision)
        K = kernel.evaluate(X, X)
        tolerance = TOLERANCE[precision] * np.abs(K).max() * 4
        np.testing.assert_allclose(view.rows(np.arange(150)), K, rtol=0, atol=tolerance)
        del view
    assert limit is None or store.nbytes <= limit


def test_kept_products_are_computed_once():
    store = KernelStore(sample(150, 9))
    store.keep_products()
    view = store.view(Rbf(0.1))
    held = store.nbytes
    assert held == 2 * view.gram.nbytes
    other = store.view(Rbf(0.7))
    assert store.nbytes == held + other.gram.nbytes


def test_a_precomputed_matrix_is_served():
    K = Rbf(0.3).evaluate(sample(70), sample(70))
    for limit in (None, 15_000):
        view = KernelStore(K, memory_limit=limit).view(Precomputed(), precision="float64")
        np.testing.assert_allclose(view.rows([4, 69]), K[[4, 69]], rtol=0, atol=1e-15)
        np.testing.assert_array_equal(view.exact_rows([4]), K[[4]])


def test_rounding_asymmetry_is_averaged_away():
    K = np.eye(5) + 0.25
    K[1, 3] += 1e-9
    rows = KernelStore(K).view(Precomputed()).rows(np.arange(5))
    np.testing.assert_array_equal(rows, rows.T)
    np.testing.assert_allclose(rows, K, atol=1e-9)


def bad_matrix(**changes):
    K = np.eye(4)
    for value, (i, j) in changes.values():
        K[i, j] = value
    return K


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\); it must be square"),
        (bad_matrix(a=(0.5, (1, 2))), r"not symmetric: \[1, 2\] is 0.5 but \[2, 1\] is 0.0"),
        (bad_matrix(a=(-0.5, (1, 2))), r"not symmetric: \[2, 1\] is 0.0 but \[1, 2\] is -0.5"),
        (bad_matrix(a=(np.nan, (1, 2)), b=(np.nan, (2, 1))), r"the entry nan at \[1, 2\]"),
        (bad_matrix(a=(np.inf, (0, 0))), r"the entry inf at \[0, 0\]"),
        (sp.csr_array(np.eye(3)), "is sparse"),
    ],
)
def test_matrices_that_are_no_kernels(matrix, message):
    with pytest.raises(KernelError, match=message):
        KernelStore(matrix).view(Precomputed())


def test_callables_are_checked():
    X = sample(12)
    with pytest.raises(KernelError, match=r"shape \(3, 3\); it must return \(12, 12\)"):
        KernelStore(X).view(Callable(lambda A, B: np.eye(3)))
    with pytest.raises(KernelError, match="returned by the kernel function is not symmetric"):
        KernelStore(X).view(Callable(lambda A, B: A @ (np.arange(9) * B).T + np.arange(12)))
    with pytest.raises(KernelError, match="has the entry nan"):
        KernelStore(X).view(Callable(lambda A, B: np.full((12, 12), np.nan)))
    calls = []
    kernel = Callable(lambda A, B: calls.append((A, B)) or A @ B.T)
    store = KernelStore(X)
    view = store.view(kernel)
    assert store.view(kernel) is view
    assert len(calls) == 1
    assert calls[0][0] is calls[0][1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KernelStore(np.ones(4)), r"shape \(4,\)"),
        (lambda: KernelStore(np.ones((0, 4))), r"shape \(0, 4\)"),
        (lambda: KernelStore(np.eye(3), n_threads=0), "n_threads == 0"),
        (lambda: KernelStore(np.eye(3), memory_limit="lots"), "memory_limit == 'lots'"),
        (lambda: KernelStore(np.eye(3)).view(Rbf(1.0), precision="half"), "precision == 'half'"),
        (lambda: KernelStore(np.eye(9), memory_limit=200).view(Rbf(1.0)), "two rows of 9 values"),
        (lambda: KernelStore(np.array([[1.0], [np.nan]])).view(Rbf(1.0)), "not finite"),
        (lambda: KernelStore(np.array([[1.0], [1e300]])).view(Rbf(1.0)), "not finite"),
        (lambda: KernelStore(sp.csr_array([[1.0], [np.inf]])).view(Linear()), "not finite"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(KernelError, match=message):
        make()


def test_values_too_large_for_float32_are_kept_in_double():
    X = 1e4 * sample(2100, 3)
    kernel = Poly(1.0, 5)
    store = KernelStore(X)
    view = store.view(kernel)
    assert view.gram.precision == "float64"
    np.testing.assert_allclose(view.rows([7]), kernel.evaluate(X[[7]], X), rtol=1e-12)
    with pytest.raises(KernelError, match="too large for precision='float32'"):
        store.view(kernel, precision="float32")


def test_given_values_too_large_for_float32_are_kept_in_double():
    K = 1e37 * Rbf(0.3).evaluate(sample(30), sample(30))
    # float64 does not fit, and float32 would overflow.
    view = KernelStore(K, memory_limit=6_000).view(Precomputed())
    assert view.gram.precision == "float64"
    np.testing.assert_allclose(view.rows([7]), K[[7]], rtol=0, atol=1e22)
    with pytest.raises(KernelError, match="may reach 1e\\+37, too large for precision='float32'"):
        KernelStore(K).view(Precomputed(), precision="float32")


def test_dot_products_are_kept_in_double():
    store = KernelStore(100.0 + 1e-3 * sample(60, 5, density=1.0))
    store.keep_products()
    kernel = Poly(1e-4, 3, 1.0)
    kept = store.view(kernel, precision="float32")
    direct = KernelStore(store._X).view(kernel, precision="float32")
    assert store._products["dot", "float64"].precision == "float64"
    exact = curvature(kernel.evaluate(store._X, store._X))
    for view in (kept, direct):
        np.testing.assert_allclose(curvature(stored(view)), exact, rtol=0, atol=3e-6 * exact.max())
    floats = _core.gram_of_samples(
        store._samples, _core.KernelFunction("dot"), _core.GramOptions("float32")
    )
    with pytest.raises(ValueError, match="float32 serve the rbf kernel only"):
        _core.gram_of_products(floats, kernel.native_function(), _core.GramOptions("float32"))


def test_damaged_csr_is_refused():
    X = sp.csr_array(sample(10))
    X.indices[3] = 9
    with pytest.raises(KernelError, match="not a valid CSR matrix"):
        KernelStore(X)
    X = sp.csr_array(sample(10))
    X.indptr[4] = 1000
    with pytest.raises(KernelError, match="not a valid CSR matrix"):
        KernelStore(X)


def test_an_interrupt_ends_a_long_computation():
    X = np.random.default_rng(0).normal(size=(5000, 3000))
    store = KernelStore(X)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        store.view(Rbf(1e-4), precision="float64")
    assert store.nbytes == 0  # a matrix that was finished would be kept


def test_rows_that_do_not_exist():
    view = KernelStore(sample(12)).view(Linear())
    for idx in ([12], [-1]):
        with pytest.raises(IndexError, match="there are 12 rows"):
            view.rows(idx)
    with pytest.raises(ValueError, match="2 indices but 3 coefficients"):
        view.multiply([0, 1], [1.0, 2.0, 3.0])


def test_unsorted_and_duplicate_csr_entries():
    X = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3)
    )
    view = KernelStore(X).view(Linear())
    np.testing.assert_array_equal(view.rows([0, 1]), [[5.0, 0.0], [0.0, 49.0]])
    assert X.nnz == 4


def test_one_hundred_thousand_rows_on_demand():
    n = 100_000
    X = np.random.default_rng(0).normal(size=(n, 4))
    store = KernelStore(X, memory_limit="40MB")
    view = store.view(Rbf(0.2))
    idx = [0, 99_999, 54_321]
    np.testing.assert_allclose(view.rows(idx), view.exact_rows(idx), rtol=0, atol=1e-6)
    assert store.counts.rows_computed == 3
    assert store.nbytes < 40e6


def test_threads_share_a_row_cache():
    X = sample(300, 6)
    whole = KernelStore(X).view(Rbf(0.3), precision="float32")
    view = KernelStore(X, memory_limit=50_000).view(Rbf(0.3), precision="float32")
    expected = whole.multiply(np.arange(300), np.ones(300))
    results = []

    def work() -> None:
        results.append(view.multiply(np.arange(300), np.ones(300)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_a_cached_gram_outlives_its_store():
    X = sample(100, 6)
    expected = KernelStore(X).view(Rbf(0.3), precision="float32").rows([7])
    view = KernelStore(X.copy(), memory_limit=20_000).view(Rbf(0.3), precision="float32")
    gc.collect()
    np.testing.assert_array_equal(view.rows([7]), expected)
