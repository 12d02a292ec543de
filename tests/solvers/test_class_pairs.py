"""Classifiers of many classes: each pair on its own rows, all small pairs in one native call."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.multiclass import _ovr_decision_function

from alphapath import SVC, Status
from alphapath.errors import KernelError
from alphapath.estimators.common import one_vs_one, problems
from alphapath.estimators.common.problems import Parts
from alphapath.kernels import KernelStore, Linear, Poly, Rbf
from alphapath.problem.limits import Limits
from alphapath.problem.steps import Steps
from alphapath.solvers import smo
from alphapath.solvers.sequence import class_pairs
from alphapath.solvers.sequence.class_pairs import ClassPairs, solve_class_pairs
from alphapath.solvers.sequence.sequence import solve_sequence
from class_clouds import clouds


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
    whole = Parts(model, codes, np.ones(n), one_vs_one.pair_members(codes, n_classes))
    for p in range(whole.n_problems):
        own = whole.places[p]
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
    own = Parts(model, y.astype(float), np.full(y.size, 1e4), members)
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

    monkeypatch.setattr(smo, "solve", fail)
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
    solve = solve_class_pairs

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
    monkeypatch.setattr(problems, "solve_class_pairs", cut)
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
