"""Products of rows that Hessians share, and Newton steps on them: the same optimum, less work."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath.errors import InfeasibleStart
from alphapath.problem import MarginProblem, Status, certify_margin
from alphapath.solvers.smooth import descent as smooth_descent
from alphapath.solvers.smooth import design_rows
from alphapath.solvers.smooth import newton as smooth_newton
from alphapath.solvers.smooth import settle as smooth_settle
from alphapath.solvers.smooth.design_rows import DesignRows
from alphapath.solvers.smooth.feature_hessian import FeatureHessian
from alphapath.solvers.smooth.instance_hessian import InstanceHessian
from alphapath.solvers.smooth.products import Products
from smooth_cases import make_folds, make_square

WARM = ("feature", "instance", "auto")


def check_optimum(found, tol=1e-8):
    """The certificate's optimum, and that of Newton steps with a fresh Hessian each."""
    assert found.info.status is Status.SOLVED
    certificate = certify_margin(found.problem, found.coef, found.bias)
    fresh = smooth_newton.solve(found.problem, strategy="none")
    theta, other = np.append(found.coef, found.bias), np.append(fresh.coef, fresh.bias)
    assert certificate.gradient_norm <= tol * max(1.0, np.linalg.norm(theta))
    assert np.linalg.norm(theta - other) <= tol * np.linalg.norm(other)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", ["penalised", "none"])
@pytest.mark.parametrize("lost", [[0, 5, 19], [9, 10, 11, 12]])
def test_products_are_those_of_dense_algebra(convert, offset, lost, monkeypatch):
    monkeypatch.setattr(design_rows, "CHUNK", 7)
    rng = np.random.default_rng(0)
    dropped = np.arange(20) % 7 == 1
    problem = MarginProblem(
        convert(rng.normal(size=(30, 20))), np.ones(30), np.ones(30), offset=offset, dropped=dropped
    )
    rows = DesignRows(problem)
    A = rows.take(np.arange(30))
    lost = np.array(lost)
    products = Products(rows)
    thin = products.without(lost)
    features = np.flatnonzero(~dropped)
    A_thin = np.delete(A, np.searchsorted(features, lost), axis=1)
    for some in ([3, 4, 9], [4, 0, 29], np.arange(10)):
        thin.learn(np.array(some))
        known = thin.known
        np.testing.assert_allclose(thin.K, A_thin[known] @ A_thin[known].T, atol=1e-12)
    products.keep(np.array([9, 3]))
    products.learn(np.array([11]))
    assert products.known.tolist() == [9, 3, 11]
    np.testing.assert_allclose(products.K, A[products.known] @ A[products.known].T, atol=1e-12)
    thin.learn(np.array([12, 3]))  # what the other forgot is computed again
    np.testing.assert_allclose(thin.K, A_thin[thin.known] @ A_thin[thin.known].T, atol=1e-12)
    assert thin.predict_cost(thin.known) == 0.0
    new = np.array([20, 21])
    by_all = 2.0 * (2.0 * products.known.size + 2.0) * rows.n_kept
    by_lost = 2.0 * (2.0 * thin.known.size + 2.0) * lost.size
    assert thin.predict_cost(new) == pytest.approx(by_all + by_lost)


def test_folds_compute_each_product_once(monkeypatch):
    problem = make_square()
    full = smooth_newton.solve(problem, strategy="instance")
    rows_multiplied = []
    multiply = Products._multiply
    monkeypatch.setattr(
        Products,
        "_multiply",
        lambda self, new, K: rows_multiplied.extend(new) or multiply(self, new, K),
    )
    products = full.workspace.chosen.products
    products.keep(np.flatnonzero(full.decision_values * problem.targets < 1.0))
    before = set(products.known)
    solutions = smooth_newton.solve_side_by_side(make_folds(problem), full, strategy="instance")
    monkeypatch.undo()
    for found in solutions:
        check_optimum(found)
    assert rows_multiplied
    assert len(set(rows_multiplied)) == len(rows_multiplied)
    assert before.isdisjoint(rows_multiplied)


def test_a_hessian_is_made_when_it_is_chosen():
    """Of 120 instances, 4 features or 6,000: nobody asks for the other one."""
    square = make_square(c=3.0)
    for n_features, kind in ((4, FeatureHessian), (6000, InstanceHessian)):
        X = np.random.default_rng(0).normal(size=(square.n, n_features)) / np.sqrt(n_features)
        problem = replace(square, X=X)
        full = smooth_newton.solve(problem)
        held_out = np.arange(problem.n) < 12
        fold = smooth_newton.solve(problem.with_held_out(held_out), full)
        for found in (full, fold):
            check_optimum(found)
            assert list(found.workspace.made) == [kind]


