"""SmoothSVC and SmoothSVR: LIBLINEAR's models, exact folds and exact leave-one-out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.svm import LinearSVC, LinearSVR

from alphapath import SmoothSVC, SmoothSVR, Status
from alphapath.model_selection import cross_validate, leave_one_out
from alphapath.problem import certify_margin
from alphapath.solvers.smooth import leave_one_out as smooth_removal
from datasets import CLASSIFICATION, REGRESSION

PLAIN = {"cv": StratifiedKFold(5)}


def small(name, n=90):
    X, y = CLASSIFICATION[name]()
    return X[:n], y[:n]


@pytest.mark.parametrize("name", ["breast_cancer", "generated", "wine", "constant_features"])
@pytest.mark.parametrize("c", [0.1, 10.0])
def test_the_model_is_that_of_liblinear(name, c):
    X, y = CLASSIFICATION[name]()
    model = SmoothSVC(c).fit(X, y)
    peer = LinearSVC(C=c / 2, dual=False, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5 * np.abs(peer.coef_).max())
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-5)
    assert (model.predict(X) == peer.predict(X)).all()
    assert model.fit_status_ == Status.SOLVED


@pytest.mark.parametrize("epsilon", [0.0, 5.0])
def test_the_regression_is_that_of_liblinear(epsilon):
    X, y = REGRESSION["diabetes"]()
    y = y / 10.0
    model = SmoothSVR(2.0, epsilon=epsilon).fit(X, y)
    peer = LinearSVR(
        C=1.0,
        epsilon=epsilon,
        loss="squared_epsilon_insensitive",
        dual=False,
        tol=1e-10,
        max_iter=100_000,
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], peer.coef_, atol=1e-5 * np.abs(peer.coef_).max())
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-4)


def test_fit_is_certified_and_honest():
    X, y = CLASSIFICATION["breast_cancer"]()
    model = SmoothSVC(3.0).fit(X, y)
    certificate = certify_margin(model.to_problem(X, y), model.coef_[0], model.intercept_[0])
    assert certificate.gradient_norm < 1e-8
    assert model.objective_ == pytest.approx(certificate.objective, rel=1e-10)


def test_class_weight_and_sample_weight_are_weights_of_the_losses():
    X, y = CLASSIFICATION["generated"]()
    weights = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    model = SmoothSVC(class_weight={0: 2.0, 1: 0.5}).fit(X, y, weights)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    peer = SmoothSVC(class_weight={0: 2.0, 1: 0.5}).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-8)
    kernel = SmoothSVC(kernel="rbf", gamma=0.2)
    ours = clone(kernel).fit(X, y, weights).decision_function(X)
    theirs = clone(kernel).fit(X[repeated], y[repeated]).decision_function(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


MODELS = {
    "linear": SmoothSVC(2.0),
    "feature": SmoothSVC(2.0, strategy="feature"),
    "instance": SmoothSVC(2.0, strategy="instance"),
    "none": SmoothSVC(2.0, strategy="none"),
    "no offset": SmoothSVC(2.0, fit_intercept=False),
    "balanced": SmoothSVC(0.5, class_weight="balanced"),
    "rbf": SmoothSVC(kernel="rbf", gamma=0.1),
    "rbf feature": SmoothSVC(kernel="rbf", gamma=0.1, strategy="feature"),
    "rbf scale": SmoothSVC(kernel="rbf"),
    "poly": SmoothSVC(kernel="poly", gamma=0.1, degree=2, coef0=1.0),
}


def check_folds(model, X, y, **options):
    """Ours is scikit-learn's, fold by fold: scores, models, decision values, certificates."""
    ours = cross_validate(model, X, y, return_estimator=True, return_train_score=True, **options)
    theirs = sklearn_cross_validate(
        model, X, y, return_estimator=True, return_train_score=True, return_indices=True, **options
    )
    np.testing.assert_allclose(ours["test_score"], theirs["test_score"], atol=1e-12)
    np.testing.assert_allclose(ours["train_score"], theirs["train_score"], atol=1e-12)
    for one, other in zip(ours["estimator"], theirs["estimator"], strict=True):
        name = "coef_" if model.kernel == "linear" else "kernel_coef_"
        mine, peer = getattr(one, name), getattr(other, name)
        assert np.linalg.norm(mine - peer) <= 1e-8 * np.linalg.norm(peer)
        np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-8)
        if name == "kernel_coef_":
            np.testing.assert_array_equal(one.X_fit_, other.X_fit_)
    assert (ours["certificate"]["duality_gap"] < 1e-12).all()
    return ours, theirs


