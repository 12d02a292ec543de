"""Exact updates: after any sequence of adds and removes the model is that of a fresh fit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import svm
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from alphapath import SVC, SVR, Status, certify
from alphapath.errors import KernelError
from alphapath.kernels import KernelStore, Linear, Poly, Rbf, Sigmoid
from alphapath.kernels.growing import GrowingView
from alphapath.paths import Change, polish
from alphapath.paths.incremental import Terms, Updater
from alphapath.problem import Problem
from alphapath.solvers import smo
from datasets import CLASSIFICATION

Array = Any


def check_equals_fresh(model: Any, X: Array, y: Array, sample_weight: Array = None) -> None:
    """Objective within 1e-10, decision values within 1e-7, KKT violation at most 1e-8."""
    fresh = type(model)(**model.get_params()).set_params(tol=1e-9).fit(X, y, sample_weight)
    # The fresh fit ends at a tolerance: its own gap says how far it may be from the optimum.
    gap = 1e-11 + np.max(fresh.duality_gap_)
    np.testing.assert_allclose(model.objective_, fresh.objective_, rtol=1e-10, atol=gap)
    found = model.certify(X, y, sample_weight)
    certificates = found if isinstance(found, list) else [found]
    for certificate in certificates:
        assert certificate.is_optimal(1e-8)
    # Also without a free instance: the bias is then the middle of an interval, for both.
    np.testing.assert_allclose(model._decision_values(X), fresh._decision_values(X), atol=1e-7)


class Replay:
    """A model and the plain list of rows it should be the model of."""

    def __init__(self, model: Any, X: Array, y: Array) -> None:
        self.model = model.partial_fit(X, y)
        self.X, self.y = X, y

    def add(self, X: Array, y: Array) -> None:
        self.model.partial_fit(X, y)
        self.X, self.y = np.concatenate([self.X, X]), np.concatenate([self.y, y])

    def update(self, X: Array, y: Array, forget: Array) -> None:
        self.model.update(X, y, forget=forget)
        kept = np.delete(np.arange(len(self.y)), forget)
        self.X = np.concatenate([self.X[kept], X])
        self.y = np.concatenate([self.y[kept], y])

    def forget(self, positions: Array) -> None:
        self.model.forget(positions)
        kept = np.delete(np.arange(len(self.y)), positions)
        self.X, self.y = self.X[kept], self.y[kept]

    def check(self) -> None:
        check_equals_fresh(self.model, self.X, self.y)


def random_rows(rng: Any, n: int, kind: str, n_features: int) -> tuple[Array, Array]:
    """Rows of which many are equal where kind is "grid"; both classes."""
    if kind == "grid":
        X = rng.integers(0, 3, (n, n_features)).astype(np.float64)
    else:
        X = rng.normal(size=(n, n_features))
    y = X[:, 0] + 0.5 * X[:, -1] ** 2 + 0.7 * rng.normal(size=n)
    return X, y


def run_sequence(seed: int, kind: str, is_svr: bool, kernel: str, C: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = random_rows(rng, 60, kind, int(rng.integers(1, 4)))
    if not is_svr:
        y = np.where(y > np.median(y), 1, 0)
        y[:2] = (0, 1)
    model = (SVR if is_svr else SVC)(C=C, kernel=kernel, gamma=0.7, coef0=1.0, degree=2)
    n = int(rng.integers(2, 25))
    replay = Replay(model, X[:n], y[:n])
    at = n
    for _ in range(4):
        n_now = len(replay.y)
        n_add = int(rng.integers(0, min(8, 60 - at) + 1))
        n_out = int(rng.integers(0, max(1, n_now // 2)))
        out = rng.permutation(n_now)[:n_out]
        kept = np.delete(replay.y, out)
        if not is_svr and len(np.unique(np.concatenate([kept, y[at : at + n_add]]))) < 2:
            continue
        if n_add == 0:
            replay.forget(out)
        else:
            replay.update(X[at : at + n_add], y[at : at + n_add], out)
        at += n_add
        replay.check()


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["normal", "grid"]),
    is_svr=st.booleans(),
    kernel=st.sampled_from(["rbf", "linear", "poly"]),
    C=st.sampled_from([0.1, 1.0, 30.0, 1000.0]),
)
@example(seed=17620, kind="grid", is_svr=True, kernel="poly", C=1000.0)  # few digits
@example(seed=19799, kind="normal", is_svr=False, kernel="linear", C=1.0)  # all are bounded
@example(seed=361411, kind="grid", is_svr=False, kernel="linear", C=1000.0)  # one feature
def test_random_sequences_equal_fresh_fits(
    seed: int, kind: str, is_svr: bool, kernel: str, C: float
) -> None:
    run_sequence(seed, kind, is_svr, kernel, C)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["normal", "grid"]),
    is_svr=st.booleans(),
    kernel=st.sampled_from(["rbf", "linear", "poly"]),
    C=st.sampled_from([0.01, 0.1, 1.0, 30.0, 1000.0]),
)
def test_many_random_sequences(seed: int, kind: str, is_svr: bool, kernel: str, C: float) -> None:
    run_sequence(seed, kind, is_svr, kernel, C)


@pytest.mark.parametrize("kind", ["normal", "grid"])
@pytest.mark.parametrize(("is_svr", "C"), [(False, 1.0), (False, 1000.0), (True, 10.0)])
def test_walks_on_near_instances_equal_fresh_fits(kind: str, is_svr: bool, C: float) -> None:
    rng = np.random.default_rng(8)
    X, y = random_rows(rng, 900, kind, 6)
    if not is_svr:
        y = np.where(y > np.median(y), 1, 0)
    model = (SVR if is_svr else SVC)(C=C, gamma=0.3)
    replay = Replay(model, X[:700], y[:700])
    for at in range(700, 900, 50):
        replay.update(X[at : at + 50], y[at : at + 50], rng.permutation(700)[:50])
        replay.check()
    assert model._online is not None
    counts = model._online._updaters[0].walker.native.counts
    assert counts.n_parts > 4
    assert counts.n_dropped < counts.n_parts  # ties make many leave unseen
    assert sum(info.n_fallbacks for info in model.solve_info_) == 0


@pytest.mark.parametrize("name", ["duplicates", "ties", "constant_features", "lonely_class"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_degenerate_data(name: str, kernel: str) -> None:
    X, y = CLASSIFICATION[name]()
    X, y = X[:120], y[:120]
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    first = np.unique(y, return_index=True)[1]
    rest = np.delete(np.arange(len(y)), first)
    replay = Replay(SVC(C=10.0, kernel=kernel, gamma=0.5), X[first], y[first])
    for rows in np.array_split(rest, 4):
        replay.add(X[rows], y[rows])
    replay.check()
    replay.update(X[rest[:10]], y[rest[:10]], np.arange(len(first), len(first) + 40))
    replay.check()
    assert sum(info.n_fallbacks for info in replay.model.solve_info_) == 0


@pytest.mark.parametrize("n_out", [4, 5, 12])
def test_all_instances_bounded(n_out: int) -> None:
    """A small C and a wide kernel: the bias is the middle of an interval, as after a fit."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(np.arange(40) % 2 == 0, 1, -1)
    replay = Replay(SVC(C=0.02, gamma=0.001), X[:30], y[:30])
    replay.update(X[30:], y[30:], np.arange(n_out))
    fresh = svm.SVC(C=0.02, gamma=0.001, tol=1e-10).fit(replay.X, replay.y)
    assert set(np.abs(fresh.dual_coef_).ravel()) == {0.02}
    np.testing.assert_allclose(
        replay.model.decision_function(X), fresh.decision_function(X), atol=1e-7
    )


