"""What scikit-learn's users bring: pipelines, samplers, metadata routing, their own data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context, svm
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, make_classification, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.model_selection import cross_validate as peer_cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from alphapath import SVC, SVR, LinearSVC, SmoothSVC
from alphapath.model_selection import SVMSearchCV, cross_validate, linear_c_search
from alphapath.report import MarginDisplay, write_report

mpl.use("Agg")


def generated(n: int = 120) -> tuple[Any, Any]:
    return make_classification(n, 5, weights=[0.7], random_state=0)


def compare(ours: Any, theirs: Any) -> None:
    name = "mean_test_score"
    np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-12)
    assert ours.best_params_ == theirs.best_params_


# -- one kind of SVM per search


@pytest.mark.parametrize(
    ("first", "second"), [(SVC, LinearSVC), (svm.SVC, svm.LinearSVC), (SVC, SVR)]
)
def test_kinds_of_svm_are_not_mixed(first: Any, second: Any) -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("svm", first())])
    grid = [{"svm": [first()], "svm__C": [1, 10]}, {"svm": [second()], "svm__C": [1, 10]}]
    names = f"{min(first.__name__, second.__name__)} and of "
    with pytest.raises(ValueError, match=f"{names}.* for the step 'svm'; one search takes one"):
        SVMSearchCV(pipeline, grid).fit(*generated())


@pytest.mark.parametrize("kind", [SVC, svm.SVC, svm.LinearSVC])
def test_the_grid_may_set_the_svm(kind: Any) -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("svm", LinearSVC())])
    grid = {"svm": [kind(), kind(C=3.0)], "svm__tol": [1e-6]}
    ours = SVMSearchCV(pipeline, grid, cv=3).fit(*generated())
    peer = {SVC: svm.SVC}.get(kind, kind)
    theirs = GridSearchCV(pipeline, grid | {"svm": [peer(), peer(C=3.0)]}, cv=3)
    theirs.fit(*generated())
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )


def test_a_grid_without_candidates() -> None:
    with pytest.raises(ValueError, match="param_grid is empty"):
        SVMSearchCV(SVC(), []).fit(*generated())


# -- samplers


class Oversampler(BaseEstimator):
    """Repeats the rows of the rarer class, as a sampler of imbalanced-learn."""

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        rare = np.flatnonzero(y == np.argmin(np.bincount(y)))
        rows = np.concatenate([np.arange(len(y)), rare])
        return np.asarray(X)[rows], y[rows]


class SamplerPipeline(Pipeline):
    """Samplers act in `fit` alone, as in imbalanced-learn."""

    def _validate_steps(self) -> None:
        pass

    def fit(self, X: Any, y: Any = None) -> Any:
        for _, step in self.steps[:-1]:
            if hasattr(step, "fit_resample"):
                X, y = step.fit_resample(X, y)
            else:
                X = step.fit_transform(X, y)
        self.steps[-1][1].fit(X, y)
        return self

    def _iter(self, *arguments: Any, **options: Any) -> Any:
        for item in super()._iter(*arguments, **options):
            if not hasattr(item[-1], "fit_resample"):
                yield item


def sampled(model: Any, *, scaler_first: bool = True) -> Pipeline:
    steps = [("scale", StandardScaler()), ("sample", Oversampler())]
    return SamplerPipeline([*(steps if scaler_first else steps[::-1]), ("svm", model)])


def accuracy(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.predict(X) == y))


@pytest.mark.parametrize("scoring", [None, "roc_auc", accuracy])
@pytest.mark.parametrize("scaler_first", [True, False])
def test_samplers_draw_training_rows_alone(scoring: Any, scaler_first: bool) -> None:
    grid = {"svm__C": [0.1, 1.0, 10.0]}
    ours = SVMSearchCV(sampled(SVC(tol=1e-6), scaler_first=scaler_first), grid, scoring=scoring)
    peer = sampled(svm.SVC(tol=1e-6), scaler_first=scaler_first)
    theirs = GridSearchCV(peer, grid, scoring=scoring).fit(*generated())
    compare(ours.fit(*generated()), theirs)
    np.testing.assert_array_equal(ours.predict(generated()[0]), theirs.predict(generated()[0]))


def test_a_linear_model_behind_a_sampler() -> None:
    grid = {"svm__C": [0.1, 1.0]}
    ours = SVMSearchCV(sampled(LinearSVC(tol=1e-8)), grid, cv=3).fit(*generated())
    peer = sampled(svm.LinearSVC(dual=False, tol=1e-8))
    compare(ours, GridSearchCV(peer, grid, cv=3).fit(*generated()))


def test_what_a_sampler_can_not_have() -> None:
    X, y = generated()
    with pytest.raises(TypeError, match="has a sampler"):
        cross_validate(sampled(SVC()), X, y)
    with pytest.raises(ValueError, match="return_train_score"):
        SVMSearchCV(sampled(SVC()), {"svm__C": [1.0]}, return_train_score=True).fit(X, y)
    search = SVMSearchCV(sampled(SVC()), {"svm__C": [1.0]}, error_score="raise")
    with pytest.raises(ValueError, match="but the Pipeline has a sampler"):
        search.fit(X, y, svm__sample_weight=np.ones(len(y)))


def test_pipelines_of_imbalanced_learn() -> None:
    imblearn = pytest.importorskip("imblearn")
    X, y = generated()
    sampler = imblearn.over_sampling.RandomOverSampler(random_state=0)
    grid = {"svc__C": [0.1, 1.0, 10.0]}
    ours, theirs = (
        kind(imblearn.pipeline.make_pipeline(StandardScaler(), sampler, model), grid, cv=3)
        for kind, model in ((SVMSearchCV, SVC(tol=1e-6)), (GridSearchCV, svm.SVC(tol=1e-6)))
    )
    compare(ours.fit(X, y), theirs.fit(X, y))


# -- metadata routing


def asking(model: Any, name: Any = True) -> Any:
    return model.set_fit_request(sample_weight=name).set_score_request(sample_weight=name)


def scaled(model: Any) -> Pipeline:
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    return Pipeline([("scale", scaler), ("svm", model)])


@pytest.fixture
def weights() -> Any:
    return np.random.default_rng(0).uniform(0.1, 2.0, 120)


@pytest.mark.parametrize("model", [SVC, svm.SVC, svm.LinearSVC])
@pytest.mark.parametrize("name", [True, "importance"])
def test_searches_route_as_scikit_learn(model: Any, name: Any, weights: Any) -> None:
    X, y = generated()
    params = {"sample_weight" if name is True else name: weights}
    options = {"dual": False} if model is svm.LinearSVC else {}
    peer = svm.SVC if model is SVC else model
    with config_context(enable_metadata_routing=True):
        wraps = [(lambda one: one, ""), (scaled, "svm__")]
        for wrap, prefix in wraps if name is True else wraps[:1]:  # scikit-learn fails behind one
            grid = {f"{prefix}C": [1.0, 10.0]}
            own, other = (wrap(asking(kind(tol=1e-7, **options), name)) for kind in (model, peer))
            ours = SVMSearchCV(own, grid, cv=3).fit(X, y, **params)
            compare(ours, GridSearchCV(other, grid, cv=3).fit(X, y, **params))


@pytest.mark.parametrize("model", [SVC, svm.SVC])
@pytest.mark.parametrize("name", [True, "importance"])
def test_cross_validation_routes_as_scikit_learn(model: Any, name: Any, weights: Any) -> None:
    X, y = generated()
    params = {"sample_weight" if name is True else name: weights}
    with config_context(enable_metadata_routing=True):
        wraps = [lambda one: one, scaled, make_pipeline]
        for wrap in wraps if name is True else wraps[:1]:  # scikit-learn fails behind one
            own, other = (wrap(asking(kind(tol=1e-6), name)) for kind in (model, svm.SVC))
            ours = cross_validate(own, X, y, params=params)["test_score"]
            theirs = peer_cross_validate(other, X, y, params=params)["test_score"]
            np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_cross_validation_refuses_what_nobody_asked_for(weights: Any) -> None:
    X, y = generated()
    groups = np.arange(120) // 10
    with config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            cross_validate(svm.SVC(), X, y, params={"sample_weight": weights})
        with pytest.raises(ValueError, match="as params="):
            cross_validate(SVC(), X, y, groups=groups)
        routed = cross_validate(SVC(), X, y, cv=GroupKFold(3), params={"groups": groups})
        fit_only = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        plain = cross_validate(fit_only, X, y, params={"sample_weight": weights})
    given = cross_validate(SVC(), X, y, cv=GroupKFold(3), groups=groups)
    np.testing.assert_array_equal(routed["test_score"], given["test_score"])
    weighted = cross_validate(SVC(), X, y, params={"sample_weight": weights})
    np.testing.assert_array_equal(plain["test_score"], weighted["test_score"])


# -- other public functions


def test_a_search_over_C_takes_the_linear_model_of_scikit_learn() -> None:
    X, y = generated()
    peer = svm.LinearSVC(dual=False, max_iter=77)
    ours, theirs = (linear_c_search(model, X, y, cv=3) for model in (LinearSVC(), peer))
    np.testing.assert_array_equal(ours.test_scores, theirs.test_scores)
    best = theirs.best_estimator
    assert type(best) is svm.LinearSVC
    assert (best.C, best.max_iter) == (theirs.best_C, 77)
    np.testing.assert_array_equal(best.coef_, ours.best_estimator.coef_)


@pytest.mark.parametrize("model", [make_pipeline(StandardScaler(), LinearSVC()), SVC()])
def test_a_search_over_C_refuses_other_models(model: Any) -> None:
    with pytest.raises(TypeError, match=f"not a {type(model).__name__}; use SVMSearchCV"):
        linear_c_search(model, *generated())


def test_margins_behind_preprocessing() -> None:
    X, y = generated()
    X = X[:, :2] * 10.0
    shown = [
        MarginDisplay.from_estimator(make_pipeline(StandardScaler(), model).fit(X, y), X, y)
        for model in (SVC(tol=1e-6), svm.SVC(tol=1e-6))
    ]
    np.testing.assert_allclose(shown[0].plane[2], shown[1].plane[2], atol=1e-4)
    for model in (LinearSVC(), LogisticRegression(), make_pipeline(LinearSVC())):
        with pytest.raises(TypeError, match="has no support vectors to be drawn"):
            MarginDisplay.from_estimator(model.fit(X, y), X, y)
    with pytest.raises(ValueError, match="give the rows that it was fitted on"):
        MarginDisplay.from_estimator(SVC().fit(X, y), X[:20], y[:20])


@pytest.mark.parametrize("kind", [SVMSearchCV, GridSearchCV])
def test_a_report_refuses_other_data(kind: Any, tmp_path: Path) -> None:
    X, y = generated()
    search = kind(SVC(), {"C": [1.0, 10.0]}, cv=3).fit(X, y)
    target = tmp_path / "report.html"
    others = [make_regression(80, 4, random_state=0), (X[:, :3], y)]
    if kind is SVMSearchCV:
        others += [(X[:50], y[:50]), (X, 1 - y)]
    for other in others:
        with pytest.raises(ValueError, match="the data that the search was fitted on"):
            write_report(search, target, X=other[0], y=other[1])
    write_report(search, target, X=X.tolist(), y=pd.Series(y).astype(float))


def test_rows_that_are_no_numbers(tmp_path: Path) -> None:
    X, y = generated()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["name"] = np.where(X[:, 0] > 0, "u", "v")
    head = make_column_transformer(
        (OneHotEncoder(), ["name"]), (StandardScaler(), list("abcde")), sparse_threshold=0.0
    )
    grid = {"svc__C": [1.0, 10.0]}
    ours = SVMSearchCV(make_pipeline(head, SVC(tol=1e-6)), grid, cv=KFold(3)).fit(frame, y)
    theirs = GridSearchCV(make_pipeline(head, svm.SVC(tol=1e-6)), grid, cv=KFold(3))
    compare(ours, theirs.fit(frame, y))
    page = write_report(ours, tmp_path / "report.html", X=frame, y=y).read_text(encoding="utf-8")
    assert "features" in page


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), SmoothSVC()])
def test_targets_of_a_regression_are_told_of(model: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60], np.arange(60.0) // 2.0
    with pytest.warns(UserWarning, match="different numbers in 60 rows, each taken as a class"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="continuous"):
        model.fit(X, y + 0.5)
