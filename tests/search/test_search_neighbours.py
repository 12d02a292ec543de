"""Chains on neighbouring kernels: which edges are chosen, and that the answers stay."""

from __future__ import annotations

import sqlite3

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, SVR, OneClassSVM
from alphapath.model_selection import SVMSearchCV
from alphapath.report.record import record_trees
from alphapath.search.chain import NEIGHBOUR, ROOT
from alphapath.search.kernel_links import MOVE_WORK, WORTH, Neighbour, link_steps, units_of
from alphapath.search.plan import Group, make_plan

GAMMAS = 2.0 ** np.arange(-7, 1)
DEAR = 2.0 * WORTH * MOVE_WORK


def group(gamma: float, **changes) -> Group:
    given = {
        "label": f"rbf gamma={gamma:g}",
        "head": 0,
        "kernel": int(100 * gamma),
        "model": int(100 * gamma),
        "folds": (0, 1, 2, 3),
        "factors": (1.0, 2.0),
        "cells": ((0,), (1,)),
        "is_small": True,
        "is_one_chain": True,
        "family": "rbf",
        "gamma": gamma,
    }
    return Group(**given | changes)


class TestUnits:
    def test_kernels_are_linked_by_gamma(self):
        plan = make_plan([group(gamma) for gamma in (0.3, 0.1, 0.2)])
        assert [chain.label[-3:] for chain in plan.chains] == ["0.1", "0.2", "0.3"]
        assert [chain.after for chain in plan.chains] == ["", *(c.key for c in plan.chains[:2])]
        assert len(units_of(plan.chains)) == 1

    def test_units_are_short(self):
        plan = make_plan([group(gamma) for gamma in 0.1 * np.arange(1, 13)])
        assert [len(unit) for unit in units_of(plan.chains)] == [5, 5, 2]

    @pytest.mark.parametrize(
        "change",
        [{"is_small": False}, {"factors": (1.0, 2.0, 3.0)}, {"family": None}, {"kernel": 7}],
        ids=["many rows", "many C", "no neighbours", "shared kernel"],
    )
    def test_where_it_would_not_pay_they_are_not(self, change):
        if "factors" in change:
            change["cells"] = ((0,), (1,), (2,))
        plan = make_plan([group(gamma, **change) for gamma in (0.1, 0.2)])
        assert not any(chain.after for chain in plan.chains)

    def test_other_families_are_no_neighbours(self):
        plan = make_plan([group(0.1), group(0.2, family="poly"), group(0.3)], "linked_kernels")
        assert [len(unit) for unit in units_of(plan.chains)] == [2, 1]


class TestEdges:
    first, second = make_plan([group(0.1), group(0.2)]).chains

    def test_the_first_chain_links_folds(self):
        neighbour = Neighbour()
        edges = neighbour.choose_edges(self.first)
        assert edges == ["cold", "fold", "fold", "fold"]
        steps = link_steps(self.first, edges)
        assert [s.parent for s in steps if s.factor == 0] == [ROOT, 0, 2, 4]

    def test_cheap_solves_are_not_linked_to_a_kernel(self):
        neighbour = Neighbour()
        neighbour.observe(["cold", "fold", "fold", "fold"], np.array([1e3, 2e3, 2e3, 2e3]))
        assert neighbour.choose_edges(self.second) == ["cold", "fold", "cold", "cold"]

    @pytest.mark.parametrize("cheaper", ["fold", "kernel"])
    def test_what_was_cheaper_is_done_next(self, cheaper):
        neighbour = Neighbour()
        neighbour.observe(["cold", "fold", "fold", "fold"], np.full(4, DEAR))
        assert neighbour.choose_edges(self.second) == ["kernel", "fold", "fold", "fold"]
        work = np.full(4, DEAR)
        work[1 if cheaper == "fold" else 0] /= 2.0
        neighbour.observe(["kernel", "fold", "fold", "fold"], work)
        edges = neighbour.choose_edges(self.second)
        assert edges == ["kernel", "fold", cheaper, cheaper]
        steps = link_steps(self.second, edges)
        assert steps[0].parent == NEIGHBOUR
        assert steps[4].parent == (2 if cheaper == "fold" else NEIGHBOUR)
        assert all(s.parent == k - 1 for k, s in enumerate(steps) if s.factor == 1)


