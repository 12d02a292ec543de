"""Recorded walks on near rows: optimal at every breakpoint, and scores that miss no change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from alphapath import SVC, SVR, certify
from alphapath.paths.validation_curve import ValidationCurve, as_curve
from alphapath.paths.weights import _Walk

GAMMA = 0.1
N_TRAIN = 640


def make_data(n: int = 800) -> tuple[Any, Any]:
    """A smooth function of 8 features and noise, the last rows held out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + rng.standard_normal(n)


def follow(model: Any, X: Any, y: Any, stops: list[float]) -> tuple[_Walk, Any, ValidationCurve]:
    """The path along C of the first rows, scored on the others as it is walked."""
    problem = model.to_problem(X, y)
    unit = np.where(np.arange(len(y)) < N_TRAIN, 1.0, 0.0)
    walk = _Walk(problem.with_weights(stops[-1] * unit), np.zeros(len(y)), unit, stops)
    rows = np.arange(N_TRAIN, len(y))
    metric = "error" if isinstance(model, SVC) else "squared"
    walk.walker.native.score(rows, np.full(rows.size, 1.0 / rows.size), metric == "error")
    walk.run()
    path = walk.take_path("C")
    return walk, path, as_curve(walk.walker.native.take_curve(), path.end, metric, "C")


def decide(path: Any, K: Any, t: float) -> Any:
    return K @ path.at(t).beta[:N_TRAIN] + path.bias_at(t)


def check_breakpoints(path: Any, n_checks: int) -> None:
    assert path.gaps == ()
    for t in np.random.default_rng(1).choice(path.breakpoints_, n_checks):
        solution = path.at(float(t))
        assert certify(solution.problem, solution.beta, path.bias_at(float(t))).is_optimal(1e-8)


@pytest.mark.parametrize("n_copies", [0, 40])
def test_errors_along_parts(n_copies: int) -> None:
    X, noisy = make_data()
    y = np.where(noisy > 0.0, 1.0, -1.0)
    X[:n_copies], y[:n_copies] = X[100 : 100 + n_copies], y[100 : 100 + n_copies]
    walk, path, curve = follow(SVC(gamma=GAMMA, tol=1e-9), X, y, [0.1, 1.0, 10.0, 100.0])
    counts = walk.walker.native.counts
    assert counts.n_parts > 15
    assert counts.n_steps > 10 * counts.n_parts  # most breakpoints are on parts
    check_breakpoints(path, 40)
    # Between neighbouring breakpoints, and around every change of the curve.
    times = np.append(path.breakpoints_, path.end)
    times = (times[1:] + times[:-1]) / 2.0
    K = rbf_kernel(X[N_TRAIN:], X[:N_TRAIN], GAMMA)
    steps = (curve.starts + curve.ends) / 2.0
    for t in np.concatenate([times[::9], steps[:: max(1, steps.size // 80)]]):
        wrong = (decide(path, K, float(t)) >= 0.0) != (y[N_TRAIN:] > 0.0)
        assert_allclose(curve(t), wrong.mean(), atol=1e-12)


def test_squared_errors_along_parts() -> None:
    X, y = make_data()
    walk, path, curve = follow(SVR(gamma=GAMMA, epsilon=0.3, tol=1e-9), X, y, [0.1, 1.0, 10.0])
    assert walk.walker.native.counts.n_parts > 10
    check_breakpoints(path, 40)
    K = rbf_kernel(X[N_TRAIN:], X[:N_TRAIN], GAMMA)
    for t in np.exp(np.linspace(np.log(0.1), np.log(10.0), 60))[1:-1]:
        squares = (decide(path, K, float(t)) - y[N_TRAIN:]) ** 2
        assert_allclose(curve(t), squares.mean(), rtol=1e-9)
