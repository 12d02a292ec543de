"""QuadraticLossSVC: LIBLINEAR's answers, weights, memory, the path and its cross-validation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from alphapath import QuadraticLossSVC, Status
from alphapath.model_selection import cross_validate_path
from alphapath.paths.quadratic.model import LOSSES
from alphapath.problem import MarginProblem, certify_margin
from quadratic_cases import artificial


def cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("lam", [100.0, 1.0, 0.01])
def test_liblinear_has_the_same_weights(lam: float) -> None:
    X, y = cancer()
    ours = QuadraticLossSVC(kernel="linear", lam=lam, tol=1e-9).fit(X, y)
    theirs = LinearSVC(
        C=1 / (2 * lam), fit_intercept=False, dual=False, tol=1e-12, max_iter=100_000
    ).fit(X, y)
    # How far LIBLINEAR is from the optimum depends on the processor; its gradient bounds it.
    problem = MarginProblem(X, np.where(y == y.max(), 1.0, -1.0), np.full(len(y), 0.5 / lam))
    problem = replace(problem, offset="none")
    far = certify_margin(problem, theirs.coef_[0], 0.0).gradient_norm
    assert far <= 1e-4
    assert np.linalg.norm(ours.coef_ - theirs.coef_) <= far + 1e-8
    assert ours.certify(X, y).is_optimal(1e-8)
    path = ours.lambda_path(X, y, lam_from=2 * lam, lam_to=lam)
    values = path.decision_function(X, lam)
    longest = np.linalg.norm(X, axis=1).max()
    assert np.abs(values - X @ theirs.coef_[0]).max() <= (far + 1e-8) * longest
    np.testing.assert_allclose(values, X @ ours.coef_[0], atol=1e-6)


@pytest.mark.parametrize("loss", [*LOSSES, (1.5, 0.7)])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_fit_is_certified(loss: object, kernel: str) -> None:
    X, y = cancer()
    labels = np.array(["b", "a"])[y]
    model = QuadraticLossSVC(loss=loss, lam=0.3, kernel=kernel).fit(X, labels)
    assert model.fit_status_ is Status.SOLVED
    certificate = model.certify(X, labels)
    assert certificate.is_optimal(1e-6)
    assert model.objective_ == pytest.approx(certificate.objective, rel=1e-9)
    assert model.duality_gap_ == pytest.approx(certificate.duality_gap, abs=1e-6)
    assert model.score(X, labels) > 0.9


@pytest.mark.filterwarnings("ignore:Rounding stopped")
@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_large_kernel_values_are_judged_by_their_products(loss: str) -> None:
    """What steps add up to drifts where K is 1e10: the model says no more than raw data do."""
    for seed in (0, 1, 5, 9):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(20, 150)), 4)) * 10.0 ** rng.uniform(0.5, 2)
        y = np.where(X[:, 0] + rng.normal(size=len(X)) * X.std() * 0.3 > 0, 1, -1)
        for lam in (1e-3, 1.0, 1e3):
            model = QuadraticLossSVC(kernel="poly", gamma=1.0, coef0=1.0, loss=loss, lam=lam)
            model.fit(X, y)
            violation = model.certify(X, y).kkt_violation
            assert violation <= 2.0 * model.kkt_violation_ + 1e-8
            if model.fit_status_ is Status.SOLVED:
                assert violation <= 1e-5
            else:
                assert model.fit_status_ is Status.STALLED


def test_too_little_memory_for_newton_gives_the_same_model() -> None:
    X, y = cancer()
    roomy = QuadraticLossSVC(lam=1.0, tol=1e-8).fit(X, y)
    tight = QuadraticLossSVC(lam=1.0, tol=1e-8, memory_limit="3MB").fit(X, y)
    assert tight.n_iter_ > 10 * roomy.n_iter_
    np.testing.assert_allclose(tight.decision_function(X), roomy.decision_function(X), atol=1e-6)
    assert tight.certify(X, y).is_optimal(2e-8)


def test_weights_sparse_rows_and_given_kernels() -> None:
    X, y = artificial(80, 4)
    weights = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    model = QuadraticLossSVC(loss="huber", lam=0.1, gamma=0.5)
    plain = model.fit(X, y, weights).decision_function(X)
    assert model.certify(X, y, weights).is_optimal(1e-6)
    repeats = weights.astype(int)
    again = QuadraticLossSVC(loss="huber", lam=0.1, gamma=0.5)
    again.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(again.decision_function(X), plain, atol=1e-7)
    np.testing.assert_allclose(
        again.fit(sp.csr_array(X), y, weights).decision_function(sp.csr_array(X)), plain, atol=1e-7
    )
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(-1))
    given = QuadraticLossSVC(loss="huber", lam=0.1, kernel="precomputed").fit(K, y, weights)
    np.testing.assert_allclose(given.decision_function(K), plain, atol=1e-7)


def test_the_path_passes_through_every_fit() -> None:
    X, y = cancer()
    model = QuadraticLossSVC(loss="modified_huber", gamma=0.02)
    path = model.lambda_path(X, y)
    for lam in (50.0, 1.0, 0.003):
        fitted = model.set_params(lam=lam).fit(X, y)
        np.testing.assert_allclose(
            path.decision_function(X, lam), fitted.decision_function(X), atol=1e-6
        )
        np.testing.assert_array_equal(path.predict(X, lam), fitted.predict(X))
        assert fitted.certify(X, y).is_optimal(1e-6)


def test_cross_validation_finds_the_exact_best_lambda() -> None:
    X, y = artificial(150, 6)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = QuadraticLossSVC(loss="huber", gamma=2.0)
    result = cross_validate_path(model, X, y, cv=folds, lam_to=1e-4)
    for lam in [*np.geomspace(2e-4, 1.0, 7), result.best_lam]:
        errors = []
        for train, test in folds.split(X, y):
            fitted = QuadraticLossSVC(loss="huber", gamma=2.0, lam=lam, tol=1e-9)
            errors.append(np.mean(fitted.fit(X[train], y[train]).predict(X[test]) != y[test]))
            assert fitted.certify(X[train], y[train]).is_optimal(1e-7)
        assert float(result.curve(lam)) == pytest.approx(np.mean(errors))
        assert np.mean(errors) >= result.best_score - 1e-12
    assert result.best_score == pytest.approx(np.mean(errors))
    assert len(result.fold_curves) == len(result.n_events) == 4


def test_bad_targets_are_named() -> None:
    X, y = artificial(20, 0)
    with pytest.raises(ValueError, match="y has 3 classes"):
        QuadraticLossSVC().fit(X, np.arange(20) % 3)
    with pytest.raises(ValueError, match="one class only"):
        QuadraticLossSVC().fit(X, np.ones(20))
    with pytest.raises(ValueError, match=r"class -1\.0 have sample_weight 0"):
        QuadraticLossSVC().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match="rho positive"):
        QuadraticLossSVC(loss=(0.0, 1.0)).fit(X, y)


@pytest.mark.parametrize("seed", range(4))
def test_shares_of_merged_rows_at_their_bounds_are_certified_as_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (26, 3)).astype(float)  # 27 different rows: many are equal
    y, weights = rng.choice([-1, 1], 26), rng.uniform(0.0, 2.0, 26)
    kernel = {"kernel": "poly", "degree": 4, "coef0": 1.0}
    model = QuadraticLossSVC(lam=18.236, loss=(0.5, 1e-3), **kernel)
    model.fit(X, y, sample_weight=weights)
    assert model.certify(X, y, weights).is_optimal(1e-9)
