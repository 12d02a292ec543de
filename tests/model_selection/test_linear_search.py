"""SVMSearchCV over LinearSVC: GridSearchCV's results, folds side by side along C."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, scale
from sklearn.svm import LinearSVC as PeerSVC

from alphapath import LinearSVC
from alphapath.model_selection import SVMSearchCV
from alphapath.problem import certify_margin
from alphapath.solvers.primal import newton as margin_newton
from search_peers import compare, search_both

GRID = {"C": [10.0, 0.01, 0.1, 1.0]}
#: Tight, so that no row is decided otherwise.
TIGHT = 1e-10


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:250], y[:250]


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("data", [cancer, iris])
@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (LinearSVC(tol=TIGHT), GRID),
        (LinearSVC(tol=TIGHT, fit_intercept=False, class_weight="balanced"), GRID),
        (LinearSVC(tol=TIGHT, penalise_intercept=False), {**GRID, "class_weight": [None, {1: 2}]}),
        (LinearSVC("huber", width=0.5, tol=TIGHT), {"C": [0.1, 1.0]}),
        (LinearSVC(tol=TIGHT), [GRID, {"lam": [0.1, 0.01]}]),
        (LinearSVC("hinge", solver="pegasos", random_state=0, max_iter=200), {"C": [0.1, 1.0]}),
    ],
)
def test_the_results_of_grid_search(model, grid, data):
    X, y = data()
    if "class_weight" in grid and y.dtype.kind == "U":
        grid = {**grid, "class_weight": [None, {"b": 2.0}]}
    ours, theirs = search_both(model, grid, X, y, cv=4, return_train_score=True)
    compare(ours, theirs)
    if model.solver == "pegasos":
        return
    assert set(ours.cv_results_["status"]) == {"solved"}
    assert ours.cv_results_["duality_gap"].max() < 1e-6
    best = ours.best_estimator_
    problems = best.to_problem(X, y)
    for k, problem in enumerate(problems if isinstance(problems, list) else [problems]):
        found = certify_margin(problem, best.coef_[k], float(best.intercept_[k]))
        assert 0.5 * found.gradient_norm**2 <= 1e-8 * found.objective


def test_the_hinge_within_its_tolerance():
    X, y = cancer()
    ours, theirs = search_both(LinearSVC("hinge", tol=1e-6), {"C": [0.01, 1.0]}, X, y, cv=4)
    compare(ours, theirs, n_test=62)
    assert len(ours.plan_.chains) == 4  # folds that share nothing are chains of their own


def test_sparse_rows_and_any_splits(monkeypatch):
    X, y = cancer()
    sparse = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)).astype(np.float32)
    model = LinearSVC(tol=TIGHT)
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    compare(*search_both(model, GRID, sparse, y, cv=folds))
    compare(*search_both(model, GRID, X, y, cv=ShuffleSplit(3, random_state=0)))
    rng = np.random.default_rng(0)
    drawn = [(rng.integers(0, 250, 200), np.arange(h, 250, 3)) for h in range(3)]
    compare(*search_both(model, GRID, X, y, cv=drawn))
    everything = [(np.arange(250), np.arange(250))] * 2
    compare(*search_both(model, GRID, X, y, cv=everything))
    monkeypatch.setattr(margin_newton, "MAX_GRAM", 3)
    compare(*search_both(model, GRID, sparse, y, cv=11))


def test_rows_of_ones():
    # The columns alone are read where every stored value is 1.
    X, y = cancer()
    ones = sp.csr_array((X > 0.3).astype(np.float64))
    assert set(ones.data) == {1.0}
    for model in (LinearSVC(tol=TIGHT), LinearSVC(tol=TIGHT, fit_intercept=False)):
        compare(*search_both(model, GRID, ones, y, cv=5))
        compare(*search_both(model, GRID, ones.astype(np.float32), y, cv=5))
    almost = ones.copy()
    almost.data[-1] = 1.5
    compare(*search_both(LinearSVC(tol=TIGHT), GRID, almost, y, cv=5))


def test_behind_preprocessing():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    model = make_pipeline(StandardScaler(), LinearSVC(tol=TIGHT))
    grid = {"linearsvc__C": [0.01, 0.1, 1.0], "standardscaler": [StandardScaler(), MaxAbsScaler()]}
    ours, theirs = search_both(model, grid, X, y, cv=3)
    compare(ours, theirs)
    assert set(ours.cv_results_["seed"]) == {"cold", "keep"}

    def share_above(estimator, X, y):
        return float(np.mean(estimator.decision_function(X) > 0.5))

    compare(*search_both(model, grid, X, y, cv=3, scoring=share_above))


@pytest.mark.parametrize("data", [cancer, iris])
def test_scorers_and_weights(data):
    X, y = data()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    area = "roc_auc" if len(np.unique(y)) == 2 else "f1_macro"
    f1 = make_scorer(f1_score, average="weighted")
    scoring = {"area": area, "f1": f1, "acc": "accuracy"}
    options = {"scoring": scoring, "refit": "area", "cv": 3, "return_train_score": True}
    model, given = LinearSVC(tol=TIGHT), {"sample_weight": weights}
    compare(*search_both(model, GRID, X, y, fit_params=given, **options))
    compare(*search_both(model, GRID, X, y, **options))

    def first_weight(estimator, X, y):
        assert estimator.fit_status_ == 0
        return estimator.coef_[0, 0] + estimator.intercept_[0] + estimator.C

    compare(*search_both(model, GRID, X, y, cv=3, scoring=first_weight), atol=1e-4)


def test_every_C_begins_from_the_last():
    X, y = cancer()
    warm = SVMSearchCV(LinearSVC(), GRID, cv=10).fit(X, y)
    cold = SVMSearchCV(LinearSVC(), GRID, cv=10, seeding="none").fit(X, y)
    assert set(warm.cv_results_["seed"]) == {"cold", "keep"}
    assert set(cold.cv_results_["seed"]) == {"cold"}
    assert warm.cv_results_["n_iter"].sum() < cold.cv_results_["n_iter"].sum()
    np.testing.assert_allclose(
        warm.cv_results_["mean_test_score"], cold.cv_results_["mean_test_score"], atol=0.01
    )
    assert len(warm.plan_.chains) == 1
    assert "along_c" in str(warm.plan_)


def test_workers_a_journal_and_a_time_limit(tmp_path):
    X, y = cancer()
    grid = {**GRID, "fit_intercept": [True, False]}
    one = SVMSearchCV(LinearSVC(), grid, cv=3, journal=tmp_path / "search.db").fit(X, y)
    two = SVMSearchCV(LinearSVC(), grid, cv=3, n_jobs=2).fit(X, y)
    again = SVMSearchCV(LinearSVC(), grid, cv=3, journal=tmp_path / "search.db").fit(X, y)
    for other in (two, again):
        for name in ("split0_test_score", "split2_test_score", "n_iter", "status"):
            np.testing.assert_array_equal(one.cv_results_[name], other.cv_results_[name])
    with pytest.warns(Warning, match="were not run"):
        late = SVMSearchCV(LinearSVC(), grid, cv=3, time_limit=1e-9).fit(X, y)
    assert set(late.cv_results_["status"]) == {"not_run"}


def test_the_linear_model_of_scikit_learn():
    X, y = cancer()
    theirs = PeerSVC(dual=False, tol=1e-8, max_iter=10_000)
    ours = SVMSearchCV(theirs, GRID, cv=4).fit(X, y)
    compare(ours, GridSearchCV(theirs, GRID, cv=4).fit(X, y))
    assert type(ours.best_estimator_) is PeerSVC
    np.testing.assert_allclose(
        ours.decision_function(X),
        PeerSVC(**{**theirs.get_params(), **ours.best_params_}).fit(X, y).decision_function(X),
        atol=1e-4,
    )
    back = LinearSVC.from_sklearn(ours.best_estimator_)
    np.testing.assert_array_equal(back.predict(X), ours.predict(X))
    with pytest.raises(ValueError, match="penalty is 'l1'; for a LinearSVC of alphapath"):
        SVMSearchCV(PeerSVC(penalty="l1", dual=False), GRID).fit(X, y)
    with pytest.raises(ValueError, match="dual of scikit-learn's LinearSVC can not be searched"):
        SVMSearchCV(PeerSVC(), {"dual": [True, False]}).fit(X, y)
    with pytest.raises(ValueError, match="here loss='huber'"):
        LinearSVC("huber").as_sklearn()


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_what_is_refused():
    X, y = cancer()
    with pytest.raises(ValueError, match="for a LinearSVC it must be 'auto' \\(from the next"):
        SVMSearchCV(LinearSVC(), GRID, seeding="scale").fit(X, y)
    with pytest.raises(ValueError, match="plan is 'linked_folds'; for a LinearSVC"):
        SVMSearchCV(LinearSVC(), GRID, plan="linked_folds").fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter 'gamma' for estimator LinearSVC"):
        SVMSearchCV(LinearSVC(), {"gamma": [1.0]}).fit(X, y)
    with pytest.raises(TypeError, match="LinearSVC has no device"):
        SVMSearchCV(LinearSVC(), GRID, device="cuda").fit(X, y)
    with pytest.warns(Warning, match="fits failed"):
        found = SVMSearchCV(LinearSVC(), {"C": [-1.0, 1.0]}).fit(X, y)
    assert found.best_params_ == {"C": 1.0}
    assert found.cv_results_["status"].tolist() == ["refused", "solved"]
    lonely = np.r_[np.zeros(249), 1.0]
    with pytest.warns(Warning, match=r"fits failed|least populated"):
        found = SVMSearchCV(LinearSVC(), GRID, cv=3).fit(X, lonely)
    assert "refused" in found.cv_results_["status"]


@pytest.mark.filterwarnings("ignore:The least populated class")
def test_a_fold_without_a_class():
    X, y = iris()
    y = y.copy()
    y[y == "c"] = "b"
    y[-3:] = "c"
    compare(*search_both(LinearSVC(tol=TIGHT), GRID, X, y, cv=KFold(3)))
