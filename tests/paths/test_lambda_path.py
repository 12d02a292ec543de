"""Paths over lambda: every lambda optimal, the published event counts, degenerate data, curves."""

from __future__ import annotations

import signal
import threading
from pathlib import Path as FilePath

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from alphapath import QuadraticLossSVC, Status, _core
from alphapath.errors import InvalidProblem
from alphapath.kernels import Linear, Precomputed, Rbf
from alphapath.paths import LambdaPath, lambda_path
from alphapath.paths.quadratic.path import PathEnd
from alphapath.problem import certify
from alphapath.solvers import coordinate, newton
from alphapath.solvers.native import single_threaded
from datasets import CLASSIFICATION
from oracles import dual_objective, solve_by_qp
from quadratic_cases import LOSSES, artificial, random_lambdas, violation


def two_classes(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = CLASSIFICATION[name]()
    return X, np.where(y == np.unique(y)[1], 1, -1)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("is_upward", [False, True])
def test_every_lambda_is_optimal(loss: str, is_upward: bool) -> None:
    X, y = artificial(100, 0)
    rho, h = LOSSES[loss]
    ends = (1e-5, None) if is_upward else (None, 1e-5)
    path = lambda_path(X, y, rho=rho, h=h, lam_from=ends[0], lam_to=ends[1])
    assert path.info_.status is PathEnd.FINISHED
    lams = random_lambdas(path, 200)
    for lam in [*path.breakpoints_, *lams]:
        solution = path.at(lam)
        assert certify(solution.problem, solution.beta).is_optimal(2e-9)
        assert solution.info.n_iter <= 3
    assert max(violation(path, lam) for lam in [*path.breakpoints_, *lams]) < 1e-7


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_the_path_equals_fresh_solutions(loss: str) -> None:
    X, y = artificial(60, 3)
    rho, h = LOSSES[loss]
    # Coordinate descent takes seconds for a lambda below this range.
    path = lambda_path(X, y, rho=rho, h=h, lam_to=1e-3)
    for lam in random_lambdas(path, 200):
        ours = path.at(lam)
        fresh = coordinate.solve(ours.problem, tol=1e-8)
        assert fresh.info.status is Status.SOLVED
        np.testing.assert_allclose(ours.decision_values, fresh.decision_values, atol=1e-6)
    ours = path.at(0.01)
    by_qp = dual_objective(ours.problem, solve_by_qp(ours.problem))
    assert ours.info.objective == pytest.approx(by_qp, rel=1e-8)


@pytest.mark.parametrize(("loss", "published"), [("squared_hinge", 42.1), ("huber", 150.0)])
def test_as_many_events_as_published(loss: str, published: float) -> None:
    rho, h = LOSSES[loss]
    paths = [lambda_path(*artificial(100, seed), rho=rho, h=h) for seed in range(10)]
    assert np.mean([path.info_.n_events for path in paths]) == pytest.approx(published, rel=0.1)
    if loss == "huber":
        assert max(path.info_.iterations_per_equation for path in paths) < 1.3
    for path in paths:
        last = path.at(path.range_[1])
        assert certify(last.problem, last.beta).is_optimal(1e-8)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber", "modified_huber"])
def test_few_poles_and_all_eigenvalues_give_the_same_events(loss: str) -> None:
    X, y = artificial(100, 1)
    rho, h = LOSSES[loss]
    path = lambda_path(X, y, rho=rho, h=h, lam_to=1e-4)
    with single_threaded():
        for settings in ({"uses_eigen": True}, {"has_cutoff": False}):
            options = _core.QuadraticPathOptions(*path.range_, **settings)
            oracle = _core.follow_quadratic_path(path.model.native, None, options)
            np.testing.assert_array_equal(oracle.event_instances, path.events_["row"])
            np.testing.assert_allclose(oracle.event_lambdas, path.breakpoints_, rtol=1e-6)
    assert path.info_.n_poles < 25 * path.n_pieces


def test_there_and_back_are_the_same_events() -> None:
    X, y = two_classes("generated")
    down = lambda_path(X, y, rho=1.1, h=0.2, lam_to=1e-3)
    up = lambda_path(X, y, rho=1.1, h=0.2, lam_from=1e-3, lam_to=down.range_[0])
    np.testing.assert_allclose(up.breakpoints_, down.breakpoints_[::-1], rtol=1e-7)
    np.testing.assert_array_equal(up.events_["row"], down.events_["row"][::-1])
    np.testing.assert_array_equal(up.events_["to"], down.events_["from"][::-1])
    assert violation(up, 0.1) < 1e-9


@pytest.mark.parametrize("loss", [*LOSSES.values(), (2.0, 1.5)])
@pytest.mark.parametrize("name", ["duplicates", "ties", "constant_features", "lonely_class"])
@pytest.mark.parametrize("kernel", [Rbf(0.5), Rbf(1e3), Rbf(1e-7), Linear()])
def test_degenerate_data(name: str, kernel: Rbf | Linear, loss: tuple[float, float]) -> None:
    X, y = two_classes(name)
    path = lambda_path(X, y, rho=loss[0], h=loss[1], kernel=kernel, lam_to=1e-4)
    assert path.info_.status is PathEnd.FINISHED
    K = path.model.view.exact_rows(np.arange(len(y)))
    rounding = np.abs(K).sum(axis=1).max() * 1e-14 / 1e-4
    for lam in [*path.breakpoints_[:: max(1, path.info_.n_events // 10)], *random_lambdas(path, 5)]:
        solution = path.at(lam)
        assert certify(solution.problem, solution.beta).is_optimal(1e-8 + rounding)


@pytest.mark.parametrize("loss", LOSSES)
def test_matrices_without_information(loss: str) -> None:
    rho, h = LOSSES[loss]
    y = np.repeat([1, -1], 10)
    for K in (np.ones((20, 20)), np.zeros((20, 20)), np.eye(20), np.outer(y, y).astype(float)):
        path = lambda_path(K, y, rho=rho, h=h, kernel=Precomputed())
        for lam in np.geomspace(*path.range_, 3):
            solution = path.at(lam)
            assert certify(solution.problem, solution.beta).is_optimal(1e-8)


def test_weights_are_repetitions() -> None:
    X, y = artificial(60, 5)
    counts = np.random.default_rng(0).integers(1, 4, 60)
    weighted = lambda_path(X, y, sample_weight=counts, lam_to=1e-3)
    repeated = lambda_path(np.repeat(X, counts, axis=0), np.repeat(y, counts), lam_to=1e-3)
    for lam in (10.0, 0.5, 0.02, 0.001):
        a, b = weighted.at(lam), repeated.at(lam)
        assert certify(a.problem, a.beta).is_optimal(1e-9)
        np.testing.assert_allclose(
            weighted.decision_function(X, lam), repeated.decision_function(X, lam), atol=1e-9
        )
        np.testing.assert_allclose(np.repeat(a.decision_values, counts), b.decision_values)


@pytest.mark.parametrize("ends", [(None, 1e-5), (1e-5, None)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_error_curve_knows_every_change(
    ends: tuple[float | None, float | None], is_weighted: bool
) -> None:
    X, y = artificial(200, 2)
    path = lambda_path(X[::2], y[::2], rho=1.1, h=0.2, lam_from=ends[0], lam_to=ends[1])
    X, y = X[1::2], y[1::2]
    weights = np.random.default_rng(0).integers(0, 4, 100) if is_weighted else np.ones(100)
    curve = path.validate(X, y, sample_weight=weights)

    def error_at(lam: float) -> float:
        return float(np.average(path.predict(X, lam) != y, weights=weights))

    # Just beside each edge, and in between, the labels of the model itself.
    edges = curve.starts[1:]
    for lam in np.concatenate([edges * (1 - 1e-7), edges * (1 + 1e-7), random_lambdas(path, 100)]):
        assert float(curve(lam)) == pytest.approx(error_at(lam), abs=1e-12)
    assert curve.best_value <= min(error_at(lam) for lam in random_lambdas(path, 200, 1)) + 1e-13
    assert float(curve(curve.best_t)) == curve.best_value
    assert any(low <= curve.best_t <= high for low, high in curve.best_ranges)


@pytest.mark.parametrize(("loss", "is_upward"), [("huber", False), ("squared_hinge", True)])
def test_the_squared_curve_is_exact_everywhere(loss: str, is_upward: bool) -> None:
    X, y = artificial(160, 3)
    rho, h = LOSSES[loss]
    ends = (1e-4, None) if is_upward else (None, 1e-4)
    path = lambda_path(X[::2], y[::2], rho=rho, h=h, lam_from=ends[0], lam_to=ends[1])
    weights = np.random.default_rng(0).uniform(0, 1, 80)
    curve = path.validate(X[1::2], y[1::2], "squared", weights)

    def score_at(lam: float) -> float:
        f = path.decision_function(X[1::2], lam)
        return float(np.average((f - y[1::2]) ** 2, weights=weights))

    lams = np.concatenate([path.breakpoints_, random_lambdas(path, 200), [curve.best_t]])
    scores = np.array([score_at(lam) for lam in lams])
    np.testing.assert_allclose(curve(lams), scores, rtol=1e-9)
    assert curve.best_value == pytest.approx(scores[-1], rel=1e-9)
    fine = min(score_at(lam) for lam in random_lambdas(path, 1000, 5))
    assert curve.best_value <= fine + 1e-12
    # The minimum is one: moving away by 1% is worse on both sides.
    low, high = sorted(path.range_)
    for lam in (curve.best_t / 1.01, curve.best_t * 1.01):
        assert not low <= lam <= high or float(curve(lam)) > curve.best_value


def test_a_path_in_a_file_is_the_same_path(tmp_path: FilePath) -> None:
    X, y = artificial(80, 4)
    labels = np.where(y > 0, "yes", "no")
    model = QuadraticLossSVC(loss="huber", gamma=1.0)
    path = model.lambda_path(X, labels, lam_to=1e-3)
    path.save(tmp_path / "path.npz")
    again = LambdaPath.load(tmp_path / "path.npz", model.to_problem(X, labels))
    assert again.info_ == path.info_
    np.testing.assert_array_equal(again.events_, path.events_)
    for lam in random_lambdas(path, 20):
        np.testing.assert_array_equal(again.predict(X, lam), path.predict(X, lam))
        solution = again.at(lam)
        assert certify(solution.problem, solution.beta).is_optimal(1e-8)
    ours, theirs = (p.validate(X, labels) for p in (path, again))
    np.testing.assert_array_equal(ours.value, theirs.value)
    with pytest.raises(ValueError, match="is of 80 instances, and the problem has 79"):
        LambdaPath.load(tmp_path / "path.npz", model.to_problem(X[1:], labels[1:]))
    with pytest.raises(ValueError, match="is of other rows, or of a kernel with other parameters"):
        LambdaPath.load(tmp_path / "path.npz", model.to_problem(X[::-1].copy(), labels))
    with pytest.raises(ValueError, match="is of other labels"):
        LambdaPath.load(tmp_path / "path.npz", model.to_problem(X, labels[::-1]))


def uneven_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts and lengths side by side, as they come: inner products up to 1e9."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((100, 20)) < 0.3, rng.lognormal(0, 1, (100, 20)), 0.0)
    return X * 10.0 ** rng.uniform(-1, 4, 20), np.where(rng.random(100) < 0.4, 1, -1)


def check_points(path: LambdaPath) -> None:
    """Everywhere what a solution says of itself holds, and it is solved but for rounding."""
    for lam in [*path.breakpoints_[-5:], *random_lambdas(path, 12)]:
        solution = path.at(lam)
        certificate = certify(solution.problem, solution.beta)
        assert certificate.kkt_violation <= 2.0 * solution.info.kkt_violation + 1e-6
        if solution.info.status is Status.SOLVED:
            assert certificate.kkt_violation <= 1e-5
        if not any(low <= lam <= high for low, high in path.gaps_):
            values = path.decision_function(path.model.view._X, lam)
            np.testing.assert_allclose(values, solution.decision_values, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [1, 4])
def test_paths_on_unscaled_rows_end(loss: str, seed: int) -> None:
    X, y = uneven_rows(seed)
    rho, h = LOSSES[loss]
    path = lambda_path(X, y, rho=rho, h=h, kernel=Linear())
    assert path.info_.status is PathEnd.FINISHED
    assert path.info_.n_events < 10_000
    check_points(path)


@pytest.mark.parametrize("loss", LOSSES)
def test_paths_with_weights_of_two_sizes_end(loss: str) -> None:
    rho, h = LOSSES[loss]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 3)) * 10.0 ** rng.uniform(0, 3)
        y, weights = np.repeat([1, -1], 10), np.where(rng.random(20) < 0.5, 0.01, 100.0)
        path = lambda_path(X, y, rho=rho, h=h, kernel=Linear(), sample_weight=weights)
        assert path.info_.status is PathEnd.FINISHED
        assert path.info_.n_events < 1000
        check_points(path)


def test_a_path_may_be_cut_short(tmp_path: FilePath) -> None:
    X, y = artificial(100, 0)
    whole = lambda_path(X, y, rho=1.1, h=0.2)
    path = lambda_path(X, y, rho=1.1, h=0.2, max_events=20)
    assert path.info_.status is PathEnd.EVENT_LIMIT
    assert "event_limit" in repr(path)
    n_events = path.info_.n_events
    assert 20 <= n_events <= 22
    np.testing.assert_array_equal(path.events_, whole.events_[:n_events])
    assert path.range_[1] == path.events_["lam"][-1]
    check_points(path)
    with pytest.raises(ValueError, match="the path covers"):
        path.at(1e-5)
    path.save(tmp_path / "path.npz")
    again = LambdaPath.load(tmp_path / "path.npz", path.model.problem_at(1.0))
    assert again.info_ == path.info_
    late = lambda_path(X, y, time_limit=1e-9)
    assert late.info_.status is PathEnd.TIME_LIMIT
    assert late.range_[0] == late.range_[1]
    assert late.at(late.range_[0]).info.status is Status.SOLVED
    with pytest.raises(ValueError, match="max_events is 0; it must be positive"):
        lambda_path(X, y, max_events=0)
    with pytest.warns(ConvergenceWarning, match="ended at its time_limit, at lambda"):
        QuadraticLossSVC().lambda_path(X, y, time_limit=1e-9)


def test_ctrl_c_leaves_what_was_followed() -> None:
    X, y = artificial(400, 0)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        path = lambda_path(np.tile(X, (3, 1)), np.tile(y, 3), rho=1.1, h=0.2, lam_to=1e-9)
    except KeyboardInterrupt:  # while the kernel was made
        pytest.skip("The signal came before the path began.")
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert path.info_.status in (PathEnd.INTERRUPTED, PathEnd.FINISHED)


def test_curves_begin_with_the_sets_before_the_first_event() -> None:
    X, y = np.ones((6, 2)), np.repeat([0, 1], 3)
    weights = np.array([100.0, 0.01, 100.0, 100.0, 0.01, 100.0])
    # Of equal rows one leaves its bound before the first piece.
    path = lambda_path(X, y, rho=1.0, h=1.0, sample_weight=weights, lam_from=2e-5, lam_to=1e-5)
    assert path.n_events_before(0) > 0
    curve = path.validate(X, y, "squared")
    for lam in random_lambdas(path, 5):
        values = path.at(lam).decision_values
        assert float(curve(lam)) == pytest.approx(np.mean((values - (2 * y - 1)) ** 2))


def test_values_that_are_zero_cross_nowhere() -> None:
    """Rows whose values are rounding along a whole piece have no crossings, let alone 1e13."""
    noise = np.random.default_rng(0).normal(size=(3, 40)) * 1e-17
    noise[:, ::2] = 0.0
    s = -noise.sum(axis=0)
    rows, _ = _core.find_crossings(s, np.zeros(40), noise, np.array([1.0, 2.0, 3.0]), 0.9)
    assert rows.size < 400
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    path = lambda_path(X, [0, 1, 1], kernel=Linear())
    curve = path.validate(np.array([[0.0, 5.0], [0.0, 1.0]]), [0, 1])
    assert curve.value.tolist() == [0.5]


def test_crossings_of_random_rational_functions() -> None:
    rng = np.random.default_rng(7)
    poles = np.sort(rng.uniform(1.0, 5.0, 6))
    s, e = rng.normal(size=300) * 0.1, rng.normal(size=300) * 0.1
    W = rng.normal(size=(6, 300))
    for end in (0.95, -3.0):
        rows, x = _core.find_crossings(s, e, W, poles, end)
        grid = np.linspace(0, end, 20_001)[1:]
        values = s[:, None] + grid * (
            e[:, None] + np.einsum("ki,kj->ij", W, 1 / (poles[:, None] - grid))
        )
        signs = np.sign(values)
        n_changes = np.count_nonzero(np.diff(signs, axis=1), axis=1) + (signs[:, 0] != np.sign(s))
        np.testing.assert_array_equal(np.bincount(rows, minlength=300), n_changes)
        at_zero = s[rows] + x * (e[rows] + np.sum(W[:, rows] / (poles[:, None] - x), axis=0))
        np.testing.assert_allclose(at_zero, 0.0, atol=1e-12)
        assert n_changes.max() >= 2


def test_newton_solves_the_family() -> None:
    X, y = two_classes("breast_cancer")
    problem = lambda_path(X, y, h=2.0, lam_to=1e-1).model.problem_at(0.01)
    cold = newton.solve(problem)
    assert certify(problem, cold.beta).is_optimal(1e-9)
    assert newton.solve(problem, cold.as_start()).info.n_iter <= 1
    moved = lambda_path(X, y, h=2.0, lam_to=1e-1).model.problem_at(0.0101)
    assert newton.solve(moved, cold.as_start()).info.n_iter < cold.info.n_iter


def test_bad_arguments_are_named() -> None:
    X, y = artificial(20, 0)
    with pytest.raises(ValueError, match="3 classes"):
        lambda_path(X, np.arange(20) % 3)
    with pytest.raises(InvalidProblem, match=r"weights\[3\] is 0"):
        lambda_path(X, y, sample_weight=(np.arange(20) != 3).astype(float))
    with pytest.raises(InvalidProblem, match=r"loss is \(1\.0, -1\.0\)"):
        lambda_path(X, y, h=-1.0)
    with pytest.raises(ValueError, match="kernel is 'gauss'; it must be 'rbf', 'linear'"):
        lambda_path(X, y, kernel="gauss")
    with pytest.raises(ValueError, match=r"lambda = 0\.0"):
        lambda_path(X, y, lam_to=0.0)
    path = lambda_path(X, y, lam_to=0.1)
    with pytest.raises(ValueError, match=r"the path covers 0\.1"):
        path.at(0.01)
    with pytest.raises(ValueError, match="metric is 'auc'"):
        path.validate(X, y, "auc")
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        path.validate(X, y, sample_weight=[1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="none negative"):
        path.validate(X, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="y holds 7"):
        path.validate(X, np.full(20, 7.0))
    with pytest.raises(InvalidProblem, match="not positive definite"):
        lambda_path(-np.eye(20), y, kernel=Precomputed(), lam_to=0.5)


def test_plots() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = artificial(60, 0)
    path = lambda_path(X, y, h=2.0)
    assert len(path.plot().lines) == 3
    assert path.validate(X, y).plot().get_ylabel() == "error"
    assert path.validate(X, y, "squared").plot().get_ylabel() == "squared"


@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_every_lambda_is_optimal_on_real_data(loss: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rho, h = LOSSES[loss]
    path = lambda_path(StandardScaler().fit_transform(X), y, rho=rho, h=h)
    for lam in [*path.breakpoints_[::10], *random_lambdas(path, 40)]:
        solution = path.at(lam)
        assert certify(solution.problem, solution.beta).is_optimal(1e-8)


def test_values_between_the_ends_of_pieces_are_those_of_the_solution() -> None:
    """Rows far from the origin, without a bias: fractions lose digits between their ends."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(14, 8)) + 1065.0
    X[[8, 10]], y = X[[3, 6]], rng.permutation(np.repeat([0, 1], 7))
    weights = np.where(rng.random(14) < 0.4, 0.01, 1.0)
    path = lambda_path(X, y, kernel="linear", rho=0.5, h=0.5, sample_weight=weights, lam_to=1e-5)
    for lam in np.exp(rng.uniform(np.log(2e-5), np.log(1.0), 20)):
        solution = path.at(float(lam))
        f = solution.gradient - solution.problem.ridges * solution.beta + solution.problem.targets
        found = path.decision_function(X, float(lam))
        np.testing.assert_allclose(found, f, rtol=0, atol=1e-4 * (1.0 + np.abs(f).max()))
