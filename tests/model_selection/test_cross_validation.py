"""cross_validate against scikit-learn's: same dictionary, same labels, same decision values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.typing import NDArray
from sklearn import model_selection as peers
from sklearn.datasets import make_classification
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from alphapath import SVC, SVR, OneClassSVM, Status
from alphapath.model_selection import cross_validate
from alphapath.seeds import SEEDS
from datasets import CLASSIFICATION, REGRESSION, generated

TIGHT = 1e-8
PEER = {SVC: sklearn.svm.SVC, SVR: sklearn.svm.SVR, OneClassSVM: sklearn.svm.OneClassSVM}

SPLITTERS: dict[str, Any] = {
    "stratified": StratifiedKFold(4),
    "shuffled": KFold(11, shuffle=True, random_state=0),
    "random": ShuffleSplit(5, test_size=0.3, train_size=0.5, random_state=0),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
}

OPTIONS: dict[str, dict[str, Any]] = {
    "rbf": {"gamma": 0.1},
    "scale": {"gamma": "scale"},
    "poly_scale": {"kernel": "poly", "gamma": "scale", "coef0": 1.0},
    "linear": {"kernel": "linear"},
    "large_C": {"gamma": 0.5, "C": 100.0},
}


def as_peer(estimator: Any) -> Any:
    own = estimator.get_params()
    peer = PEER[type(estimator)]()
    return peer.set_params(**{k: v for k, v in own.items() if k in peer.get_params()})


def predicted(estimator: Any, X: Any, y: Any, cv: Any, **options: Any) -> NDArray[np.float64]:
    """scikit-learn's out-of-fold decision values, the mean where a row is held out more often."""
    total: Any = None
    count = np.zeros(X.shape[0])
    for train, test in cv.split(X, y, options.get("groups")):
        weight = options.get("sample_weight")
        own = {} if weight is None else {"sample_weight": weight[train]}
        model = as_peer(estimator).fit(X[train], None if y is None else y[train], **own)
        is_regression = isinstance(estimator, SVR)
        f = (model.predict if is_regression else model.decision_function)(X[test])
        total = np.zeros((X.shape[0], *f.shape[1:])) if total is None else total
        total[test] += f
        count[test] += 1
    with np.errstate(invalid="ignore"):
        return total / count.reshape(-1, *[1] * (total.ndim - 1))


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", ["iris", "generated", "duplicates"])
def test_classification_is_scikit_learns(name: str, option: str, splitter: str) -> None:
    X, y = CLASSIFICATION[name]()
    estimator = SVC(**OPTIONS[option], tol=TIGHT, decision_function_shape="ovo")
    found = cross_validate(estimator, X, y, cv=SPLITTERS[splitter], return_train_score=True)
    expected = predicted(estimator, X, y, SPLITTERS[splitter])
    scores = peers.cross_validate(
        as_peer(estimator), X, y, cv=SPLITTERS[splitter], return_train_score=True
    )
    # LIBSVM keeps its kernel in single precision: no better at C = 100.
    np.testing.assert_allclose(found["decision_function"], expected, atol=1e-3)
    np.testing.assert_allclose(found["test_score"], scores["test_score"], atol=1e-12)
    np.testing.assert_allclose(found["train_score"], scores["train_score"], atol=1e-12)
    assert set(scores) <= set(found)
    assert (found["status"] == Status.SOLVED).all()
    assert (found["certificate"]["kkt_violation"] <= TIGHT).all()
    assert (found["certificate"]["duality_gap"] >= -1e-9).all()


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("model", [SVR(gamma=0.1, C=10.0), SVR(), OneClassSVM(gamma=0.1, nu=0.2)])
def test_other_models_are_scikit_learns(model: Any, splitter: str) -> None:
    cv = SPLITTERS[splitter] if "tified" not in splitter else KFold(5)
    if splitter == "repeated":
        cv = peers.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    X, y = REGRESSION["diabetes"]()
    X, y = X[:150], y[:150] / 50.0
    estimator = model.set_params(tol=1e-9)
    scoring = make_scorer(mean_absolute_error)
    found = cross_validate(estimator, X, y, cv=cv, scoring=scoring)
    np.testing.assert_allclose(
        found["decision_function"], predicted(estimator, X, y, cv), atol=1e-5
    )
    scores = peers.cross_validate(as_peer(estimator), X, y, cv=cv, scoring=scoring)
    np.testing.assert_allclose(found["test_score"], scores["test_score"], atol=1e-5)