def test_several_classes_and_sample_weights() -> None:
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, y = X[order], np.array(["a", "b", "c"])[y[order]]
    weights = rng.uniform(0.5, 2.0, len(y))
    model = SVC(C=5.0, gamma=0.4, class_weight={"a": 2.0})
    model.partial_fit(X[:60], y[:60], weights[:60])
    model.partial_fit(X[60:100], y[60:100], weights[60:100])
    model.forget(np.arange(20))
    check_equals_fresh(model, X[20:100], y[20:100], weights[20:100])
    only_a = np.flatnonzero(y[100:] == "a")[:3] + 100
    model.partial_fit(X[only_a], y[only_a])
    assert model.solve_info_[2].n_iter == 0  # the pair (b, c) is not concerned


def test_balanced_class_weights_follow_the_rows() -> None:
    X, y = random_rows(np.random.default_rng(1), 80, "normal", 3)
    y = np.where(y > 1.0, 1, 0)
    model = SVC(C=3.0, gamma=0.5, class_weight="balanced").partial_fit(X[:50], y[:50])
    model.update(X[50:], y[50:], forget=np.arange(10))
    check_equals_fresh(model, X[10:], y[10:])


def test_a_fitted_model_can_be_updated_copied_and_pickled() -> None:
    X, y = random_rows(np.random.default_rng(2), 100, "grid", 3)
    model = SVR(C=10.0, gamma=0.3).fit(X[:80], y[:80])
    with pytest.raises(ValueError, match="not here"):
        pickle.loads(pickle.dumps(model)).forget([0])
    model.update(X[80:90], y[80:90], forget=[0, 3])
    again = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    again.partial_fit(X[90:], y[90:])
    kept = np.delete(np.arange(100), [0, 3])
    check_equals_fresh(again, X[kept], y[kept])


