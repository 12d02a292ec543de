"""Transduction by exact solves: the labels that the algorithm gets from cold solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

from alphapath import TransductiveSVC, certify
from alphapath.errors import SolverMismatch
from alphapath.kernels import KernelStore, Linear, Rbf
from alphapath.paths import (
    importance_weights,
    residual_weights,
    time_weights,
    transduce,
)
from alphapath.paths.transduction import FIRST_WEIGHT
from alphapath.paths.walker import Walker
from alphapath.problem import Problem
from alphapath.solvers import smo

#: Values that differ by no more than solves do are equal, and the first row is taken.
NOISE = 1e-8


def order_descending(values: Any) -> Any:
    """Positions by value; those in a run of neighbours that are equal by position."""
    order = np.argsort(-values, kind="stable")
    run = np.concatenate([[0], np.cumsum(-np.diff(values[order]) > NOISE)])
    return order[np.lexsort((order, run))]


def first_largest(values: Any) -> int:
    return int(np.argmax(values >= np.max(values) - NOISE))


def transduce_cold(
    problem: Problem, is_labelled: Any, limit: float, n_positive: int
) -> tuple[Any, int]:
    """Joachims' loop with a solve from nothing at every step."""
    rows = np.flatnonzero(~is_labelled)
    signs = problem.targets.copy()
    weights = np.where(is_labelled, problem.weights, 0.0)

    def solve() -> Any:
        return smo.solve(Problem.classification(problem.kernel, signs, weights), tol=1e-9)

    order = order_descending(solve().decision_values[rows])
    signs[rows] = -1.0
    signs[rows[order[:n_positive]]] = 1.0
    negative = FIRST_WEIGHT
    positive = FIRST_WEIGHT * n_positive / (rows.size - n_positive)
    n_switches = 0
    while True:
        while True:
            by_class = np.where(signs[rows] > 0.0, min(positive, limit), min(negative, limit))
            weights[rows] = by_class
            slack = np.maximum(1.0 - signs[rows] * solve().decision_values[rows], 0.0)
            has_slack = slack > 1e-8  # on the margin there is none but rounding
            up = np.where((signs[rows] > 0.0) & has_slack, slack, -np.inf)
            down = np.where((signs[rows] < 0.0) & has_slack, slack, -np.inf)
            i, j = first_largest(up), first_largest(down)
            if not up[i] + down[j] > 2.0 + 1e-9:
                break
            signs[rows[[i, j]]] *= -1.0
            n_switches += 1
        if min(negative, positive) >= limit:
            return signs, n_switches
        negative, positive = 2.0 * negative, 2.0 * positive


def moons() -> tuple[Any, Any, Any]:
    X, y = make_moons(120, noise=0.15, random_state=3)
    is_labelled = np.zeros(120, dtype=bool)
    is_labelled[:12] = True
    return X, np.where(y > 0, 1.0, -1.0), is_labelled


@pytest.mark.parametrize("kernel", [Rbf(0.3), Rbf(2.0), Rbf(30.0), Linear()])
@pytest.mark.parametrize("limit", [2.0, 300.0])
def test_labels_are_those_of_cold_solves(kernel: Any, limit: float) -> None:
    X, y, is_labelled = moons()
    X[60:70] = X[70:80]  # equal rows
    view = KernelStore(X).view(kernel, precision="float64")
    problem = Problem.classification(view, y, np.full(120, 5.0))
    found = transduce(problem, is_labelled, limit, 54)
    signs, n_switches = transduce_cold(problem, is_labelled, limit, 54)
    np.testing.assert_array_equal(found.signs, signs)
    assert found.n_switches == n_switches
    solution = found.solution
    assert certify(solution.problem, solution.beta, solution.bias).is_optimal(1e-8)
    assert np.array_equal(solution.problem.weights, np.where(is_labelled, 5.0, limit))


