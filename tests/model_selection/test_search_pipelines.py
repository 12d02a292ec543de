"""SVMSearchCV behind preprocessing: fitted on the training rows of each fold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context, svm
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KernelCenterer, MinMaxScaler, StandardScaler

from alphapath import SVC, SVR
from alphapath.model_selection import SVMSearchCV
from datasets import REGRESSION
from search_peers import (
    SMALL_GRID,
    as_peer,
    compare,
    data,
    fold_size,
    search_both,
)


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
