"""cross_validate at the edges: workers, missing classes, interrupts, bad input."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import model_selection as peers
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit
from sklearn.pipeline import make_pipeline

from alphapath import SVC, SVR, OneClassSVM, Status
from alphapath.model_selection import cross_validate, cross_validation
from alphapath.seeds import SEEDS
from datasets import CLASSIFICATION, generated


def count_support(estimator: Any, X: Any, y: Any = None) -> int:
    return int(estimator.n_support_.sum())


@pytest.mark.parametrize("seeding", ["auto", "none", "sir"])
@pytest.mark.parametrize(
    "estimator", [SVC(gamma=0.1), SVC(), SVR(gamma=0.1), OneClassSVM(gamma=0.1)]
)
@pytest.mark.parametrize("k", [3, 11])
def test_workers_do_not_change_a_bit(estimator: Any, seeding: str, k: int) -> None:
    X, y = CLASSIFICATION["wine"]()
    cv = KFold(k, shuffle=True, random_state=0)
    options: dict[str, Any] = {"cv": cv, "seeding": seeding, "scoring": count_support}
    one = cross_validate(estimator, X, y, **options)
    two = cross_validate(estimator, X, y, n_jobs=2, **options)
    for name in ("decision_function", "test_score", "n_iter", "seed", "status"):
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
    for name in one["certificate"]:
        np.testing.assert_array_equal(one["certificate"][name], two["certificate"][name])


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("names", [("a", "b", "c"), ("a", "b", "c", "d")])
def test_a_class_is_missing_from_a_training_set(names: Any, class_weight: Any, shape: str) -> None:
    """That fold has a model of the other classes, as in scikit-learn."""
    X, _ = generated()
    X = X[:80]
    y = np.array(names)[np.arange(80) % (len(names) - 1)]
    y[:10] = names[-1]  # all of it in the first fold
    cv = KFold(8)
    estimator = SVC(gamma=0.1, tol=1e-8, class_weight=class_weight, decision_function_shape=shape)
    found = cross_validate(estimator, X, y, cv=cv, return_estimator=True)
    for (train, test), model in zip(cv.split(X), found["estimator"], strict=True):
        own = SVC(**estimator.get_params()).fit(X[train], y[train])
        np.testing.assert_array_equal(model.classes_, own.classes_)
        np.testing.assert_allclose(
            model.decision_function(X[test]), own.decision_function(X[test]), atol=1e-5
        )
        np.testing.assert_array_equal(model.predict(X), own.predict(X))
    theirs = peers.cross_validate(
        sklearn.svm.SVC(gamma=0.1, tol=1e-8, class_weight=class_weight), X, y, cv=cv
    )
    np.testing.assert_allclose(found["test_score"], theirs["test_score"])
    first, rest = found["decision_function"][:10], found["decision_function"][10:]
    assert np.isfinite(rest).all()
    if shape == "ovr":
        assert (first[:, -1] == np.finfo(np.float64).min).all()
        assert (first[:, :-1] > -1e3).all()
    else:
        assert (np.isnan(first).sum(axis=1) == len(names) - 1).all()


def test_a_fold_of_one_class_gets_the_error_score() -> None:
    X, _ = generated()
    y = np.zeros(len(X), dtype=int)
    y[:30] = 1
    cv = KFold(6)  # the first training set has no class 1
    y[40:] = 0
    estimator = SVC(gamma=0.1)
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 6.*one class"):
        found = cross_validate(estimator, X, y, cv=cv, error_score=-7.0)
    assert found["test_score"][0] == -7.0
    assert found["status"][0] == -1
    assert (found["status"][1:] == Status.SOLVED).all()
    assert np.isnan(found["decision_function"][:34]).all()
    with pytest.raises(ValueError, match="one class only"):
        cross_validate(estimator, X, y, cv=cv, error_score="raise")
    y[30:34] = 1
    with pytest.raises(ValueError, match=r"All the 1 fits failed.*one class only"):
        cross_validate(estimator, X, y, cv=[(np.arange(34, 100), np.arange(34))])


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["auto", *SEEDS]),
    st.sampled_from([2, 3, None]),
    st.sampled_from([None, "balanced"]),
)
def test_any_folds_give_what_fits_give(seed: int, seeding: str, k: Any, class_weight: Any) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 30))
    X = rng.integers(-2, 3, size=(n, 2)).astype(float)  # many equal rows
    y = np.concatenate([[0, 0, 0, 1, 1, 1], rng.integers(0, 3, n - 6)])
    cv = LeaveOneOut() if k is None else KFold(k, shuffle=True, random_state=seed % 1000)
    estimator = SVC(gamma=0.4, C=5.0, tol=1e-9, class_weight=class_weight)
    options: dict[str, Any] = {"cv": cv, "seeding": seeding, "error_score": "raise"}
    if any(len(np.unique(y[train])) < 2 for train, _ in cv.split(X)):
        with pytest.raises(ValueError, match="one class only"):
            cross_validate(estimator, X, y, **options)
        return
    found = cross_validate(estimator, X, y, return_estimator=True, **options)
    for (train, _), model in zip(cv.split(X), found["estimator"], strict=True):
        own = SVC(**estimator.get_params()).fit(X[train], y[train])
        for a, b in zip(
            np.atleast_1d(model.objective_), np.atleast_1d(own.objective_), strict=True
        ):
            assert a == pytest.approx(b, rel=1e-7, abs=1e-8)
        certificates = model.certify(X[train], y[train])
        for one in certificates if isinstance(certificates, list) else [certificates]:
            assert one.is_optimal(1e-6)


class StopAt:
    """A scorer that raises at one of its calls."""

    def __init__(self, call: int, error: BaseException) -> None:
        self.left, self.error = call, error

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return float(estimator.score(X, y))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("k", [5, 10])
def test_an_interrupt_keeps_the_folds_done(k: int, n_jobs: int) -> None:
    X, y = CLASSIFICATION["wine"]()
    cv = KFold(k, shuffle=True, random_state=0)
    whole = cross_validate(SVC(gamma=0.1), X, y, cv=cv)
    with pytest.raises(KeyboardInterrupt) as caught:
        cross_validate(
            SVC(gamma=0.1), X, y, cv=cv, scoring=StopAt(4, KeyboardInterrupt()), n_jobs=n_jobs
        )
    partial: Any = caught.value.partial  # type: ignore[attr-defined]
    np.testing.assert_array_equal(partial["test_score"][:3], whole["test_score"][:3])
    assert np.isnan(partial["test_score"][3:]).all()
    assert (partial["status"][4:] == Status.INTERRUPTED).all()
    held_out = np.concatenate([test for _, test in list(cv.split(X))[:3]])
    np.testing.assert_array_equal(
        partial["decision_function"][held_out], whole["decision_function"][held_out]
    )


def test_a_failing_scorer() -> None:
    X, y = generated()
    with pytest.warns(UserWarning, match=r"Scoring failed.*set to 0.25"):
        found = cross_validate(
            SVC(gamma=0.1), X, y, cv=4, scoring=StopAt(2, RuntimeError("no")), error_score=0.25
        )
    assert found["test_score"][1] == 0.25
    with pytest.raises(RuntimeError, match="no"):
        cross_validate(
            SVC(gamma=0.1), X, y, cv=4, scoring=StopAt(2, RuntimeError("no")), error_score="raise"
        )


def test_a_limit_is_reported() -> None:
    X, y = generated()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        found = cross_validate(SVC(gamma=0.1, max_iter=2), X, y, cv=3)
    assert (found["status"] == Status.ITERATION_LIMIT).all()
    assert (found["certificate"]["kkt_violation"] > 1e-3).all()


BAD: dict[str, tuple[type[Exception], str, dict[str, Any]]] = {
    "folds": (ValueError, "n_splits=201", {"cv": 201}),
    "stratified": (ValueError, "n_splits=150", {"cv": 150}),
    "no_folds": (ValueError, "no folds", {"cv": []}),
    "no_rows": (ValueError, "Fold 0 has no training rows", {"cv": [([], [1, 2])]}),
    "rows": (IndexError, "out of bounds", {"cv": [([0, 999], [1, 2])]}),
    "seeding": (ValueError, "seeding is 'fast'", {"seeding": "fast"}),
    "logistic": (TypeError, "LogisticRegression can not", {"estimator": LogisticRegression()}),
    "pipeline": (
        TypeError,
        "supported are SVC, SVR",
        {"estimator": make_pipeline(LogisticRegression())},
    ),
    "nu": (TypeError, "NuSVC can not", {"estimator": sklearn.svm.NuSVC()}),
    "class": (TypeError, "type can not", {"estimator": SVC}),
    "params": (TypeError, r"fit was given \['weights'\]", {"params": {"weights": [1]}}),
    "weights": (
        ValueError,
        r"sample_weight\[3\] is -1",
        {"params": {"sample_weight": [1.0, 1.0, 1.0, -1.0] + [1.0] * 196}},
    ),
    "short": (ValueError, "inconsistent numbers of samples", {"y": [0, 1]}),
    "labels": (ValueError, "one class only", {"y": [0] * 200}),
    "C": (ValueError, "'C' parameter of SVC", {"estimator": SVC(C=-1.0)}),
    "scoring": (ValueError, "acuracy", {"scoring": "acuracy"}),
    "no_score": (TypeError, "score", {"estimator": OneClassSVM(), "scoring": None}),
    "probability": (
        ValueError,
        "probability=True",
        {"estimator": sklearn.svm.SVC(probability=True)},
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
def test_bad_input(case: str) -> None:
    X, y = generated()
    error, message, change = BAD[case]
    options = {"estimator": SVC(gamma=0.1), "X": X, "y": y, "cv": 3} | change
    with pytest.raises(error, match=message):
        cross_validate(**options)


def test_the_estimator_is_not_changed() -> None:
    X, y = generated()
    estimator = SVC(gamma="scale")
    before = dict(vars(estimator))
    cross_validate(estimator, X, y, cv=ShuffleSplit(3, random_state=0))
    assert vars(estimator) == before


def test_the_example_runs() -> None:
    found = doctest.testmod(cross_validation)
    assert found.attempted > 0
    assert found.failed == 0