def test_many_switches_on_rows_that_overlap() -> None:
    """Few labels, classes that overlap: pairs are switched after several doublings."""
    rng = np.random.default_rng(5)
    y = np.where(np.arange(300) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(300, 3)) + 0.6 * y[:, None]
    is_labelled = np.arange(300) < 20
    view = KernelStore(X).view(Rbf(0.5), precision="float64")
    problem = Problem.classification(view, y, np.full(300, 10.0))
    found = transduce(problem, is_labelled, 10.0, 140)
    signs, n_switches = transduce_cold(problem, is_labelled, 10.0, 140)
    np.testing.assert_array_equal(found.signs, signs)
    assert found.n_switches == n_switches > 5
    solution = found.solution
    assert certify(solution.problem, solution.beta, solution.bias).is_optimal(1e-9)
    assert solution.info.n_fallbacks < 10  # SMO finishes few of the problems


@pytest.mark.parametrize("seed", [313, 707, 1598, 1810, 1976])
def test_first_of_equal_rows(seed: int) -> None:
    """Few integer features: decision values tie, or differ by less than rounding may."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 60)), int(rng.integers(1, 4))
    X = rng.integers(0, 4, size=(n, d)).astype(float)
    if seed % 3 == 2:
        X = X[rng.integers(n, size=n)]
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > np.median(X[:, 0]), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    is_labelled = np.arange(n) < max(4, n // 4)
    kernel = (Rbf(0.3), Rbf(2.0), Rbf(10.0), Linear())[int(rng.integers(4))]
    C, limit = 10.0 ** rng.uniform(-1.0, 3.0, 2)
    n_positive = int(rng.integers(1, np.count_nonzero(~is_labelled)))
    view = KernelStore(X).view(kernel, precision="float64")
    problem = Problem.classification(view, y, np.full(n, C))
    found = transduce(problem, is_labelled, limit, n_positive)
    signs, n_switches = transduce_cold(problem, is_labelled, limit, n_positive)
    np.testing.assert_array_equal(found.signs, signs)
    assert found.n_switches == n_switches
    solution = found.solution
    assert certify(solution.problem, solution.beta, solution.bias).is_optimal(1e-8)


def test_rows_on_demand_and_precision() -> None:
    X, y, is_labelled = moons()
    labels = np.where(is_labelled, y > 0, -1)
    whole = TransductiveSVC(C=5.0, gamma=2.0).fit(X, labels)
    few = TransductiveSVC(C=5.0, gamma=2.0, memory_limit=60_000).fit(X, labels)
    assert np.array_equal(whole.transduction_, few.transduction_)
    view = KernelStore(X).view(Rbf(2.0), precision="float32")
    problem = Problem.classification(view, y, np.full(120, 5.0))
    with pytest.raises(SolverMismatch, match="float64"):
        transduce(problem, is_labelled, 1.0, 54)


def test_estimator() -> None:
    X, y, is_labelled = moons()
    labels = np.where(is_labelled, y > 0, -1)
    model = TransductiveSVC(C=5.0, C_unlabelled=2.0, gamma=2.0).fit(X, labels)
    assert np.array_equal(model.transduction_[is_labelled], labels[is_labelled])
    assert np.mean(model.transduction_ == (y > 0)) > 0.85
    assert np.array_equal(model.predict(X), model.model_.predict(X))
    assert model.n_doublings_ > 10
    weights = np.where(is_labelled, 1.0, 0.4)
    assert model.model_.certify(X, model.transduction_, weights).is_optimal(1e-9)
    with pytest.raises(ValueError, match="needs"):
        TransductiveSVC().fit(X, np.where(is_labelled, np.arange(120) % 3, -1))


def test_no_row_without_a_label_or_one_only() -> None:
    X, y, _ = moons()
    for n_open in (0, 1):
        labels = np.where(np.arange(120) < n_open, -1, y > 0)
        model = TransductiveSVC(C=5.0, gamma=2.0).fit(X, labels)
        assert np.array_equal(model.transduction_[n_open:], y[n_open:] > 0)
        weights = np.where(labels == -1, 0.2, 1.0)
        assert model.model_.certify(X, model.transduction_, weights).is_optimal(1e-9)


def test_weightings() -> None:
    fading = time_weights(100)
    assert np.all(np.diff(fading) > 0.0)
    assert fading[-1] == pytest.approx(2.0 / (1.0 + np.exp(-3.0)))
    rng = np.random.default_rng(0)
    X_train, X_test = rng.normal(size=(200, 2)), rng.normal((1.0, 0.0), 1.0, (200, 2))
    ratio = importance_weights(X_train, X_test, gamma=0.5)
    assert np.corrcoef(ratio, np.exp(X_train[:, 0]))[0, 1] > 0.7
    flat = importance_weights(X_train, X_test, gamma=0.5, flatten=0.0)
    np.testing.assert_allclose(flat, 1.0)
    assert np.all(residual_weights([0.0, 1.0, 2.0])[:-1] > residual_weights([0.0, 1.0, 2.0])[1:])


def test_slacks_that_tie_are_not_switched_for_ever() -> None:
    """Equal rows: two slacks sum to 2 but for rounding, and back again after a switch."""
    rng = np.random.default_rng(275)
    X = rng.normal(size=(10, 2))[rng.integers(10, size=40)]
    y = np.where(np.arange(40) < 16, (X[:, 0] > 0.0).astype(int), -1)
    y[:2] = 0, 1
    model = TransductiveSVC(C=2.0, gamma=0.1).fit(X, y)
    assert set(model.transduction_) == {0, 1}


def test_weights_doubled_between_label_switches_stay_exact() -> None:
    X, y, _ = moons()
    view = KernelStore(X).view(Rbf(2.0), precision="float64")
    everybody, pair = np.arange(120), np.array([3, 90])
    walker = Walker.of_problem(Problem.classification(view, y, np.full(120, 1e-3)))
    walker.solve()
    for _ in range(14):
        walker.move(2.0 * walker.weights)
        own = walker.weights[pair]
        walker.move(None, remove=pair)
        signs = -walker.targets[pair]
        walker.define(pair, signs, np.minimum(signs, 0.0), np.maximum(signs, 0.0))
        walker.move(None, pair, own)
        beta = walker.native.beta()
        assert certify(walker.problem, beta).is_optimal(1e-10)
        # Residuals that are kept along are those of the labels and weights that hold now.
        kept = walker.native.residuals() - walker.native.bias + walker.targets
        product = view.multiply(everybody, beta) - view.gram.offset() @ beta
        np.testing.assert_allclose(kept, product - view.gram.offset() * beta.sum(), atol=1e-11)
    assert walker.n_fallbacks == 0


def test_the_certificate_is_that_of_the_weights_to_the_last_bit() -> None:
    """C (C_unlabelled / C) may be C_unlabelled but for rounding: betas there are at their bound."""
    X, y, is_labelled = moons()
    labels = np.where(is_labelled, y > 0, -1)
    for C in (0.3, 18.138985124986206, 27.585694462498704):
        model = TransductiveSVC(C=C, C_unlabelled=1.3725944684617355, gamma=2.0).fit(X, labels)
        assert model.certify(X, labels).is_optimal(1e-9)


def test_frames_are_predicted_without_warnings() -> None:
    pd = pytest.importorskip("pandas")
    X, y, is_labelled = moons()
    frame = pd.DataFrame(X, columns=["a", "b"])
    labels = np.where(is_labelled, y > 0, -1)
    model = TransductiveSVC(C=5.0, gamma=2.0).fit(frame, labels)
    plain = TransductiveSVC(C=5.0, gamma=2.0).fit(X, labels)
    np.testing.assert_array_equal(model.decision_function(frame), plain.decision_function(X))
    assert model.certify(frame, labels).is_optimal(1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a"]])


def test_a_kernel_that_is_not_definite_comes_to_an_end() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        X = 3.0 * rng.normal(size=(18, 2))
        y = np.full(18, -1)
        y[:4] = 0, 1, 0, 1
        model = TransductiveSVC(
            C=0.0625, C_unlabelled=0.0121, kernel="sigmoid", gamma=11.0 / (1 + seed), coef0=1.9
        ).fit(X, y)
        assert np.count_nonzero(model.transduction_[4:] == 1) == 7


def test_betas_sum_to_nothing_where_kernel_values_are_tiny() -> None:
    X, y, is_labelled = moons()
    labels = np.where(is_labelled, y > 0, -1)
    model = TransductiveSVC(C=0.125, C_unlabelled=0.9, kernel="linear").fit(1e-8 * X, labels)
    beta = model.model_.dual_coef_[0]
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    assert model.certify(1e-8 * X, labels).is_optimal(1e-9)