def test_settled_steps_pass_over_fewer_data(monkeypatch):
    K = make_square(c=100.0)
    problem = MarginProblem(np.hstack([K.X, K.X]), K.targets, K.weights)
    n_passes = []
    values = DesignRows.values
    monkeypatch.setattr(
        DesignRows, "values", lambda self, theta: n_passes.append(1) or values(self, theta)
    )
    found = smooth_newton.solve(problem, strategy="instance")
    monkeypatch.undo()
    check_optimum(found)
    assert len(n_passes) < found.info.n_iter


@pytest.mark.parametrize("strategy", WARM)
def test_from_one_fold_to_another(strategy):
    """Features come back and others leave."""
    problem = make_square()
    first, second, *_ = make_folds(problem)
    start = smooth_newton.solve(first, strategy=strategy)
    for target in (second, problem, first.with_held_out(second.weights == 0.0, second.dropped)):
        check_optimum(smooth_newton.solve(target, start, strategy=strategy))


def test_a_start_with_another_offset_is_refused():
    start = smooth_newton.solve(make_square())
    other = replace(start.problem, offset="none")
    with pytest.raises(InfeasibleStart, match=r"offset of the start is 'penalised', but .* 'none'"):
        smooth_newton.solve(other, start)


@pytest.mark.parametrize("strategy", ["instance", "auto"])
def test_plain_steps_follow_where_settling_leads_uphill(strategy, monkeypatch):
    def mislead(hessian, problem, states):
        found = np.flatnonzero(problem.weights)
        return -problem.targets * (problem.weights > 0.0), (found, -problem.targets[found]), 1

    monkeypatch.setattr(smooth_descent, "settle", mislead)
    check_optimum(smooth_newton.solve(make_square(c=3.0), strategy=strategy))


@pytest.mark.parametrize("strategy", WARM)
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_epsilon_insensitive"])
def test_a_cold_start_by_way_of_few_columns(loss, strategy, monkeypatch):
    monkeypatch.setattr(smooth_newton, "SMALL", 16)
    width = 0.1 if loss.endswith("insensitive") else 0.0
    problem = make_square(c=10.0, loss=loss, width=width)
    widths = []
    solve_roughly = smooth_newton._solve_roughly
    monkeypatch.setattr(
        smooth_newton,
        "_solve_roughly",
        lambda problem, *rest: widths.append(problem.d) or solve_roughly(problem, *rest),
    )
    for target in (problem, make_folds(problem)[1]):
        found = smooth_newton.solve(target, strategy=strategy)
        assert widths[0] == 18  # every 7th of 120 features
        monkeypatch.setattr(smooth_newton, "SMALL", 1024)
        check_optimum(found)
        monkeypatch.setattr(smooth_newton, "SMALL", 16)


def test_nothing_is_left_of_the_products():
    """Columns of very different lengths, a huge c: features are safe where instances are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    X = np.hstack([X, X, np.ones((80, 2)), np.zeros((80, 300)), 1e6 * X[:, :1]])
    signs = np.sign(X[:, 0] + 0.3 * rng.normal(size=80))
    for c in (1.0, 1e4, 1e8):
        problem = MarginProblem(X, signs, np.full(80, c))
        mask = np.arange(80) < 20
        full = smooth_newton.solve(problem, strategy="instance")
        found = smooth_newton.solve(problem.with_held_out(mask), full, strategy="instance")
        fresh = smooth_newton.solve(problem.with_held_out(mask), strategy="feature")
        for one in (full, found):
            assert one.info.status is Status.SOLVED
        np.testing.assert_allclose(found.decision_values, fresh.decision_values, atol=1e-6)


def test_a_step_without_numbers_is_no_warning():
    """Where rounding leaves nothing of a small system: plain steps, and not a word of numpy's."""
    problem = make_square()
    known = np.arange(problem.n)
    hessian = SimpleNamespace(
        products=SimpleNamespace(known=known, K=problem.X, place=known),
        solve_newton=lambda goals: (known[:3], np.array([np.nan, 1.0, np.nan])),
    )
    _, (found, beta), n_steps = smooth_settle.settle(hessian, problem, np.ones(problem.n))
    assert (found.size, beta.size, n_steps) == (0, 0, 1)


@pytest.mark.parametrize("strategy", WARM)
def test_nobody_has_a_loss(strategy):
    problem = make_square(loss="squared_epsilon_insensitive", width=9.0)
    found = smooth_newton.solve(problem, strategy=strategy)
    assert found.info.status is Status.SOLVED
    assert not found.coef.any()
    for fold in smooth_newton.solve_side_by_side(make_folds(problem), found, strategy=strategy):
        assert certify_margin(fold.problem, fold.coef, fold.bias).gradient_norm == 0.0
