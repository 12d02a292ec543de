"""Small folds of two classes, solved and entered all at once: the same as fold by fold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from sklearn import model_selection as peers
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import LeaveOneOut, RepeatedKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, SVR, Status
from alphapath.model_selection import SVMSearchCV, cross_validate
from alphapath.model_selection.folds import run
from alphapath.model_selection.folds import training_sets as fold_sets
from alphapath.model_selection.folds.dual import FoldModels
from alphapath.model_selection.folds.run import SequenceRun
from alphapath.search.folds.plan import FEW_INSTANCES


def some_rows(n: int = 90, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n, 6, flip_y=0.15, random_state=seed)
    return X, np.array(["no", "yes"])[y]


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> Any:
    """From when it is called on, folds are entered one by one, and training sets made so."""

    def turn() -> None:
        monkeypatch.setattr(SequenceRun, "is_for", staticmethod(lambda *_: False))
        monkeypatch.setattr(fold_sets, "BLOCK_VALUES", 0)

    return turn


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[SequenceRun]:
    """Those that were made."""
    made: list[SequenceRun] = []
    begin = SequenceRun.__init__

    def note(run: SequenceRun, *given: Any) -> None:
        begin(run, *given)
        made.append(run)

    monkeypatch.setattr(SequenceRun, "__init__", note)
    return made


FOLDS = {
    "three": 3,
    "ten": 10,
    "repeated": RepeatedKFold(n_splits=4, n_repeats=3, random_state=0),
    "in part": ShuffleSplit(6, test_size=0.2, train_size=0.5, random_state=0),
    "leave one out": LeaveOneOut(),
}


@pytest.mark.parametrize("cv", list(FOLDS.values()), ids=list(FOLDS))
@pytest.mark.parametrize("seeding", ["auto", "none", "greedy"])
@pytest.mark.parametrize("weighting", ["plain", "weighted", "some are 0", "balanced"])
def test_the_same_bits_as_fold_by_fold(
    cv: Any, seeding: str, weighting: str, one_by_one: Any, runs: list[SequenceRun]
) -> None:
    X, y = some_rows()
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, len(y))
    if weighting == "some are 0":
        weights[rng.permutation(len(y))[:7]] = 0.0
    model = SVC(C=20, gamma=0.2, class_weight="balanced" if weighting == "balanced" else None)
    params = {} if weighting in ("plain", "balanced") else {"sample_weight": weights}
    found = cross_validate(model, X, y, cv=cv, seeding=seeding, params=params)
    assert len(runs) == 1
    one_by_one()
    expected = cross_validate(model, X, y, cv=cv, seeding=seeding, params=params)
    assert len(runs) == 1
    for name in ("test_score", "n_iter", "seed", "status", "decision_function"):
        assert np.array_equal(found[name], expected[name], equal_nan=name == "decision_function")
    for name, column in expected["certificate"].items():
        assert np.array_equal(found["certificate"][name], column)
    assert found["shared"]["n_iter"] == expected["shared"]["n_iter"]
    assert list(found) == list(expected)
    for name in ("fit_time", "score_time", "seed_time", "solve_time"):
        assert found[name].shape == expected[name].shape
        assert np.isfinite(found[name]).all()


def test_which_folds_go_at_once(runs: list[SequenceRun]) -> None:
    X, y = some_rows()
    splits = list(StratifiedKFold(4).split(X, y))
    model = SVC(gamma=0.1)
    for options in (
        {"return_train_score": True},
        {"return_estimator": True},
        {"scoring": "roc_auc"},
        {"scoring": ["accuracy", "f1_macro"]},
        {"seeding": "sir"},
    ):
        cross_validate(model, X, y, **({"cv": splits} | options))
    cross_validate(SVC(), X, y, cv=splits, n_jobs=2)  # every fold has a gamma of its own
    cross_validate(model, X, np.arange(len(y)) % 3, cv=splits)
    cross_validate(SVR(gamma=0.1), X, X[:, 0], cv=4, scoring="neg_mean_absolute_error")
    repeated = [(np.r_[train, train[:5]], test) for train, test in splits]
    cross_validate(model, X, y, cv=repeated)
    large = make_classification(FEW_INSTANCES + 1, 6, random_state=0)
    cross_validate(model, *large, cv=2)
    assert not runs
    cross_validate(model, X, y, cv=splits, scoring="accuracy")
    cross_validate(SVR(gamma=0.1), X, X[:, 0], cv=4)
    cross_validate(model, X, y, cv=splits, n_jobs=2)
    cross_validate(SVC(), X, y, cv=splits)
    assert len(runs) == 4


@pytest.mark.parametrize("cv", [4, 10])
def test_folds_with_kernels_of_their_own(cv: int, runs: list[SequenceRun], one_by_one: Any) -> None:
    """Solved in turn, by workers, and entered one by one they are the same; so is a cold solve."""
    X, y = some_rows()
    pipeline = make_pipeline(StandardScaler(), SVC(C=5.0))
    for model in (SVC(C=5.0), pipeline):
        found = cross_validate(model, X, y, cv=cv)
        threads = cross_validate(model, X, y, cv=cv, n_jobs=2)
        cold = cross_validate(model, X, y, cv=cv, seeding="none")
        assert np.array_equal(found["decision_function"], threads["decision_function"])
        assert np.array_equal(found["test_score"], threads["test_score"])
        assert set(found["seed"]) <= {"cold", "greedy"}
        assert "greedy" in found["seed"]
        assert np.allclose(found["decision_function"], cold["decision_function"], atol=5e-3)
    assert len(runs) == 4
    one_by_one()
    again = cross_validate(pipeline, X, y, cv=cv)
    assert len(runs) == 4
    for name in ("decision_function", "test_score", "n_iter", "seed", "status"):
        assert np.array_equal(found[name], again[name]), name
    for name in ("objective", "duality_gap", "kkt_violation"):
        assert np.array_equal(found["certificate"][name], again["certificate"][name]), name


def test_a_refused_fold_is_not_entered_at_once(runs: list[SequenceRun]) -> None:
    X, y = some_rows()
    splits = list(StratifiedKFold(4).split(X, y))
    splits[1] = (np.flatnonzero(y == "no"), splits[1][1])
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 4"):
        found = cross_validate(SVC(gamma=0.1), X, y, cv=splits)
    assert not runs
    assert np.isnan(found["test_score"]).tolist() == [False, True, False, False]


def test_limits_are_told(runs: list[SequenceRun]) -> None:
    X, y = some_rows()
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=3") as told:
        found = cross_validate(SVC(C=100, gamma=0.2, max_iter=3), X, y, cv=5)
    assert len(runs) == 1
    assert len(told) == 5
    assert (found["status"] == Status.ITERATION_LIMIT).all()
    assert (found["n_iter"] == 3).all()


@pytest.mark.parametrize("n_solved", [0, 1, 4, 11])
def test_an_interrupt_keeps_what_is_solved(n_solved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = some_rows()
    model = SVC(C=20, gamma=0.2)
    whole = cross_validate(model, X, y, cv=10)
    solve = run.solve_sequence

    def cut(*given: Any, **options: Any) -> Any:
        solved = solve(*given, **options)
        columns = {name: column[:n_solved] for name, column in solved.columns.items()}
        return replace(solved, columns=columns, is_interrupted=True)

    monkeypatch.setattr(run, "solve_sequence", cut)
    with pytest.raises(KeyboardInterrupt) as caught:
        cross_validate(model, X, y, cv=10)
    partial = caught.value.partial  # type: ignore[attr-defined]
    n_folds = max(n_solved - 1, 0)  # the first solution is that on all data
    is_done = np.arange(10) < n_folds
    assert (partial["status"] == np.where(is_done, Status.SOLVED, Status.INTERRUPTED)).all()
    assert np.array_equal(partial["test_score"][is_done], whole["test_score"][is_done])
    assert np.isnan(partial["test_score"][~is_done]).all()
    n_rows = sum(len(test) for _, test in list(StratifiedKFold(10).split(X, y))[:n_folds])
    assert np.count_nonzero(np.isfinite(partial["decision_function"])) == n_rows
    assert (partial["shared"]["n_iter"] > 0) == (n_solved > 0)


def test_real_data() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    splits = list(StratifiedKFold(10).split(X, y))
    found = cross_validate(SVC(C=10, gamma=0.02), X, y, cv=splits)
    for h, (train, test) in enumerate(splits):
        alone = SVC(C=10, gamma=0.02).fit(X[train], y[train])
        assert found["test_score"][h] == alone.score(X[test], y[test])
        values = alone.decision_function(X[test])
        assert np.allclose(found["decision_function"][test], values, atol=5e-3)


@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")  # of one row
@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_squared_error"])
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_regression(scoring: str | None, dtype: Any, runs: list[SequenceRun]) -> None:
    X, y = load_diabetes(return_X_y=True)
    y = y.astype(dtype)
    parameters: Any = {"C": 100.0, "gamma": 5.0, "epsilon": 10.0, "tol": 1e-6}
    model = SVR(**parameters)
    found = cross_validate(model, X, y, cv=5, scoring=scoring)
    assert len(runs) == 1
    peer = peers.cross_validate(sklearn.svm.SVR(**parameters), X, y, cv=5, scoring=scoring)
    assert np.allclose(found["test_score"], peer["test_score"], rtol=1e-5)
    single = cross_validate(model, X[:30], y[:30], cv=LeaveOneOut(), scoring=scoring)
    assert np.isnan(single["test_score"]).all() == (scoring != "neg_mean_squared_error")


@pytest.mark.parametrize("labels", [[-1, 1], [0, 5, 7]])
@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error"])
def test_labels_are_taken_for_numbers_as_by_scikit_learn(labels: list[int], scoring: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    cuts = np.quantile(X[:, 0], np.arange(1, len(labels)) / len(labels))
    y = np.array(labels)[np.digitize(X[:, 0] + rng.normal(size=90) / 2, cuts)]
    peer = sklearn.svm.SVC(C=2.0, gamma=0.5, tol=1e-6)
    expected = peers.cross_validate(peer, X, y, cv=4, scoring=scoring)["test_score"]
    model = SVC(C=2.0, gamma=0.5, tol=1e-6)
    assert np.allclose(cross_validate(model, X, y, cv=4, scoring=scoring)["test_score"], expected)
    search = SVMSearchCV(model, {"C": [2.0]}, cv=4, scoring=scoring, refit=False).fit(X, y)
    found = [search.cv_results_[f"split{h}_test_score"][0] for h in range(4)]
    assert np.allclose(found, expected)


def test_a_score_that_makes_no_sense_is_none() -> None:
    X, y = some_rows()
    with pytest.warns(UserWarning, match="Scoring failed"):
        found = cross_validate(SVR(gamma=0.1), X, X[:, 0], cv=3, scoring="accuracy")
    assert np.isnan(found["test_score"]).all()
    with pytest.warns(UserWarning, match="Scoring failed"):
        found = cross_validate(SVC(gamma=0.1), X, y, cv=3, scoring="r2")
    assert np.isnan(found["test_score"]).all()


def test_training_sets_side_by_side_are_those_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = some_rows(40)
    rng = np.random.default_rng(0)
    everybody = np.arange(40)
    splits = [(everybody[everybody % 8 != h], everybody[everybody % 8 == h]) for h in range(8)]
    splits.insert(2, (rng.integers(0, 40, size=40), everybody[:3]))  # drawn with repetition
    splits.insert(5, (everybody[:6], everybody[6:]))  # so few that a class may be gone
    splits.append((np.flatnonzero(y == "no"), everybody))
    model = SVC(C=3, gamma=0.1)
    together = FoldModels(model, X, y, None, splits)
    monkeypatch.setattr(fold_sets, "BLOCK_VALUES", 0)
    alone = FoldModels(model, X, y, None, splits)
    assert list(together.errors) == list(alone.errors) == [10]
    for h in alone.codes:
        a, b = together.training_set(h), alone.training_set(h)
        assert np.array_equal(a.weights, b.weights)
        assert np.array_equal(a.times, b.times)
        assert np.array_equal(a.codes, b.codes)
        assert a.has_repeats == b.has_repeats == (h == 2)
        assert not a.weights.flags.writeable


def test_training_sets_are_there_for_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many folds few stay: one thread may drop what another has just asked for."""
    monkeypatch.setattr(fold_sets, "MAX_SETS", 3)
    X, y = some_rows(40)
    splits = list(LeaveOneOut().split(X))
    folds = FoldModels(SVC(C=3, gamma=0.1), X, y, None, splits)

    def ask(seed: int) -> int:
        order = np.random.default_rng(seed).integers(0, 40, size=400).tolist()
        return sum(folds.training_set(h).weights[h] == 0.0 for h in order)

    with ThreadPoolExecutor(8) as workers:
        assert list(workers.map(ask, range(8))) == [400] * 8
