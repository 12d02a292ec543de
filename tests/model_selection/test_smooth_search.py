"""SVMSearchCV over smooth SVMs: GridSearchCV's results, from far fewer Newton steps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from alphapath import SmoothSVC, SmoothSVR
from alphapath.model_selection import SVMSearchCV
from alphapath.problem import certify_margin
from search_peers import compare, search_both

GRID = {"c": [10.0, 0.01, 0.1, 1.0]}


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:250], y[:250]


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), np.array(["a", "b", "c"])[y]


def check_refit(search, X, y):
    best = search.best_estimator_
    problems = best.to_problem(X, y)
    for k, problem in enumerate(problems if isinstance(problems, list) else [problems]):
        coef = best.coef_[k] if best.kernel == "linear" else best.kernel_coef_[k]
        certificate = certify_margin(problem, coef, float(best.intercept_[k]))
        assert certificate.gradient_norm < 1e-7


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (SmoothSVC(), GRID),
        (SmoothSVC(fit_intercept=False, class_weight="balanced"), GRID),
        (SmoothSVC(kernel="rbf"), {**GRID, "gamma": [0.01, 0.1]}),
        (SmoothSVC(kernel="rbf", gamma="scale"), {"c": [0.1, 1.0]}),
        (SmoothSVC(), [GRID, {"kernel": ["poly"], "gamma": [0.1], "degree": [2]}]),
        (SmoothSVC(), {**GRID, "strategy": ["feature", "instance"]}),
    ],
)
@pytest.mark.parametrize("data", [cancer, iris])
def test_the_results_of_grid_search(model, grid, data):
    X, y = data()
    ours, theirs = search_both(model, grid, X, y, cv=4, return_train_score=True)
    compare(ours, theirs)
    assert set(ours.cv_results_["status"]) == {"solved"}
    assert ours.cv_results_["duality_gap"].max() < 1e-9
    if grid is GRID:
        check_refit(ours, X, y)


def test_regression_sparse_rows_and_repeated_rows():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:150], scale(y[:150])
    cv = ShuffleSplit(4, random_state=0)
    compare(*search_both(SmoothSVR(epsilon=0.2), {**GRID, "epsilon": [0.1, 0.5]}, X, y, cv=cv))
    X, y = cancer()
    sparse = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    compare(*search_both(SmoothSVC(), GRID, sparse, y, cv=folds))
    rng = np.random.default_rng(0)
    drawn = [(rng.integers(0, 250, 200), np.arange(h, 250, 3)) for h in range(3)]
    compare(*search_both(SmoothSVC(), GRID, X, y, cv=drawn))


def test_behind_preprocessing():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    model = make_pipeline(StandardScaler(), SmoothSVC())
    grid = {"smoothsvc__c": [0.01, 0.1, 1.0], "standardscaler__with_mean": [True, False]}
    ours, theirs = search_both(model, grid, X, y, cv=3)
    compare(ours, theirs)
    assert set(ours.cv_results_["seed"]) == {"cold", "keep"}

    def share_above(estimator, X, y):
        return float(np.mean(estimator.decision_function(X) > 0.5))

    compare(*search_both(model, grid, X, y, cv=3, scoring=share_above))


def test_scorers_and_weights():
    X, y = cancer()
    weights = np.random.default_rng(0).integers(0, 3, 250).astype(float)
    scoring = {"auc": "roc_auc", "f1": make_scorer(f1_score), "acc": "accuracy"}
    options = {"scoring": scoring, "refit": "auc", "cv": 3, "return_train_score": True}
    compare(*search_both(SmoothSVC(), GRID, X, y, fit_params={"sample_weight": weights}, **options))

    def n_features(estimator, X, y):
        return float(np.count_nonzero(estimator.coef_)) + estimator.intercept_[0]

    compare(*search_both(SmoothSVC(), GRID, X, y, cv=3, scoring=n_features))


def test_every_fold_begins_from_the_model_on_all_rows():
    X, y = cancer()
    warm = SVMSearchCV(SmoothSVC(), GRID, cv=10).fit(X, y)
    cold = SVMSearchCV(SmoothSVC(), GRID, cv=10, seeding="none").fit(X, y)
    assert set(warm.cv_results_["seed"]) == {"full"}
    assert set(cold.cv_results_["seed"]) == {"cold"}
    assert 2 * warm.cv_results_["n_iter"].sum() < cold.cv_results_["n_iter"].sum()
    for name in ("mean_test_score", "rank_test_score"):
        np.testing.assert_array_equal(warm.cv_results_[name], cold.cv_results_[name])
    assert "along_c" in str(warm.plan_)


def test_workers_a_journal_and_a_time_limit(tmp_path):
    X, y = cancer()
    grid = {**GRID, "kernel": ["linear", "rbf"], "gamma": [0.05]}
    one = SVMSearchCV(SmoothSVC(), grid, cv=3, journal=tmp_path / "search.db").fit(X, y)
    two = SVMSearchCV(SmoothSVC(), grid, cv=3, n_jobs=2).fit(X, y)
    again = SVMSearchCV(SmoothSVC(), grid, cv=3, journal=tmp_path / "search.db").fit(X, y)
    for other in (two, again):
        for name in ("split0_test_score", "split2_test_score", "n_iter", "status"):
            np.testing.assert_array_equal(one.cv_results_[name], other.cv_results_[name])
    with pytest.warns(Warning, match="were not run"):
        late = SVMSearchCV(SmoothSVC(), grid, cv=3, time_limit=1e-9).fit(X, y)
    assert set(late.cv_results_["status"]) == {"not_run"}


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_what_is_refused():
    X, y = cancer()
    with pytest.raises(ValueError, match="for a smooth SVM it must be 'auto' \\(from the model"):
        SVMSearchCV(SmoothSVC(), GRID, seeding="scale").fit(X, y)
    with pytest.raises(ValueError, match="plan is 'linked_folds'; for a smooth SVM"):
        SVMSearchCV(SmoothSVC(), GRID, plan="linked_folds").fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter 'C' for estimator SmoothSVC"):
        SVMSearchCV(SmoothSVC(), {"C": [1.0]}).fit(X, y)
    with pytest.warns(Warning, match="fits failed"):
        found = SVMSearchCV(SmoothSVC(), {"c": [-1.0, 1.0]}).fit(X, y)
    assert found.best_params_ == {"c": 1.0}
    assert found.cv_results_["status"].tolist() == ["refused", "solved"]
    lonely = np.r_[np.zeros(249), 1.0]
    with pytest.warns(Warning, match=r"fits failed|least populated"):
        found = SVMSearchCV(SmoothSVC(), GRID, cv=3).fit(X, lonely)
    assert "refused" in found.cv_results_["status"]
