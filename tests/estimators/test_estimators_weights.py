"""sample_weight and class_weight: a weight is a repetition, zero is absence, order is nothing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm

from alphapath import SVC, SVR, OneClassSVM
from alphapath.estimators.common.merge_rows import hash_rows, merge_rows
from datasets import CLASSIFICATION

MODELS = {
    "svc": SVC(C=2.0),
    "svc_linear": SVC(kernel="linear"),
    "svc_balanced": SVC(class_weight="balanced"),
    "svr": SVR(C=2.0),
    "one_class": OneClassSVM(nu=0.3),
}


def data():
    X, y = CLASSIFICATION["iris"]()
    return X, y, np.random.default_rng(0).integers(0, 4, size=y.size)


def answers(model, X):
    method = model.predict if isinstance(model, SVR) else model.decision_function
    return method(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", MODELS)
def test_integer_weights_are_repetitions(name, container):
    X, y, weights = data()
    model = MODELS[name]
    shuffled = np.random.default_rng(1).permutation(y.size)
    weighted = model.fit(container(X[shuffled]), y[shuffled], weights[shuffled])
    expected = answers(weighted, X)
    repeated = model.fit(container(X.repeat(weights, axis=0)), y.repeat(weights))
    # The same instances in the same order: not a bit of difference beyond summation.
    assert np.allclose(answers(repeated, X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_zero_weight_is_absence(name):
    X, y, weights = data()
    used = weights > 0
    model = MODELS[name]
    expected = answers(model.fit(X[used], y[used], weights[used]), X)
    n_support = model.n_support_.copy()
    model.fit(X, y, weights)
    assert np.array_equal(answers(model, X), expected)
    assert np.array_equal(model.n_support_, n_support)
    assert used[model.support_].all()


def test_zero_weight_is_absence_for_a_precomputed_kernel():
    X, y, weights = data()
    used = weights > 0
    K = X @ X.T
    whole = SVC(kernel="precomputed", tol=1e-8).fit(K, y, weights)
    part = SVC(kernel="precomputed", tol=1e-8).fit(K[used][:, used], y[used], weights[used])
    assert np.allclose(whole.decision_function(K), part.decision_function(K[:, used]), atol=1e-5)
    assert used[whole.support_].all()


@pytest.mark.parametrize("name", MODELS)
def test_order_of_the_rows_is_nothing(name):
    X, y, weights = data()
    shuffled = np.random.default_rng(5).permutation(y.size)
    model = MODELS[name]
    expected = answers(model.fit(X, y, weights), X)
    support = set(model.support_.tolist())
    model.fit(X[shuffled], y[shuffled], weights[shuffled])
    assert np.allclose(answers(model, X), expected, rtol=1e-9, atol=1e-9)
    assert set(shuffled[model.support_].tolist()) == support


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.5}, "balanced"])
def test_class_and_sample_weights_are_scikit_learns(class_weight):
    X, y = CLASSIFICATION["wine"]()
    y = np.where(np.arange(y.size) % 3 == 0, 1, y)
    uniform = np.full(y.size, 0.7)
    model = SVC(class_weight=class_weight, tol=1e-8, gamma=0.1).fit(X, y, uniform)
    peer = svm.SVC(class_weight=class_weight, tol=1e-6, gamma=0.1).fit(X, y, uniform)
    assert np.allclose(model.class_weight_, peer.class_weight_)
    assert np.allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)
    bounds = 0.7 * model.class_weight_[np.searchsorted(model.classes_, y[model.support_])]
    assert (np.abs(model.dual_coef_) <= bounds).all()
    for certificate in model.certify(X, y, uniform):
        assert certificate.is_optimal(1e-7)


def test_where_all_are_bounded_rounding_does_not_set_the_bias():
    """Balanced classes and a small C: every beta is at its bound, but for rounding of their sum."""
    rng = np.random.default_rng(0)
    n_seen = 0
    for _ in range(120):
        n = int(rng.integers(40, 200))
        X = rng.normal(size=(n, 3))
        y = X[:, 0] + rng.normal(size=n) > rng.normal()
        if not 10 <= y.sum() <= n - 10:
            continue
        model = SVC(C=0.02, gamma=0.005, class_weight="balanced").fit(X, y)
        values = model.decision_function(X)
        # The middle of the interval that the bounded ones leave: as far from 1 as from -1.
        assert values[y].max() + values[~y].min() == pytest.approx(0.0, abs=1e-9)
        certificate = model.certify(X, y)
        assert certificate.kkt_violation <= model.tol
        n_seen += 1
    assert n_seen > 80


@pytest.mark.parametrize("C", [1e9, 1e12])
def test_a_box_that_is_never_felt_changes_nothing(C):
    """Betas are far below C then, and free: only rounding beside them may be snapped away."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] > 0.0
    X[:, 0] += np.where(y, 0.5, -0.5)
    expected = SVC(C=1e6, gamma=0.1).fit(X, y)
    model = SVC(C=C, gamma=0.1).fit(X, y)
    assert np.array_equal(model.support_, expected.support_)
    assert np.allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)
    assert model.certify(X, y).kkt_violation <= model.tol


