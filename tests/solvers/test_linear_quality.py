"""What LinearSVC says of its quality is true: hard problems, certificates, and how close it is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.svm import LinearSVC as PeerSVC

from alphapath import SVC, LinearSVC, SmoothSVC, SmoothSVR, TransductiveSVC
from alphapath.errors import InfeasibleStart
from alphapath.problem import MarginProblem, Status, certify_margin
from alphapath.problem.certificate import balance, dual_objective
from alphapath.problem.margin_problem import MARGIN_LOSSES, OFFSETS
from alphapath.solvers.primal import interior as margin_interior
from alphapath.solvers.primal import newton as margin_newton

OFFSET_ARGUMENTS = {
    "penalised": {},
    "free": {"penalise_intercept": False},
    "none": {"fit_intercept": False},
}


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("C", [1.0, 1e4, 1e6, 1e8])
def test_no_C_is_too_large(cancer, loss: str, offset: str, C: float) -> None:
    X, y = cancer
    for rows in (X, X / X.max(axis=0)):
        model = LinearSVC(loss, C=C, **OFFSET_ARGUMENTS[offset]).fit(rows, y)
        assert model.fit_status_ is Status.SOLVED
        assert 0.0 <= model.duality_gap_ <= 1e-4 * model.objective_
        certificate = model.certify(rows, y)
        assert certificate.objective == pytest.approx(model.objective_, rel=1e-8)
        assert certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("size", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("offset", ["penalised", "free"])
def test_a_large_common_part_of_the_data(size: float, loss: str, offset: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=200) > 0.0
    model = LinearSVC(loss, width=0.5, **OFFSET_ARGUMENTS[offset]).fit(X + size, y)
    assert model.fit_status_ is Status.SOLVED
    certificate = model.certify(X + size, y)
    assert certificate.objective == pytest.approx(model.objective_, rel=1e-6)
    assert certificate.duality_gap <= 1e-3 * model.objective_
    if offset == "free":  # it takes up a common part
        plain = LinearSVC(loss, width=0.5, penalise_intercept=False).fit(X, y)
        assert model.objective_ == pytest.approx(plain.objective_, rel=2e-4)


@pytest.mark.parametrize("C", [1.0, 1000.0, 1e5])
@pytest.mark.parametrize("loss", ["huber", "hinge"])
def test_the_gap_of_a_free_offset_is_a_bound(loss: str, C: float) -> None:
    X, y = np.full((4, 1), 2.0), [0, 1, 1, 1]
    model = LinearSVC(loss, C=C, width=0.5, penalise_intercept=False).fit(X, y)
    exact = LinearSVC(loss, C=C, width=0.5, penalise_intercept=False, tol=1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = exact.fit(X, y).objective_
    assert model.objective_ - best <= model.duality_gap_ + 1e-13 * best
    found = margin_newton.solve(model.to_problem(X, y))  # to a gap of 1e-4
    assert found.info.objective - best <= found.info.duality_gap + 1e-13 * best


@pytest.mark.parametrize("loss", [*MARGIN_LOSSES, "squared_epsilon_insensitive"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_the_certificate_is_a_bound_anywhere(loss: str, offset: str) -> None:
    """At any model: no model has an objective lower by more than its gap."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0.0, 1.0, -1.0)
    width = 0.2 if loss in ("huber", "squared_epsilon_insensitive") else 0.0
    problem = MarginProblem(X, y, rng.uniform(0.0, 3.0, 40), loss, width, offset)
    values = {}
    for scale in (0.0, 1e-3, 0.1, 1.0, 30.0):
        for _ in range(20):
            w, b = scale * rng.normal(size=3), scale * rng.normal() * (offset != "none")
            found = certify_margin(problem, w, b)
            values[found.objective] = found.duality_gap
    least = min(values)
    assert all(value - gap <= least + 1e-9 for value, gap in values.items())
    assert all(0.0 <= gap <= value for value, gap in values.items())
    beta = balance(problem, -problem.weights * problem.slopes(np.zeros(40)))
    assert dual_objective(problem, beta) <= least
    if offset == "free":
        assert beta.sum() == pytest.approx(0.0, abs=1e-12)


def test_a_fit_is_as_close_as_one_of_scikit_learn(cancer) -> None:
    X, y = cancer
    wide, codes = make_classification(150, 1500, n_informative=30, random_state=0)
    wide = sp.csr_array(np.where(np.abs(wide) > 1.5, wide, 0.0))
    for rows, labels in ((X / X.max(axis=0), y), (wide, codes)):
        for loss in ("squared_hinge", "hinge"):
            ours = LinearSVC(loss).fit(rows, labels)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it may need more than a thousand sweeps
                peer = PeerSVC(loss=loss, random_state=0).fit(rows, labels)
            problem = ours.to_problem(rows, labels)
            found = certify_margin(problem, peer.coef_[0], float(peer.intercept_[0]))
            assert ours.objective_ <= found.objective * (1.0 + 2e-9)


@pytest.mark.parametrize("width", [0.05, 0.5])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_descents_with_and_without_bounds_end_at_the_same(cancer, width: float, C: float) -> None:
    X, y = cancer
    X = X / X.max(axis=0)
    best = LinearSVC("huber", C=C, width=width).fit(X, y).objective_
    for bounds in (True, False):
        model = LinearSVC("huber", C=C, width=width, solver="gradient", margin_bounds=bounds)
        model.fit(X, y)
        assert model.fit_status_ is Status.SOLVED
        assert best <= model.objective_ * (1.0 + 1e-9)
        assert model.objective_ <= best * (1.0 + 1e-4)