@pytest.mark.parametrize("name", ["breast_cancer", "iris", "duplicates"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_folds_are_those_of_fresh_fits(model, name):
    X, y = CLASSIFICATION[name]()
    if name == "breast_cancer" and model.kernel != "linear":
        X, y = X[:200], y[:200]
    ours, theirs = check_folds(model, X, y, cv=StratifiedKFold(4, shuffle=True, random_state=0))
    fold = theirs["indices"]["test"][0]
    np.testing.assert_allclose(
        ours["decision_function"][fold],
        theirs["estimator"][0].decision_function(X[fold]),
        atol=1e-7,
    )


def test_reuse_happened():
    X, y = CLASSIFICATION["breast_cancer"]()
    ours = cross_validate(SmoothSVC(), X, y, cv=10)
    cold = cross_validate(SmoothSVC(), X, y, cv=10, seeding="none")
    assert set(ours["seed"]) == {"full"}
    assert set(cold["seed"]) == {"cold"}
    assert ours["n_iter"].sum() < 0.7 * cold["n_iter"].sum()
    np.testing.assert_allclose(
        ours["decision_function"], cold["decision_function"], rtol=1e-8, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore:.*fits failed")
def test_folds_of_every_kind():
    X, y = CLASSIFICATION["iris"]()
    check_folds(SmoothSVC(), X, y, cv=KFold(3))  # each fold lacks a class
    check_folds(SmoothSVC(kernel="rbf", gamma=0.3), X, y, cv=ShuffleSplit(3, random_state=0))
    X, y = CLASSIFICATION["generated"]()
    rng = np.random.default_rng(0)
    drawn = [(rng.integers(0, 150, size=150), np.arange(150, 200)) for _ in range(2)]
    check_folds(SmoothSVC(), X, y, cv=drawn)
    check_folds(SmoothSVC(kernel="rbf", gamma=0.1), X, y, cv=drawn)
    one_class = [(np.flatnonzero(y == 1), np.arange(5)), (np.arange(100), np.arange(100, 200))]
    ours = cross_validate(SmoothSVC(), X, y, cv=one_class)
    assert np.isnan(ours["test_score"][0])
    assert ours["test_score"][1] > 0.5
    weights = rng.uniform(0.5, 2.0, size=200)
    ours = cross_validate(SmoothSVC(), X, y, params={"sample_weight": weights}, **PLAIN)
    train, test = next(iter(PLAIN["cv"].split(X, y)))
    fresh = SmoothSVC().fit(X[train], y[train], weights[train])
    assert ours["test_score"][0] == fresh.score(X[test], y[test])


def test_sparse_rows_and_precomputed_kernels():
    X, y = small("digits", 200)
    y = (y % 2 == 0).astype(int)
    dense = cross_validate(SmoothSVC(), X, y, **PLAIN)["decision_function"]
    sparse = cross_validate(SmoothSVC(), sp.csr_array(X), y, **PLAIN)["decision_function"]
    np.testing.assert_allclose(dense, sparse, atol=1e-8)
    K = rbf_kernel(X, gamma=0.02)
    given = cross_validate(SmoothSVC(kernel="precomputed"), K, y, **PLAIN)
    made = cross_validate(SmoothSVC(kernel="rbf", gamma=0.02), X, y, **PLAIN)
    np.testing.assert_allclose(given["decision_function"], made["decision_function"], atol=1e-8)
    with pytest.raises(ValueError, match=r"shape \(200, 150\); it must be square"):
        cross_validate(SmoothSVC(kernel="precomputed"), K[:, :150], y, **PLAIN)


def test_folds_with_a_gamma_of_their_own_need_no_kernel_of_all_rows(monkeypatch):
    X, y = small("generated")
    sizes = []
    make = SmoothSVC._make_design
    monkeypatch.setattr(
        SmoothSVC,
        "_make_design",
        lambda self, rows: sizes.append(rows.X.shape[0]) or make(self, rows),
    )
    cross_validate(SmoothSVC(kernel="rbf"), X, y, cv=3)
    assert max(sizes) < len(y)
    cross_validate(SmoothSVC(kernel="rbf", gamma=0.1), X, y, cv=3)
    assert sizes[3:] == [len(y)]


def test_regression_folds():
    X, y = REGRESSION["diabetes"]()
    model = SmoothSVR(c=0.5, epsilon=20.0)
    check_folds(model, X, y, cv=KFold(5))
    check_folds(clone(model).set_params(kernel="rbf", gamma=0.02), X[:150], y[:150], cv=KFold(5))


def fresh_values(model, X, y):
    """Decision values by one fit a row."""
    found = []
    for train, test in LeaveOneOut().split(X):
        fitted = clone(model).fit(X[train], y[train])
        found.append(fitted._decision_values(X[test])[0])
    return np.array(found)


@pytest.mark.parametrize("name", ["generated", "duplicates", "constant_features", "wine"])
@pytest.mark.parametrize(
    "model", [MODELS[key] for key in ("linear", "instance", "no offset", "rbf", "rbf feature")]
)
def test_leave_one_out_is_that_of_fresh_fits(model, name):
    X, y = CLASSIFICATION[name]()
    picked = np.random.default_rng(0).permutation(len(y))[:80]
    X, y = X[picked], y[picked]
    ours = leave_one_out(model, X, y)
    expected = fresh_values(model, X, y)
    found = ours.decision_function_.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-8 * max(1.0, np.abs(expected).max()))
    assert ours.score_ == pytest.approx(np.mean(ours.predictions_ == y))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("c", [0.01, 1.0, 1e3])
@pytest.mark.parametrize("strategy", ["feature", "instance"])
def test_leave_one_out_at_any_c(c, strategy):
    X, y = small("breast_cancer", 150)
    model = SmoothSVC(c, strategy=strategy)
    ours = leave_one_out(model, X, y)
    cold = leave_one_out(model, X, y, seeding="none")
    scale = max(1.0, np.abs(cold.decision_function_).max())
    np.testing.assert_allclose(ours.decision_function_, cold.decision_function_, atol=1e-8 * scale)
    assert ours.n_refits_ <= len(y)


def test_leave_one_out_of_many_rows_uses_the_screen(monkeypatch):
    """Few near instances at first, so that removals run out of reach and go on with more."""
    monkeypatch.setattr(smooth_removal, "SMALL", 32)
    monkeypatch.setattr(smooth_removal, "MAX_NEAR", 256)
    monkeypatch.setattr(smooth_removal, "BLOCK", 64)
    X, y = CLASSIFICATION["breast_cancer"]()
    ours = leave_one_out(SmoothSVC(), X, y)
    cold = leave_one_out(SmoothSVC(strategy="none"), X, y)
    np.testing.assert_allclose(ours.decision_function_, cold.decision_function_, atol=1e-8)


def test_leave_one_out_of_a_regression():
    X, y = REGRESSION["diabetes"]()
    X, y = X[:120], y[:120]
    for model in (
        SmoothSVR(epsilon=5.0),
        SmoothSVR(epsilon=60.0, c=10.0),
        SmoothSVR(epsilon=0.0),
        SmoothSVR(epsilon=30.0, kernel="rbf", gamma=0.05),
        SmoothSVR(kernel="rbf", gamma=2.0),  # small systems that do not settle
        SmoothSVR(kernel="rbf", gamma=2.0, strategy="none"),
    ):
        ours = leave_one_out(model, X, y)
        expected = fresh_values(model, X, y)[:, 0]
        np.testing.assert_allclose(
            ours.decision_function_, expected, atol=1e-8 * np.abs(expected).max()
        )


def test_leave_one_out_says_where_rounding_stopped_it():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 200)), np.sign(rng.normal(size=60))
    with pytest.warns(ConvergenceWarning, match="Rounding stopped the solver"):
        leave_one_out(SmoothSVC(c=1e10), X, y)


