"""Searches and data for the tests of how a search is run."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC
from alphapath.model_selection import SVMSearchCV

GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.02, 0.2, 2.0]}
MEASURED = ("fit_time", "score_time")


def generated(n=160, **options):
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0, **options
    )


def same_results(a, b):
    """Bit for bit, but for what is measured."""
    assert set(a) == set(b)
    for key in a:
        if key.endswith(MEASURED):
            continue
        if key == "params":
            assert a[key] == b[key]
        else:
            np.testing.assert_array_equal(np.asarray(a[key]), np.asarray(b[key]), err_msg=key)


def searches():
    X, y = generated(n_classes=3)
    yield SVMSearchCV(SVC(), GRID, cv=3, refit=False, return_train_score=True), X, y
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.05, "scale"]}
    yield SVMSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=3, refit=False), X, y
    yield SVMSearchCV(SVC(), {"gamma": ["scale", 0.1], "C": [1.0, 3.0]}, cv=4, refit=False), X, y