def problems():
    """Searches with few C whose first solves are dear enough for links between kernels."""
    X, y = make_classification(400, 8, n_informative=5, flip_y=0.2, random_state=1)
    yield "SVC", SVMSearchCV(SVC(C=500.0), {"gamma": GAMMAS}, cv=4), X, y
    piped = make_pipeline(StandardScaler(), SVC(C=500.0))
    yield "Pipeline", SVMSearchCV(piped, {"svc__gamma": GAMMAS}, cv=KFold(2)), X, y
    noise = np.random.default_rng(0).normal(size=len(y))
    many = np.digitize(X[:, 0] + noise, [-1.0, 1.0])
    yield (
        "three classes",
        SVMSearchCV(SVC(C=500.0), {"gamma": GAMMAS}, cv=StratifiedKFold(4)),
        X,
        many,
    )
    Z, t = make_regression(300, 5, noise=20.0, random_state=0)
    yield "SVR", SVMSearchCV(SVR(C=2000.0), {"gamma": GAMMAS, "epsilon": [5.0]}, cv=4), Z, t


@pytest.mark.parametrize("case", list(problems()), ids=lambda case: case[0])
def test_same_answers_from_any_edge(case):
    name, search, X, y = case
    search = clone(search).set_params(refit=False, plan="linked_kernels").fit(X, y)
    assert any(step.parent == NEIGHBOUR for chain in search.plan_.chains for step in chain.steps)
    assert (search.cv_results_["status"] == "solved").all()
    cold = clone(search).set_params(plan="independent").fit(X, y)
    scores, expected = (s.cv_results_["mean_test_score"] for s in (search, cold))
    np.testing.assert_allclose(scores, expected, atol=2e-3 if name == "SVR" else 1.01 / len(y))


def test_same_answers_of_one_class():
    X, _ = make_classification(300, 6, random_state=0)

    def mean_score(estimator, X, y=None):
        return float(np.mean(estimator.decision_function(X)))

    search = SVMSearchCV(
        OneClassSVM(nu=0.3, tol=1e-6),
        {"gamma": GAMMAS},
        cv=KFold(4),
        scoring=mean_score,
        refit=False,
    )
    linked, cold = (
        clone(search).set_params(plan=plan).fit(X).cv_results_["mean_test_score"]
        for plan in ("linked_kernels", "independent")
    )
    np.testing.assert_allclose(linked, cold, atol=1e-4)


def same_bits(a, b):
    for key, value in a.cv_results_.items():
        if not key.endswith("_time"):
            np.testing.assert_array_equal(np.asarray(value), np.asarray(b.cv_results_[key]))
    assert str(a.plan_) == str(b.plan_)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_any_number_of_workers(backend):
    for _, search, X, y in list(problems())[:2]:
        serial = clone(search).set_params(refit=False).fit(X, y)
        with joblib.parallel_config(backend=backend, n_jobs=2):
            same_bits(clone(search).set_params(refit=False).fit(X, y), serial)


def test_a_unit_that_was_cut_is_done_again(tmp_path):
    _, search, X, y = next(problems())
    search.set_params(refit=False)
    whole = clone(search).fit(X, y)
    clone(search).set_params(journal=tmp_path / "search.db").fit(X, y)
    with sqlite3.connect(tmp_path / "search.db") as connection:
        assert connection.execute("SELECT count(*) FROM chain").fetchone()[0] == len(GAMMAS)
        connection.execute("DELETE FROM chain WHERE rowid = 3")
    connection.close()
    same_bits(clone(search).set_params(journal=tmp_path / "search.db").fit(X, y), whole)


def test_the_plan_shows_what_was_chosen():
    _, search, X, y = next(problems())
    search = clone(search).fit(X, y)
    assert "greedy from rbf gamma=0.0078125: C=500 (" in str(search.plan_)
    for parent, node, _ in search.plan_.edges():
        assert parent is None or parent.fold == node.fold or parent.model == node.model
    trees = record_trees(search.plan_)
    assert any("rbf gamma" in step.get("from", "") for tree in trees for step in tree["steps"])
    peer = GridSearchCV(SVC(C=500.0), {"gamma": GAMMAS}, cv=4).fit(X, y)
    assert abs(peer.best_score_ - search.best_score_) <= 1.0 / len(y)
