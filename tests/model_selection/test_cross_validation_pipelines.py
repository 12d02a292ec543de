"""cross_validate behind preprocessing: scikit-learn's scores, pipelines and error rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedKFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KernelCenterer, MaxAbsScaler, OneHotEncoder, StandardScaler

from alphapath import SVC, SVR, OneClassSVM, SmoothSVC, certify
from alphapath.errors import SolverMismatch
from alphapath.model_selection import cross_validate, leave_one_out
from datasets import CLASSIFICATION

CV = StratifiedKFold(4, shuffle=True, random_state=0)


def cancer():
    X, y = CLASSIFICATION["breast_cancer"]()
    return X[:240], y[:240]


def iris():
    return CLASSIFICATION["iris"]()


def both(ours, theirs, X, y, *, cv=CV, **options):
    options = {"return_train_score": True, **options}
    return (
        cross_validate(ours, X, y, cv=cv, **options),
        sklearn_cross_validate(theirs, X, y, cv=cv, **options),
    )


CASES = {
    "scaled": (StandardScaler(), {"C": 10.0, "gamma": 0.01}, cancer),
    "gamma by the fold": (StandardScaler(), {"C": 10.0}, cancer),
    "gamma by the features": (SelectKBest(k=7), {"C": 10.0, "gamma": "auto"}, cancer),
    "three classes": (StandardScaler(), {"C": 3.0, "gamma": 0.2}, iris),
    "linear": (StandardScaler(), {"C": 0.1, "kernel": "linear"}, cancer),
    "balanced": (StandardScaler(), {"C": 3.0, "class_weight": "balanced"}, cancer),
}


@pytest.mark.parametrize("seeding", ["auto", "none", "sir", "avg"])
@pytest.mark.parametrize("name", CASES)
def test_scores_are_scikit_learns(name, seeding):
    head, params, data = CASES[name]
    X, y = data()
    ours = cross_validate(
        make_pipeline(head, SVC(tol=1e-8, **params)), X, y, cv=CV, seeding=seeding
    )
    theirs = sklearn_cross_validate(
        make_pipeline(head, svm.SVC(tol=1e-8, **params)), X, y, cv=CV, return_estimator=True
    )
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-12)
    for (_, test), model in zip(CV.split(X, y), theirs["estimator"], strict=True):
        np.testing.assert_allclose(
            ours["decision_function"][test], model.decision_function(X[test]), atol=1e-5
        )
    assert (ours["certificate"]["kkt_violation"] <= 1e-8).all()


def test_a_fold_begins_from_another():
    X, y = make_classification(300, 8, n_informative=5, flip_y=0.2, random_state=3)
    model = make_pipeline(StandardScaler(), SVC(C=100.0, gamma=0.05))
    warm, cold = (cross_validate(model, X, y, cv=20, seeding=s) for s in ("greedy", "none"))
    assert set(warm["seed"]) == {"greedy"}
    assert set(cold["seed"]) == {"cold"}
    assert warm["n_iter"].sum() < cold["n_iter"].sum()
    np.testing.assert_array_equal(warm["test_score"], cold["test_score"])


def test_threads_give_the_same_bits():
    X, y = iris()
    model = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=0.1))
    one, two = (cross_validate(model, X, y, cv=10, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one["decision_function"], two["decision_function"])
    np.testing.assert_array_equal(one["n_iter"], two["n_iter"])


def test_several_metrics_and_a_function():
    X, y = cancer()
    models = [make_pipeline(StandardScaler(), kind(C=3.0, gamma=0.05)) for kind in (SVC, svm.SVC)]
    ours, theirs = both(*models, X, y, scoring=["roc_auc", "f1"])
    for key in ("test_roc_auc", "test_f1", "train_roc_auc", "train_f1"):
        np.testing.assert_allclose(ours[key], theirs[key], atol=1e-3)

    def share_above(model, X, y):
        return float(np.mean(model.predict(X) == 1))

    ours, theirs = both(*models, X, y, scoring=share_above)
    np.testing.assert_array_equal(ours["test_score"], theirs["test_score"])


@pytest.mark.parametrize("kind", [SVC, svm.SVC])
def test_returned_pipelines_are_fitted(kind):
    X, y = cancer()
    given = Pipeline([("scale", StandardScaler()), ("pass", "passthrough"), ("svm", kind(C=5.0))])
    found = cross_validate(given, X, y, cv=CV, return_estimator=True, return_indices=True)
    for h, model in enumerate(found["estimator"]):
        assert isinstance(model, Pipeline)
        assert [name for name, _ in model.steps] == ["scale", "pass", "svm"]
        assert type(model[-1]) is kind
        train, test = found["indices"]["train"][h], found["indices"]["test"][h]
        np.testing.assert_allclose(model[0].mean_, X[train].mean(axis=0))
        np.testing.assert_allclose(
            model.decision_function(X[test]), found["decision_function"][test], atol=1e-9
        )
        if kind is SVC:
            problem = model[-1].to_problem(model[:-1].transform(X[train]), y[train])
            beta = np.zeros(train.size)
            beta[model[-1].support_] = model[-1].dual_coef_[0]
            assert certify(problem, beta, model[-1].intercept_[0]).is_optimal(2e-3)
    assert not hasattr(given[0], "mean_")


def test_a_pipeline_without_preprocessing():
    X, y = iris()
    plain = cross_validate(SVC(C=2.0), X, y, cv=3, params={"sample_weight": np.arange(1.0, 151.0)})
    found = cross_validate(
        Pipeline([("svc", SVC(C=2.0))]),
        X,
        y,
        cv=3,
        params={"svc__sample_weight": np.arange(1.0, 151.0)},
        return_estimator=True,
    )
    np.testing.assert_array_equal(found["decision_function"], plain["decision_function"])
    assert isinstance(found["estimator"][0], Pipeline)


def test_sample_weights_go_to_their_steps():
    X, y = cancer()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    params = {"svc__sample_weight": weights, "standardscaler__sample_weight": weights}
    models = [make_pipeline(StandardScaler(), kind(C=3.0, gamma=0.05)) for kind in (SVC, svm.SVC)]
    ours, theirs = both(*models, X, y, params=params)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-12)
    with pytest.raises(ValueError, match="svc__sample_weight"):
        cross_validate(models[0], X, y, params={"sample_weight": weights})


def test_tables_with_words_and_sparse_rows():
    X, y = cancer()
    table = pd.DataFrame(X[:, :4], columns=list("abcd"))
    table["word"] = np.where(X[:, 5] > np.median(X[:, 5]), "high", "low")
    head = ColumnTransformer(
        [("numbers", StandardScaler(), list("abcd")), ("words", OneHotEncoder(), ["word"])]
    )
    labels = pd.Series(np.where(y > 0, "yes", "no"))
    ours, theirs = both(
        make_pipeline(head, SVC(C=2.0)), make_pipeline(head, svm.SVC(C=2.0)), table, labels
    )
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-12)
    rows = sp.csr_array(np.where(np.median(X, axis=0) < X, X, 0.0))
    models = [make_pipeline(MaxAbsScaler(), kind(C=2.0, gamma=0.1)) for kind in (SVC, svm.SVC)]
    ours, theirs = both(*models, rows, y)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-12)


def test_regression_one_class_and_a_given_matrix():
    X, y = load_diabetes(return_X_y=True)
    models = [make_pipeline(StandardScaler(), kind(C=50.0, tol=1e-6)) for kind in (SVR, svm.SVR)]
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=1)
    ours, theirs = both(*models, X[:200], y[:200], cv=cv)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-6)

    def share_inside(model, X, y=None):
        return float(np.mean(model.predict(X) == 1))

    models = [
        make_pipeline(StandardScaler(), k(nu=0.3, tol=1e-8)) for k in (OneClassSVM, svm.OneClassSVM)
    ]
    ours, theirs = both(*models, X[:200], None, cv=KFold(3), scoring=share_inside)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-12)

    X, y = cancer()
    K = rbf_kernel(StandardScaler().fit_transform(X), gamma=0.02)
    models = [
        make_pipeline(KernelCenterer(), kind(C=5.0, kernel="precomputed"))
        for kind in (SVC, svm.SVC)
    ]
    ours, theirs = both(*models, K, y)
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-12)


class Refusing(TransformerMixin, BaseEstimator):
    """Refuses training rows without the first one."""

    def fit(self, X, y=None):
        if not (X[:, 0] == 0.0).any():
            raise ValueError("the first row is not here")
        return self

    def transform(self, X):
        return X


def test_preprocessing_that_fails():
    X, y = cancer()
    X = X.copy()
    X[0, 0] = 0.0
    model = make_pipeline(Refusing(), StandardScaler(), SVC())
    with pytest.warns(FitFailedWarning, match="the first row is not here"):
        found = cross_validate(model, X, y, cv=KFold(4))
    assert np.isnan(found["test_score"][0])
    assert np.isfinite(found["test_score"][1:]).all()
    with pytest.raises(ValueError, match="the first row is not here"):
        cross_validate(model, X, y, cv=KFold(4), error_score="raise")
    X[0, 0] = 1.0
    with pytest.raises(ValueError, match="All the 4 fits failed: the first row is not here"):
        cross_validate(model, X, y, cv=KFold(4))


def test_what_has_no_folds_to_share_is_refused():
    X, y = cancer()
    with pytest.raises(TypeError, match="ends with SmoothSVC"):
        cross_validate(make_pipeline(StandardScaler(), SmoothSVC()), X, y)
    rows = np.arange(len(y))
    with pytest.raises(ValueError, match="Fold 0 tests on rows that it trains on"):
        cross_validate(make_pipeline(StandardScaler(), SVC()), X, y, cv=[(rows, rows[:50])])
    with pytest.raises(SolverMismatch, match=r"one kernel for all folds.* no preprocessing"):
        cross_validate(make_pipeline(StandardScaler(), SVC()), X, y, seeding="decremental")
    with pytest.raises(TypeError, match=r"cross_validate and SVMSearchCV .* a Pipeline"):
        leave_one_out(make_pipeline(StandardScaler(), SVC()), X, y)
