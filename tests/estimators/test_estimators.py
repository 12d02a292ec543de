"""The same optimum and the same answers as scikit-learn, and every fit is certified."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from alphapath import SVC, SVR, OneClassSVM, Status
from datasets import CLASSIFICATION, REGRESSION, SETTINGS
from oracles import dual_objective, solve_by_qp


def as_list(value):
    return value if isinstance(value, list) else [value]


def peer_of(estimator, **changes):
    """scikit-learn's estimator with the same parameters."""
    peer = getattr(svm, type(estimator).__name__)()
    own = estimator.get_params()
    shared = {k: v for k, v in own.items() if k in peer.get_params()}
    peer.set_params(**{**shared, **changes})
    return peer


def peer_objectives(estimator, peer, *data):
    """The dual objective of scikit-learn's solution, one a problem."""
    model = type(estimator).from_sklearn(peer)
    return np.array([c.objective for c in as_list(model.certify(*data))])


def assert_certified(estimator, *data, tol=None):
    """The certificate from raw data confirms what the estimator says of itself."""
    tol = estimator.tol if tol is None else tol
    certificates = as_list(estimator.certify(*data))
    objectives = np.atleast_1d(estimator.objective_)
    for certificate, objective in zip(certificates, objectives, strict=True):
        scale = 1.0 + abs(certificate.objective)
        assert certificate.box_violation == 0.0
        assert certificate.sum_violation <= 1e-9 * scale
        assert certificate.kkt_violation <= 1.05 * tol
        assert certificate.objective == pytest.approx(objective, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_svc_is_as_good_as_scikit_learn(name, setting):
    X, y = CLASSIFICATION[name]()
    estimator = SVC(**SETTINGS[setting])
    estimator.fit(X, y)
    assert estimator.fit_status_ is Status.SOLVED
    assert_certified(estimator, X, y)
    # LIBSVM takes minutes at C = 1e6; where it stops early the comparison still holds.
    peer = peer_of(estimator, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X, y)
    theirs = peer_objectives(estimator, peer, X, y)
    ours = np.atleast_1d(estimator.objective_)
    assert (ours <= theirs + 1e-4 * np.abs(theirs)).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_svc_has_scikit_learns_attributes_and_answers(name, kernel):
    X, y = CLASSIFICATION[name]()
    estimator = SVC(kernel=kernel, gamma=0.05, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    peer = peer_of(estimator, tol=1e-6).fit(X, y)
    assert estimator.dual_coef_.shape[0] == peer.dual_coef_.shape[0]
    assert np.abs(estimator.decision_function(X) - peer.decision_function(X)).max() < 1e-4
    assert np.array_equal(estimator.predict(X), peer.predict(X))
    assert np.allclose(estimator.intercept_, peer.intercept_, atol=1e-4)
    assert np.array_equal(estimator.classes_, peer.classes_)
    assert estimator.shape_fit_ == peer.shape_fit_
    assert estimator.n_iter_.shape == peer.n_iter_.shape
    assert [info.n_iter for info in estimator.solve_info_] == estimator.n_iter_.tolist()
    assert estimator.support_.dtype == peer.support_.dtype
    assert np.array_equal(X[estimator.support_], estimator.support_vectors_)
    own = np.repeat(estimator.classes_, estimator.n_support_)
    assert np.array_equal(y[estimator.support_], own)
    if kernel == "linear":
        assert np.allclose(estimator.coef_, peer.coef_, atol=1e-4)
    else:
        with pytest.raises(AttributeError, match="coef_ exists only"):
            _ = estimator.coef_
    for shape, ties in (("ovr", False), ("ovr", True), ("ovo", False)):
        for model in (estimator, peer):
            model.set_params(decision_function_shape=shape, break_ties=ties)
        assert np.allclose(estimator.decision_function(X), peer.decision_function(X), atol=1e-4)
        assert np.array_equal(estimator.predict(X), peer.predict(X))


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize("setting", SETTINGS)
def test_svr_is_as_good_as_scikit_learn(name, setting):
    X, y = REGRESSION[name]()
    y = y / np.std(y)
    parameters = {**SETTINGS[setting]}
    estimator = SVR(**parameters).fit(X, y)
    assert estimator.fit_status_ is Status.SOLVED
    assert_certified(estimator, X, y)
    peer = peer_of(estimator, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X, y)
    theirs = peer_objectives(estimator, peer, X, y)
    assert estimator.objective_ <= theirs[0] + 1e-4 * abs(theirs[0])
    if setting in ("default", "poly"):
        assert np.abs(estimator.predict(X) - peer.predict(X)).max() < 1e-2
        assert estimator.score(X, y) == pytest.approx(peer.score(X, y), abs=1e-3)


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("setting", ["default", "linear", "identity", "rank_one"])
def test_one_class_is_as_good_as_scikit_learn(nu, setting):
    X, _ = CLASSIFICATION["breast_cancer"]()
    parameters = {k: v for k, v in SETTINGS[setting].items() if k != "C"}
    estimator = OneClassSVM(nu=nu, **parameters).fit(X)
    assert_certified(estimator, X)
    if nu == 1.0:  # every beta at its bound, where LIBSVM's bias is infinite
        assert np.array_equal(estimator.dual_coef_, np.ones((1, X.shape[0])))
        assert np.isfinite(estimator.intercept_).all()
        return
    peer = peer_of(estimator).fit(X)
    theirs = peer_objectives(estimator, peer, X)
    # Where the optimum is 0, both stop somewhere within tol * sum(beta) of it.
    rounding = 1e-3 * estimator.tol * nu * X.shape[0]
    assert estimator.objective_ <= theirs[0] + 1e-4 * abs(theirs[0]) + rounding
    assert np.array_equal(estimator.offset_, -estimator.intercept_)
    assert np.array_equal(
        estimator.score_samples(X), estimator.decision_function(X) + estimator.offset_
    )
    if setting == "default":
        values, peers = estimator.decision_function(X), peer.decision_function(X)
        assert np.abs(values - peers).max() < 1e-2
        clear = np.abs(peers) > 1e-2
        assert np.array_equal(estimator.predict(X)[clear], peer.predict(X)[clear])


@pytest.mark.parametrize(
    ("estimator", "source"),
    [
        (SVC(C=5.0, gamma=0.3, tol=1e-8), "generated"),
        (SVC(kernel="linear", tol=1e-8), "duplicates"),
        (SVC(kernel="poly", degree=2, coef0=1.0, tol=1e-8), "iris"),
        (SVR(C=5.0, epsilon=0.3, tol=1e-8), "generated"),
        (OneClassSVM(nu=0.3, gamma=0.2, tol=1e-8), "ties"),
    ],
)
def test_a_general_qp_solver_agrees(estimator, source):
    X, y = CLASSIFICATION[source]()
    if isinstance(estimator, SVR):
        y = X[:, 0] ** 2
    estimator.fit(X, y)
    assert_certified(estimator, X, y)
    problems = as_list(estimator.to_problem(X, y))
    for problem, objective in zip(problems, np.atleast_1d(estimator.objective_), strict=True):
        beta = solve_by_qp(problem)
        best = dual_objective(problem, beta)
        assert objective == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_and_dense_give_the_same_model(container):
    X, y = CLASSIFICATION["digits"]()
    dense = SVC(tol=1e-8).fit(X, y)
    sparse = SVC(tol=1e-8).fit(container(X), y)
    assert_certified(sparse, container(X), y)
    expected = dense.decision_function(X)
    for model in (dense, sparse):
        for rows in (X, container(X)):
            assert np.allclose(model.decision_function(rows), expected, atol=1e-6)
    assert np.array_equal(dense.support_, sparse.support_)


def test_wide_indices_and_unsorted_sparse_rows():
    X, y = CLASSIFICATION["iris"]()
    wide = sp.csr_array(X)
    wide.indices = wide.indices.astype(np.int64)[::-1].copy()
    wide.data = wide.data[::-1].copy()
    wide.has_sorted_indices = False
    wide.has_canonical_format = False
    before = wide.copy()
    model = SVC().fit(wide, y[::-1])
    assert np.array_equal(wide.indices, before.indices)
    assert np.allclose(model.decision_function(wide), model.decision_function(X[::-1]))


def test_precomputed_and_callable_kernels():
    X, y = CLASSIFICATION["wine"]()
    K = X @ X.T
    linear = SVC(kernel="linear", tol=1e-8).fit(X, y)
    given = SVC(kernel="precomputed", tol=1e-8).fit(K, y)
    called = SVC(kernel=lambda A, B: A @ B.T, tol=1e-8).fit(X, y)
    assert_certified(given, K, y, tol=1e-7)
    assert_certified(called, X, y, tol=1e-7)
    expected = linear.decision_function(X)
    assert np.allclose(given.decision_function(K), expected, atol=1e-5)
    assert np.allclose(called.decision_function(X), expected, atol=1e-5)
    assert given.support_vectors_.shape == (0, 0)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.25])
