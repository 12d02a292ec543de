"""The one-standard-error rule, held against its definition."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC
from alphapath.model_selection import one_standard_error

GRID = {"C": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0], "gamma": [0.003, 0.01, 0.03]}


def make_results(params: list[dict[str, Any]], scores: Any, metric: str = "score") -> Any:
    scores = np.asarray(scores, dtype=float)
    results = {
        "params": params,
        f"mean_test_{metric}": scores.mean(axis=1),
        f"std_test_{metric}": scores.std(axis=1),
    }
    results |= {f"split{k}_test_{metric}": scores[:, k] for k in range(scores.shape[1])}
    return results


def test_on_a_search_it_follows_the_definition() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    search = GridSearchCV(SVC(), GRID, cv=5, refit=one_standard_error).fit(X, y)
    results = search.cv_results_
    folds = np.array([results[f"split{k}_test_score"] for k in range(5)])
    best = int(np.argmax(folds.mean(axis=0)))
    bound = folds[:, best].mean() - folds[:, best].std(ddof=1) / np.sqrt(5)
    equal = [i for i in range(folds.shape[1]) if folds[:, i].mean() >= bound]
    least = min(results["params"][i]["C"] for i in equal)
    gammas = [results["params"][i]["gamma"] for i in equal if results["params"][i]["C"] == least]
    assert search.best_params_ == {"C": least, "gamma": min(gammas)}
    assert len(equal) > 1
    assert search.best_estimator_.get_params()["C"] == least


def test_the_best_of_far_apart_cells_is_taken() -> None:
    params = [{"C": 1.0}, {"C": 10.0}, {"C": 100.0}]
    results = make_results(params, [[0.5, 0.52], [0.9, 0.92], [0.7, 0.72]])
    assert one_standard_error(results) == 1


@pytest.mark.parametrize(
    ("params", "chosen"),
    [
        ([{"C": 10.0, "gamma": 0.1}, {"C": 1.0, "gamma": 9.0}], 1),
        ([{"C": 1.0, "gamma": 1.0}, {"C": 1.0, "gamma": 0.1}], 1),
        ([{"svc__C": 10, "svc__gamma": 0.1}, {"svc__C": 1, "svc__gamma": 9.0}], 1),
        ([{"C": 1.0, "gamma": "scale"}, {"C": 1.0, "gamma": 5.0}], 1),
        ([{"C": 1.0, "kernel": "rbf", "gamma": 0.1}, {"C": 1.0, "kernel": "linear"}], 1),
        ([{"C": 1.0, "epsilon": 0.1}, {"C": 1.0, "epsilon": 0.5}], 1),
        ([{"C": 1.0, "class_weight": None}, {"C": 1.0, "class_weight": "balanced"}], 0),
    ],
)
def test_what_counts_as_simpler(params: list[dict[str, Any]], chosen: int) -> None:
    assert one_standard_error(make_results(params, [[0.9, 0.92]] * 2)) == chosen


def test_cells_that_were_not_run_are_left_out() -> None:
    params = [{"C": 0.1}, {"C": 1.0}, {"C": 10.0}]
    results = make_results(params, [[np.nan, np.nan], [0.9, 0.91], [0.9, 0.92]])
    assert one_standard_error(results) == 1
    with pytest.raises(ValueError, match="nan for each of the 3 candidates"):
        one_standard_error(make_results(params, np.full((3, 2), np.nan)))


def test_one_fold_has_no_error() -> None:
    assert one_standard_error(make_results([{"C": 1.0}, {"C": 9.0}], [[0.8], [0.9]])) == 1


def test_several_metrics_and_pipelines() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {f"svc__{name}": values for name, values in GRID.items()},
        cv=3,
        scoring=["accuracy", "f1"],
        refit=functools.partial(one_standard_error, metric="f1"),
    ).fit(X, y)
    assert search.best_index_ == one_standard_error(search.cv_results_, metric="f1")
    with pytest.raises(ValueError, match="metric is 'auc'; the search has 'accuracy', 'f1'"):
        one_standard_error(search.cv_results_, metric="auc")