def test_a_first_step_that_is_far_too_long_is_taken_back() -> None:
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(30, 3))
    y = X[:, 0] + 1e5 * rng.normal(size=30) > 0.0
    for offset in OFFSETS:
        model = LinearSVC("squared_hinge", solver="gradient", max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(**OFFSET_ARGUMENTS[offset]).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.objective_)
        assert model.certify(X, y).objective <= 1e7 * y.size


def test_what_interior_points_finish_is_certified_by_their_duals() -> None:
    X = np.array([[8.4e3, 8.5e3], [8.4e3 + 1.0, 8.5e3], [8.4e3, 8.5e3 - 1.0], [8.4e3, 8.5e3 + 3.0]])
    model = LinearSVC(C=1e12, fit_intercept=False, tol=1e-7).fit(X, [0, 1, 1, 0])
    assert model.fit_status_ is Status.SOLVED
    assert model.certify(X, [0, 1, 1, 0]).relative_gap <= 1e-6
    with pytest.raises(InfeasibleStart, match="The objective is inf"):
        certify_margin(model.to_problem(X, [0, 1, 1, 0]), [1e160, 0.0], 0.0)


def test_interior_points_agree_with_newton() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    y = np.where(X[:, 0] + rng.normal(size=80) > 0.0, 1.0, -1.0)
    weights = rng.choice([0.0, 0.1, 5.0], size=80)
    limits = margin_newton.NewtonLimits(tol=1e-7)
    for loss in MARGIN_LOSSES:
        for offset in OFFSETS:
            problem = MarginProblem(X, y, weights, loss, 0.1 if loss == "huber" else 0.0, offset)
            ours = margin_interior.solve(problem, tol=1e-9)
            peer = margin_newton.solve(problem, limits=limits)
            assert ours.info.status is Status.SOLVED
            assert ours.info.objective == pytest.approx(peer.info.objective, rel=1.1e-7)
            sparse = MarginProblem(sp.csr_array(X), y, weights, loss, problem.width, offset)
            again = margin_interior.solve(sparse, tol=1e-9)
            np.testing.assert_allclose(again.decision_values, ours.decision_values, atol=1e-3)
    wide = MarginProblem(np.hstack([X[:10]] * 5), y[:10], weights[:10] + 1.0, "hinge")
    assert margin_interior.solve(wide, tol=1e-9).info.status is Status.SOLVED
    nothing = problem.with_weights(np.zeros(80))
    assert not margin_interior.solve(nothing).coef.any()


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC("hinge"),
        LinearSVC("huber", width=0.3, penalise_intercept=False),
        SmoothSVC(),
        SmoothSVC(kernel="rbf", gamma=0.1),
    ],
    ids=repr,
)
def test_certify_is_that_of_the_training_data(model) -> None:
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = np.random.default_rng(0).integers(0, 3, size=y.size).astype(float)
    model.fit(X, y, sample_weight=weights)
    certificates = model.certify(X, y, weights)
    assert len(certificates) == 3
    for certificate, objective in zip(certificates, model.objective_, strict=True):
        assert certificate.objective == pytest.approx(objective, rel=1e-9)
        assert certificate.relative_gap <= 1e-5
        assert "duality gap" in str(certificate)
    with pytest.raises(ValueError, match="certify needs the training data"):
        model.certify(X, np.minimum(y, 1), weights)
    part = X[:150] if hasattr(model, "kernel_coef_") else X[:, :5]
    with pytest.raises(ValueError, match="certify needs the training data"):
        model.certify(part, y[: len(part)])
    spoilt = model.intercept_.copy()
    model.intercept_ = spoilt + 0.5
    assert max(found.relative_gap for found in model.certify(X, y, weights)) > 1e-3


def test_certify_of_the_other_primal_models(cancer) -> None:
    X, y = cancer
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    values = X @ np.linspace(-1.0, 1.0, X.shape[1])
    for kernel in ("linear", "rbf", "precomputed"):
        rows = X @ X.T if kernel == "precomputed" else X
        model = SmoothSVR(kernel=kernel, epsilon=0.2).fit(rows, values)
        found = model.certify(rows, values)
        assert found.objective == pytest.approx(model.objective_, rel=1e-9)
        assert found.relative_gap <= 1e-9
    known = np.where(np.arange(y.size) % 5 == 0, y, -1)
    for gamma in ("scale", 0.05):
        model = TransductiveSVC(C=10.0, C_unlabelled=0.5, gamma=gamma).fit(X, known)
        assert model.certify(X, known).kkt_violation <= 1e-6
        weights = np.where(known == -1, 0.05, 1.0)
        again = SVC(C=10.0, gamma=model.model_.gamma, tol=1e-6).fit(
            X, model.transduction_, sample_weight=weights
        )
        np.testing.assert_allclose(
            model.decision_function(X), again.decision_function(X), atol=1e-4
        )
    with pytest.raises(ValueError, match="not those that the model was fitted on"):
        model.certify(X, np.where(known == -1, -1, 1 - known))
    with pytest.raises(ValueError, match="certify needs the training data"):
        model.certify(X[:50], known[:50])