def test_gamma_is_scikit_learns(gamma):
    X, y = CLASSIFICATION["iris"]()
    for rows in (X, sp.csr_array(X)):
        ours = SVC(gamma=gamma).fit(rows, y)._gamma
        assert ours == pytest.approx(svm.SVC(gamma=gamma).fit(rows, y)._gamma, rel=1e-12)
    assert SVC().fit([[0.1], [0.1], [0.1]], [0, 1, 1])._gamma == 1.0


def test_prediction_in_blocks(monkeypatch):
    X, y = CLASSIFICATION["iris"]()
    model = SVC().fit(X, y)
    expected = model.decision_function(X)
    monkeypatch.setattr("alphapath.estimators.common.base.BLOCK_VALUES", 200)
    assert np.allclose(model.decision_function(X), expected, rtol=0, atol=1e-12)
    assert np.allclose(model.decision_function(sp.csr_array(X)), expected, rtol=0, atol=1e-12)


def test_string_labels_and_ties_of_votes():
    X, y = CLASSIFICATION["iris"]()
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model, peer = SVC().fit(X, names), svm.SVC().fit(X, names)
    assert np.array_equal(model.predict(X), peer.predict(X))
    # No information: every decision is a tie of votes or of values.
    flat = np.zeros((30, 2))
    labels = np.arange(30) % 3
    assert np.array_equal(
        SVC().fit(flat, labels).predict(flat), svm.SVC().fit(flat, labels).predict(flat)
    )


def test_non_psd_kernel_ends_with_an_honest_status():
    X, y = CLASSIFICATION["generated"]()
    model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, C=10.0)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model.fit(X, y)
    assert model.fit_status_ is Status.STATIONARY
    assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize("size", [1e4, 1e7, 1e9])
def test_betas_far_below_their_boxes_are_no_rounding(size):
    """Rows of huge norm: beta is 1e-14 of C and smaller, and all of it counts."""
    rng = np.random.default_rng(0)
    X = size * rng.standard_normal((40, 5))
    y = (X[:, 0] > 0.0).astype(int)
    model = SVC(kernel="linear", C=1.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.certify(X, y).is_optimal(2e-3)
