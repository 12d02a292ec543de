"""OneClassSearch: every plan solves every node, scores choose, parts and plans are honest."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from alphapath import OneClassMaxMinOver, Status
from alphapath.model_selection import OneClassSearch

GRID = {"C": np.geomspace(1.0, 1e4, 6), "sigma": np.geomspace(0.1, 4.0, 5)}
PLANS = ("heuristic", "arborescence", "learned", "sequential", "independent")


def data(n: int = 80):
    """Rows of one class, and a labelled part with outliers."""
    X, y = make_moons(4 * n, noise=0.15, random_state=1)
    X /= np.linalg.norm(X[y == 0], axis=1).mean()
    inliers = X[y == 0]
    labelled = np.vstack([inliers[n:], X[y == 1][:n]])
    return inliers[:n], (labelled, np.repeat([1, -1], [len(inliers) - n, n]))


@pytest.mark.parametrize("solver", ["coordinate", "maxminover"])
@pytest.mark.parametrize("plan", PLANS)
def test_every_node_is_certified_from_raw_data(plan, solver):
    X, _ = data()
    search = OneClassSearch(OneClassMaxMinOver(solver=solver), GRID, plan=plan).fit(X)
    assert (search.results_["status"] == Status.SOLVED).all()
    assert (search.results_["relative_gap"] <= 1e-4).all()
    for node in range(30):
        model = search.estimator_at(node)
        certificate = model.certify(X)
        assert certificate.relative_gap <= 1e-4 * 1.001
        assert certificate.relative_gap == pytest.approx(
            search.results_["relative_gap"][node], rel=1e-4, abs=1e-9
        )
        assert (model.C, model.sigma) == (
            search.results_["param_C"][node],
            search.results_["param_sigma"][node],
        )
    roots = np.count_nonzero(search.results_["parent"] == -1)
    if plan == "arborescence":  # a cold start may be the cheapest
        assert 1 <= roots < 15
    else:
        assert roots == (30 if plan == "independent" else 1)
    assert search.plan_.n_nodes == 30
    assert len(list(search.plan_.edges())) == 30


def test_all_plans_have_the_same_leave_one_out_errors():
    X, _ = data(50)
    errors = [
        OneClassSearch(OneClassMaxMinOver(), GRID, plan=plan).fit(X).results_["leave_one_out_error"]
        for plan in PLANS
    ]
    for other in errors[1:]:
        assert_array_equal(other, errors[0])


@pytest.mark.parametrize("solver", ["coordinate", "maxminover"])
def test_leave_one_out_errors_are_those_of_refits(solver):
    X, _ = data(25)
    X = np.vstack([X, X[:3]])
    weights = np.random.default_rng(0).integers(1, 3, len(X)).astype(float)
    grid = {"C": [1.0, 100.0, 1e4], "sigma": [0.2, 1.0, 4.0]}
    search = OneClassSearch(OneClassMaxMinOver(solver=solver), grid).fit(X, sample_weight=weights)
    for node in range(9):
        params = {name: search.results_[f"param_{name}"][node] for name in ("C", "sigma")}
        wrong = []
        for i in range(len(X)):
            # A row goes with the rows that are equal to it.
            others = ~(X[i] == X).all(axis=1)
            model = OneClassMaxMinOver(**params, gap_tol=1e-12)
            model.fit(X[others], sample_weight=weights[others])
            wrong.append(float(model.decision_function(X[i : i + 1])[0]))
        wrong = np.array(wrong)
        assert np.abs(wrong).min() > 1e-7
        expected = np.average(wrong < 0.0, weights=weights)
        assert search.results_["leave_one_out_error"][node] == pytest.approx(expected)


def test_preinitialisation_saves_iterations_of_maxminover():
    X, _ = data()
    fine = {"C": np.geomspace(1.0, 1e4, 12), "sigma": np.geomspace(0.1, 4.0, 10)}
    n_iter = {
        plan: OneClassSearch(OneClassMaxMinOver(solver="maxminover"), fine, plan=plan)
        .fit(X)
        .n_iter_
        for plan in ("heuristic", "independent")
    }
    assert n_iter["heuristic"] < 0.3 * n_iter["independent"]


def test_the_node_is_what_a_fit_with_its_parameters_is():
    X, validation = data()
    search = OneClassSearch(OneClassMaxMinOver(gap_tol=1e-9), GRID, scoring="roc_auc")
    search.fit(X, validation=validation)
    alone = OneClassMaxMinOver(gap_tol=1e-9, **search.best_params_).fit(X)
    assert search.best_estimator_.get_params() == alone.get_params()
    assert_allclose(search.decision_function(X), alone.decision_function(X), atol=1e-3)
    assert_allclose(search.best_estimator_.objective_, alone.objective_, rtol=1e-6)
    assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_scores_are_roc_areas_and_any_scorer():
    X, (X_val, y_val) = data()
    by_area = OneClassSearch(OneClassMaxMinOver(), GRID, scoring="roc_auc")
    by_area.fit(X, validation=(X_val, y_val))
    area = roc_auc_score(y_val, by_area.decision_function(X_val))
    assert by_area.best_score_ == pytest.approx(area)
    assert by_area.best_score_ == by_area.results_["score"].max()
    assert by_area.results_["rank"][by_area.best_index_] == 1

    def accuracy(model, X, y):
        return accuracy_score(y, model.predict(X))

    for scoring in ("accuracy", accuracy):
        search = OneClassSearch(OneClassMaxMinOver(), GRID, scoring=scoring)
        search.fit(X, validation=(X_val, y_val))
        assert search.best_score_ == pytest.approx(accuracy_score(y_val, search.predict(X_val)))


def test_leave_one_out_error_is_the_share_of_support_vectors_by_weight():
    X, _ = data(40)
    weights = np.arange(len(X)) % 3
    search = OneClassSearch(OneClassMaxMinOver(), GRID).fit(X, sample_weight=weights)
    model = search.best_estimator_
    share = weights[model.support_].sum() / weights.sum()
    assert search.best_score_ == pytest.approx(-share)
    assert search.results_["n_support"][search.best_index_] == model.support_.size
    ties = np.flatnonzero(search.results_["score"] == search.best_score_)
    assert search.best_index_ == ties[0]


def test_parts_change_nothing_but_the_roots_and_not_with_the_workers():
    X, _ = data(50)
    estimator = OneClassMaxMinOver(solver="maxminover")
    runs = [
        OneClassSearch(estimator, GRID, n_parts=3, n_jobs=n_jobs).fit(X) for n_jobs in (None, 3)
    ]
    assert 1 < np.count_nonzero(runs[0].results_["parent"] == -1) <= 3
    assert (runs[0].results_["relative_gap"] <= 1e-4).all()
    for name, values in runs[0].results_.items():
        if name != "fit_time":
            assert_array_equal(values, runs[1].results_[name])


def test_costs_may_be_given_and_measured_ones_are_kept():
    X, _ = data(40)
    measured = OneClassSearch(OneClassMaxMinOver(), GRID, plan="arborescence").fit(X)
    again = OneClassSearch(
        OneClassMaxMinOver(), GRID, plan="arborescence", costs=measured.edge_costs_
    ).fit(X)
    assert again.edge_costs_ is None
    assert again.tree_ == measured.tree_
    assert len(measured.edge_costs_) == 30 + 2 * (4 * 6 + 5 * 5)


def test_a_fitted_search_can_be_pickled():
    X, _ = data(30)
    search = OneClassSearch(OneClassMaxMinOver(), GRID).fit(X)
    again = pickle.loads(pickle.dumps(search))
    assert_array_equal(again.decision_function(X), search.decision_function(X))
    assert again.estimator_at(3).certify(X).relative_gap <= 1e-4 * 1.001


def test_a_plan_is_shown_with_its_links():
    X, _ = data(30)
    text = str(OneClassSearch(OneClassMaxMinOver(), GRID).fit(X).plan_)
    assert text.startswith("plan 'heuristic': 30 solves in 5 chains")
    assert "keep from sigma=4, C=10000: C=10000 -> " in text
    assert "sigma=0.1" in text


def test_gamma_in_place_of_sigma():
    X, _ = data(30)
    sigma = np.array([0.3, 1.0, 3.0])
    a = OneClassSearch(OneClassMaxMinOver(), {"C": [1, 10], "sigma": sigma}).fit(X)
    b = OneClassSearch(OneClassMaxMinOver(), {"C": [1, 10], "gamma": 0.5 / sigma**2}).fit(X)
    assert_array_equal(a.results_["n_iter"], b.results_["n_iter"])
    assert_allclose(b.results_["param_gamma"], 0.5 / a.results_["param_sigma"] ** 2)
    assert set(b.best_params_) == {"C", "gamma"}


def test_bad_grids_are_refused_in_a_sentence():
    X, validation = data(20)
    with pytest.raises(ValueError, match="needs labelled rows"):
        OneClassSearch(OneClassMaxMinOver(), GRID, scoring="roc_auc").fit(X)
    with pytest.raises(ValueError, match="it must have 'C' and either"):
        OneClassSearch(OneClassMaxMinOver(), {"C": [1.0]}).fit(X)
    with pytest.raises(ValueError, match="list of positive numbers"):
        OneClassSearch(OneClassMaxMinOver(), {"C": [1.0, 0.0], "sigma": [1.0]}).fit(X)
    with pytest.raises(ValueError, match="kernel='rbf'"):
        OneClassSearch(OneClassMaxMinOver(kernel="linear"), GRID).fit(X)
    with pytest.raises(ValueError, match="plan"):
        OneClassSearch(OneClassMaxMinOver(), GRID, plan="spiral").fit(X)
    search = OneClassSearch(OneClassMaxMinOver(), GRID, scoring="roc_auc")
    with pytest.raises(ValueError, match="needs inliers"):
        search.fit(X, validation=(validation[0][:5], np.ones(5)))


@pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API")
@parametrize_with_checks(
    [OneClassSearch(OneClassMaxMinOver(), {"C": [1.0, 10.0], "sigma": [0.5, 2.0]})]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