def test_window_forgets_the_oldest() -> None:
    X, y = random_rows(np.random.default_rng(3), 100, "normal", 2)
    model = SVR(C=10.0, gamma=0.3, window=40).partial_fit(X[:30], y[:30])
    for first in range(30, 90, 7):
        model.partial_fit(X[first : first + 7], y[first : first + 7])
    assert model.shape_fit_ == (40, 2)
    check_equals_fresh(model, X[53:93], y[53:93])
    model.partial_fit(X, y)
    check_equals_fresh(model, X[60:], y[60:])


def test_sparse_rows() -> None:
    X, y = random_rows(np.random.default_rng(4), 90, "grid", 4)
    model = SVR(C=5.0, gamma=0.3).partial_fit(sp.csr_array(X[:40]), y[:40])
    for first in range(40, 90, 10):
        rows = slice(first, first + 10)
        model.update(sp.csr_array(X[rows]), y[rows], forget=np.arange(10))
    check_equals_fresh(model, sp.csr_array(X[50:]), y[50:])


def test_a_kernel_that_is_not_definite_falls_back_on_the_solver() -> None:
    X, y = random_rows(np.random.default_rng(5), 60, "normal", 3)
    y = np.where(y > 0.5, 1, 0)
    model = SVC(C=1.0, kernel="sigmoid", gamma=0.5, coef0=-1.0)
    model.partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert model.certify(X, y).kkt_violation <= 1e-3


def test_bad_input_leaves_the_model_as_it_was() -> None:
    X, y = load_iris(return_X_y=True)
    two = y < 2
    model = SVC(C=1.0, gamma=0.5).partial_fit(X[two], y[two])
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="each row can be forgotten once"):
        model.forget([3, 3])
    with pytest.raises(IndexError, match="no row 100 to forget"):
        model.forget([100])
    with pytest.raises(IndexError, match="no row -1"):
        model.update(X[:1], y[:1], forget=[-1])
    with pytest.raises(ValueError, match="none of the classes"):
        model.partial_fit(X[100:], y[100:])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, 4), np.nan), [0])
    with pytest.raises(ValueError, match="at least one must stay"):
        model.forget(np.arange(100))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:1, :3], y[:1])
    with pytest.raises(ValueError, match="started with"):
        model.partial_fit(X[:2], y[:2], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.decision_function(X), before)
    check_equals_fresh(model, X[two], y[two])


def test_more_rows_than_memory_are_refused() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = SVR(gamma=1.0, memory_limit="100KB").partial_fit(X[:100], y[:100])
    with pytest.raises(KernelError, match="memory_limit"):
        model.partial_fit(X[100:200], y[100:200])
    assert model.shape_fit_ == (100, 10)
    model.update(X[100:105], y[100:105], forget=np.arange(5))
    check_equals_fresh(model.set_params(memory_limit=None), X[5:105], y[5:105])


def test_classes_may_come_later() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC(C=2.0, gamma=0.5)
    with pytest.raises(ValueError, match="one class only"):
        model.partial_fit(X[:10], y[:10])
    model.partial_fit(X[:10], y[:10], classes=[0, 1, 2])
    assert (model.predict(X[:10]) == 0).all()
    model.partial_fit(X[50:60], y[50:60]).partial_fit(X[100:110], y[100:110])
    rows = np.r_[0:10, 50:60, 100:110]
    check_equals_fresh(model, X[rows], y[rows])


