"""The one-standard-error rule: the simplest model that is as good as the best, as far as one sees.

The mean over folds is known only up to its standard error s / sqrt(k), where s is the standard
deviation of the k fold scores (k - 1 degrees of freedom). Every cell whose mean is within one
standard error of the best mean is taken for equally good, and of these the simplest is chosen
(Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, section 3.4.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..problem.box_problem import FloatArray

#: From the most to the least telling parameter, and the sign under which less is simpler: a small
#: C and gamma and a wide tube give the smoother function.
SIMPLER = (("C", 1.0), ("gamma", 1.0), ("degree", 1.0), ("epsilon", -1.0), ("nu", -1.0))


def one_standard_error(cv_results: Mapping[str, Any], *, metric: str = "score") -> int:
    """Choose the simplest candidate within one standard error of the best: a `refit` callable.

    Simpler is a smaller C, then a smaller gamma, a smaller degree, a larger epsilon and a larger
    nu, then the place in the grid.

    Parameters
    ----------
    cv_results : dict
        `cv_results_` of `SVMSearchCV` or of scikit-learn's searches.
    metric : str, default="score"
        The scorer, where there are several: `functools.partial(one_standard_error, metric="f1")`.

    Returns
    -------
    int
        The position of the candidate, as `best_index_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import one_standard_error
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"C": [0.01, 0.1, 1, 10, 100], "gamma": [0.01, 0.1]}
    >>> GridSearchCV(SVC(), grid, refit=one_standard_error).fit(X, y).best_params_
    {'C': 1, 'gamma': 0.1}
    """
    mean, error = mean_and_error(cv_results, metric)
    if np.all(np.isnan(mean)):
        raise ValueError(
            f"mean_test_{metric} is nan for each of the {len(mean)} candidates; the "
            f"one-standard-error rule needs at least one that was scored."
        )
    best = int(np.nanargmax(mean))
    good = np.flatnonzero(mean >= mean[best] - error[best])
    return int(min(good, key=lambda i: (complexity(cv_results["params"][i]), i)))


def mean_and_error(
    cv_results: Mapping[str, Any], metric: str = "score"
) -> tuple[FloatArray, FloatArray]:
    """The mean test score of every candidate and its standard error (0 for a single fold)."""
    name = f"mean_test_{metric}"
    if name not in cv_results:
        known = [key.removeprefix("mean_test_") for key in cv_results if key.startswith("mean_")]
        known = [key for key in known if not key.startswith("mean_")]
        raise ValueError(f"metric is {metric!r}; the search has {', '.join(map(repr, known))}.")
    mean = np.asarray(cv_results[name], dtype=float)
    n_splits = 0
    while f"split{n_splits}_test_{metric}" in cv_results:
        n_splits += 1
    # std_test_ divides by k, not by k - 1.
    deviation = np.asarray(cv_results[f"std_test_{metric}"], dtype=float)
    return mean, deviation / math.sqrt(n_splits - 1) if n_splits > 1 else np.zeros_like(mean)


def complexity(params: Mapping[str, Any]) -> tuple[tuple[int, float], ...]:
    """A key that sorts simple models first; the names may carry the steps of a pipeline.

    A parameter that is not there (gamma of a linear kernel) comes before every number, one that
    is a word (gamma="scale") after.
    """
    own = {name.rpartition("__")[2]: value for name, value in params.items()}
    key = []
    for name, sign in SIMPLER:
        value = own.get(name)
        if value is None:
            key.append((0, 0.0))
        elif isinstance(value, bool | str):
            key.append((2, 0.0))
        else:
            key.append((1, sign * float(value)))
    return tuple(key)
