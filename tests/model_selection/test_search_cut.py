"""Searches cut by Ctrl-C or the time limit keep what is known, and complete cells early."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, LinearSVC
from alphapath.kernels.store import Shelf
from alphapath.model_selection import SVMSearchCV
from alphapath.model_selection.folds import linear as linear_folds
from alphapath.model_selection.folds import preprocessing
from alphapath.model_selection.folds import protocol as primal_folds
from alphapath.model_selection.grid import chain as search_solve
from alphapath.model_selection.grid import primal as primal_search
from alphapath.report.html.page import render
from alphapath.report.record import record_search
from alphapath.search import time_shares
from alphapath.search.chain import Chain
from alphapath.search.table import find_best_so_far
from alphapath.search.time_shares import TimeShares
from search_cases import generated

GRID = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.02, 0.1, 0.5, 2.0]}


class StopAfter:
    """Accuracy, and Ctrl-C after some calls."""

    def __init__(self, n_calls: int) -> None:
        self.n_left = n_calls

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        self.n_left -= 1
        if self.n_left < 0:
            raise KeyboardInterrupt
        return float(np.mean(estimator.predict(X) == y))


def interrupt(search: SVMSearchCV, n_calls: int) -> SVMSearchCV:
    """The search after Ctrl-C in the scorer."""
    search.set_params(scoring=StopAfter(n_calls))
    with (
        pytest.raises(KeyboardInterrupt),
        pytest.warns(ConvergenceWarning, match="were not run on every fold"),
    ):
        search.fit(*generated(300))
    return search


def count(search: SVMSearchCV, status: str) -> int:
    return int((search.cv_results_["status"] == status).sum())


def test_with_a_scaler_cells_are_complete_early() -> None:
    search = interrupt(SVMSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=5), 39)
    assert count(search, "solved") == 6  # of 12, after 39 of 60 scores
    assert count(search, "partial") == 3
    assert search.best_params_["svc__gamma"] in (0.02, 0.1)


@pytest.mark.parametrize("model", [LinearSVC(loss="hinge"), LinearSVC(class_weight="balanced")])
def test_linear_models_behind_a_scaler(model: LinearSVC) -> None:
    grid = {"linearsvc__C": [0.1, 1.0], "linearsvc__tol": [1e-3, 1e-4]}
    search = interrupt(SVMSearchCV(make_pipeline(StandardScaler(), model), grid, cv=4), 13)
    assert count(search, "solved") == 2  # of 4, after 13 of 16 scores


def test_scores_of_finished_folds_are_kept() -> None:
    head = StandardScaler()
    search = interrupt(SVMSearchCV(make_pipeline(head, SVC()), GRID, cv=5), 6)
    full = SVMSearchCV(make_pipeline(head, SVC()), GRID, cv=5).fit(*generated(300)).cv_results_
    results = search.cv_results_
    is_partial = results["status"] == "partial"
    assert is_partial.sum() == 3
    assert not hasattr(search, "best_index_")
    assert np.isnan(results["mean_test_score"]).all()
    assert (results["n_splits_done"] == 2 * is_partial).all()
    for fold in range(2):
        key = f"split{fold}_test_score"
        np.testing.assert_array_equal(results[key][is_partial], full[key][is_partial])
    mean = (full["split0_test_score"] + full["split1_test_score"]) / 2.0
    known = results["partial_mean_test_score"]
    np.testing.assert_allclose(known[is_partial], mean[is_partial], rtol=1e-15)
    assert np.isnan(known[~is_partial]).all()
    record = record_search(search)
    assert record["best_so_far"]["n_splits"] == 2
    assert record["best_so_far"]["mean"] == pytest.approx(np.nanmax(known))
    assert "best so far" in render(record)
    assert not {"n_splits_done", "partial_mean_test_score"} & full.keys()


def test_the_best_so_far_is_among_those_with_the_most_folds() -> None:
    means = np.array([0.9, 0.7, 0.8, np.nan])
    assert find_best_so_far(np.array([1, 2, 2, 3]), means) == 2
    assert find_best_so_far(np.zeros(4, dtype=int), means * np.nan) is None


def test_the_warning_names_the_best_so_far() -> None:
    search = SVMSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=5)
    search.set_params(scoring=StopAfter(6))
    sentence = r"No candidate is complete; best so far is \{'svc__C'.* on 2 of 5 folds\.$"
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match=sentence):
        search.fit(*generated(300))


def test_the_order_of_folds_and_kernels_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Any:
        grid = {**GRID, "svc__class_weight": [None, "balanced"]}
        return SVMSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=4).fit(*generated(200))

    first = run()
    monkeypatch.setattr(preprocessing, "MAX_KEPT_BYTES", 0)
    second = run()
    orders = [[chain.key for chain in search.plan_.chains] for search in (first, second)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])
    for name in ("mean_test_score", "n_iter", "duality_gap"):
        np.testing.assert_array_equal(first.cv_results_[name], second.cv_results_[name])


def test_ctrl_c_in_a_chain_keeps_what_it_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = search_solve.solve_sequence
    calls = itertools.count()

    def cut(*arguments: Any, **options: Any) -> Any:
        found = solve(*arguments, **options)
        if next(calls) == 0:
            return found
        columns = {name: values[:2] for name, values in found.columns.items()}
        return replace(found, columns=columns, is_interrupted=True)

    monkeypatch.setattr(search_solve, "solve_sequence", cut)
    search = SVMSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=2)
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning):
        search.fit(*generated(200))
    assert count(search, "solved") == 2
    assert count(search, "partial") == 1
    assert search.best_params_["svc__C"] in (0.1, 1.0)


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_a_chain_that_is_cut_before_its_last_fold(
    is_interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fold of which nothing is solved fails no other, and Ctrl-C is no failed fit."""
    solve = search_solve.solve_sequence

    def cut(*arguments: Any, **options: Any) -> Any:
        found = solve(*arguments, **options)
        columns = {name: values[:2] for name, values in found.columns.items()}
        return replace(found, columns=columns, is_interrupted=is_interrupted)

    monkeypatch.setattr(search_solve, "solve_sequence", cut)
    search = SVMSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1]}, cv=3, refit=False)
    end = pytest.raises(KeyboardInterrupt) if is_interrupted else contextlib.nullcontext()
    with end, pytest.warns(ConvergenceWarning, match="not run on every fold"):
        search.fit(*generated(200))
    assert search.cv_results_["status"].tolist() == ["partial", "partial", "not_run"]
    assert search.cv_results_["n_splits_done"].tolist() == [1, 1, 0]


