"""MarginMonitor: the predictions of a moving classifier, against computing all of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath import MarginMonitor
from alphapath.kernels import Poly, Rbf


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_along_a_moving_classifier(kind: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6)).astype(dtype)
    X[:10] = 0.0
    y = np.where(X @ rng.normal(size=6) > 0.0, 1.0, -1.0)
    monitor = MarginMonitor(sp.csr_array(X) if kind == "csr" else X, y)
    w, b = rng.normal(size=6), 0.1
    for _ in range(60):
        expected = X.astype(np.float64) @ w + b
        np.testing.assert_array_equal(monitor.predict(w, b), expected > 0.0)
        assert monitor.zero_one_loss(w, b) == np.mean((expected > 0.0) != (y > 0.0))
        w, b = w + 0.01 * rng.normal(size=6), b + 0.01 * rng.normal()
    assert monitor.n_pruned > 0.9 * (monitor.n_pruned + monitor.n_examined)


def test_predictions_on_moving_data() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 4))
    monitor = MarginMonitor(X, np.ones(1500))
    w = rng.normal(size=4)
    for _ in range(50):
        np.testing.assert_array_equal(monitor.predict(w, 0.2), X @ w + 0.2 > 0.0)
        step = 0.003 * rng.normal(size=X.shape)
        X, w = X + step, w + 0.003 * rng.normal(size=4)
        monitor.move_data(X, np.linalg.norm(step, axis=1) * (1.0 + 1e-12))
    assert monitor.n_pruned > 0.8 * (monitor.n_pruned + monitor.n_examined)


@pytest.mark.parametrize("kernel", [Rbf(0.5), Poly(0.3, 2, 1.0)])
def test_predictions_of_a_kernel_classifier(kernel) -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(800, 3)), rng.normal(size=(30, 3))
    monitor = MarginMonitor(X, np.ones(800), kernel=kernel, vectors=Z)
    beta = rng.normal(size=30) * (np.arange(30) % 3 > 0)
    for _ in range(40):
        expected = kernel.evaluate(X, Z) @ beta - 0.1
        np.testing.assert_array_equal(monitor.predict(beta, -0.1), expected > 0.0)
        beta = beta + 1e-3 * rng.normal(size=30)
    assert monitor.n_pruned > 0.8 * (monitor.n_pruned + monitor.n_examined)
    with pytest.raises(ValueError, match="coef has 3 values; there are 30 vectors"):
        monitor.predict(np.ones(3))
    with pytest.raises(ValueError, match="cannot be moved"):
        monitor.move_data(X, 0.1)
    with pytest.raises(ValueError, match="given together"):
        MarginMonitor(X, np.ones(800), kernel=kernel)


def test_bad_arguments() -> None:
    monitor = MarginMonitor(np.eye(3), [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="coef has 2 values; X has 3 columns"):
        monitor.predict([1.0, 2.0])
    with pytest.raises(ValueError, match="must not be negative"):
        monitor.move_data(np.eye(3), -1.0)
    with pytest.raises(ValueError, match="X has 3 rows"):
        MarginMonitor(np.eye(3), [1.0])
