"""Leave-one-out against scikit-learn's and against cold refits."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.preprocessing import scale

from alphapath import SVC, SVR, OneClassSVM
from alphapath.model_selection import leave_one_out
from alphapath.seeds import SEEDS
from alphapath.solvers import smo


def two_classes(n: int = 60, seed: int = 0):
    X, y = make_classification(n, 5, n_informative=3, flip_y=0.2, random_state=seed)
    return scale(X), y


@pytest.mark.parametrize("C", [0.1, 1.0, 1e3])
@pytest.mark.parametrize("gamma", [1e-3, 0.3, 20.0])
def test_values_equal_those_of_cold_fits(C, gamma):
    X, y = two_classes()
    model = SVC(C=C, gamma=gamma, tol=1e-8)
    result = leave_one_out(model, X, y)
    for i in range(0, len(y), 3):
        rest = np.arange(len(y)) != i
        cold = SVC(C=C, gamma=gamma, tol=1e-8).fit(X[rest], y[rest])
        assert result.decision_function_[i] == pytest.approx(
            cold.decision_function(X[[i]])[0], abs=1e-5
        )


@pytest.mark.parametrize("n_positive", [10, 14, 15])
@pytest.mark.parametrize("C", [1e-3, 0.05, 1.0])
def test_where_no_instance_is_free_the_bias_is_that_of_a_fit(C, n_positive):
    """Also for rows outside w: one of them may have bounded the bias."""
    X = np.random.default_rng(n_positive).normal(size=(29, 3))
    y = np.where(np.argsort(np.argsort(X[:, 0] + X[:, 1])) < n_positive, 1, -1)
    model = SVC(C=C, gamma=0.002, tol=1e-8)
    result = leave_one_out(model, X, y)
    peer = sklearn.svm.SVC(C=C, gamma=0.002, tol=1e-8)
    expected = cross_val_predict(peer, X, y, cv=LeaveOneOut(), method="decision_function")
    np.testing.assert_allclose(result.decision_function_, expected, atol=1e-5)
    signs = leave_one_out(model, X, y, only_errors=True)
    np.testing.assert_array_equal(signs.predictions_, result.predictions_)


@pytest.mark.parametrize("seeding", ["auto", "none", "decremental", "greedy"])
def test_the_bias_without_the_only_free_row_is_that_of_a_refit(seeding):
    """Without a tube a row with beta = 0 is free; without it all others are bounded."""
    X, y = np.arange(5.0)[:, None], np.array([0.0, 10.0, 3.0, -7.0, 5.0])
    model = SVR(epsilon=0.0, gamma=10.0, C=0.5)
    values = leave_one_out(model, X, y, seeding=seeding).decision_function_
    for i in range(5):
        rest = np.arange(5) != i
        refit = model.fit(X[rest], y[rest]).predict(X[[i]])[0]
        assert values[i] == pytest.approx(refit, abs=1e-3)
    assert values[2] == pytest.approx(2.5, abs=1e-3)


@pytest.mark.parametrize("seeding", ["none", *SEEDS])
def test_every_seeding_gives_the_same_values(seeding):
    X, y = two_classes(45, seed=1)
    model = SVC(C=5.0, gamma=0.2, tol=1e-8)
    exact = leave_one_out(model, X, y)
    other = leave_one_out(model, X, y, seeding=seeding)
    np.testing.assert_allclose(other.decision_function_, exact.decision_function_, atol=1e-5)
    assert other.score_ == exact.score_
    assert other.n_refits_ == exact.n_refits_


def test_reuse_happens():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[:300], y[:300]
    model = SVC(C=10.0, gamma=0.02)
    seeded = leave_one_out(model, X, y)
    n_support = len(SVC(C=10.0, gamma=0.02).fit(X, y).support_)
    assert seeded.n_refits_ == n_support < len(y)
    assert seeded.n_iter_ < 0.5 * leave_one_out(model, X, y, seeding="none").n_iter_


def test_labels_equal_scikit_learns():
    X, y = load_iris(return_X_y=True)
    ours = leave_one_out(SVC(C=10.0, gamma=0.1), X, y)
    theirs = cross_val_predict(sklearn.svm.SVC(C=10.0, gamma=0.1), X, y, cv=LeaveOneOut())
    np.testing.assert_array_equal(ours.predictions_, theirs)
    assert ours.score_ == np.mean(theirs == y)
    assert ours.decision_function_.shape == (150, 3)


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:80], y[:80]
    ours = leave_one_out(SVR(C=50.0, gamma=0.05, tol=1e-7), X, y)
    peer = sklearn.svm.SVR(C=50.0, gamma=0.05, tol=1e-7)
    theirs = cross_val_predict(peer, X, y, cv=LeaveOneOut())
    np.testing.assert_allclose(ours.predictions_, theirs, atol=1e-3)
    np.testing.assert_array_equal(ours.decision_function_, ours.predictions_)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_one_class(kernel):
    X = scale(np.random.default_rng(0).normal(size=(70, 3)) + 5.0)
    X = X + 3.0  # offsets of a centred linear kernel must follow the changed sum
    model = OneClassSVM(nu=0.3, kernel=kernel, gamma=0.2, tol=1e-8)
    result = leave_one_out(model, X)
    for i in range(0, 70, 7):
        cold = OneClassSVM(nu=0.3, kernel=kernel, gamma=0.2, tol=1e-8)
        cold.fit(np.delete(X, i, axis=0))
        value = cold.decision_function(X[[i]])[0]
        assert result.decision_function_[i] == pytest.approx(value, abs=1e-4)


def test_weights_and_duplicates():
    X, y = two_classes(40, seed=3)
    X, y = np.vstack([X, X[:10]]), np.concatenate([y, y[:10]])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    weights[5] = 0.0
    result = leave_one_out(SVC(C=3.0, gamma=0.3, tol=1e-8), X, y, sample_weight=weights)
    for i in (0, 5, 12, 45):
        rest = np.arange(len(y)) != i
        cold = SVC(C=3.0, gamma=0.3, tol=1e-8).fit(X[rest], y[rest], weights[rest])
        value = cold.decision_function(X[[i]])[0]
        assert result.decision_function_[i] == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_only_errors_keeps_every_sign(C, tol):
    X, y = two_classes(80, seed=4)
    model = SVC(C=C, gamma=0.3, tol=tol)
    exact = leave_one_out(model, X, y)
    quick = leave_one_out(model, X, y, only_errors=True)
    np.testing.assert_array_equal(quick.predictions_, exact.predictions_)
    assert quick.n_refits_ < exact.n_refits_
    assert quick.n_iter_ < exact.n_iter_


def test_only_errors_with_three_classes():
    X, y = load_iris(return_X_y=True)
    exact = leave_one_out(SVC(C=1.0, gamma=0.5), X, y)
    quick = leave_one_out(SVC(C=1.0, gamma=0.5), X, y, only_errors=True)
    np.testing.assert_array_equal(quick.predictions_, exact.predictions_)


def test_an_interrupt_keeps_what_is_done(monkeypatch):
    X, y = two_classes(50, seed=5)
    n_calls = 0

    def solve(*arguments, **options):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 8:
            raise KeyboardInterrupt
        return smo.solve(*arguments, **options)

    monkeypatch.setitem(__import__("alphapath.solvers").solvers.SOLVERS, "smo", solve)
    with pytest.raises(KeyboardInterrupt) as caught:
        leave_one_out(SVC(C=1.0, gamma=0.3), X, y, seeding="none")
    partial = caught.value.partial
    assert partial.n_refits_ == 6
    assert 0 < np.isnan(partial.decision_function_).sum() < 50


@pytest.mark.parametrize(
    ("model", "y", "options", "message"),
    [
        (SVC(), [0, 1, 1, 1], {}, "Class 0 has one row only"),
        (SVC(), [0, 0, 1, 1], {"seeding": "sirr"}, "seeding is 'sirr'"),
        (SVR(), [0.0, 1.0, 2.0, 3.0], {"only_errors": True}, "only_errors=True is for class"),
    ],
)
def test_bad_input(model, y, options, message):
    with pytest.raises(ValueError, match=message):
        leave_one_out(model, np.eye(4), y, **options)


@pytest.mark.parametrize("seed", [0, 7, 11, 15])
def test_what_rounds_in_a_sum_is_no_beta(seed):
    # Without the last row all others are in the tube: betas of 1e-18 would set the bias.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 3)), 0.12 * rng.random(6)
    y[5] = -0.2
    model = SVR(C=100.0, gamma=0.2, tol=1e-10)
    expected = model.fit(X[:5], y[:5]).predict(X[5:])[0]
    for seeding in ("auto", "none", "greedy"):
        found = leave_one_out(model, X, y, seeding=seeding).decision_function_
        assert found[5] == pytest.approx(expected, abs=1e-8)
