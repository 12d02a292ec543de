"""SVMSearchCV gives what GridSearchCV gives, cell by cell."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context, svm
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KernelCenterer, MinMaxScaler, StandardScaler

from alphapath import SVC, SVR, OneClassSVM
from alphapath.model_selection import SVMSearchCV
from datasets import CLASSIFICATION, REGRESSION

#: Keys that a peer can not share: times are measured, the rest are ours.
NOT_SHARED = {"fit_time", "score_time"}
OWN_KEYS = {"n_iter", "seed", "duality_gap", "status"}

SMALL_GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}


def compare(ours, theirs, *, n_test: int | None = None, atol: float = 1e-6):
    """Every key of cv_results_, and the winner (or a tie).

    `n_test`: scores are shares of that many test rows, one of which may be decided otherwise.
    """
    a, b = ours.cv_results_, theirs.cv_results_
    assert set(a) == set(b) | OWN_KEYS
    assert [dict(p) for p in a["params"]] == [dict(p) for p in b["params"]]
    slack = atol if n_test is None else 1.0 / n_test + 1e-12
    for key in b:
        if key.startswith("param_"):
            assert isinstance(a[key], np.ma.MaskedArray)
            np.testing.assert_array_equal(a[key].mask, b[key].mask)
            assert a[key].dtype == b[key].dtype
        elif key.startswith(("split", "mean_t", "std_t")):
            np.testing.assert_allclose(a[key], b[key], rtol=0, atol=slack, err_msg=key)
        elif key.startswith("rank"):
            assert a[key].dtype == b[key].dtype
    for name in ("n_splits_", "multimetric_"):
        assert getattr(ours, name) == getattr(theirs, name)
    if hasattr(theirs, "best_score_"):
        metric = theirs.refit if theirs.multimetric_ else "score"
        mean = b[f"mean_test_{metric}"]
        assert mean[ours.best_index_] >= np.nanmax(mean) - slack


def search_both(estimator, grid, X, y=None, fit_params=None, **options):
    peer = as_peer(estimator)
    fit_params = fit_params or {}
    arguments = () if y is None else (y,)
    theirs = GridSearchCV(peer, grid, **options).fit(X, *arguments, **fit_params)
    ours = SVMSearchCV(estimator, grid, **options).fit(X, *arguments, **fit_params)
    return ours, theirs


def as_peer(estimator):
    """The same pipeline or estimator with scikit-learn's own SVM."""
    if isinstance(estimator, Pipeline):
        *head, (name, last) = estimator.steps
        return Pipeline([*head, (name, as_peer(last))])
    kind = {SVC: svm.SVC, SVR: svm.SVR, OneClassSVM: svm.OneClassSVM}.get(type(estimator))
    if kind is None:
        return estimator
    params = estimator.get_params(deep=False)
    known = kind().get_params(deep=False)
    return kind(**{k: v for k, v in params.items() if k in known})


@functools.cache
def data(name):
    X, y = CLASSIFICATION[name]()
    return X[:200], y[:200]


def fold_size(y, k=5):
    return len(y) // k