PERF_COUNTER = time.perf_counter


class Clock:
    """A clock that goes on by one whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        self.now += 1.0
        return self.now

    perf_counter = staticmethod(PERF_COUNTER)


def test_the_folds_of_a_model_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    for module in (time_shares, primal_folds, primal_search, linear_folds):
        monkeypatch.setattr(module, "time", clock)
    values = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    search = SVMSearchCV(LinearSVC(loss="hinge"), {"C": values}, cv=4, time_limit=1.0)
    monkeypatch.setattr(
        SVMSearchCV, "_share_time", lambda self, n, by_fold: TimeShares(40.0, n, 1, by_fold)
    )
    with pytest.warns(ConvergenceWarning):
        search.fit(*generated(100))
    assert count(search, "solved") >= 3
    assert search.cv_results_["status"][0] == "solved"


def chain_of(fold: int, kernel: int = 0, head: int = 0) -> Chain:
    return Chain(f"{kernel}.{fold}", "", head, kernel, kernel, (fold,), (1.0,), ((0,),), ())


def test_shares_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        now = 0.0

        @classmethod
        def time(cls) -> float:
            return cls.now

    monkeypatch.setattr(time_shares, "time", Fixed)
    one = TimeShares(100.0, n_folds=5)
    assert one.end_of(chain_of(0)) == 20.0
    Fixed.now = 10.0
    assert one.end_of(chain_of(1)) == 32.5  # what the first fold left goes to the others
    assert one.end_of(replace(chain_of(1), folds=(0, 1, 2, 3, 4))) == 100.0
    two = TimeShares(100.0, n_folds=5, n_workers=2)
    Fixed.now = 0.0
    assert two.end_of(chain_of(0)) == pytest.approx(100.0 / 3.0)
    assert two.end_of(chain_of(1)) == 50.0
    by_fold = pickle.loads(pickle.dumps(TimeShares(100.0, n_folds=4, goes_by_fold=True)))
    assert by_fold.end_of(chain_of(0, kernel=0)) == 25.0
    Fixed.now = 20.0
    assert by_fold.end_of(chain_of(0, kernel=1)) == 25.0  # all kernels of a fold share its time
    assert by_fold.end_of(chain_of(1, kernel=0)) == pytest.approx(20.0 + 80.0 / 3.0)
    assert TimeShares(None).end_of(chain_of(0)) is None


def test_a_shelf_keeps_what_it_has_room_for() -> None:
    shelf, made = Shelf(10, room_for_idle=10), []
    for key in "abacb":
        with shelf.lease(key, 5, lambda key=key: made.append(key) or key) as thing:
            assert thing == key
    assert made == ["a", "b", "c", "b"]  # c took the place of b, which was used before a