def test_classes_may_go_and_come_back() -> None:
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:10, 50:60, 100:110]
    model = SVC(C=2.0, gamma=0.5).partial_fit(X[rows], y[rows])
    model.forget(np.arange(10, 30))
    assert (model.predict(X[:10]) == 0).all()
    model.partial_fit(X[60:70], y[60:70]).partial_fit(X[110:120], y[110:120])
    rows = np.r_[0:10, 60:70, 110:120]
    check_equals_fresh(model, X[rows], y[rows])


def test_parameters_may_change_between_updates() -> None:
    X, y = random_rows(np.random.default_rng(9), 60, "normal", 3)
    model = SVR(C=10.0, gamma=0.3).partial_fit(X[:50], y[:50])
    model.set_params(C=3.0).partial_fit(X[50:55], y[50:55])
    check_equals_fresh(model, X[:55], y[:55])
    model.set_params(epsilon=0.3).partial_fit(X[55:], y[55:])
    check_equals_fresh(model, X, y)


@pytest.mark.parametrize("tol", [1e-1, 1e-3])
@pytest.mark.parametrize("kernel", [Rbf(0.5), Linear(), Poly(0.5, 2, 1.0)])
def test_polish_is_exact(kernel: Any, tol: float) -> None:
    X, y = random_rows(np.random.default_rng(6), 150, "grid", 3)
    view = KernelStore(X).view(kernel, precision="float64")
    signs = np.where(y > np.median(y), 1.0, -1.0)
    for problem in (
        Problem.classification(view, signs, np.full(150, 20.0)),
        Problem.regression(view, y, np.full(150, 20.0), 0.1),
        Problem.regression(view, y, np.full(150, 20.0), 0.0),
    ):
        exact = polish(smo.solve(problem, tol=tol, free_set=False))
        certificate = certify(problem, exact.beta, exact.bias)
        assert certificate.is_optimal(1e-9)
        assert exact.info.kkt_violation == pytest.approx(certificate.kkt_violation, abs=1e-9)


def test_the_way_from_a_fitted_model_is_short() -> None:
    X, y = make_classification(600, 8, n_informative=5, flip_y=0.2, random_state=0)
    fitted = SVC(C=100.0, gamma=0.02, tol=1e-1).fit(X, y)
    view = GrowingView(Rbf(0.02))
    slots = view.insert(X)
    signs, beta = np.where(y > 0, 1.0, -1.0), np.zeros(view.n)
    beta[slots[fitted.support_]] = fitted.dual_coef_[0]
    terms = Terms(signs, np.full(600, 100.0), np.minimum(signs, 0.0), np.maximum(signs, 0.0))
    updater = Updater(view)
    work = updater.update(Change(slots, terms), beta)
    assert work.n_events <= 3  # a walk all the way from the fitted model takes 15
    assert updater.walker.describe(work)[1].kkt_violation < 1e-9


@pytest.mark.parametrize(
    "kernel", [Rbf(0.5), Rbf(1e-8), Linear(), Poly(0.5, 2, 1.0), Sigmoid(0.1, 0.0)]
)
def test_growing_view_holds_the_kernel(kernel: Any) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 3)) + 5.0
    for rows in (X, sp.csr_array(X)):
        view = GrowingView(kernel)
        slots = view.insert(rows[:20])
        view.remove(slots[5:10])
        slots = np.concatenate([slots[:5], slots[10:], view.insert(rows[20:])])
        kept = np.r_[0:5, 10:40]
        K = kernel.evaluate(X[kept], X[kept])
        np.testing.assert_allclose(view.exact_rows(slots)[:, slots], K, rtol=1e-12)
        # Values about an origin have the rounding of the largest of them.
        atol = 1e-14 * np.abs(K).max()
        np.testing.assert_allclose(view.gram.block(slots, slots), K, rtol=1e-12, atol=atol)


