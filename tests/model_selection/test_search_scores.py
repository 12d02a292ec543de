"""Scorers, refits and refusals of SVMSearchCV: those of GridSearchCV."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, OneClassSVM
from alphapath.model_selection import SVMSearchCV
from search_peers import (
    SMALL_GRID,
    compare,
    data,
    search_both,
)


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
        with pytest.raises(TypeError, match="NuSVC can not be begun"):
            SVMSearchCV(svm.NuSVC(), {"nu": [0.5]}).fit(X, y)
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


@pytest.mark.parametrize("scoring", ["neg_log_loss", ["accuracy", "neg_log_loss"], "roc_auc_ovr"])
def test_scorers_of_probabilities_are_refused(scoring):
    X, y = load_iris(return_X_y=True)
    search = SVMSearchCV(SVC(), {"C": [1.0]}, scoring=scoring, refit=False)
    with pytest.raises(ValueError, match=r"The scorer '(neg_log_loss|roc_auc_ovr)' asks for"):
        search.fit(X, y)
