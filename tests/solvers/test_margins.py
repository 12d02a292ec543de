"""Sums of margin losses: lazy bounds and the paper's sorted lists against every margin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from alphapath import _core
from alphapath.problem import MarginProblem
from alphapath.solvers.primal import gradient
from alphapath.solvers.primal.rows import make_task, read_rows

LOSSES = [("hinge", 0.0), ("huber", 0.01), ("huber", 0.5), ("squared_hinge", 0.0)]


def make_data(kind: str, dtype: type, n: int = 400, d: int = 11, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    X[:5] = 0.0  # rows whose margin is the bias
    X[5:40] = X[40:75]  # equal rows
    X[:, 3] = 1.0  # a constant feature
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    X = X.astype(dtype)
    return (sp.csr_array(X) if kind == "csr" else X), y


def direct_sums(problem: MarginProblem, theta: np.ndarray) -> tuple[float, np.ndarray]:
    """Loss and gradient by plain numpy, in double."""
    dense = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    X = np.column_stack([np.asarray(dense, dtype=np.float64), np.ones(problem.n)])
    values = X @ theta
    return problem.weights @ problem.losses(values), X.T @ (
        problem.weights * problem.slopes(values)
    )


def assert_exact(sums, problem: MarginProblem, theta: np.ndarray) -> None:
    value, gradient = sums.evaluate(theta)
    expected, slope = direct_sums(problem, theta)
    scale = problem.weights.sum()
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-10 * scale)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10 * scale)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("loss", "width"), LOSSES)
@pytest.mark.parametrize("method", ["full", "lazy", "clusters", "sorted"])
def test_pruned_sums_are_the_full_sums(kind, dtype, loss, width, method) -> None:
    X, y = make_data(kind, dtype)
    weights = np.random.default_rng(1).random(y.size)
    weights[::7] = 0.0
    problem = MarginProblem(X, y, weights, loss, width, "free")
    sums = _core.MarginSums(make_task(problem, None), method)
    theta = np.zeros(X.shape[1] + 1)
    step = 1.0
    for k in range(150):  # a descent, with a jump now and then
        assert_exact(sums, problem, theta)
        _, slope = direct_sums(problem, theta)
        theta = theta - step / weights.sum() * slope
        step = 100.0 if k % 50 == 49 else max(0.7 * step, 1e-3)
    if method != "full" and loss != "squared_hinge":
        assert sums.n_pruned > 10 * y.size


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(gradient.BOUNDS), st.floats(-4.0, 4.0))
def test_any_walk_is_exact(seed: int, method: str, log_scale: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) * 10.0 ** rng.integers(-3, 4, size=(60, 1))
    y = rng.choice([-1.0, 1.0], size=60)
    problem = MarginProblem(X, y, rng.random(60), "huber", 0.1, "free")
    sums = _core.MarginSums(make_task(problem, None), method)
    theta = rng.normal(size=5)
    for _ in range(30):
        value, gradient = sums.evaluate(theta)
        expected, slope = direct_sums(problem, theta)
        size = 1.0 + np.abs(X @ theta[:-1]).max()
        assert abs(value - expected) <= 1e-10 * size * problem.weights.sum()
        reach = 1.0 + np.abs(X).max()
        assert np.abs(gradient - slope).max() <= 1e-10 * reach * problem.weights.sum()
        theta = theta + 10.0**log_scale * rng.random() * rng.normal(size=5)


@pytest.mark.parametrize("offset", ["free", "penalised", "none"])
@pytest.mark.parametrize("loss", ["hinge", "huber"])
def test_bounds_do_not_change_the_iterates(loss: str, offset: str) -> None:
    X, y = make_data("csr", np.float64, seed=3)
    width = 0.01 if loss == "huber" else 0.0
    problem = MarginProblem(X, y, np.ones(y.size) / 50.0, loss, width, offset)
    found = {
        bounds: gradient.solve(problem, tol=1e-6, bounds=bounds, limits=(300, None), step=1.0)
        for bounds in gradient.BOUNDS
    }
    for solution in found.values():
        np.testing.assert_allclose(solution.coef, found["full"].coef, rtol=0, atol=1e-9)
        assert solution.bias == pytest.approx(found["full"].bias, abs=1e-9)
        assert solution.info.n_iter == found["full"].info.n_iter
    for bounds in ("lazy", "clusters"):
        assert found[bounds].info.n_rows_computed < 0.5 * found["full"].info.n_rows_computed
    assert offset != "none" or found["lazy"].bias == 0.0


def test_an_adversarial_step_falls_back_to_plain_passes() -> None:
    X, y = make_data("dense", np.float64, n=2000)
    problem = MarginProblem(X, y, np.ones(y.size), "huber", 0.01, "free")
    sums = _core.MarginSums(make_task(problem, None), "lazy")
    rng = np.random.default_rng(0)
    for _ in range(60):
        assert_exact(sums, problem, 10.0 * rng.normal(size=X.shape[1] + 1))
    assert sums.n_sorts == 0  # a sample of the rows told that references would not pay
    assert sums.n_examined <= 1.01 * 60 * y.size


def test_threads_give_the_same_bits() -> None:
    X, y = make_data("dense", np.float32, n=40_000)
    problem = MarginProblem(X, y, np.ones(y.size), "hinge", 0.0, "free")
    theta = np.random.default_rng(0).normal(size=X.shape[1] + 1)
    one, three = (
        _core.MarginSums(make_task(problem, None), "full", n).evaluate(theta) for n in (1, 3)
    )
    assert one[0] == three[0]
    np.testing.assert_array_equal(one[1], three[1])


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_clusters_spare_margins_where_rows_lie_together(kind: str) -> None:
    rng = np.random.default_rng(0)
    centres = 10.0 * rng.normal(size=(16, 6))
    X = centres[rng.integers(16, size=3000)] + 0.1 * rng.normal(size=(3000, 6))
    y = np.where(X @ rng.normal(size=6) + rng.normal(size=3000) > 0.0, 1.0, -1.0)
    data = sp.csr_array(X) if kind == "csr" else X
    problem = MarginProblem(data, y, np.ones(y.size) / y.size, "huber", 0.01, "free")
    n_examined = {}
    for method in ("lazy", "clusters"):
        sums = _core.MarginSums(make_task(problem, None), method)
        theta = np.ones(7)
        for k in range(100):  # to and fro, in no plane
            assert_exact(sums, problem, theta)
            theta = theta + 0.01 * np.random.default_rng(k).normal(size=7)
        n_examined[method] = sums.n_examined
    assert n_examined["clusters"] < 0.5 * n_examined["lazy"]


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_are_read_in_place(index: type) -> None:
    X, _ = make_data("csr", np.float32)
    X.indptr = X.indptr.astype(index)
    rows = read_rows(X)
    before = rows.dots(np.ones(X.shape[1]))
    X.data[:] *= 2.0
    np.testing.assert_allclose(rows.dots(np.ones(X.shape[1])), 2.0 * before, rtol=1e-6)
    few = np.array([3, 50, 50], dtype=np.int32)
    np.testing.assert_allclose(
        rows.dots(np.ones(X.shape[1]), few), X[few].sum(axis=1), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("density", [0.02, 0.9])
def test_the_gram_matrix(has_bias: bool, density: float) -> None:
    X = sp.random_array((300, 70), density=density, rng=0, format="csr")
    weights = np.random.default_rng(0).random(300) * (np.arange(300) % 3 > 0)
    full = np.column_stack([X.toarray(), np.ones(300)]) if has_bias else X.toarray()
    expected = np.tril(full.T @ (weights[:, None] * full))
    for data in (X, X.toarray()):
        G = read_rows(data).gram(weights, has_bias)
        np.testing.assert_allclose(np.tril(G), expected, atol=1e-12)


def test_bad_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="column of the CSR matrix is 7"):
        _core.MarginRows.csr(np.ones(1), np.array([7], dtype=np.int32), np.array([0, 1]), 3)
    rows = read_rows(np.eye(3))
    with pytest.raises(ValueError, match="labels has 2 values"):
        _core.MarginTask(rows, np.ones(2), np.ones(3), _core.MarginLoss.hinge())
    task = _core.MarginTask(rows, np.ones(3), np.ones(3), _core.MarginLoss.hinge())
    with pytest.raises(ValueError, match="method is fast"):
        _core.MarginSums(task, "fast")
    with pytest.raises(ValueError, match="theta has 3 values; it must have 4"):
        _core.MarginSums(task).evaluate(np.zeros(3))
