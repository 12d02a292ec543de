"""CoefficientPathDisplay: the lines are those of fits at their C."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from alphapath import SVC, SVR
from alphapath.paths import weight_path
from alphapath.report import CoefficientPathDisplay
from alphapath.report.displays.coefficient import MAX_BREAKPOINTS, sample_points

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def rows() -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:200, :8], y[:200]


def test_coefficients_are_those_of_fits(rows: Any) -> None:
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
    display = CoefficientPathDisplay.from_estimator(
        SVC(kernel="linear"), frame, y, C_min=0.01, C_max=10.0
    )
    assert display.names == list(frame.columns)
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_ylabel() == "coefficient"
    for k in (0, len(display.t) // 2, -1):
        peer = sklearn.svm.SVC(kernel="linear", C=display.t[k], tol=1e-9).fit(X, y)
        assert np.allclose(display.values[k], peer.coef_[0], atol=1e-4)
    assert np.array_equal(display.lines_[3].get_ydata(), display.values[:, 3])


@pytest.mark.parametrize("kind", [SVC, SVR])
def test_duals_are_shares_of_their_weight(kind: Any, rows: Any) -> None:
    X, y = rows
    display = CoefficientPathDisplay.from_estimator(
        kind(gamma=0.1), X, y, C_min=0.1, C_max=100.0, max_lines=12
    )
    assert display.values.shape == (display.t.size, 12)
    assert np.abs(display.values).max() <= 1.0 + 1e-9
    assert len(display.ax_.get_legend().get_texts()) == 12
    index = [int(name.removeprefix("row ")) for name in display.names]
    C = float(display.t[-1])
    peer: Any = (sklearn.svm.SVC if kind is SVC else sklearn.svm.SVR)(C=C, gamma=0.1, tol=1e-9)
    peer.fit(X, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    assert np.allclose(display.values[-1], beta[index] / C, atol=1e-3)


def test_a_weight_path_and_given_axes(rows: Any) -> None:
    import matplotlib.pyplot as plt

    X, y = rows
    path = weight_path(SVC(gamma=0.1), X, y, np.ones(200), np.linspace(0.0, 2.0, 200))
    _, ax = plt.subplots()
    display = CoefficientPathDisplay.from_path(path, ax=ax)
    assert display.ax_ is ax
    assert ax.get_xscale() == "linear"
    assert ax.get_xlabel() == "t"
    assert np.all(np.isfinite(display.values))


def test_many_breakpoints_are_thinned() -> None:
    points = sample_points(np.geomspace(1.0, 8.0, 5000))
    assert points[[0, -1]].tolist() == [1.0, 8.0]
    assert points.size <= MAX_BREAKPOINTS + 202
