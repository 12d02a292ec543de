"""MarginDisplay shows what the model says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris, make_moons

from alphapath import SVC
from alphapath.report import MarginDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", [SVC, sklearn.svm.SVC])
def test_margin_sets_are_those_of_the_duals(kind: type) -> None:
    X, y = make_moons(120, noise=0.3, random_state=0)
    model = kind(C=2.0, gamma=1.0, tol=1e-6).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = np.abs(model.dual_coef_[0])
    assert np.array_equal(display.is_on_margin, (beta > 0) & (beta < 2.0 - 1e-7))
    assert np.array_equal(display.is_inside, beta >= 2.0 - 1e-7)
    _, up, values = display.plane
    points = np.column_stack([np.full(5, display.plane[0][3]), up[:5]])
    assert np.allclose(values[:5, 3], model.decision_function(points))
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["class 0", "class 1", "support vector", "at its bound"]
    display.figure_.canvas.draw()


def test_margins_of_other_models_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"the plane needs shape \(n, 2\)"):
        MarginDisplay.from_estimator(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="3 classes; margins are drawn for two"):
        MarginDisplay.from_estimator(SVC().fit(X[:, :2], y), X[:, :2], y)