def test_merged_rows_share_by_weight_and_keep_their_boxes():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [2.0]])
    y = np.array([0, 0, 0, 1, 1, 0])
    weights = np.array([1.0, 2.0, 0.0, 1.0, 0.3, 1.0])
    model = SVC(kernel="linear", C=0.1).fit(X, y, weights)
    certificate = model.certify(X, y, weights)
    assert certificate.box_violation == 0.0
    assert certificate.is_optimal(1e-3)
    assert 2 not in model.support_
    large = SVC(kernel="linear", C=100.0).fit(X[:5], y[:5], weights[:5])
    coef = dict(zip(large.support_.tolist(), large.dual_coef_[0].tolist(), strict=True))
    assert coef[1] == pytest.approx(2.0 * coef[0])
    assert large.certify(X[:5], y[:5], weights[:5]).is_optimal(1e-3)


def test_contradicting_duplicates_are_not_merged():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    merged = merge_rows(X, np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4))
    assert sorted(merged.weights.tolist()) == [1.0, 1.0, 2.0]


def test_a_row_has_one_hash_dense_or_sparse():
    X = np.random.default_rng(0).normal(size=(50, 7))
    X[:, 1:][X[:, 1:] < 0.5] = 0.0
    X[3, 2] = -0.0
    sparse = sp.csr_array(X)
    sparse.data[0] = 0.0
    assert np.array_equal(hash_rows(sparse)[1:], hash_rows(X)[1:])
    assert np.unique(hash_rows(X)).size == 50


def test_hash_collisions_do_no_harm(monkeypatch):
    monkeypatch.setattr(
        "alphapath.estimators.common.merge_rows.hash_rows",
        lambda X: np.zeros(X.shape[0], dtype=np.uint64),
    )
    X, y, weights = data()
    for rows in (X, sp.csr_array(X)):
        merged = merge_rows(rows, np.zeros(y.size), weights.astype(float))
        assert merged.weights.sum() == weights.sum()
        assert SVC().fit(rows, y, weights).certify(rows, y, weights)[0].is_optimal(1e-3)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from([-1.5, 0.0, 2.0]), min_size=1, max_size=20),
    st.data(),
)
def test_merge_keeps_every_row(values, draw):
    n = len(values)
    X = np.array(values)[:, np.newaxis]
    targets = np.array(draw.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)))
    weights = np.array(
        draw.draw(st.lists(st.sampled_from([0.0, 0.5, 3.0]), min_size=n, max_size=n))
    )
    if not weights.any():
        return
    merged = merge_rows(X, targets, weights)
    used = weights > 0
    assert np.array_equal(merged.X[merged.instance_of[used]], X[used])
    assert np.array_equal(merged.targets[merged.instance_of[used]], targets[used])
    assert merged.weights.sum() == pytest.approx(weights.sum())
    assert len({(x, t) for x, t in zip(X[used, 0], targets[used], strict=True)}) == len(
        merged.weights
    )
    spread = merged.spread(merged.weights * 2.0, np.full(merged.weights.size, 2.0))
    assert np.array_equal(spread, 2.0 * weights)
