"""LinearSVC, its solvers and the search over C, against scikit-learn's and plain certificates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score
from sklearn.svm import LinearSVC as PeerSVC

from alphapath import SVC, LinearSVC
from alphapath.errors import SolverMismatch
from alphapath.model_selection import linear_c_search
from alphapath.problem import MarginProblem, certify_margin
from alphapath.solvers.primal import newton as margin_newton
from alphapath.solvers.primal import pegasos


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X / X.max(axis=0), y


def certified_gap(model: LinearSVC, X, y, **weights) -> float:
    """Half the squared gradient norm from raw data, relative to the objective."""
    problem = model.to_problem(X, y, **weights)
    found = certify_margin(problem, model.coef_[0], float(model.intercept_[0]))
    assert model.objective_ == pytest.approx(found.objective, rel=1e-8)
    return 0.5 * found.gradient_norm**2 / found.objective


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
@pytest.mark.parametrize("penalise", [True, False])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_newton_is_certified(cancer, loss: str, penalise: bool, C: float) -> None:
    X, y = cancer
    model = LinearSVC(loss, C=C, penalise_intercept=penalise, width=0.1, tol=1e-9).fit(X, y)
    assert certified_gap(model, X, y) <= 1e-8
    assert model.fit_status_ == 0
    sparse = LinearSVC(loss, C=C, penalise_intercept=penalise, width=0.1, tol=1e-9).fit(
        sp.csr_array(X), y
    )
    np.testing.assert_allclose(
        sparse.decision_function(X), model.decision_function(X), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("C", [0.01, 10.0])
def test_the_answers_are_those_of_scikit_learn(cancer, C: float) -> None:
    X, y = cancer
    ours = LinearSVC(C=C, tol=1e-10).fit(X, y)
    peer = PeerSVC(C=C, dual=False, tol=1e-9, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_the_hinge_reaches_its_optimum(cancer, C: float, fit_intercept: bool) -> None:
    X, y = cancer
    ours = LinearSVC("hinge", C=C, tol=1e-5, fit_intercept=fit_intercept).fit(X, y)
    peer = PeerSVC(
        C=C, loss="hinge", tol=1e-8, max_iter=2_000_000, fit_intercept=fit_intercept
    ).fit(X, y)
    problem = ours.to_problem(X, y)
    best = certify_margin(problem, peer.coef_[0], float(np.ravel(peer.intercept_)[0])).objective
    assert ours.objective_ <= best * (1.0 + 2e-5)
    assert 0.0 <= ours.duality_gap_ <= 1e-5 * ours.objective_


@pytest.mark.parametrize("loss", ["hinge", "huber", "squared_hinge"])
@pytest.mark.parametrize("penalise", [True, False])
@pytest.mark.parametrize("weights", [{0: 1e-6}, {1: 1e-6}, {0: 1e6}, {1: 1e6}])
def test_extreme_class_weights(cancer, loss: str, penalise: bool, weights: dict) -> None:
    X, y = cancer
    for C in (1e-4, 1.0):
        model = LinearSVC(loss, C=C, class_weight=weights, penalise_intercept=penalise).fit(X, y)
        assert model.fit_status_ == 0
        assert 0.0 <= model.duality_gap_ <= 1e-4 * model.objective_
        if not penalise and loss == "hinge":
            peer = SVC(kernel="linear", C=C, class_weight=weights, tol=1e-6).fit(X, y)
            problem = model.to_problem(X, y)
            best = certify_margin(problem, peer.coef_[0], float(peer.intercept_[0])).objective
            assert model.objective_ <= best * (1.0 + 1e-4)


def test_a_free_offset_at_a_small_C(cancer) -> None:
    X, y = cancer
    model = LinearSVC("hinge", C=1e-4, penalise_intercept=False).fit(X, y)
    peer = SVC(kernel="linear", C=1e-4, tol=1e-8).fit(X, y)
    assert model.objective_ == pytest.approx(-peer.objective_, rel=1e-4)
    assert model.fit_status_ == 0


def test_conjugate_gradients_and_the_matrix_agree(cancer, monkeypatch) -> None:
    X, y = cancer
    exact = LinearSVC(C=5.0, tol=1e-10).fit(X, y)
    monkeypatch.setattr(margin_newton, "MAX_GRAM", 3)
    other = LinearSVC(C=5.0, tol=1e-10).fit(sp.csr_array(X), y)
    assert certified_gap(other, X, y) <= 1e-9
    np.testing.assert_allclose(other.coef_, exact.coef_, atol=1e-4)


def test_degenerate_data() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X = np.column_stack([X, X[:, 0], np.zeros(60), np.ones(60)])  # equal, empty, constant columns
    X[::2] = X[0]
    y = np.repeat([0, 1], [58, 2])
    for loss in ("squared_hinge", "huber"):
        for C in (1e-6, 1e8):
            model = LinearSVC(loss, C=C, tol=1e-6).fit(X, y)
            assert certified_gap(model, X, y) <= 1e-5


def test_weights_count_as_copies(cancer) -> None:
    X, y = cancer
    weights = np.random.default_rng(0).integers(0, 3, size=y.size)
    weighted = LinearSVC(C=2.0, tol=1e-10).fit(X, y, sample_weight=weights)
    repeated = LinearSVC(C=2.0, tol=1e-10).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    assert certified_gap(weighted, X, y, sample_weight=weights) <= 1e-9


def test_lam_is_the_mean_loss_form(cancer) -> None:
    X, y = cancer
    by_lam = LinearSVC(lam=0.01, tol=1e-10).fit(X, y)
    by_C = LinearSVC(C=1.0 / (0.01 * y.size), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(by_lam.coef_, by_C.coef_, rtol=1e-10)


def test_gradient_descends_and_pegasos_comes_near(cancer) -> None:
    X, y = cancer
    best = LinearSVC("hinge", lam=1e-2, tol=1e-6).fit(X, y)
    walked = LinearSVC("huber", lam=1e-2, solver="gradient", tol=1e-7).fit(X, y)
    assert walked.objective_ <= 1.05 * best.objective_
    drawn = LinearSVC("hinge", lam=1e-2, solver="pegasos", random_state=0).fit(X, y)
    plain = LinearSVC("hinge", lam=1e-2, solver="pegasos", random_state=0, margin_bounds=False).fit(
        X, y
    )
    np.testing.assert_allclose(drawn.coef_, plain.coef_, atol=1e-9)
    assert drawn.objective_ <= 1.02 * best.objective_
    assert drawn.solve_info_[0].n_rows_computed < plain.solve_info_[0].n_rows_computed


def test_more_classes_are_one_against_the_rest() -> None:
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32) / 16.0
    ours = LinearSVC(tol=1e-8).fit(X, y)
    peer = PeerSVC(dual=False, tol=1e-8, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-3)
    assert ours.coef_.shape == (10, 64)
    assert np.mean(ours.predict(X) == peer.predict(X)) == 1.0


def test_a_start_is_used(cancer) -> None:
    X, y = cancer
    problem = LinearSVC().to_problem(X, y)
    cold = margin_newton.solve(problem)
    again = margin_newton.solve(problem, (cold.coef, cold.bias))
    assert again.info.n_iter == 0 < cold.info.n_iter
    path = margin_newton.NewtonPath(problem, margin_newton.NewtonLimits(tol=1e-9))
    n_steps = [path.solve(C).info.n_iter for C in (1.0, 1.05)]
    fresh = margin_newton.NewtonPath(problem, margin_newton.NewtonLimits(tol=1e-9)).solve(1.05)
    assert n_steps[1] < fresh.info.n_iter
    np.testing.assert_allclose(path.solve(1.05).coef, fresh.coef, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "hinge"])
def test_the_search_is_cross_validation(cancer, loss: str) -> None:
    X, y = cancer
    grid = 2.0 ** np.arange(-8, 7, 2)
    cv = KFold(4, shuffle=True, random_state=0)
    tol = 1e-4 if loss == "hinge" else 1e-7
    model = LinearSVC(loss, width=0.1, tol=tol)
    found = linear_c_search(model, X, y, C=grid, cv=cv, n_jobs=2)
    for k, C in enumerate(grid):
        scores = cross_val_score(LinearSVC(loss, width=0.1, tol=tol, C=C), X, y, cv=cv)
        np.testing.assert_allclose(found.test_scores[k], scores, atol=0.008)
    assert (found.duality_gap <= 2.0 * tol * found.objective).all()
    assert found.best_estimator is not None
    assert found.best_C == found.best_estimator.C
    assert found.best_score == found.mean_scores.max()
    assert found.n_iter.shape == (grid.size, 4, 1)


def test_the_search_over_overlapping_splits_and_classes() -> None:
    X, y = load_digits(n_class=3, return_X_y=True)
    rng = np.random.default_rng(0)
    cv = [np.split(rng.permutation(len(y)), [300]) for _ in range(3)]
    cv = [(train, test[:100]) for train, test in cv]
    grid = [1e-5, 1e-3]
    found = linear_c_search(LinearSVC(tol=1e-8), X, y, C=grid, cv=cv)
    for k, C in enumerate(grid):
        scores = cross_val_score(LinearSVC(tol=1e-8, C=C), X, y, cv=cv)
        np.testing.assert_allclose(found.test_scores[k], scores)
    assert found.objective.shape == (2, 3, 3)


def test_huber_against_a_general_minimiser(cancer) -> None:
    X, y = cancer[0][:100], cancer[1][:100]
    problem = LinearSVC("huber", C=1.0, width=0.5, penalise_intercept=False).to_problem(X, y)

    def objective(theta):
        values = X @ theta[:-1] + theta[-1]
        slopes = problem.weights * problem.slopes(values)
        value = 0.5 * theta[:-1] @ theta[:-1] + problem.weights @ problem.losses(values)
        return value, np.append(theta[:-1] + X.T @ slopes, slopes.sum())

    peer = minimize(objective, np.zeros(X.shape[1] + 1), jac=True, options={"maxiter": 10_000})
    ours = margin_newton.solve(problem, limits=margin_newton.NewtonLimits(tol=1e-12))
    assert ours.info.objective <= peer.fun * (1.0 + 1e-9)


def test_what_does_not_fit_is_refused(cancer) -> None:
    X, y = cancer
    with pytest.raises(SolverMismatch, match="hinge loss with a penalised offset"):
        LinearSVC(solver="pegasos").fit(X, y)
    with pytest.raises(ValueError, match="needs 'auto' or 'newton'"):
        linear_c_search(LinearSVC("hinge", solver="pegasos"), X, y)
    with pytest.raises(ValueError, match="positive, finite values"):
        linear_c_search(LinearSVC(), X, y, C=[0.0, 1.0])
    tube = MarginProblem(X, y.astype(float), np.ones(y.size), "squared_epsilon_insensitive", 0.1)
    with pytest.raises(SolverMismatch, match="use the smooth_newton solver"):
        margin_newton.solve(tube)
    with pytest.raises(SolverMismatch):
        pegasos.solve(tube)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LinearSVC(C=1e5, max_iter=1, tol=1e-9).fit(X, y)
