"""cross_validate_path is cross_validate at every C: folds, class weights and gamma included."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from alphapath import SVC, SVR, OneClassSVM
from alphapath.model_selection import cross_validate, cross_validate_path
from alphapath.paths.path_or_grid import count_moves
from alphapath.solvers.sequence.along_c import solve_chain

VALUES = (0.003, 0.02, 0.3, 1.7, 9.0)
LIMITS = {"C_min": 0.001, "C_max": 10.0}


def unbalanced(n=90):
    return make_classification(
        n, 4, n_informative=3, n_redundant=0, weights=[0.7], flip_y=0.1, random_state=0
    )


def draw_folds(n, seed=0):
    """Bootstrap: training rows drawn with repeats, the others held out."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        train = rng.integers(0, n, size=n)
        yield train, np.setdiff1d(np.arange(n), train)


def errors_of(model, X, y, folds):
    """The mean error at each of VALUES by separate solves, and by scikit-learn's own scores."""
    scores = [
        cross_validate(model.set_params(C=C, tol=1e-9), X, y, cv=folds, seeding="none")
        for C in VALUES
    ]
    for found in scores:
        assert found["certificate"]["kkt_violation"].max() <= 1e-8
    return np.array([found["test_score"].mean() for found in scores])


@pytest.mark.parametrize("gamma", [0.1, "scale"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0}])
@pytest.mark.parametrize("method", ["path", "auto"])
def test_curve_is_that_of_the_folds(gamma, class_weight, method):
    X, y = unbalanced()
    X = X * 3.0
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    model = SVC(gamma=gamma, class_weight=class_weight)
    result = cross_validate_path(model, X, y, folds, method=method, **LIMITS)
    if result.is_exact:
        expected = 1.0 - errors_of(model, X, y, folds)
        assert np.allclose([result.curve(C) for C in VALUES], expected, atol=1e-12)
    else:  # the values of a grid are those of its points
        C = float(np.geomspace(*LIMITS.values(), round(np.log(1e4) / np.log(4.0)) + 1)[3])
        found = cross_validate(model.set_params(C=C, tol=1e-9), X, y, cv=folds, seeding="none")
        assert result.curve(C) == pytest.approx(1.0 - found["test_score"].mean(), abs=1e-12)


def test_rows_drawn_twice_count_twice():
    X, y = unbalanced()
    folds = list(draw_folds(len(y)))
    model = SVC(gamma=0.2, class_weight="balanced")
    result = cross_validate_path(model, X, y, folds, **LIMITS)
    expected = 1.0 - errors_of(model, X, y, folds)
    assert np.allclose([result.curve(C) for C in VALUES], expected, atol=1e-12)


def test_regression_with_a_gamma_of_each_fold():
    X, y = make_regression(80, 3, noise=20.0, random_state=0)
    folds = list(ShuffleSplit(3, random_state=0).split(X))
    model = SVR(epsilon=0.5)
    result = cross_validate_path(model, X, y, folds, return_paths=True, **LIMITS)
    for C in VALUES:
        found = cross_validate(
            model.set_params(C=C, tol=1e-9), X, y, cv=folds, scoring="neg_mean_squared_error"
        )
        assert result.curve(C) == pytest.approx(-found["test_score"].mean(), rel=1e-6)
    kernels = {id(path.problem.kernel) for path in result.paths}
    assert len(kernels) == len(folds)


def test_moves_between_the_points_of_a_grid_are_counted():
    X, y = unbalanced(60)
    problem = SVC(gamma=0.5).to_problem(X, y)
    factors = np.array([0.1, 1.0, 10.0])
    chain = solve_chain(problem, factors, weights=problem.weights[np.newaxis], tol=1e-6)
    expected = 0
    for k in (0, 1):
        for i in range(problem.n):
            before, after = (
                0 if beta == 0.0 else 2 if abs(beta) == C * problem.weights[i] else 1
                for beta, C in zip(chain.beta[k : k + 2, i], factors[k : k + 2], strict=True)
            )
            expected += abs(after - before)
    assert count_moves(chain) == expected > 0


def test_result_is_told_in_a_line():
    X, y = unbalanced(40)
    result = cross_validate_path(SVC(gamma=0.2), X, y, cv=3, **LIMITS)
    assert repr(result).startswith(f"PathValidation(error {result.best_score:.4g} at C=")
    assert "3 folds" in repr(result)
    assert len(repr(result)) < 150


def test_what_has_no_path_is_refused():
    X, y = unbalanced(40)
    order = np.argsort(y)
    with pytest.raises(ValueError, match="Fold 1 has no path: y has one class only"):
        cross_validate_path(SVC(), X[order], y[order], cv=KFold(2))
    with pytest.raises(TypeError, match="OneClassSVM has no C to follow; pass an SVC or an SVR"):
        cross_validate_path(OneClassSVM(), X, y)
