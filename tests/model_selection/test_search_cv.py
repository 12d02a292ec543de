"""SVMSearchCV gives what GridSearchCV gives, cell by cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, SVR, OneClassSVM
from alphapath.model_selection import SVMSearchCV
from alphapath.search.plan import PLANS
from datasets import REGRESSION
from search_peers import (
    SMALL_GRID,
    compare,
    data,
    fold_size,
    search_both,
)


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
        plan=st.sampled_from(list(PLANS)),
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