def test_leave_one_out_with_weights_and_only_errors():
    X, y = CLASSIFICATION["generated"]()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    weights[:10] = 0.0
    ours = leave_one_out(SmoothSVC(), X, y, sample_weight=weights)
    model = SmoothSVC().fit(X, y, weights)
    np.testing.assert_allclose(
        ours.decision_function_[:10], model.decision_function(X[:10]), atol=1e-9
    )
    for i in (20, 50, 120):
        less = weights.copy()
        less[i] = 0.0
        fresh = SmoothSVC().fit(X, y, less).decision_function(X[i : i + 1])[0]
        assert ours.decision_function_[i] == pytest.approx(fresh, abs=1e-8)
    signs = leave_one_out(SmoothSVC(), X, y, sample_weight=weights, only_errors=True)
    assert (signs.predictions_ == ours.predictions_).all()
    assert signs.n_refits_ <= ours.n_refits_


def test_time_limits_keep_what_is_done():
    X, y = CLASSIFICATION["breast_cancer"]()
    with pytest.raises(TimeoutError) as caught:
        leave_one_out(SmoothSVC(strategy="none", time_limit=0.05), X, y)
    done = np.isfinite(caught.value.partial.decision_function_)
    assert not done.all()


X4 = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
Y4 = np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("model", "X", "y", "sentence"),
    [
        (SmoothSVC(c=0.0), X4, Y4, "'c' .* Got 0.0"),
        (SmoothSVC(c=np.nan), X4, Y4, "'c' .* Got nan"),
        (SmoothSVC(strategy="best"), X4, Y4, "'strategy' .* Got 'best'"),
        (SmoothSVC(kernel="cubic"), X4, Y4, "'kernel' .* Got 'cubic'"),
        (SmoothSVC(), np.full((4, 2), np.nan), Y4, "contains NaN"),
        (SmoothSVC(), X4, np.zeros(4), "one class only"),
        (SmoothSVC(), X4, None, "requires y"),
        (SmoothSVC(), np.full((4, 2), 1e200), Y4, "squared norm inf; .* Scale the features"),
        (SmoothSVC(kernel="precomputed"), X4, Y4, r"shape \(4, 2\); it must be square"),
        (SmoothSVR(epsilon=-1.0), X4, Y4, "'epsilon' .* Got -1.0"),
        (SmoothSVR(), X4, [0.0, 1.0, np.nan, 2.0], "contains NaN"),
    ],
)
def test_refusals(model, X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)


def test_seeds_of_dual_problems_are_refused():
    for function in (cross_validate, leave_one_out):
        with pytest.raises(ValueError, match="for a smooth SVM it must be 'auto'"):
            function(SmoothSVC(), X4, Y4, seeding="sir")
    with pytest.raises(ValueError, match="has one row only"):
        leave_one_out(SmoothSVC(), X4, np.array([0, 0, 0, 1]))


@pytest.mark.parametrize("seed", [5, 15, 17])
def test_steps_that_only_move_rounding_end(seed):
    """Weights of many decades and large kernel values: the objective cannot fall visibly."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 3)), np.full(25, 2.0)
    weights = 10.0 ** rng.uniform(-4.0, 4.5, 25)
    kernel = {"kernel": "poly", "degree": 4, "gamma": 0.86, "fit_intercept": False}
    model = SmoothSVR(c=256.0, strategy="instance", **kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=weights)
    assert model.fit_status_ in (Status.SOLVED, Status.STALLED)
    assert model.kkt_violation_ < 10.0
