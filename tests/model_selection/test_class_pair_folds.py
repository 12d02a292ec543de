"""Folds, leave-one-out and searches of many classes: pairs together, one by one and by peers."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import sklearn.svm
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, Status
from alphapath.estimators.common import one_vs_one, problems
from alphapath.estimators.common.problems import Parts
from alphapath.kernels import KernelStore, Rbf
from alphapath.model_selection import SVMSearchCV, cross_validate, leave_one_out
from alphapath.model_selection.folds.run import PairRun
from alphapath.model_selection.grid import chain as search_solve
from alphapath.problem.limits import Limits
from alphapath.problem.steps import Steps
from alphapath.solvers.sequence import class_pairs
from alphapath.solvers.sequence.class_pairs import solve_class_pairs
from class_clouds import clouds

# -- folds


@pytest.mark.parametrize("seeding", ["auto", "none", "greedy", "sir"])
@pytest.mark.parametrize("k", [3, 10])
def test_folds_of_pairs_are_those_of_one_pair_after_the_other(seeding, k, one_by_one):
    X, y = clouds(5, 30)
    model = SVC(C=5.0, gamma=0.2, tol=1e-8, decision_function_shape="ovo")
    options = {"cv": k, "seeding": seeding, "return_train_score": True, "return_estimator": True}
    found = cross_validate(model, X, y, **options)
    one_by_one()
    alone = cross_validate(model, X, y, **options)
    assert np.allclose(found["decision_function"], alone["decision_function"], atol=1e-6)
    for name in ("test_score", "train_score", "status"):
        assert np.array_equal(found[name], alone[name])
    assert np.allclose(
        found["certificate"]["objective"], alone["certificate"]["objective"], rtol=1e-9
    )
    for own, other in zip(found["estimator"], alone["estimator"], strict=True):
        assert np.allclose(own.decision_function(X), other.decision_function(X), atol=1e-6)
    peer = sklearn.svm.SVC(C=5.0, gamma=0.2, tol=1e-8, decision_function_shape="ovo")
    expected = cross_val_predict(peer, X, y, cv=k, method="decision_function")
    assert np.allclose(found["decision_function"], expected, atol=1e-5)


def test_which_folds_are_solved_together():
    X, y = clouds(4, 12)
    splits = list(StratifiedKFold(3).split(X, y))
    folds = cross_validate.__globals__["FoldModels"]
    assert PairRun.is_for(folds(SVC(gamma=0.2), X, y, None, splits), "auto")
    assert not PairRun.is_for(folds(SVC(gamma=0.2), X, y, None, splits), "sir")
    assert PairRun.is_for(folds(SVC(gamma="scale"), X, y, None, splits), "auto")
    assert not PairRun.is_for(folds(SVC(gamma="scale"), X, y, None, splits), "greedy")
    lacks = [(train[y[train] != 2], test) for train, test in splits]
    assert not PairRun.is_for(folds(SVC(gamma=0.2), X, y, None, lacks), "auto")
    repeats = [(np.concatenate([train, train[:3]]), test) for train, test in splits]
    assert not PairRun.is_for(folds(SVC(gamma=0.2), X, y, None, repeats), "auto")


@pytest.mark.parametrize("kind", ["lacks a class", "two classes", "repeats"])
@pytest.mark.parametrize("gamma", [0.2, "scale"])
def test_folds_unlike_the_others_are_those_of_fits(kind, gamma):
    X, y = clouds(4, 15)
    splits = []
    for train, test in StratifiedKFold(3).split(X, y):
        if kind == "lacks a class":
            train = train[y[train] != 1]
        elif kind == "two classes":
            train = train[y[train] > 1]
        else:
            train = np.concatenate([train, train[:10]])
        splits.append((train, test))
    model = SVC(C=3.0, gamma=gamma, tol=1e-7)
    found = cross_validate(model, X, y, cv=splits, return_estimator=True)
    for h, (train, test) in enumerate(splits):
        fresh = SVC(C=3.0, gamma=gamma, tol=1e-7).fit(X[train], y[train])
        expected = fresh.decision_function(X[test])
        assert np.allclose(found["estimator"][h].decision_function(X[test]), expected, atol=1e-5)
        assert found["test_score"][h] == fresh.score(X[test], y[test])


def test_the_number_of_workers_changes_no_bit():
    X, y = clouds(6, 20)
    alone = cross_validate(SVC(C=5.0, gamma=0.2), X, y, cv=4)
    together = cross_validate(SVC(C=5.0, gamma=0.2), X, y, cv=4, n_jobs=2)
    assert np.array_equal(alone["decision_function"], together["decision_function"])


def test_an_interrupt_of_pairs_is_passed_on(monkeypatch):
    X, y = clouds(4, 20)
    solve = class_pairs.run

    def cut(*args):
        solved = solve(*args)
        n_solved = solved.n_solved.copy()
        n_solved[-1] = 2
        return class_pairs.PairsSolution(
            solved.columns, n_solved, solved.indptr, solved.rows, solved.beta, True
        )

    monkeypatch.setattr(class_pairs, "run", cut)
    with pytest.raises(KeyboardInterrupt) as caught:
        cross_validate(SVC(gamma=0.2), X, y, cv=4, seeding="none")
    scores = caught.value.partial["test_score"]
    assert np.isfinite(scores[:2]).all()
    assert np.isnan(scores[2:]).all()


def test_leave_one_out_of_pairs_is_that_of_refits():
    X, y = clouds(4, 10)
    model = SVC(C=2.0, gamma=0.2, tol=1e-8, decision_function_shape="ovo")
    found = leave_one_out(model, X, y).decision_function_
    for i in range(y.size):
        rest = np.arange(y.size) != i
        expected = model.fit(X[rest], y[rest]).decision_function(X[i : i + 1])
        assert np.allclose(found[i], expected[0], atol=1e-5)


# -- searches


GRID = {"C": [0.1, 1.0, 30.0], "gamma": [0.05, 0.5]}


def test_a_search_has_scikit_learns_table(one_by_one):
    X, y = clouds(7, 15)
    options = {"cv": 3, "return_train_score": True}
    found = SVMSearchCV(SVC(), GRID, **options).fit(X, y)
    peer = GridSearchCV(sklearn.svm.SVC(), GRID, **options).fit(X, y)
    for name in ("mean_test_score", "mean_train_score", "split1_test_score"):
        assert np.allclose(found.cv_results_[name], peer.cv_results_[name], atol=1.01 / 35)
    assert found.best_params_ == peer.best_params_
    one_by_one()
    alone = SVMSearchCV(SVC(), GRID, **options).fit(X, y)
    for name in ("mean_test_score", "mean_train_score", "mean_n_iter"):
        if name in alone.cv_results_:
            assert np.allclose(found.cv_results_[name], alone.cv_results_[name])


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "roc_auc_ovr", "f1_macro"])
def test_scores_of_a_search_by_both_ways(scoring, one_by_one):
    X, y = clouds(5, 16)
    if scoring == "roc_auc_ovr":
        scoring = {"right": "accuracy", "f1": "f1_weighted"}
    options = {"cv": 4, "scoring": scoring, "refit": False}
    found = SVMSearchCV(SVC(), GRID, **options).fit(X, y).cv_results_
    one_by_one()
    alone = SVMSearchCV(SVC(), GRID, **options).fit(X, y).cv_results_
    names = [name for name in found if name.startswith("mean_test")]
    assert names
    for name in names:
        assert np.allclose(found[name], alone[name])


@pytest.mark.parametrize("most", [1, 300])
def test_decision_values_come_in_portions(most, monkeypatch, one_by_one):
    X, y = clouds(4, 15)
    options = {"cv": 3, "return_train_score": True, "refit": False}
    expected = SVMSearchCV(SVC(), GRID, **options).fit(X, y).cv_results_
    monkeypatch.setattr(search_solve, "MOST_VALUES", most)
    for _ in range(2):
        found = SVMSearchCV(SVC(), GRID, **options).fit(X, y).cv_results_
        for name in ("mean_test_score", "mean_train_score"):
            assert np.array_equal(found[name], expected[name])
        one_by_one()


@pytest.mark.parametrize("most", [1, 1 << 24])
def test_a_scorer_of_its_own_gets_fitted_estimators(most, monkeypatch):
    monkeypatch.setattr(search_solve, "MOST_VALUES", most)
    X, y = clouds(4, 15)

    def count_support(estimator, X, y):
        return float(estimator.n_support_.sum())

    options = {"cv": 3, "scoring": count_support, "refit": False}
    found = SVMSearchCV(SVC(), GRID, **options).fit(X, y).cv_results_["mean_test_score"]
    peer = GridSearchCV(sklearn.svm.SVC(), GRID, **options).fit(X, y)
    assert np.allclose(found, peer.cv_results_["mean_test_score"], atol=1.0)


def test_one_value_of_C_along_kernels():
    X, y = clouds(6, 15)
    grid = {"gamma": [0.01, 0.05, 0.2, 1.0]}
    found = SVMSearchCV(SVC(C=3.0), grid, cv=4).fit(X, y)
    peer = GridSearchCV(sklearn.svm.SVC(C=3.0), grid, cv=4).fit(X, y)
    scores = found.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"]
    assert np.allclose(*scores, atol=1.01 / 22)


def test_a_search_without_room_for_parts_has_the_same_scores(monkeypatch):
    X, y = clouds(4, 30)
    found = SVMSearchCV(SVC(), GRID, cv=3).fit(X, y).cv_results_["mean_test_score"]
    monkeypatch.setattr(KernelStore, "holds_part", lambda self, size, tol: False)
    whole = SVMSearchCV(SVC(), GRID, cv=3).fit(X, y).cv_results_["mean_test_score"]
    assert np.allclose(found, whole)
    folds = cross_validate(SVC(gamma=0.2), X, y, cv=3)["test_score"]
    monkeypatch.undo()
    assert np.allclose(folds, cross_validate(SVC(gamma=0.2), X, y, cv=3)["test_score"])


# -- folds that are refused, kernels of their own, rounding


@pytest.mark.parametrize("gamma", [0.5, "scale"])
@pytest.mark.parametrize("seeding", ["auto", "sir"])
def test_a_refused_fold_has_the_error_score(gamma, seeding):
    X, y = clouds(3, 10)
    cv = [(np.arange(20), np.arange(20, 30)), (np.flatnonzero(y == 0), np.arange(5))]
    with pytest.warns(FitFailedWarning, match="one class only"):
        found = cross_validate(SVC(gamma=gamma), X, y, cv=cv, seeding=seeding)
    assert np.isfinite(found["test_score"][0])
    assert np.isnan(found["test_score"][1])
    with pytest.raises(ValueError, match="All the 2 fits failed: y has one class only"):
        cross_validate(SVC(gamma=gamma), X, y, cv=[cv[1], cv[1]], seeding=seeding)


def test_kernels_of_folds_are_made_once(monkeypatch):
    X, y = clouds(5, 12)
    stores = []

    class CountedStore(KernelStore):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            stores.append(self)

    monkeypatch.setattr(problems, "KernelStore", CountedStore)
    for seeding in ("auto", "none", "sir"):
        stores.clear()
        cross_validate(SVC(), X, y, cv=4, seeding=seeding)
        assert stores[0].counts.views == 4


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("share", [0.3, 1.0, 1.3])
@pytest.mark.parametrize("seeding", ["auto", "none", "sir", "top"])
def test_kernels_of_folds_keep_to_the_memory_limit(n_classes, share, seeding):
    """Each fold has a kernel of its own (gamma="scale"), and there is no room for two."""
    X, y = clouds(n_classes, 300 // n_classes)
    model = SVC(C=5.0, memory_limit=int(share * 300 * 304 * 8))
    found = cross_validate(model, X, y, cv=4, seeding=seeding)
    plain = cross_validate(SVC(C=5.0), X, y, cv=4, seeding=seeding)
    assert np.array_equal(found["test_score"], plain["test_score"])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds_of_a_pipeline_by_both_ways(n_jobs, one_by_one):
    X, y = clouds(5, 20)
    pipeline = make_pipeline(StandardScaler(), SVC(C=5.0, tol=1e-8))
    found = cross_validate(pipeline, X, y, cv=4, n_jobs=n_jobs, return_estimator=True)
    one_by_one()
    alone = cross_validate(pipeline, X, y, cv=4, return_estimator=True)
    assert np.array_equal(found["test_score"], alone["test_score"])
    assert np.allclose(found["decision_function"], alone["decision_function"], atol=1e-6)
    for own, other in zip(found["estimator"], alone["estimator"], strict=True):
        assert np.allclose(own.decision_function(X), other.decision_function(X), atol=1e-6)


def test_values_of_other_rows_are_in_double_where_betas_are_large():
    rng = np.random.default_rng(1)
    n = 2100
    X = rng.standard_normal((n, 2))
    y = np.full(n, 3)
    y[:40], y[40:80], y[80:120] = 0, 1, 2
    X[120:] += 40.0
    model = SVC(C=1e7, gamma=0.05, decision_function_shape="ovo")
    expected = model.fit(X, y).decision_function(X)
    assert max(found.kkt_violation for found in model.certify(X, y)) <= 1.5e-3
    found = leave_one_out(model, X, y).decision_function_
    others = slice(80, 120)  # of class 2, for the pair of classes 0 and 1
    assert np.abs(found[others, 0] - expected[others, 0]).max() <= 5e-3


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_pass_in_double_that_was_cut_leaves_what_there_was(monkeypatch, is_interrupted):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 8, 2100)
    X = rng.standard_normal((2100, 4)) + 0.3 * rng.standard_normal((8, 4))[y]
    solve, calls = class_pairs.run, []

    def cut(view, pairs, weights, steps, limits, seconds, n_threads):
        calls.append(view.gram.precision)
        late = 1e-9 if len(calls) == 2 else seconds
        solved = solve(view, pairs, weights, steps, limits, late, n_threads)
        return replace(solved, is_interrupted=is_interrupted and len(calls) == 2)

    monkeypatch.setattr(class_pairs, "run", cut)
    model = SVC(C=300.0, gamma=0.3, tol=1e-4)
    if is_interrupted:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    else:
        with pytest.warns(UserWarning, match="time_limit"):
            model.fit(X, y)
    assert calls == ["float32", "float64"]
    assert model.score(X, y) > 0.5
    wanted = Status.INTERRUPTED if is_interrupted else Status.TIME_LIMIT
    assert model.fit_status_ is wanted


def test_an_interrupt_of_the_first_pass_is_the_end(monkeypatch):
    X, y = clouds(5, 440, seed=2, spread=0.5)
    solve, calls = class_pairs.run, []

    def cut(*args):
        calls.append(args[0].gram.precision)
        return replace(solve(*args), is_interrupted=True)

    monkeypatch.setattr(class_pairs, "run", cut)
    once = Steps(np.zeros(1, dtype=int), np.ones(1), np.array([-1]), ["cold"])
    view = KernelStore(X).view(Rbf(0.05))
    members = one_vs_one.pair_members(y.astype(float), 5)
    model = SVC()
    model.classes_ = np.arange(5)
    own = Parts(model, y.astype(float), np.full(y.size, 200.0), members)
    found = solve_class_pairs(view, own.pairs, own.weights[None], once, limits=Limits(1e-4))
    assert calls == ["float32"]
    assert found.is_interrupted


def test_a_model_with_classes_that_no_row_has_can_not_be_certified():
    X, y = clouds(3, 10)
    model = SVC(gamma=0.2).partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="y has 3 classes and the model 4"):
        model.certify(X, y)


def test_an_interrupt_between_refits_keeps_the_values_so_far(monkeypatch):
    X, y = clouds(3, 10)
    module = sys.modules["alphapath.model_selection.leave_one_out"]
    refit, calls = module.refit_without, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return refit(*args)

    monkeypatch.setattr(module, "refit_without", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        leave_one_out(SVC(gamma=0.2, decision_function_shape="ovo"), X, y)
    values = caught.value.partial.decision_function_
    assert np.isfinite(values[:, :2]).all()
    assert np.isnan(values[:, 2]).all()