class TestEquality:
    @pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "generated", "duplicates"])
    def test_classification(self, name):
        X, y = data(name)
        ours, theirs = search_both(SVC(), SMALL_GRID, X, y)
        compare(ours, theirs, n_test=fold_size(y))
        assert set(ours.cv_results_["status"]) == {"solved"}

    def test_many_classes(self):
        X, y = data("digits")
        grid = {"C": [1.0, 10.0], "gamma": [0.1, 0.3], "class_weight": [None, "balanced"]}
        ours, theirs = search_both(SVC(), grid, X, y, cv=3)
        compare(ours, theirs, n_test=fold_size(y, 3))

    @pytest.mark.parametrize("name", REGRESSION)
    def test_regression(self, name):
        X, y = REGRESSION[name]()
        y = (y - y.mean()) / y.std()
        grid = {"C": [0.1, 1.0, 10.0], "epsilon": [0.05, 0.5], "gamma": ["scale", 0.05]}
        ours, theirs = search_both(SVR(), grid, X, y)
        compare(ours, theirs, atol=2e-3)

    def test_one_class(self):
        X, y = data("generated")
        truth = np.where(y == 1, 1, -1)
        grid = {"nu": [0.1, 0.5, 0.9], "gamma": ["scale", 0.1]}
        ours, theirs = search_both(OneClassSVM(), grid, X, truth, scoring="accuracy")
        compare(ours, theirs, n_test=fold_size(y) // 2)

    def test_one_class_without_targets(self):
        X, _ = data("generated")

        def score(estimator, X, y=None):
            return float(np.mean(estimator.predict(X) == 1))

        ours, theirs = search_both(
            OneClassSVM(),
            {"nu": [0.1, 0.3], "gamma": ["auto", 0.3]},
            X,
            scoring=score,
            cv=3,
        )
        compare(ours, theirs, n_test=20)

    @pytest.mark.parametrize(
        "grid",
        [
            {"kernel": ["linear", "rbf", "poly", "sigmoid"], "C": [0.5, 2.0]},
            [
                {"kernel": ["linear"], "C": [0.1, 1.0]},
                {"kernel": ["poly"], "degree": [2, 3], "coef0": [0.0, 1.0], "C": [1.0]},
                {"kernel": ["rbf"], "gamma": ["scale", "auto", 0.1], "C": [1.0, 10.0]},
            ],
            {"C": [1.0, 0.1, 10.0, 1.0], "gamma": [0.1]},
            {"tol": [1e-2, 1e-3, 1e-6], "C": [1.0]},
            {"class_weight": [None, "balanced", {0: 2.0, 1: 1.0}], "C": [0.1, 1.0]},
            {"gamma": [0.1, 1.0]},
            {"shrinking": [True, False]},
            {"decision_function_shape": ["ovo", "ovr"], "break_ties": [False]},
            {},
        ],
    )
    def test_grids(self, grid):
        X, y = data("generated")
        peer = svm.SVC()
        theirs = GridSearchCV(peer, grid).fit(X, y)
        ours = SVMSearchCV(peer, grid).fit(X, y)
        compare(ours, theirs, n_test=fold_size(y))

    def test_break_ties(self):
        X, y = load_iris(return_X_y=True)
        ours, theirs = search_both(SVC(break_ties=True), {"C": [0.01, 1.0]}, X, y)
        compare(ours, theirs, n_test=30)

    @pytest.mark.parametrize(
        "cv",
        [
            3,
            KFold(4),
            StratifiedKFold(3, shuffle=True, random_state=0),
            ShuffleSplit(3, test_size=0.3, random_state=0),
            RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
            [(np.arange(100), np.arange(100, 200)), (np.arange(50, 200), np.arange(50))],
            [(np.tile(np.arange(80), 2), np.arange(80, 200)), (np.arange(80), np.arange(150, 200))],
        ],
    )
    def test_splitters(self, cv):
        X, y = data("generated")
        ours, theirs = search_both(SVC(), {"C": [0.1, 1.0, 10.0]}, X, y, cv=cv)
        compare(ours, theirs, n_test=40)

    def test_folds_that_lack_classes(self):
        X, y = load_iris(return_X_y=True)
        ours, theirs = search_both(SVC(), {"C": [0.1, 1.0], "gamma": [0.1]}, X, y, cv=KFold(3))
        compare(ours, theirs, n_test=50)

    def test_labels_of_any_kind(self):
        X, y = load_iris(return_X_y=True)
        words = np.array(["no", "yes", "maybe"], dtype=object)[y]
        ours, theirs = search_both(SVC(), {"C": [1.0, 10.0]}, X, words, cv=3)
        compare(ours, theirs, n_test=50)
        assert ours.classes_.tolist() == ["maybe", "no", "yes"]
        assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99

    def test_groups(self):
        X, y = data("generated")
        groups = np.arange(len(y)) % 7
        options = {"cv": GroupKFold(4), "fit_params": {"groups": groups}}
        ours, theirs = search_both(SVC(), {"C": [0.1, 1.0]}, X, y, **options)
        compare(ours, theirs, n_test=40)

    def test_sample_weight(self):
        X, y = data("generated")
        weights = np.random.default_rng(0).uniform(0.0, 3.0, len(y))
        weights[::9] = 0.0
        ours, theirs = search_both(
            SVC(), SMALL_GRID, X, y, fit_params={"sample_weight": weights}, cv=4
        )
        compare(ours, theirs, n_test=15)

    def test_sample_weight_in_regression(self):
        X, y = REGRESSION["generated"]()
        y = (y - y.mean()) / y.std()
        weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
        ours, theirs = search_both(
            SVR(gamma=0.1), {"C": [0.1, 1.0]}, X, y, fit_params={"sample_weight": weights}
        )
        compare(ours, theirs, atol=2e-3)

    def test_sparse(self):
        X, y = data("generated")
        X = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
        ours, theirs = search_both(SVC(), SMALL_GRID, X, y, cv=3)
        compare(ours, theirs, n_test=fold_size(y, 3))

    def test_precomputed_kernel(self):
        X, y = data("generated")
        K = X @ X.T
        ours, theirs = search_both(SVC(kernel="precomputed"), {"C": [0.01, 0.1, 1.0]}, K, y)
        compare(ours, theirs, n_test=40)
        assert ours.predict(K).shape == y.shape

    def test_callable_kernel(self):
        X, y = data("generated")
        grid = {"C": [0.1, 1.0], "kernel": [linear_kernel, "linear"]}
        ours, theirs = search_both(SVC(), grid, X, y, cv=3)
        compare(ours, theirs, n_test=60)

    def test_data_frames(self):
        X, y = data("generated")
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
        ours, theirs = search_both(SVC(), {"C": [0.1, 1.0]}, frame, pd.Series(y))
        compare(ours, theirs, n_test=40)
        assert ours.feature_names_in_.tolist() == frame.columns.tolist()
        assert pd.DataFrame(ours.cv_results_).shape[0] == 2

    @settings(max_examples=15, deadline=None)
    @given(
        seed=st.integers(0, 10_000),
        n_classes=st.integers(2, 4),
        k=st.integers(2, 4),
        Cs=st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=4),
        gammas=st.lists(st.one_of(st.just("scale"), st.floats(1e-3, 2.0)), min_size=1, max_size=2),
        plan=st.sampled_from(["auto", "along_c", "linked_folds", "independent"]),
    )
    def test_any_small_search(self, seed, n_classes, k, Cs, gammas, plan):
        X, y = make_classification(
            60, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=seed
        )
        grid = {"C": Cs, "gamma": gammas}
        theirs = GridSearchCV(svm.SVC(tol=1e-5), grid, cv=k).fit(X, y)
        ours = SVMSearchCV(SVC(tol=1e-5), grid, cv=k, plan=plan).fit(X, y)
        compare(ours, theirs, n_test=60 // k)


def linear_kernel(A, B):
    return A @ B.T


class TestPipelines:
    def test_scaler(self):
        X, y = data("generated")
        X = X * 10.0 ** np.arange(X.shape[1])
        pipeline = make_pipeline(StandardScaler(), SVC())
        grid = {f"svc__{name}": values for name, values in SMALL_GRID.items()}
        ours, theirs = search_both(pipeline, grid, X, y)
        compare(ours, theirs, n_test=fold_size(y))
        assert isinstance(ours.best_estimator_, Pipeline)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.02)

    def test_parameters_of_every_step(self):
        X, y = data("breast_cancer")
        X, y = X[:200], y[:200]
        pipeline = Pipeline([("scale", StandardScaler()), ("pca", PCA(5)), ("svc", SVC())])
        grid = [
            {"pca__n_components": [2, 5], "svc__C": [0.1, 1.0], "svc__gamma": [0.1, "scale"]},
            {"scale": [MinMaxScaler(), "passthrough"], "svc__kernel": ["linear"]},
            {"pca": ["passthrough"], "scale": ["passthrough"], "svc__C": [1.0, 10.0]},
            {"svc": [SVC(kernel="linear"), SVC(C=3.0)]},
        ]
        ours = SVMSearchCV(pipeline, grid, cv=3).fit(X, y)
        grid[3] = {"svc": [svm.SVC(kernel="linear"), svm.SVC(C=3.0)]}
        theirs = GridSearchCV(as_peer(pipeline), grid, cv=3).fit(X, y)
        a, b = ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
        np.testing.assert_allclose(a, b, atol=1 / 66)

    def test_targets_are_used_by_the_selection(self):
        X, y = data("generated")
        pipeline = make_pipeline(SelectKBest(k=3), SVC())
        grid = {"selectkbest__k": [1, 4], "svc__C": [0.1, 1.0, 10.0]}
        ours, theirs = search_both(pipeline, grid, X, y)
        compare(ours, theirs, n_test=fold_size(y))

    def test_missing_values_are_imputed_by_the_fold(self):
        X, y = data("generated")
        X = X.copy()
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
        pipeline = make_pipeline(SimpleImputer(), StandardScaler(), SVC())
        ours, theirs = search_both(pipeline, {"svc__C": [0.1, 1.0]}, X, y)
        compare(ours, theirs, n_test=fold_size(y))

    def test_regression(self):
        X, y = REGRESSION["diabetes"]()
        y = (y - y.mean()) / y.std()
        pipeline = make_pipeline(StandardScaler(), SVR())
        grid = {"svr__C": [0.1, 1.0], "svr__epsilon": [0.1, 0.3]}
        ours, theirs = search_both(
            pipeline, grid, X, y, scoring=["r2", "neg_mean_squared_error"], refit="r2"
        )
        compare(ours, theirs, atol=2e-3)

    def test_frames_with_columns_by_name(self):
        X, y = data("generated")
        frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
        frame["d"] = np.where(X[:, 3] > 0, "p", "q")
        from sklearn.preprocessing import OneHotEncoder

        encode = ColumnTransformer(
            [("numbers", StandardScaler(), ["a", "b", "c"]), ("words", OneHotEncoder(), ["d"])]
        )
        ours, theirs = search_both(make_pipeline(encode, SVC()), {"svc__C": [0.1, 1.0]}, frame, y)
        compare(ours, theirs, n_test=40)

    def test_sparse_rows_behind_the_preprocessing(self):
        X, y = data("generated")
        X = sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
        pipeline = make_pipeline(StandardScaler(with_mean=False), SVC())
        ours, theirs = search_both(pipeline, {"svc__C": [0.1, 1.0]}, X, y)
        compare(ours, theirs, n_test=40)

    def test_precomputed_kernel_behind_a_centerer(self):
        X, y = data("generated")
        K = X @ X.T + 3.0
        pipeline = make_pipeline(KernelCenterer(), SVC(kernel="precomputed"))
        ours, theirs = search_both(pipeline, {"svc__C": [0.01, 0.1]}, K, y, cv=3)
        compare(ours, theirs, n_test=60)

    def test_weights_reach_the_last_step(self):
        X, y = data("generated")
        weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
        pipeline = make_pipeline(StandardScaler(), SVC())
        ours, theirs = search_both(
            pipeline, {"svc__C": [0.01, 1.0]}, X, y, fit_params={"svc__sample_weight": weights}
        )
        compare(ours, theirs, n_test=40)

    def test_routed_weights(self):
        X, y = data("generated")
        weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
        with config_context(enable_metadata_routing=True):
            scaler = StandardScaler().set_fit_request(sample_weight=True)
            scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
            ours = SVMSearchCV(
                make_pipeline(scaler, SVC().set_fit_request(sample_weight=True)),
                {"svc__C": [0.01, 1.0]},
                scoring=scorer,
            ).fit(X, y, sample_weight=weights)
            theirs = GridSearchCV(
                make_pipeline(scaler, svm.SVC().set_fit_request(sample_weight=True)),
                {"svc__C": [0.01, 1.0]},
                scoring=scorer,
            ).fit(X, y, sample_weight=weights)
        compare(ours, theirs, n_test=15)


