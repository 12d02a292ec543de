"""The certificate against formulas written out by hand and against a general QP solver."""

from __future__ import annotations

import numpy as np
import pytest

from alphapath import Problem, certify
from alphapath.problem.optimality import (
    best_response,
    bias_from_gradient,
    duality_gap,
    find_free,
    kkt_violation,
    measure_rows,
    slopes,
)
from oracles import MatrixView, dual_objective, solve_by_qp


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def make_problems(rng):
    X = rng.normal(size=(40, 5))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    view = MatrixView(K)
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=40))
    weights = rng.uniform(0.0, 2.0, size=40)
    weights[:5] = 0.0
    return {
        "svc": Problem.classification(view, y, weights),
        "svr": Problem.regression(view, X[:, 0] * 3, weights, 0.2),
        "one_class": Problem.one_class(view, weights, 0.3),
        "box": Problem(
            view, y * y, weights, np.zeros(40), np.ones(40), has_equality=False, ridge=0.5
        ),
    }


@pytest.mark.parametrize("name", ["svc", "svr", "one_class", "box"])
def test_optimum_of_the_qp_solver_is_certified(rng, name):
    problem = make_problems(rng)[name]
    beta = np.clip(solve_by_qp(problem), problem.lower, problem.upper)
    # Interior points stop short of the bounds.
    width = problem.upper - problem.lower
    beta = np.where(beta - problem.lower < 1e-6 * width, problem.lower, beta)
    beta = np.where(problem.upper - beta < 1e-6 * width, problem.upper, beta)
    if name == "svr":
        beta[np.abs(beta) < 1e-6] = 0.0
    certificate = certify(problem, beta)
    assert certificate.kkt_violation < 1e-4
    assert certificate.box_violation == 0.0
    assert certificate.sum_violation < 1e-4
    assert abs(certificate.duality_gap) < 1e-3
    assert certificate.objective == pytest.approx(dual_objective(problem, beta), abs=1e-12)


@pytest.mark.parametrize("name", ["svc", "svr", "one_class"])
def test_many_points_at_once_are_measured_as_one(rng, name):
    problem = make_problems(rng)[name]
    lower, upper, n = problem.lower, problem.upper, problem.n
    share = rng.choice([0.0, 0.2, 0.9, 1.0], size=(6, n))
    share[:2] = rng.choice([0.0, 1.0], size=(2, n))  # no free instance
    beta = lower + share * (upper - lower)
    gradient = beta @ problem.kernel.exact_rows(np.arange(n)) - problem.targets
    found = measure_rows(beta, gradient, lower, upper, problem.epsilon)
    for k, (point, g) in enumerate(zip(beta, gradient, strict=True)):
        bias = bias_from_gradient(problem, point, g)
        gap = duality_gap(problem, point, g, bias)
        assert found["bias"][k] == pytest.approx(bias, rel=1e-12)
        assert found["n_free"][k] == np.count_nonzero(find_free(problem, point))
        assert found["kkt_violation"][k] == pytest.approx(kkt_violation(problem, point, g))
        assert found["duality_gap"][k] == pytest.approx(gap, rel=1e-12)


@pytest.mark.parametrize("name", ["svc", "svr", "one_class", "box"])
def test_gap_is_primal_plus_dual_for_any_feasible_beta(rng, name):
    problem = make_problems(rng)[name]
    beta = problem.total * problem.weights / problem.weights.sum()
    certificate = certify(problem, beta, bias=0.37 if problem.has_equality else 0.0)
    assert certificate.duality_gap == pytest.approx(
        certificate.primal_objective + certificate.objective, rel=1e-12, abs=1e-12
    )
    assert certificate.duality_gap >= 0.0


def test_primal_objective_is_the_hinge_loss(rng):
    problem = make_problems(rng)["svc"]
    y, c, K = problem.targets, problem.weights, problem.kernel.K
    beta = 0.3 * y * c
    f = K @ beta + 0.2
    hand = 0.5 * beta @ K @ beta + (c * np.maximum(0.0, 1.0 - y * f)).sum()
    assert certify(problem, beta, 0.2).primal_objective == pytest.approx(hand)


def test_primal_objective_is_the_insensitive_loss(rng):
    problem = make_problems(rng)["svr"]
    beta = 0.3 * np.sign(problem.targets) * problem.weights
    f = problem.kernel.K @ beta - 0.1
    loss = np.maximum(0.0, np.abs(problem.targets - f) - 0.2)
    hand = 0.5 * beta @ problem.kernel.K @ beta + (problem.weights * loss).sum()
    assert certify(problem, beta, -0.1).primal_objective == pytest.approx(hand)


def test_violations_of_an_infeasible_beta(rng):
    problem = make_problems(rng)["svc"]
    beta = np.zeros(40)
    beta[7] = problem.upper[7] + 0.25
    certificate = certify(problem, beta)
    assert certificate.box_violation == pytest.approx(0.25)
    assert certificate.sum_violation == pytest.approx(problem.upper[7] + 0.25)
    assert not certificate.is_optimal(1e9)


def test_slopes_have_a_kink_at_zero():
    problem = Problem.regression(MatrixView(np.eye(3)), np.zeros(3), np.ones(3), 0.5)
    left, right = slopes(problem, np.array([-0.1, 0.0, 0.1]), np.zeros(3))
    assert left.tolist() == [-0.5, -0.5, 0.5]
    assert right.tolist() == [-0.5, 0.5, 0.5]
    assert kkt_violation(problem, np.zeros(3), np.zeros(3)) == 0.0


def test_bias_without_a_free_instance_is_the_middle():
    y = np.array([1.0, -1.0])
    problem = Problem.classification(MatrixView(np.eye(2)), y, np.full(2, 0.1))
    beta = np.array([0.1, -0.1])
    gradient = beta - y
    assert bias_from_gradient(problem, beta, gradient) == pytest.approx(0.0)
    one = Problem.one_class(MatrixView(np.eye(2)), np.ones(2), 1.0)
    assert bias_from_gradient(one, np.ones(2), np.array([1.0, 3.0])) == -3.0


def test_infinite_boxes():
    view = MatrixView(np.eye(2))
    problem = Problem(
        view, np.ones(2), np.full(2, np.inf), np.zeros(2), np.ones(2), has_equality=False
    )
    assert best_response(problem, np.array([0.0, 1.0])).tolist() == [0.0, 0.0]
    assert best_response(problem, np.array([-1e-9, 1.0]))[0] == np.inf
    assert certify(problem, np.ones(2)).duality_gap == 0.0
    assert certify(problem, np.zeros(2)).duality_gap == np.inf


def test_blocks_do_not_change_the_answer(rng, monkeypatch):
    problem = make_problems(rng)["svc"]
    beta = 0.3 * problem.targets * problem.weights
    whole = certify(problem, beta)
    monkeypatch.setattr("alphapath.problem.certificate.BLOCK_VALUES", 80)
    assert certify(problem, beta).objective == pytest.approx(whole.objective, rel=1e-14)


def test_certificate_reads_as_a_table(rng):
    problem = make_problems(rng)["svc"]
    text = str(certify(problem, np.zeros(40)))
    assert "duality gap" in text
    assert len(text.splitlines()) == 7
