"""The shorter ways to scores say what scikit-learn's scorers say; a new one is two entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import get_scorer, max_error
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR as PeerSVR

from alphapath import SVC, SVR, SmoothSVC, SmoothSVR
from alphapath.model_selection import SVMSearchCV, scoring

RNG = np.random.default_rng(3)
X = RNG.normal(size=(50, 3))
VALUES = X[:, 0] + 0.5 * RNG.normal(size=50)
LABELS = np.where(VALUES > 0.0, "yes", "no")
WEIGHTS = RNG.uniform(0.5, 2.0, size=50)
MODELS = (SVC(), SVR(), SmoothSVC(), SmoothSVR())
ENTRIES = [(model, name) for model in MODELS for name in scoring.metrics_of(model)]


@pytest.mark.parametrize(("model", "name"), ENTRIES)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_every_metric_is_that_of_scikit_learn(model: Any, name: str, weights: Any) -> None:
    y = LABELS if hasattr(model, "class_weight") else VALUES
    fitted = [type(model)(gamma=gamma).fit(X, y) for gamma in (0.1, 1.0)]
    scorer = get_scorer(name)
    expected = [scorer(one, X, y, sample_weight=weights) for one in fitted]
    predicted = np.stack([one.predict(X) for one in fitted])
    found = scoring.metrics_of(model)[name](y, predicted, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert scoring.NAMES[scorer._score_func, scorer._sign] == name


def test_every_name_has_a_metric() -> None:
    assert set(scoring.NAMES.values()) == {name for _, name in ENTRIES}


def test_a_new_metric_is_taken_by_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def worst(truth: Any, predicted: Any, weights: Any) -> Any:
        calls.append(predicted.shape)
        return -np.abs(truth - predicted).max(axis=1)

    monkeypatch.setattr(scoring, "metrics_of", lambda model: {"neg_max_error": worst})
    monkeypatch.setitem(scoring.NAMES, (max_error, -1), "neg_max_error")
    grid = {"C": [0.1, 1.0, 10.0]}
    ours = SVMSearchCV(SVR(tol=1e-8), grid, cv=3, scoring="neg_max_error").fit(X, VALUES)
    theirs = GridSearchCV(PeerSVR(tol=1e-8), grid, cv=3, scoring="neg_max_error").fit(X, VALUES)
    assert calls
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-5
    )