def test_what_rounding_leaves_is_told() -> None:
    X, y = make_classification(60, 5, n_informative=3, flip_y=0.05, random_state=0)
    model = SVC(kernel="linear").fit(X[:50], y[:50])
    assert model.partial_fit(X[50:], y[50:]).fit_status_ == Status.SOLVED
    X *= 1e7  # bounded rows make decision values of 1e14
    with pytest.warns(ConvergenceWarning, match="Rounding stopped the solver"):
        model = SVC(kernel="linear").fit(X[:50], y[:50])
    with pytest.warns(ConvergenceWarning, match="Rounding stopped the solver"):
        model.partial_fit(X[50:], y[50:])
    assert model.fit_status_ == Status.STALLED
    assert model.kkt_violation_ > 1e-3


def test_large_rates_that_are_gone_leave_no_rounding() -> None:
    """Boxes that are never felt: the rates of rows that enter are huge beside all others."""
    X, y = random_rows(np.random.default_rng(0), 32, "grid", 3)
    for C in (1e8, 1e12):
        model = SVR(C=C, gamma=1e-4, epsilon=1e-6).partial_fit(X[:26], y[:26])
        rows = np.r_[1:26, 26:32]
        model.update(X[26:], y[26:], forget=[0])
        (found,) = [model.certify(X[rows], y[rows])]
        rounding = 4e-15 * np.abs(model.dual_coef_).sum()
        assert found.kkt_violation <= 1.1 * model.kkt_violation_ + 1e-9 + rounding
        assert model.fit_status_ != Status.SOLVED or found.is_optimal(1e-3)
    X = X * 10.0
    labels = np.where(y > np.median(y), 1, 0)
    model = SVC(C=0.5, kernel="poly", degree=4, gamma=0.5, coef0=2.5)
    model.partial_fit(X[:8], labels[:8], classes=[0, 1]).partial_fit(X[8:], labels[8:])
    assert model.fit_status_ == Status.SOLVED
    assert model.certify(X, labels).is_optimal(1e-3)


def test_rows_and_targets_that_are_gone_set_no_scale() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    far, high = X.copy(), y.copy()
    far[0], high[0] = 1e4, 1e6
    model = SVR(C=10.0, kernel="linear").partial_fit(far, high).forget([0])
    check_equals_fresh(model, X[1:], y[1:])
    # The first row ever would be a poor origin.
    far = np.concatenate([far[:1], X[1:]])
    model = SVR(C=10.0, kernel="linear").partial_fit(far, y).forget([0])
    check_equals_fresh(model, X[1:], y[1:])


def test_updates_of_a_kernel_that_is_not_definite_stay_in_their_box() -> None:
    """Saturated values of +-1: the margin set has no factor, and no walk begins."""
    rng = np.random.default_rng(2)
    X, y = 10.0 * rng.normal(size=(40, 5)), rng.normal(size=40)
    model = SVR(C=0.2, kernel="sigmoid", gamma=4.0, coef0=0.5, epsilon=1e-6)
    model.partial_fit(X[:12], y[:12])
    for first in range(12, 40, 7):
        model.update(X[first : first + 7], y[first : first + 7], forget=[0, 3])
        beta = model.dual_coef_[0]
        assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
        assert np.abs(beta).max() <= 0.2


def test_betas_left_alone_sum_to_nothing() -> None:
    X, y = random_rows(np.random.default_rng(3), 30, "grid", 2)
    model = SVR(C=25.0, gamma=1e-8, epsilon=1e-6).partial_fit(X, y)
    model.forget(np.arange(29))
    assert not model.dual_coef_.any()


def test_balanced_weights_without_rows_of_a_class() -> None:
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:10, 50:65, 100:110]
    model = SVC(C=2.0, gamma=0.5, class_weight="balanced").partial_fit(X[rows], y[rows])
    model.forget(np.arange(25, 35))
    two = rows[:25]
    fresh = SVC(C=2.0, gamma=0.5, class_weight="balanced", tol=1e-9).fit(X[two], y[two])
    own = model.set_params(decision_function_shape="ovo").decision_function(X[two])[:, 0]
    # Of three classes the first of a pair is the positive one.
    np.testing.assert_allclose(own, -fresh.decision_function(X[two]), atol=1e-6)


def test_class_weights_of_unknown_labels_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="not in class_weight, which has weights for"):
        SVC(class_weight={0: 2.0, 7: 1.0}).fit(X, y)
