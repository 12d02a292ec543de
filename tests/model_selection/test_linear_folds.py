"""cross_validate(LinearSVC()): scikit-learn's dictionary and scores, the models of plain refits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn import model_selection as peers
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold

from alphapath import LinearSVC
from alphapath.model_selection import cross_validate
from alphapath.problem import certify_margin
from datasets import CLASSIFICATION

TIGHT = 1e-9
OPTIONS = {"return_train_score": True, "return_estimator": True}
MODELS = {
    "squared_hinge": LinearSVC(C=0.3, tol=TIGHT),
    "balanced": LinearSVC(C=2.0, class_weight="balanced", tol=TIGHT),
    "free offset": LinearSVC(C=0.3, penalise_intercept=False, tol=TIGHT),
    "no offset": LinearSVC(C=0.3, fit_intercept=False, tol=TIGHT),
    "huber": LinearSVC("huber", C=0.3, width=0.2, tol=TIGHT),
    "lam": LinearSVC(lam=0.01, tol=TIGHT),
    "gradient": LinearSVC("huber", C=0.3, width=0.5, solver="gradient", tol=1e-7),
}
SPLITTERS = {
    "stratified": StratifiedKFold(4),
    "random": ShuffleSplit(3, test_size=0.3, train_size=0.5, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
}


def check_folds(model, X, y, cv, **options):
    """The dictionary of scikit-learn's cross_validate on the same estimator, and its models."""
    found = cross_validate(model, X, y, cv=cv, **OPTIONS, **options)
    wanted = peers.cross_validate(model, X, y, cv=cv, **OPTIONS, **options)
    assert set(wanted) <= set(found)
    for name in ("test_score", "train_score"):
        np.testing.assert_array_equal(found[name], wanted[name])
    assert (found["status"] == 0).all()
    for own, plain in zip(found["estimator"], wanted["estimator"], strict=True):
        assert own.get_params() == plain.get_params()
        scale = np.linalg.norm(plain.coef_)
        np.testing.assert_allclose(own.coef_, plain.coef_, atol=2e-5 * scale)
        np.testing.assert_allclose(own.objective_, plain.objective_, rtol=1e-6)
    return found


@pytest.mark.parametrize("name", ["breast_cancer", "iris"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_folds_are_those_of_plain_refits(model, name):
    check_folds(model, *CLASSIFICATION[name](), StratifiedKFold(4))


@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS)
def test_folds_of_every_kind(cv):
    X, y = CLASSIFICATION["breast_cancer"]()
    found = check_folds(MODELS["squared_hinge"], X, y, cv)
    sums, n_out = np.zeros(len(y)), np.zeros(len(y))
    for model, (_, test) in zip(found["estimator"], cv.split(X, y), strict=True):
        sums[test] += X[test] @ model.coef_[0] + model.intercept_[0]
        n_out[test] += 1.0
    is_out = n_out > 0.0
    values = found["decision_function"]
    np.testing.assert_allclose(values[is_out], sums[is_out] / n_out[is_out], atol=1e-9)
    assert np.isnan(values[~is_out]).all()


def test_the_folds_are_certified():
    X, y = CLASSIFICATION["breast_cancer"]()
    model, cv = LinearSVC(C=0.3, tol=TIGHT), StratifiedKFold(5)
    found = cross_validate(model, X, y, cv=cv, return_estimator=True)
    for h, (train, _) in enumerate(cv.split(X, y)):
        fitted = found["estimator"][h]
        problem = model.to_problem(X[train], y[train])
        certificate = certify_margin(problem, fitted.coef_[0], fitted.intercept_[0])
        assert certificate.duality_gap <= 1e-8 * certificate.objective
        assert found["certificate"]["objective"][h] == pytest.approx(certificate.objective)


def test_sparse_rows_weights_and_scorers():
    X, y = CLASSIFICATION["breast_cancer"]()
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    options = {"params": {"sample_weight": weights}, "scoring": ["roc_auc", "accuracy"], "cv": 3}
    model = LinearSVC(tol=TIGHT)
    wanted = peers.cross_validate(model, X, y, **options)
    for rows in (X, sp.csr_array(X)):
        found = cross_validate(model, rows, y, **options)
        for name in ("test_roc_auc", "test_accuracy"):
            np.testing.assert_allclose(found[name], wanted[name], atol=1e-12)


def test_the_peer_is_taken_and_given_back():
    X, y = CLASSIFICATION["iris"]()
    peer = sklearn.svm.LinearSVC(C=0.5, tol=1e-8, dual=False, max_iter=10_000)
    found = cross_validate(peer, X, y, cv=3, return_estimator=True)
    wanted = peers.cross_validate(peer, X, y, cv=3, return_estimator=True)
    np.testing.assert_array_equal(found["test_score"], wanted["test_score"])
    for own, theirs in zip(found["estimator"], wanted["estimator"], strict=True):
        assert type(own) is sklearn.svm.LinearSVC
        assert own.get_params() == peer.get_params()
        np.testing.assert_allclose(own.coef_, theirs.coef_, atol=1e-2)


def test_folds_that_lack_a_class_or_all_but_one():
    X, y = CLASSIFICATION["iris"]()  # sorted by class
    model = LinearSVC(tol=TIGHT)
    found = cross_validate(model, X, y, cv=KFold(3))
    np.testing.assert_array_equal(found["test_score"], 0.0)
    values = found["decision_function"]
    assert (values[np.arange(150), y] == np.finfo(np.float64).min).all()
    splits = [(np.arange(50), np.arange(50, 150)), (np.arange(0, 150, 2), np.arange(1, 150, 2))]
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 2"):
        found = cross_validate(model, X, y, cv=splits)
    assert found["status"].tolist() == [-1, 0]
    assert np.isnan(found["test_score"][0])
    with pytest.raises(ValueError, match="class"):
        cross_validate(model, X, y, cv=splits, error_score="raise")


@pytest.mark.parametrize("solver", ["newton", "gradient"])
def test_a_fold_that_was_stopped_says_so_once(solver):
    X, y = CLASSIFICATION["breast_cancer"]()
    model = LinearSVC("huber", width=0.5, solver=solver, max_iter=1, tol=1e-9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = cross_validate(model, X, y, cv=3)
    assert (found["status"] == 1).all()
    assert len([w for w in caught if w.category is ConvergenceWarning]) == 3


def test_what_is_refused():
    X, y = CLASSIFICATION["iris"]()
    with pytest.raises(ValueError, match="for a LinearSVC it must be 'auto'"):
        cross_validate(LinearSVC(), X, y, seeding="greedy")
    with pytest.raises(TypeError, match="LinearSVC has no device"):
        cross_validate(LinearSVC(), X, y, device="cpu")
    with pytest.raises(ValueError, match="penalty is 'l1'"):
        cross_validate(sklearn.svm.LinearSVC(penalty="l1", dual=False), X, y)
