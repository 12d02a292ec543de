"""Kernels that are nearly constant: what is stored keeps the digits that differ."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from test_store_values import curvature, stored

from alphapath.kernels import Callable, KernelStore, Linear, Poly, Precomputed, Rbf, Sigmoid
from alphapath.problem import Problem, Status, certify
from alphapath.solvers import coordinate, smo

SMALL = 1e-3 * np.random.default_rng(5).normal(size=(200, 30))


def wide(X, n_columns=3000):
    """The same rows with many empty columns: too sparse to be taken dense."""
    return sp.hstack([sp.csr_array(X), sp.csr_array((X.shape[0], n_columns))], format="csr")


def flat_rbf(A, B):
    return Rbf(1e-2).evaluate(A, B)


CASES = {
    "poly": (SMALL, Poly(0.5, 3, 1.0)),
    "poly sparse": (wide(SMALL), Poly(0.5, 3, 1.0)),
    "poly of a large mean": (SMALL + 1.0, Poly(0.5, 2, 1.0)),
    "sigmoid": (SMALL, Sigmoid(0.5, 0.3)),
    "sigmoid sparse": (wide(SMALL), Sigmoid(0.5, 0.3)),
    "linear": (SMALL + 1.0, Linear()),
    "linear sparse": (wide(SMALL + 1.0), Linear()),
    "precomputed": (Rbf(1e-2).evaluate(SMALL, SMALL), Precomputed()),
    "callable": (SMALL, Callable(flat_rbf)),
}


@pytest.mark.parametrize("limit", [None, 120_000], ids=["whole", "cached"])
@pytest.mark.parametrize("case", CASES)
def test_curvature_survives_float32(case, limit):
    X, kernel = CASES[case]
    store = KernelStore(X, memory_limit=limit)
    view = store.view(kernel, precision="float32")
    assert view.gram.is_full == (limit is None)
    assert store._samples is None or store._samples.is_dense == ("sparse" not in case)
    exact = curvature(kernel.evaluate(X, X))
    far = ~np.eye(len(exact), dtype=bool)
    np.testing.assert_allclose(curvature(stored(view))[far], exact[far], rtol=1e-5)
    diagonal = np.diag(kernel.evaluate(X, X)) - 2.0 * view.gram.offset()
    np.testing.assert_allclose(view.gram.diagonal(), diagonal, rtol=1e-6)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_true_values_of_nearly_constant_kernels(case, precision):
    X, kernel = CASES[case]
    K = kernel.evaluate(X, X)
    view = KernelStore(X).view(kernel, precision=precision)
    rows = view.rows(np.arange(view.n))
    tolerance = (1e-6 if precision == "float32" else 1e-12) * np.abs(K).max()
    np.testing.assert_allclose(rows, K, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(rows, rows.T)
    np.testing.assert_allclose(view.diagonal(), np.diag(K), rtol=0, atol=tolerance)
    coef = np.linspace(-1.0, 2.0, view.n)
    product = view.multiply(np.arange(view.n), coef)
    np.testing.assert_allclose(product, K @ coef, rtol=0, atol=tolerance * np.abs(coef).sum())


@pytest.mark.parametrize("kernel", [Poly(0.5, 3, 1.0), Sigmoid(0.5, 0.3), Linear(), Precomputed()])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_bits_depend_on_nothing_but_the_data(kernel, form):
    X = 1.0 + np.random.default_rng(0).normal(size=(300, 6))
    if kernel.name == "precomputed":
        X = Rbf(0.1).evaluate(X, X)
    elif form == "sparse":
        X = wide(X)
    whole = KernelStore(X).view(kernel, precision="float32")
    assert whole.gram.offset().any()
    expected = whole.rows(np.arange(300))
    threaded = KernelStore(X, n_threads=3).view(kernel, precision="float32")
    np.testing.assert_array_equal(threaded.rows(np.arange(300)), expected)
    cached = KernelStore(X, memory_limit=120_000).view(kernel, precision="float32")
    assert not cached.gram.is_full
    np.testing.assert_array_equal(cached.rows(np.arange(300)), expected)
    np.testing.assert_array_equal(cached.gram.diagonal(), whole.gram.diagonal())


@pytest.mark.parametrize("kernel", [Poly(0.2, 3, 1.0), Poly(0.2, 2), Linear(), Precomputed()])
def test_an_outlier_costs_the_others_no_digits(kernel):
    X = np.random.default_rng(0).normal(size=(200, 5))
    X[7] *= 1e4
    if kernel.name == "precomputed":
        X = X @ X.T
    view = KernelStore(X).view(kernel, precision="float32")
    others = np.delete(np.arange(200), 7)
    exact = curvature(kernel.evaluate(X, X))[np.ix_(others, others)]
    error = curvature(stored(view))[np.ix_(others, others)] - exact
    assert np.abs(error).max() < 2e-6 * np.median(exact)


def test_a_huge_row_leaves_the_values_of_the_others_exact():
    X = np.array([[1.0], [2.0], [1e16]])
    view = KernelStore(X).view(Poly(1.0, 3), precision="float64")
    np.testing.assert_array_equal(view.block([0, 1], [0, 1]), [[1.0, 8.0], [8.0, 64.0]])


def hard_problem(kind, view, X, C, rng):
    f = 1e3 * X[:, 0]
    weights = np.full(len(f), C)
    if kind == "regression":
        return Problem.regression(view, f + 0.1 * rng.normal(size=len(f)), weights, 0.1)
    signs = np.where(f + 0.3 * rng.normal(size=len(f)) > 0, 1.0, -1.0)
    return Problem.classification(view, signs, weights)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("C", [1e4, 1e5])
def test_smo_solves_poly_on_small_numbers(C, kind, precision):
    for seed in range(6):
        for d in (1, 2, 3):
            rng = np.random.default_rng(seed)
            X = 1e-3 * rng.normal(size=(68, d))
            view = KernelStore(X).view(Poly(0.5, 3, 1.0), precision=precision)
            problem = hard_problem(kind, view, X, C, rng)
            solution = smo.solve(problem, max_iter=20_000)
            assert solution.info.status == Status.SOLVED
            assert certify(problem, solution.beta, solution.bias).kkt_violation < 2e-3


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("C", [1e2, 1e6, 1e8])
def test_smo_solves_a_nearly_constant_matrix(C, precision):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    view = KernelStore(Rbf(1e-7).evaluate(X, X)).view(Precomputed(), precision=precision)
    problem = hard_problem("classification", view, 1e-3 * X, C, rng)
    solution = smo.solve(problem, max_iter=50_000)
    assert solution.info.status == Status.SOLVED
    # The certificate's own sums of C K cancel: at C = 1e8 they are good to 1e-16 * 1e10.
    certificate = certify(problem, solution.beta, solution.bias)
    assert certificate.kkt_violation < 2e-3 + 1e-12 * C


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [Poly(0.5, 3, 1.0), Sigmoid(0.05, 0.3), Linear()])
def test_solvers_without_the_equality_add_the_offsets(kernel, precision):
    rng = np.random.default_rng(1)
    X = 1.0 + rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 1.0, 1.0, -1.0)
    view = KernelStore(X).view(kernel, precision=precision)
    base = Problem.classification(view, y, np.full(60, 0.1))
    problem = Problem(
        kernel=view,
        targets=base.targets,
        weights=base.weights,
        lower_scale=base.lower_scale,
        upper_scale=base.upper_scale,
        has_equality=False,
        ridge=1.0,
    )
    solution = coordinate.solve(problem)
    assert solution.info.status == Status.SOLVED
    assert certify(problem, solution.beta, solution.bias).kkt_violation < 2e-3
