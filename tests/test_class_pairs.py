"""Classifiers of many classes: each pair on its own rows, all small pairs in one native call."""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import _ovr_decision_function

from alphapath import SVC, Status
from alphapath.errors import KernelError
from alphapath.estimators import devices, one_vs_one, parts, training
from alphapath.kernels import KernelStore, Linear, Poly, Rbf
from alphapath.model_selection import SVMSearchCV, cross_validate, leave_one_out, search_solve
from alphapath.model_selection.pair_folds import PairRun
from alphapath.solvers import class_pairs
from alphapath.solvers.class_pairs import ClassPairs, solve_class_pairs
from alphapath.solvers.native import Limits
from alphapath.solvers.sequence import solve_sequence
from alphapath.solvers.steps import Steps


def clouds(n_classes, n_each, seed=0, spread=1.2, d=5):
    """Classes that overlap, in no order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_classes), n_each))
    centres = spread * rng.normal(size=(n_classes, d))
    return centres[y] + rng.normal(size=(y.size, d)), y


@pytest.fixture
def one_by_one(monkeypatch):
    """Pairs are solved one by one inside the context that this gives."""

    def switch():
        monkeypatch.setattr(parts, "MOST_INSTANCES", 0)

    return switch


def random_pairs(rng, n, n_classes):
    """Codes, pairs and weights with held-out rows, every class in every row of weights."""
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    codes = rng.permutation(codes).astype(float)
    members = one_vs_one.pair_members(codes, n_classes)
    first = np.concatenate([[0], np.cumsum([own.size for own in members])])
    positive = [pair[0] for pair in one_vs_one.class_pairs(n_classes)]
    signs = np.concatenate(
        [np.where(codes[own] == p, 1.0, -1.0) for own, p in zip(members, positive, strict=True)]
    )
    return codes, ClassPairs(np.concatenate(members), signs, first)


# -- a part of a kernel matrix


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [Linear(), Rbf(0.3), Poly(0.2, 3, 1.0)], ids=str)
@pytest.mark.parametrize("memory_limit", [None, 20_000])
@pytest.mark.parametrize("order", ["ascending", "two runs", "any"])
def test_a_part_has_the_values_of_the_whole(kernel, precision, memory_limit, order):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    view = KernelStore(X, memory_limit=memory_limit).view(kernel, precision=precision)
    assert view.gram.is_full == (memory_limit is None)
    members = np.flatnonzero(rng.random(150) < 0.3)
    if order == "two runs":
        members = np.concatenate([members[1::2], members[::2]])
    elif order == "any":
        members = rng.permutation(members)
    part = view.part(members)
    rows, columns = np.array([3, 0, 3, members.size - 1]), np.array([1, 2, 1])
    assert part.n == members.size
    everything = view.rows(np.arange(150))
    assert np.array_equal(part.rows(rows), everything[members[rows]][:, members])
    assert np.array_equal(
        part.block(rows, columns), everything[np.ix_(members[rows], members[columns])]
    )
    assert np.array_equal(part.diagonal(), view.diagonal()[members])
    coef = rng.normal(size=4)
    assert np.allclose(part.multiply(rows, coef), coef @ everything[members[rows]][:, members])
    assert np.allclose(part.exact_rows(rows), kernel.evaluate(X[members[rows]], X[members]))
    assert part.rounding == view.rounding
    if memory_limit is None:
        assert part.in_double().gram.precision == "float64"
        assert np.allclose(part.in_double().rows(rows), part.exact_rows(rows), rtol=1e-13)


@pytest.mark.parametrize("members", [[], [7], [-1]])
def test_a_part_refuses_what_is_no_part(members):
    view = KernelStore(np.eye(5)).view(Linear())
    with pytest.raises((ValueError, IndexError)):
        view.part(np.array(members, dtype=np.intp))


def test_a_store_says_whether_it_holds_a_part():
    store = KernelStore(np.zeros((1000, 2)), memory_limit=1008 * 8000 + 112 * 800)
    assert store.holds_part(100, 1e-3)
    assert not store.holds_part(130, 1e-3)
    with pytest.raises(KernelError):
        KernelStore(np.zeros((1000, 2)), memory_limit=-1)


# -- all pairs together


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(3, 7),
    C=st.sampled_from([1e-3, 1.0, 100.0, 1e5]),
    degenerate=st.sampled_from(["", "equal rows", "constant", "integers"]),
)
def test_pairs_together_are_the_pairs_alone(seed, n_classes, C, degenerate):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 * n_classes, 60))
    X = rng.normal(size=(n, 3))
    if degenerate == "equal rows":
        X = X[rng.integers(0, 5, n)]
    elif degenerate == "constant":
        X[:] = 1.0
    elif degenerate == "integers":
        X = rng.integers(0, 3, X.shape).astype(float)
    codes, pairs = random_pairs(rng, n, n_classes)
    weights = rng.uniform(0.5, 2.0, (3, n)) * (rng.random((3, n)) < 0.8)
    weights[:, [np.argmax(codes == c) for c in range(n_classes)]] = 1.0  # none is empty
    view = KernelStore(X).view(Rbf(0.5))
    steps = Steps(
        np.array([0, 0, 1, 2]),
        np.array([C, 4 * C, C, C]),
        np.array([-1, 0, 0, -1]),
        ["cold", "climb", "greedy", "cold"],
    )
    limits = Limits(1e-6)
    solved = solve_class_pairs(view, pairs, weights, steps, limits=limits)
    threads = solve_class_pairs(view, pairs, weights, steps, limits=limits, n_threads=3)
    assert solved.is_complete
    assert not solved.is_interrupted
    assert np.array_equal(solved.beta, threads.beta)
    assert np.array_equal(solved.rows, threads.rows)
    model = SVC()
    model.classes_ = np.arange(n_classes)
    whole = parts.Parts(model, codes, np.ones(n), one_vs_one.pair_members(codes, n_classes))
    for p in range(len(whole)):
        own = whole.members_of(p)
        alone = solve_sequence(whole.problem(p, view), weights[:, own], steps, limits=limits)
        for k in range(4):
            rows, beta = solved.support_in(p, k)
            expected = np.zeros(n)
            expected[own] = alone.beta[k]
            found = np.zeros(n)
            found[rows] = beta
            assert np.array_equal(found, expected)
            assert solved.columns["bias"][p, k] == alone.bias[k]
            assert solved.infos(k)[p].n_iter == alone.n_iter[k]
        assert np.array_equal(solved.columns["kkt_violation"][p], alone.kkt_violation)


def test_kernels_in_float32_are_left_where_betas_are_large():
    X, y = clouds(5, 440, seed=2, spread=0.5)
    model = SVC(C=1e4, gamma=0.05).fit(X, y)
    assert SVC().to_problem(X, y)[0].kernel.gram.precision == "float32"
    assert max(found.kkt_violation for found in model.certify(X, y)) <= 1.5e-3
    assert model.fit_status_ is Status.SOLVED


def test_without_room_for_float64_pairs_are_told_to_have_stalled():
    X, y = clouds(5, 440, seed=2, spread=0.5)
    store = KernelStore(X, memory_limit=36_000_000)
    view = store.view(Rbf(0.05))
    assert view.gram.precision == "float32"
    assert view.in_double() is None
    members = one_vs_one.pair_members(y.astype(float), 5)
    model = SVC()
    model.classes_ = np.arange(5)
    own = parts.Parts(model, y.astype(float), np.full(y.size, 1e4), members)
    once = Steps(np.zeros(1, dtype=int), np.ones(1), np.array([-1]), ["cold"])
    solved = solve_class_pairs(view, own.pairs, own.weights[None], once, limits=Limits())
    assert Status.STALLED in {info.status for info in solved.infos(0)}


def test_instances_of_many_classes_are_read_in_the_order_of_classes():
    X, y = clouds(12, 100)  # so many that the native code orders the kernel first
    model = SVC(C=10.0, gamma=0.2, tol=1e-6).fit(X, y)
    assert max(found.kkt_violation for found in model.certify(X, y)) <= 2e-6
    short = SVC(C=10.0, gamma=0.2, tol=1e-6, memory_limit=20_000_000).fit(X, y)  # no room for it
    assert np.array_equal(model.dual_coef_, short.dual_coef_)


def test_small_pairs_do_not_reach_the_solver_of_one(monkeypatch):
    X, y = clouds(4, 20)

    def fail(*args, **options):
        raise AssertionError("a pair was solved alone")

    monkeypatch.setattr(training.smo, "solve", fail)
    assert SVC().fit(X, y).fit_status_ is Status.SOLVED


# -- the estimator


@pytest.mark.parametrize(("n_classes", "n_each"), [(3, 40), (6, 25), (30, 8)])
def test_a_fit_has_scikit_learns_answers(n_classes, n_each, one_by_one):
    X, y = clouds(n_classes, n_each)
    settings = {"C": 5.0, "gamma": 0.2, "decision_function_shape": "ovo", "tol": 1e-6}
    model = SVC(**settings).fit(X, y)
    peer = sklearn.svm.SVC(**settings).fit(X, y)
    assert np.allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)
    assert np.array_equal(model.predict(X), peer.predict(X))
    assert max(found.kkt_violation for found in model.certify(X, y)) <= 2e-6
    one_by_one()
    alone = SVC(**settings).fit(X, y)
    assert np.array_equal(model.support_, alone.support_)
    assert np.allclose(model.dual_coef_, alone.dual_coef_, rtol=1e-12)
    assert np.allclose(model.intercept_, alone.intercept_, atol=1e-12)
    assert model.n_iter_.tolist() == alone.n_iter_.tolist()


def test_equal_rows_and_weights_are_spread_over_the_rows():
    X, y = clouds(4, 15)
    X, y = np.concatenate([X, X[:20], X[:5]]), np.concatenate([y, y[:20], y[:5]])
    weights = np.ones(y.size)
    weights[3] = 0.0
    model = SVC(C=10.0, gamma=0.3, tol=1e-6).fit(X, y, sample_weight=weights)
    assert all(found.is_optimal(1e-5) for found in model.certify(X, y, sample_weight=weights))
    assert 3 not in model.support_


def test_scores_of_classes_are_scikit_learns_to_the_bit():
    rng = np.random.default_rng(0)
    for n_classes in (3, 4, 11):
        values = rng.normal(size=(200, n_classes * (n_classes - 1) // 2))
        values[rng.random(values.shape) < 0.05] = 0.0
        expected = _ovr_decision_function(values < 0.0, -values, n_classes)
        assert np.array_equal(one_vs_one.score_classes(values, n_classes), expected)


def test_a_time_limit_keeps_the_pairs_that_were_solved(monkeypatch):
    X, y = clouds(6, 30)
    solve = training.solve_class_pairs

    def cut(view, pairs, weights, steps, **options):
        solved = solve(view, pairs, weights, steps, **options)
        columns = {name: values.copy() for name, values in solved.columns.items()}
        for values in columns.values():
            values[-5:] = np.nan
        n_solved = np.repeat([1, 0], [10, 5])
        indptr = np.minimum(solved.indptr, solved.indptr[10])
        rows, beta = solved.rows[: indptr[-1]], solved.beta[: indptr[-1]]
        return class_pairs.PairsSolution(columns, n_solved, indptr, rows, beta, False)

    whole = SVC(gamma=0.2).fit(X, y)
    monkeypatch.setattr(training, "solve_class_pairs", cut)
    with pytest.warns(UserWarning, match="time_limit"):
        model = SVC(gamma=0.2, time_limit=100.0).fit(X, y)
    assert [info.status for info in model.solve_info_[10:]] == [Status.TIME_LIMIT] * 5
    assert np.array_equal(model.intercept_[:10], whole.intercept_[:10])
    assert np.isfinite(model.decision_function(X)).all()


def test_a_time_limit_ends_all_pairs():
    X, y = clouds(40, 12, spread=0.3)
    begin = time.perf_counter()
    with pytest.warns(UserWarning, match="time_limit"):
        model = SVC(C=1e6, gamma=0.01, tol=1e-9, time_limit=1e-3).fit(X, y)
    assert time.perf_counter() - begin < 20.0
    assert model.fit_status_ is Status.TIME_LIMIT
    assert model.predict(X).shape == y.shape


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

    monkeypatch.setattr(devices, "KernelStore", CountedStore)
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
    own = parts.Parts(model, y.astype(float), np.full(y.size, 200.0), members)
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