class TestScoring:
    @pytest.mark.parametrize(
        "scoring", ["accuracy", "roc_auc", "f1", "balanced_accuracy", "average_precision"]
    )
    def test_names(self, scoring):
        X, y = data("generated")
        ours, theirs = search_both(SVC(tol=1e-5), SMALL_GRID, X, y, scoring=scoring, cv=3)
        compare(ours, theirs, n_test=30)

    def test_several_metrics(self):
        X, y = data("generated")
        scoring = {"auc": "roc_auc", "right": "accuracy", "f1": make_scorer(f1_score)}
        ours, theirs = search_both(
            SVC(), SMALL_GRID, X, y, scoring=scoring, refit="auc", return_train_score=True, cv=3
        )
        compare(ours, theirs, n_test=30)
        assert set(ours.scorer_) == set(theirs.scorer_)
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-3)

    def test_train_scores(self):
        X, y = data("generated")
        ours, theirs = search_both(SVC(), SMALL_GRID, X, y, return_train_score=True)
        compare(ours, theirs, n_test=40)

    def test_a_function_gets_a_fitted_estimator(self):
        X, y = data("generated")

        def score(estimator, X, y):
            last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
            return {
                "support": float(last.n_support_.sum()),
                "right": float(np.mean(estimator.predict(X) == y)),
                "C": float(last.C),
            }

        for estimator, prefix in ((SVC(), ""), (make_pipeline(StandardScaler(), SVC()), "svc__")):
            grid = {f"{prefix}C": [0.1, 10.0], f"{prefix}gamma": [0.1]}
            ours, theirs = search_both(estimator, grid, X, y, scoring=score, refit="right", cv=3)
            for key in ("mean_test_right", "mean_test_C"):
                np.testing.assert_allclose(
                    ours.cv_results_[key], theirs.cv_results_[key], atol=0.02
                )
            np.testing.assert_allclose(
                ours.cv_results_["mean_test_support"],
                theirs.cv_results_["mean_test_support"],
                rtol=0.03,
            )

    def test_a_scorer_that_fails(self):
        X, y = data("generated")

        def fails(estimator, X, y):
            if estimator.C > 1.0:
                raise ValueError("too large")
            return 0.5

        search = SVMSearchCV(SVC(), {"C": [0.1, 10.0]}, scoring=fails, cv=3)
        with pytest.warns(UserWarning, match="too large|non-finite"):
            search.fit(X, y)
        assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
        with pytest.raises(ValueError, match="too large"):
            search.set_params(error_score="raise").fit(X, y)

    def test_refit_by_function(self):
        X, y = data("generated")

        def last(results):
            return len(results["params"]) - 1

        ours, theirs = search_both(SVC(), SMALL_GRID, X, y, refit=last)
        assert ours.best_index_ == theirs.best_index_ == 11
        assert not hasattr(ours, "best_score_")
        assert ours.best_params_ == theirs.best_params_

    def test_no_refit(self):
        X, y = data("generated")
        ours, theirs = search_both(SVC(), SMALL_GRID, X, y, refit=False)
        compare(ours, theirs, n_test=40)
        assert not hasattr(ours, "best_estimator_")
        with pytest.raises(AttributeError):
            ours.predict(X)