@pytest.mark.parametrize("seeding", ["auto", *SEEDS])
@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize(
    "estimator",
    [
        SVC(gamma=0.1, class_weight="balanced"),
        SVC(gamma=0.5, C=100.0),
        SVC(),
        SVR(gamma=0.1),
        OneClassSVM(gamma=0.1, nu=0.3),
    ],
)
def test_every_seeding_gives_the_cold_answer(estimator: Any, k: int, seeding: str) -> None:
    X, y = CLASSIFICATION["wine"]()
    cv = StratifiedKFold(k, shuffle=True, random_state=1)
    tight = estimator.set_params(tol=TIGHT)
    scoring = make_scorer(mean_absolute_error)
    cold = cross_validate(tight, X, y, cv=cv, seeding="none", scoring=scoring)
    found = cross_validate(tight, X, y, cv=cv, seeding=seeding, scoring=scoring)
    assert set(cold["seed"]) == {"cold"}
    if seeding != "zero" or not isinstance(estimator, OneClassSVM):
        assert any(seeding in name or seeding == "auto" for name in found["seed"])
    np.testing.assert_allclose(found["decision_function"], cold["decision_function"], atol=1e-5)
    np.testing.assert_allclose(
        found["certificate"]["objective"], cold["certificate"]["objective"], rtol=1e-7
    )


def test_seeding_happened() -> None:
    X, y = make_classification(1200, 10, n_informative=6, flip_y=0.2, random_state=0)
    estimator = SVC(gamma=0.02, C=1.0)
    cold = cross_validate(estimator, X, y, cv=10, seeding="none")
    auto = cross_validate(estimator, X, y, cv=10)
    few = cross_validate(estimator, X, y, cv=4)
    assert set(auto["seed"]) == {"greedy"}
    assert few["seed"][0] == "cold"
    assert set(few["seed"][1:]) == {"greedy"}
    assert cold["shared"]["n_iter"] == few["shared"]["n_iter"] == 0
    assert auto["shared"]["n_iter"] > 0
    assert auto["n_iter"].sum() + auto["shared"]["n_iter"] < 0.8 * cold["n_iter"].sum()
    assert (auto["seed_time"] > 0.0).all()
    assert (auto["fit_time"] > auto["solve_time"]).all()


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_weights_are_those_of_the_training_rows(class_weight: Any) -> None:
    X, y = generated()
    X, y = X[:120], y[:120]
    y[::3] = 0
    weight = np.random.default_rng(0).uniform(0.2, 2.0, y.size)
    cv = KFold(5)
    estimator = SVC(gamma=0.1, class_weight=class_weight, tol=TIGHT)
    found = cross_validate(
        estimator, X, y, cv=cv, params={"sample_weight": weight}, return_estimator=True
    )
    expected = np.empty(y.size)
    for h, (train, test) in enumerate(cv.split(X)):
        own = SVC(**estimator.get_params()).fit(X[train], y[train], sample_weight=weight[train])
        expected[test] = own.decision_function(X[test])
        np.testing.assert_allclose(found["estimator"][h].class_weight_, own.class_weight_)
    np.testing.assert_allclose(found["decision_function"], expected, atol=1e-5)


def test_drawn_with_replacement() -> None:
    X, y = generated()
    rng = np.random.default_rng(0)
    draws = [rng.integers(0, y.size, y.size) for _ in range(4)]
    splits = [(train, np.setdiff1d(np.arange(y.size), train)) for train in draws]
    estimator = SVC(gamma="scale", tol=TIGHT)
    found = cross_validate(estimator, X, y, cv=splits, return_estimator=True)
    for (train, test), model in zip(splits, found["estimator"], strict=True):
        theirs = as_peer(estimator).fit(X[train], y[train])
        np.testing.assert_allclose(
            model.decision_function(X[test]), theirs.decision_function(X[test]), atol=1e-4
        )
        assert model.score(X[train], y[train]) == theirs.score(X[train], y[train])


