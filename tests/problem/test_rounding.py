"""What rounding does to answers: betas that are small beside their boxes, slopes that are inexact.

A solution that is called solved is one by the certificate, however large the kernel values and the
weights; where doubles do not reach so far, the solution says that it stalled, and its violation is
no better than the certified one.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from alphapath import SVC, SVR, Status, certify
from alphapath.model_selection import cross_validate
from alphapath.paths import c_path
from alphapath.problem.optimality import snap_to_box

TOL = 1e-3


def make_rows(seed, size, n=None):
    """Rows of a given size in three features, and two classes that overlap."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(14, 60)) if n is None else n
    X = size * rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * size * rng.normal(size=n) > 0.0, 1, -1)
    y[:3] = 1, -1, y[2]
    return X, y


def check_honest(status, violation, certified):
    if status is Status.SOLVED:
        assert certified <= 10.0 * TOL
    else:
        assert status is Status.STALLED
        assert certified <= 3.0 * violation


def check_model(model, X, y, sample_weight=None):
    certificate = model.certify(X, y, sample_weight)
    check_honest(model.fit_status_, model.kkt_violation_, certificate.kkt_violation)


@pytest.mark.parametrize("size", [1e3, 1e5, 1e6, 1e7])
@pytest.mark.parametrize("C", [1.0, 1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_and_updates_of_large_rows_are_honest(size, C, seed):
    X, y = make_rows([seed, int(np.log10(size * C))], size)
    weights = 10.0 ** np.random.default_rng(seed).uniform(-1.0, 8.0, y.size)
    model = SVC(kernel="linear", C=C)
    check_model(model.fit(X, y), X, y)
    check_model(model.fit(X, y, weights), X, y, weights)
    model = SVC(kernel="linear", C=C).partial_fit(X[:12], y[:12], classes=[-1, 1])
    model.partial_fit(X[12:], y[12:]).forget([2])
    check_model(model, np.delete(X, 2, axis=0), np.delete(y, 2))


@pytest.mark.parametrize(("size", "C"), [(1e5, 1e4), (1e6, 1e2), (1e7, 1.0), (1e7, 1e4)])
def test_updates_keep_betas_that_are_small_beside_their_boxes(size, C):
    rng = np.random.default_rng(5)
    X = size * rng.normal(size=(14, 3))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    model = SVC(kernel="linear", C=C).partial_fit(X[:12], y[:12], classes=[-1, 1])
    model.partial_fit(X[12:], y[12:]).forget([0])
    assert model.fit_status_ is Status.SOLVED
    assert model.n_support_.min() > 0
    assert model.certify(X[1:], y[1:]).kkt_violation < 1e-6
    assert model.score(X[1:], y[1:]) == 1.0


@pytest.mark.parametrize("size", [1.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("C_max", [1.0, 1e4, 1e8])
def test_points_of_a_path_along_c_are_honest(size, C_max):
    X, y = make_rows(int(size), size, n=24)
    path = c_path(SVC(kernel="linear"), X, y, C_max / 100.0, C_max)
    assert sum(high - low for low, high in path.gaps) < 0.5 * (path.end - path.start)
    for C in np.geomspace(path.start, path.end, 7):
        solution = path.at(C)
        certificate = certify(solution.problem, solution.beta)
        check_honest(solution.info.status, solution.info.kkt_violation, certificate.kkt_violation)


def test_regression_in_boxes_that_are_never_felt():
    X, _ = make_rows(1, 1e6, n=20)
    y = X @ np.array([1e-6, 2e-6, -1e-6])
    model = SVR(kernel="linear", C=1e8, epsilon=0.1).fit(X, y)
    assert model.fit_status_ is Status.SOLVED
    assert model.certify(X, y).kkt_violation < 10.0 * TOL


def test_a_stalled_fit_says_so():
    X, y = make_rows(3, 1e7, n=40)
    y[::3] *= -1
    with pytest.warns(ConvergenceWarning, match="Rounding stopped the solver"):
        model = SVC(kernel="linear", C=1e8).fit(X, y)
    assert model.kkt_violation_ > TOL
    check_model(model, X, y)


def test_betas_snap_relative_to_the_largest_of_them():
    beta = np.array([0.05, -0.02, -0.03, 0.0])
    wide = np.full(4, 1e12)
    assert (snap_to_box(beta, -wide, wide) == beta).all()
    both = snap_to_box(np.stack([beta, 1e12 * beta]), -wide, wide)
    assert (both == np.stack([beta, 1e12 * beta])).all()
    # One ulp off the ends, or off 0, is rounding still.
    near = np.array([1.0 - 1e-15, 1e-15, 0.5, -1.0 + 1e-15])
    unit = np.ones(4)
    assert (snap_to_box(near, -unit, unit) == [1.0, 0.0, 0.5, -1.0]).all()


def test_no_warning_where_rows_are_large_but_solvable():
    X, _ = make_rows(2, 1e5, n=30)
    y = np.where(X[:, 0] > 0.0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(kernel="linear", C=1.0).fit(X, y)
    check_model(model, X, y)


@pytest.mark.parametrize("seed", [20, 22, 63, 1, 2, 3])
def test_a_sum_that_changes_by_little_is_felt_where_betas_are_large(seed):
    # Moves of a fold sum to a share of 1e-9 of their size: with offsets of 1 that is 0.1.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(3, 2))[rng.integers(3, size=21)], rng.integers(0, 2, size=21)
    model = SVC(kernel="linear", C=5e6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = cross_validate(model, X, y, cv=KFold(6), return_estimator=True)
    for h, (train, _) in enumerate(KFold(6).split(X)):
        if found["status"][h] == Status.SOLVED:
            fitted = found["estimator"][h]
            assert fitted.certify(X[train], y[train]).kkt_violation <= 10.0 * TOL


def test_targets_with_a_large_common_part_are_solved_as_they_are() -> None:
    """A cold solve that climbs from tiny boxes multiplies the rounding of targets."""
    X = np.array(
        [
            [1255.742919921875, 0.00144202285446, 0.882601818],
            [-429.765533447, 0.00090716267, 0.171277672],
        ]
    )
    X = np.vstack([X, [-963.312377929, 0.00180226727, 0.0165746771]])
    y = np.array([1000000.7234952509, 999999.964558061, 999997.8607626881])
    for C in (16.0, 64.0, 512.0):
        model = SVR(C=C, epsilon=0.0, kernel="linear", tol=1e-5).fit(X, y)
        assert model.certify(X, y).kkt_violation <= model.kkt_violation_ + 1e-6


def test_a_free_set_without_a_direction_is_left() -> None:
    """Rows that depend on one another: numbers that are none stayed in the gradient."""
    X = [-1, 2, -2, 2, 0, 1, -1, -1, 2, 1, -1, 1, 0, -1, 1, -1, -2, -1, -1, -1, -1, 1, 0, 1, 2, -2]
    X += [2, 0, 0, -1, 0, 2, 0, -1, -1, 1, -1, 0]
    y = [-1, -1, 1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1, 1, -1, -1, -1, -1, 1, 1, 1, 1, 1, -1, -1]
    y += [1, 1, 1, 1, -1, 1, -1, 1, -1, -1, 1, -1]
    rows = np.array(X, dtype=float)[:, None]
    model = SVC(C=512.0, kernel="linear", tol=1e-8).fit(rows, y)
    assert model.certify(rows, y).is_optimal(1e-7)