class TestRefusals:
    def test_parameters_that_are_refused_are_failed_fits(self):
        X, y = data("generated")
        grid = {"C": [-1.0, 1.0, 10.0], "gamma": [0.1, -2.0]}
        theirs = GridSearchCV(svm.SVC(), grid, cv=3)
        ours = SVMSearchCV(SVC(), grid, cv=3)
        for search in (ours, theirs):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                search.fit(X, y)
            kinds = {warning.category for warning in caught}
            assert kinds == {FitFailedWarning, UserWarning}
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.02
        )
        assert ours.cv_results_["status"].tolist() == [
            "refused",
            "refused",
            "solved",
            "refused",
            "solved",
            "refused",
        ]

    def test_error_score(self):
        X, y = data("generated")
        ours = SVMSearchCV(SVC(), {"C": [-1.0, 1.0]}, error_score=-5.0)
        with pytest.warns(FitFailedWarning, match="set to -5"):
            ours.fit(X, y)
        assert ours.cv_results_["mean_test_score"][0] == -5.0
        with pytest.raises(ValueError, match="'C' parameter of SVC"):
            ours.set_params(error_score="raise").fit(X, y)

    def test_all_failed(self):
        X, y = data("generated")
        with pytest.raises(ValueError, match="All the 5 fits failed"):
            SVMSearchCV(SVC(), {"C": [-1.0]}).fit(X, y)

    @pytest.mark.filterwarnings("ignore:One or more of the test scores")
    def test_a_fold_of_one_class(self):
        X, y = data("lonely_class")
        search = SVMSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=KFold(4))
        with pytest.warns(FitFailedWarning, match="one class"):
            search.fit(X, y)
        assert search.cv_results_["status"].tolist() == ["refused", "refused"]

    @pytest.mark.filterwarnings("ignore:One or more of the test scores")
    def test_a_step_that_fails(self):
        X, y = data("generated")
        pipeline = make_pipeline(PCA(5), SVC())
        search = SVMSearchCV(pipeline, {"pca__n_components": [3, 1000], "svc__C": [1.0]}, cv=3)
        with pytest.warns(FitFailedWarning, match="n_components"):
            search.fit(X, y)
        assert search.cv_results_["status"].tolist() == ["solved", "refused"]

    @pytest.mark.parametrize(
        ("options", "grid", "message"),
        [
            ({}, {"D": [1.0]}, "Invalid parameter 'D'"),
            ({"plan": "best"}, {"C": [1.0]}, "plan is 'best'"),
            ({"seeding": "magic"}, {"C": [1.0]}, "seeding is 'magic'"),
            ({"time_limit": -1.0}, {"C": [1.0]}, "time_limit"),
            ({"memory_limit": "much"}, {"C": [1.0]}, "memory_limit"),
            ({"scoring": "nonsense"}, {"C": [1.0]}, "scoring"),
            ({"refit": "auc", "scoring": ["f1"]}, {"C": [1.0]}, "refit"),
            ({}, {"probability": [True]}, "CalibratedClassifierCV"),
        ],
    )
    def test_sentences(self, options, grid, message):
        X, y = data("generated")
        with pytest.raises(ValueError, match=message):
            SVMSearchCV(svm.SVC(), grid, **options).fit(X, y)

    def test_other_estimators(self):
        X, y = data("generated")
        with pytest.raises(TypeError, match="LinearSVC can not be begun"):
            SVMSearchCV(svm.LinearSVC(), {"C": [1.0]}).fit(X, y)
        with pytest.raises(ValueError, match="Invalid parameter 'C'"):
            SVMSearchCV(OneClassSVM(), {"C": [1.0]}, scoring="accuracy").fit(X, y)

    def test_no_numbers(self):
        X, y = data("generated")
        X = X.copy()
        X[3, 2] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            SVMSearchCV(SVC(), {"C": [1.0]}).fit(X, y)

    def test_iteration_limit_is_told(self):
        X, y = data("generated")
        search = SVMSearchCV(SVC(max_iter=3), {"C": [1.0, 1e3]}, refit=False)
        with pytest.warns(ConvergenceWarning, match="solves stopped"):
            search.fit(X, y)
        assert search.cv_results_["status"].tolist() == ["iteration_limit"] * 2