def test_returned_estimators_are_fitted() -> None:
    X, y = CLASSIFICATION["iris"]()
    found = cross_validate(
        SVC(gamma=0.3), X, y, cv=3, return_estimator=True, return_indices=True, seeding="sir"
    )
    parts = zip(found["indices"]["train"], found["indices"]["test"], strict=True)
    for (train, test), model in zip(parts, found["estimator"], strict=True):
        assert "_decision_values" not in vars(model)
        np.testing.assert_allclose(
            model.decision_function(X[test]), found["decision_function"][test], atol=1e-9
        )
        np.testing.assert_array_equal(model.support_vectors_, X[train][model.support_])
        assert all(one.is_optimal(1e-3) for one in model.certify(X[train], y[train]))
        np.testing.assert_array_equal(model.as_sklearn().predict(X), model.predict(X))


def test_estimators_of_scikit_learn() -> None:
    X, y = CLASSIFICATION["wine"]()
    given = sklearn.svm.SVC(C=2.0, gamma=0.05, cache_size=77)
    found = cross_validate(given, X, y, cv=4, return_estimator=True)
    theirs = peers.cross_validate(given, X, y, cv=4)
    np.testing.assert_allclose(found["test_score"], theirs["test_score"])
    for model in found["estimator"]:
        assert type(model) is sklearn.svm.SVC
        assert model.cache_size == 77
        assert model.predict(X).shape == y.shape


@pytest.mark.parametrize(
    "scoring",
    [
        "roc_auc",
        ["accuracy", "average_precision", "f1"],
        {"a": "balanced_accuracy", "b": make_scorer(mean_absolute_error)},
        lambda estimator, X, y: {"mean": estimator.decision_function(X[:5]).mean()},
        lambda estimator, X, y: int(estimator.n_support_.sum()),
    ],
)
def test_scorers(scoring: Any) -> None:
    X, y = generated()
    estimator = SVC(gamma=0.1, tol=TIGHT)
    options: dict[str, Any] = {"cv": 3, "scoring": scoring, "return_train_score": True}
    found = cross_validate(estimator, X, y, **options)
    theirs = peers.cross_validate(as_peer(estimator), X, y, **options)
    for name in theirs:
        if "time" not in name:
            np.testing.assert_allclose(found[name], theirs[name], atol=1e-5, err_msg=name)


def test_containers_and_kernels() -> None:
    X, y = generated()
    reference = cross_validate(SVC(gamma=0.1, tol=TIGHT), X, y, cv=3)["decision_function"]
    labels = pd.Series(np.where(y == 1, "b", "a"), index=np.arange(len(y)) + 5)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    cases: list[tuple[Any, Any, Any]] = [
        (SVC(gamma=0.1, tol=TIGHT), frame, labels),
        (SVC(gamma=0.1, tol=TIGHT), X.tolist(), y.tolist()),
        (SVC(gamma=0.1, tol=TIGHT), sp.csr_matrix(X), y),
        (SVC(gamma=0.1, tol=TIGHT), sp.coo_array(X), y),
        (SVC(kernel="precomputed", tol=TIGHT), rbf_kernel(X, gamma=0.1), y),
        (SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.1), tol=TIGHT), X, y),
    ]
    for estimator, rows, targets in cases:
        found = cross_validate(estimator, rows, targets, cv=3, return_estimator=True)
        np.testing.assert_allclose(found["decision_function"], reference, atol=1e-6)
    found = cross_validate(
        SVC(kernel="precomputed"), rbf_kernel(X), y, cv=3, scoring="roc_auc", return_estimator=True
    )
    train, test = next(StratifiedKFold(3).split(X, y))
    values = found["estimator"][0].decision_function(rbf_kernel(X)[np.ix_(test, train)])
    np.testing.assert_allclose(values, found["decision_function"][test], atol=1e-9)


def test_groups_and_leave_one_out() -> None:
    X, y = generated()
    X, y = X[:60], y[:60]
    for cv, groups in ((GroupKFold(4), np.arange(60) % 7), (LeaveOneOut(), None)):
        found = cross_validate(SVC(gamma=0.1, tol=TIGHT), X, y, cv=cv, groups=groups)
        theirs = predicted(SVC(gamma=0.1, tol=TIGHT), X, y, cv, groups=groups)
        np.testing.assert_allclose(found["decision_function"], theirs, atol=1e-5)


def test_rows_never_held_out_have_no_value() -> None:
    X, y = generated()
    found = cross_validate(SVC(gamma=0.1), X, y, cv=ShuffleSplit(1, test_size=20, random_state=0))
    assert np.isfinite(found["decision_function"]).sum() == 20
