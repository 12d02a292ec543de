"""GridSearchCV beside SVMSearchCV: the same search by both, compared cell by cell."""

from __future__ import annotations

import functools

import numpy as np
from sklearn.model_selection import (
    GridSearchCV,
)
from sklearn.pipeline import Pipeline

from alphapath.model_selection import SVMSearchCV
from datasets import CLASSIFICATION

#: Keys that a peer can not share: times are measured, the rest are ours.
NOT_SHARED = {"fit_time", "score_time"}
OWN_KEYS = {"n_iter", "seed", "duality_gap", "status"}

SMALL_GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}


def compare(ours, theirs, *, n_test: int | None = None, atol: float = 1e-6):
    """Every key of cv_results_, and the winner (or a tie).

    `n_test`: scores are shares of that many test rows, one of which may be decided otherwise.
    """
    a, b = ours.cv_results_, theirs.cv_results_
    assert set(a) == set(b) | OWN_KEYS
    assert [dict(p) for p in a["params"]] == [dict(p) for p in b["params"]]
    slack = atol if n_test is None else 1.0 / n_test + 1e-12
    for key in b:
        if key.startswith("param_"):
            assert isinstance(a[key], np.ma.MaskedArray)
            np.testing.assert_array_equal(a[key].mask, b[key].mask)
            assert a[key].dtype == b[key].dtype
        elif key.startswith(("split", "mean_t", "std_t")):
            np.testing.assert_allclose(a[key], b[key], rtol=0, atol=slack, err_msg=key)
        elif key.startswith("rank"):
            assert a[key].dtype == b[key].dtype
    for name in ("n_splits_", "multimetric_"):
        assert getattr(ours, name) == getattr(theirs, name)
    if hasattr(theirs, "best_score_"):
        metric = theirs.refit if theirs.multimetric_ else "score"
        mean = b[f"mean_test_{metric}"]
        assert mean[ours.best_index_] >= np.nanmax(mean) - slack


def search_both(estimator, grid, X, y=None, fit_params=None, **options):
    peer = as_peer(estimator)
    fit_params = fit_params or {}
    arguments = () if y is None else (y,)
    theirs = GridSearchCV(peer, grid, **options).fit(X, *arguments, **fit_params)
    ours = SVMSearchCV(estimator, grid, **options).fit(X, *arguments, **fit_params)
    return ours, theirs


def as_peer(estimator):
    """The same pipeline or estimator with scikit-learn's own SVM."""
    if isinstance(estimator, Pipeline):
        *head, (name, last) = estimator.steps
        return Pipeline([*head, (name, as_peer(last))])
    declaration = getattr(estimator, "_declaration", None)
    if declaration is None or declaration.family != "dual":
        return estimator
    kind = declaration.peer
    params = estimator.get_params(deep=False)
    known = kind().get_params(deep=False)
    return kind(**{k: v for k, v in params.items() if k in known})


@functools.cache
def data(name):
    X, y = CLASSIFICATION[name]()
    return X[:200], y[:200]


def fold_size(y, k=5):
    return len(y) // k