class TestOwnColumns:
    def test_counts_of_every_cell(self):
        X, y = data("generated")
        search = SVMSearchCV(SVC(), SMALL_GRID).fit(X, y)
        results = search.cv_results_
        assert (results["n_iter"] >= 0).all()  # 0 where the last solution is one for this C too
        assert (results["duality_gap"] >= 0.0).all()
        assert results["seed"][0] == "cold"
        assert all("cold" not in seed for seed in results["seed"][3:])
        cold = SVMSearchCV(SVC(), SMALL_GRID, seeding="none").fit(X, y).cv_results_
        assert set(cold["seed"]) == {"cold"}
        assert results["n_iter"][3:].sum() < cold["n_iter"][3:].sum()

    def test_scikit_learns_estimator_comes_back(self):
        X, y = data("generated")
        peer = svm.SVC(cache_size=321)
        search = SVMSearchCV(peer, SMALL_GRID).fit(X, y)
        assert type(search.best_estimator_) is svm.SVC
        assert search.best_estimator_.cache_size == 321
        reference = svm.SVC(**search.best_params_).fit(X, y)
        np.testing.assert_allclose(
            search.decision_function(X), reference.decision_function(X), atol=5e-3
        )
        piped = SVMSearchCV(make_pipeline(StandardScaler(), peer), {"svc__C": [1.0, 2.0]})
        assert type(piped.fit(X, y).best_estimator_[-1]) is svm.SVC

    def test_the_winner_is_certified(self):
        X, y = data("generated")
        search = SVMSearchCV(SVC(), SMALL_GRID).fit(X, y)
        assert search.best_estimator_.certify(X, y).is_optimal(1e-3)
