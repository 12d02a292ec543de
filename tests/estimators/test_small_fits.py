"""Shorter ways of small fits and predictions: what they leave out must not be missed."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import NotFittedError

from alphapath import SVC, SVR, OneClassSVM, Problem, _core
from alphapath.estimators.common.one_vs_one import FEW_VALUES, count_votes
from alphapath.kernels import KernelStore, Linear, Poly, Rbf
from alphapath.kernels.precomputed import check_kernel_matrix
from alphapath.kernels.store import KernelView
from alphapath.solvers import smo
from datasets import generated


def layouts(X: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers in arrays of every kind."""
    wide = np.zeros((2 * X.shape[0], X.shape[1] + 3))
    wide[::2, :-3] = X
    return {
        "columns": np.asfortranarray(X),
        "slices": wide[::2, :-3],
        "float32": X.astype(np.float32),
        "lists": X.tolist(),
        "int64": X.astype(np.int64),
        "int32": X.astype(np.int32),
        "big-endian": X.astype(">f8"),
    }


@pytest.mark.parametrize("model", [SVC(), SVC(kernel="linear"), SVR(), OneClassSVM(nu=0.2)])
def test_layouts_give_the_same_model(model: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X = np.round(10.0 * X)  # the same numbers in every type
    expected = model.fit(X, y).predict(X[:20]), model.dual_coef_, model.intercept_
    for name, rows in layouts(X).items():
        model.fit(rows, y)
        found = model.predict(rows[:20]), model.dual_coef_, model.intercept_
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one, other), name


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [(0, 0), (149, 3), (75, 1)])
def test_what_is_not_finite_is_refused(value: float, at: tuple[int, int]) -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC(kernel="linear").fit(X, y)
    X[at] = value
    for rows in (X, np.asfortranarray(X), X.astype(np.float32)):
        with pytest.raises(ValueError, match="Input X contains"):
            SVC().fit(rows, y)
        with pytest.raises(ValueError, match="Input X contains"):
            model.predict(rows)


def test_other_columns_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 4 features"):
        model.predict(np.ascontiguousarray(X[:, :3]))
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        model.predict(X[:0])
    with pytest.raises(NotFittedError):
        SVC().predict(X)


def test_valid_parameters_are_remembered_with_their_types() -> None:
    X, y = generated()
    for _ in range(3):
        SVC(C=1, degree=3).fit(X, y)
        for wrong in ({"C": 0}, {"C": -1.0}, {"degree": 3.0}, {"kernel": "rbfs"}, {"C": "1"}):
            with pytest.raises(ValueError, match="must be"):
                SVC(**({"C": 1, "degree": 3} | wrong)).fit(X, y)
        SVC(class_weight={0: 1.0, 1: 2.0}).fit(X, (y > 0).astype(int))
        SVC(C=np.float64(2.0), kernel=lambda A, B: A @ B.T).fit(X, y)
    with pytest.raises(ValueError, match="must be"):
        SVR(epsilon=-1.0).fit(X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_rows_one_by_one_get_the_values_of_all(kernel: str) -> None:
    X, y = load_digits(return_X_y=True)
    model = SVC(kernel=kernel, decision_function_shape="ovo", gamma=1e-3).fit(X[:400], y[:400])
    rows = X[300:600]
    values = model.decision_function(rows)
    for n in (1, 2, 7):
        parts = [model.decision_function(rows[i : i + n]) for i in range(0, 60, n)]
        size = float(np.abs(values).max())
        np.testing.assert_allclose(np.concatenate(parts)[:60], values[:60], atol=1e-12 * size)
        labels = [model.predict(rows[i : i + n]) for i in range(0, 60, n)]
        assert np.array_equal(np.concatenate(labels)[:60], model.predict(rows)[:60])


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_votes_of_few_rows_are_those_of_many(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    n_pairs = n_classes * (n_classes - 1) // 2
    values = rng.normal(size=(FEW_VALUES // n_pairs + 1, n_pairs))
    values[rng.random(values.shape) < 0.1] = 0.0
    votes = count_votes(values, n_classes)
    assert np.array_equal(count_votes(values[:17], n_classes), votes[:17])


@pytest.mark.parametrize("d", [511, 512, 513, 1300])
@pytest.mark.parametrize("kernel", [Linear(), Rbf(0.001), Poly(0.01, 2, 1.0)])
@pytest.mark.parametrize("share", [1.0, 0.05])
def test_long_rows_are_multiplied_in_slices(d: int, kernel: Any, share: float) -> None:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(53, d)) * (rng.random((1, d)) < share)
    expected = kernel.evaluate(X, X)
    for precision in ("float64", "float32"):
        view = KernelStore(X).view(kernel, precision=precision)
        found = view.rows(np.arange(53))
        size = float(np.abs(expected).max())
        tolerance = 1e-12 if precision == "float64" else 1e-6
        np.testing.assert_allclose(found, expected, atol=tolerance * size)
    few = KernelStore(X, memory_limit=200_000 + 16 * 53 * d).view(kernel)
    assert np.array_equal(few.rows([3]), few.rows([3]))


def test_what_is_told_of_a_given_matrix() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 32, 33, 100):
        K = rng.normal(size=(n, n))
        is_finite, lowest, highest, asymmetry = _core.look_at_matrix(K)
        assert is_finite
        assert (lowest, highest) == (min(K.min(), 0.0), max(K.max(), 0.0))
        assert asymmetry == np.abs(K - K.T).max()
        for value in (np.nan, np.inf, -np.inf):
            spoilt = K.copy()
            spoilt[n - 1, n // 2] = value
            assert not _core.look_at_matrix(spoilt)[0]
        K = K + K.T
        assert check_kernel_matrix(K, "K") is K
        nearly = K * (1.0 + 1e-9 * rng.normal(size=(n, n)))
        assert np.array_equal(check_kernel_matrix(nearly, "K"), check_kernel_matrix(nearly, "K").T)


@pytest.mark.parametrize("kernel", [Linear(), Rbf(0.1)])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rows_made_when_asked_for_give_the_same_bits(kernel: Any, precision: str) -> None:
    X, y = make_classification(300, 10, n_informative=5, flip_y=0.1, random_state=0)
    signs = np.where(y > 0, 1.0, -1.0)
    store = KernelStore(X)
    view = store.view(kernel, precision=precision)  # type: ignore[arg-type]
    options = _core.GramOptions(precision, 300, 1)
    gram = _core.gram_of_samples(store._read_samples(), kernel.native_function(), options)
    later = KernelView(X, kernel, gram, "later", view.spare_bytes, view._make_double)
    one, other = (
        smo.solve(Problem.classification(own, signs, np.full(300, 10.0))) for own in (view, later)
    )
    assert gram.n_rows_computed < 300
    assert one.info.n_iter == other.info.n_iter
    assert np.array_equal(one.beta, other.beta)
    assert np.array_equal(one.gradient, other.gradient)


def test_a_store_counts_views_that_are_gone() -> None:
    X, _ = generated()
    store = KernelStore(X)
    for gamma in (0.1, 0.2, 0.3):
        view = store.view(Rbf(gamma))
        assert store.view(Rbf(gamma)) is view
        del view
    gc.collect()
    assert store.counts.rows_computed == 3 * store.n
    assert store.counts.views == 3
    assert store.nbytes == 0
