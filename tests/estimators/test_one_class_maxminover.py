"""The estimator OneClassMaxMinOver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from alphapath import OneClassMaxMinOver, Status, certify
from alphapath.solvers import coordinate

SOLVERS = ("coordinate", "maxminover")


def banana(n: int = 120) -> np.ndarray:
    X, y = make_moons(2 * n, noise=0.2, random_state=3)
    X = X[y == 0]
    return X / np.linalg.norm(X, axis=1).mean()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fit_is_certified_from_raw_data(solver):
    X = banana()
    model = OneClassMaxMinOver(C=1000.0, sigma=0.4, gap_tol=1e-5, solver=solver).fit(X)
    assert model.fit_status_ is Status.SOLVED
    certificate = model.certify(X)
    assert certificate.relative_gap <= 1e-5 * 1.001
    assert certificate.relative_gap == pytest.approx(model.relative_gap_, rel=1e-6)
    assert certificate.objective == pytest.approx(model.objective_, rel=1e-9)
    assert (model.gap_trace_ is not None) == (solver == "maxminover")


def test_the_solvers_agree_away_from_the_boundary():
    X = banana()
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 25)] * 2), axis=-1).reshape(-1, 2)
    a, b = (OneClassMaxMinOver(C=100.0, sigma=0.5, solver=s).fit(X) for s in SOLVERS)
    assert abs(a.objective_ - b.objective_) <= max(a.duality_gap_, b.duality_gap_)
    values = a.decision_function(grid)
    # |w - w*|^2 <= 2 gap for each of the two.
    far = np.sqrt(2 * a.duality_gap_) + np.sqrt(2 * b.duality_gap_)
    assert_allclose(values, b.decision_function(grid), atol=far)
    is_clear = np.abs(values) > far
    assert is_clear.mean() > 0.5
    assert (a.predict(grid) == b.predict(grid))[is_clear].all()


def test_values_are_the_formula_and_offset_one():
    X = banana(50)
    model = OneClassMaxMinOver(C=10.0, sigma=0.7).fit(X)
    K = rbf_kernel(X, model.support_vectors_, gamma=1 / (2 * 0.7**2))
    assert_allclose(model.score_samples(X), K @ model.dual_coef_[0], rtol=1e-12)
    assert model.offset_ == 1.0
    assert_allclose(model.decision_function(X), model.score_samples(X) - 1.0)
    assert_allclose(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    by_gamma = OneClassMaxMinOver(C=10.0, gamma=1 / (2 * 0.7**2)).fit(X)
    assert_allclose(by_gamma.dual_coef_, model.dual_coef_)


def test_sparse_rows_and_a_given_kernel_give_the_same_model():
    X = banana(50)
    model = OneClassMaxMinOver(C=10.0, gamma=1.5, gap_tol=1e-8).fit(X)
    values = model.decision_function(X)
    sparse = OneClassMaxMinOver(C=10.0, gamma=1.5, gap_tol=1e-8).fit(sp.csr_array(X))
    assert_allclose(sparse.decision_function(X), values, atol=1e-4)
    assert_allclose(sparse.decision_function(sp.csr_array(X)), values, atol=1e-4)
    K = rbf_kernel(X, gamma=1.5)
    given = OneClassMaxMinOver(C=10.0, kernel="precomputed", gap_tol=1e-8).fit(K)
    assert_allclose(given.decision_function(K), values, atol=1e-4)
    assert given.certify(K).relative_gap <= 1.001e-8


def test_weights_are_repetitions():
    X = banana(40)
    weights = np.arange(len(X)) % 4
    weighted = OneClassMaxMinOver(C=5.0, sigma=0.6, gap_tol=1e-8)
    weighted.fit(X, sample_weight=weights)
    repeated = OneClassMaxMinOver(C=5.0, sigma=0.6, gap_tol=1e-8).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-10)
    assert weighted.certify(X, sample_weight=weights).relative_gap <= 1.001e-8
    assert not weighted.dual_coef_[
        :, np.isin(weighted.support_, np.flatnonzero(weights == 0))
    ].any()


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_leave_one_out_error_is_the_share_of_support_vectors(C):
    X = banana(30)
    problem = OneClassMaxMinOver(C=C, sigma=0.5).to_problem(X)
    full = coordinate.solve(problem, tol=1e-10)
    assert certify(problem, full.beta).is_optimal(1e-9)
    is_rejected = []
    for t in range(problem.n):
        held_out = np.arange(problem.n) == t
        without = coordinate.solve(problem.with_held_out(held_out), tol=1e-10)
        is_rejected.append(without.decision_values[t] < 1.0)
    assert is_rejected == list(full.beta > 0.0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e12])
@pytest.mark.parametrize("sigma", [1e-12, 1e12])
def test_kernels_near_the_identity_or_all_ones_end_with_an_honest_status(solver, C, sigma):
    X = load_iris().data[:50]
    model = OneClassMaxMinOver(C=C, sigma=sigma, solver=solver, time_limit=20.0).fit(X)
    assert model.fit_status_ is Status.SOLVED
    assert model.certify(X).relative_gap <= 1e-4 * 1.001


@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_rows_and_a_single_row(solver):
    for X in (np.ones((20, 3)), np.zeros((5, 2)), [[1.0, 2.0]]):
        model = OneClassMaxMinOver(C=1e5, sigma=1.0, solver=solver).fit(X)
        assert model.fit_status_ is Status.SOLVED
        assert model.certify(X).relative_gap <= 1e-4 * 1.001


def test_bad_input_is_refused_in_a_sentence():
    X = banana(20)
    for wrong in ({"C": 0.0}, {"C": -1.0}, {"sigma": 0.0}, {"gap_tol": 0.0}, {"solver": "smo"}):
        with pytest.raises(ValueError, match="must be"):
            OneClassMaxMinOver(**wrong).fit(X)
    with pytest.raises(ValueError, match="0 sample"):
        OneClassMaxMinOver().fit(X[:0])
    with pytest.raises(ValueError, match="leave gamma at 'scale'"):
        OneClassMaxMinOver(sigma=1.0, gamma=0.5).fit(X)
    with pytest.raises(ValueError, match="no positive number in double"):
        OneClassMaxMinOver(sigma=1e-200).fit(X)
    with pytest.raises(ValueError, match="no positive number in double"):
        OneClassMaxMinOver(sigma=1e200).fit(X)


def test_a_limit_warns_and_leaves_a_model():
    X = banana()
    model = OneClassMaxMinOver(C=1e5, sigma=0.1, solver="maxminover", max_iter=100)
    with pytest.warns(ConvergenceWarning, match="ended as ITERATION_LIMIT: the gap reached"):
        model.fit(X)
    assert model.fit_status_ is Status.ITERATION_LIMIT
    assert model.n_iter_ == 100
    assert model.certify(X).relative_gap == pytest.approx(model.relative_gap_, rel=1e-6)
    assert set(model.predict(X)) <= {-1, 1}
