"""Instance weights for common purposes: old data, covariate shift, heteroscedastic noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem.box_problem import FloatArray


def time_weights(n: int, a: float = 3.0) -> FloatArray:
    """Weights that decay into the past: 2 / (1 + exp(a - 2 a i / n)), i = 1 .. n, oldest first.

    (M. Karasuyama, equation 4.28.) Multiply them by C for `weight_path`, or pass them
    as sample_weight.

    Examples
    --------
    >>> time_weights(4).round(2).tolist()
    [0.36, 1.0, 1.64, 1.91]
    """
    if n < 1:
        raise ValueError(f"n is {n}; there must be at least one instance.")
    i = np.arange(1, n + 1)
    return np.asarray(2.0 / (1.0 + np.exp(a - 2.0 * a * i / n)))


def importance_weights(
    X_train: Any,
    X_test: Any,
    *,
    gamma: float,
    ridge: float = 0.1,
    n_centres: int = 100,
    flatten: float = 1.0,
) -> FloatArray:
    """Estimate (p_test(x) / p_train(x))^flatten at the training rows by uLSIF, with mean 1.

    The ratio is a sum of Gaussians at test rows, fitted by least squares with a ridge; `flatten`
    between 0 (no correction) and 1 is the path of covariate-shift adaptation.

    Parameters
    ----------
    X_train, X_test : arrays of shape (n, d), (m, d)
    gamma : float
        Coefficient of the Gaussians.
    ridge : float
    n_centres : int
        Maximum number of centres; they are the first test rows.
    flatten : float

    Examples
    --------
    >>> int(importance_weights([[0.0], [1.0], [2.0]], [[2.0], [2.0]], gamma=1.0).argmax())
    2
    """
    train, test = np.asarray(X_train, dtype=np.float64), np.asarray(X_test, dtype=np.float64)
    centres = test[:n_centres]

    def features(X: FloatArray) -> FloatArray:
        square = (X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * X @ centres.T
        return np.asarray(np.exp(-gamma * np.maximum(square, 0.0)))

    on_train, on_test = features(train), features(test)
    H = on_train.T @ on_train / len(train) + ridge * np.eye(len(centres))
    alpha = np.maximum(np.linalg.solve(H, on_test.mean(axis=0)), 0.0)
    ratio = np.maximum(on_train @ alpha, 1e-12) ** flatten
    return np.asarray(ratio / ratio.mean())


def residual_weights(residuals: Any, *, floor: float = 1e-3) -> FloatArray:
    """Weights for heteroscedastic regression: sigma / |e_i|, where sigma is the root mean square.

    One step of iterative reweighting (M. Karasuyama, equation 4.30): fit, weight by the residuals,
    follow `weight_path` to these weights, and repeat. `floor`, relative to sigma, prevents exactly
    fitted rows from taking all the weight.

    Examples
    --------
    >>> residual_weights([1.0, 1.0, 2.0]).round(2).tolist()
    [1.41, 1.41, 0.71]
    """
    size = np.abs(np.asarray(residuals, dtype=np.float64))
    sigma = float(np.sqrt(np.mean(size**2)))
    if sigma == 0.0:
        return np.ones_like(size)
    return np.asarray(sigma / np.maximum(size, floor * sigma))
