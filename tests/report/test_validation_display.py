"""ValidationPathDisplay draws the exact curve: every step, its minimum, the spread of the folds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from alphapath import SVC, SVR, QuadraticLossSVC
from alphapath.model_selection import cross_validate_path
from alphapath.paths import c_path, weight_path
from alphapath.report import ValidationPathDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def test_curve_is_that_of_refitted_folds() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[:240], y[:240]
    folds = list(StratifiedKFold(4).split(X, y))
    model = SVC(gamma=0.02)
    display = ValidationPathDisplay.from_estimator(model, X, y, cv=folds, C_min=0.1, C_max=20.0)
    t, mean, error = display.table()
    assert np.all(np.diff(t) > 0)
    assert len(t) > 5
    for k in np.linspace(0, len(t) - 1, 7).astype(int):
        # Inside the step, away from where a label turns.
        C = float(np.sqrt(t[k] * (t[k + 1] if k + 1 < len(t) else 20.0)))
        wrong = []
        for train, test in folds:
            fitted = SVC(gamma=0.02, C=C, tol=1e-8).fit(X[train], y[train])
            wrong.append(1.0 - fitted.score(X[test], y[test]))
        assert mean[k] == pytest.approx(np.mean(wrong), abs=1e-12)
        assert error[k] == pytest.approx(np.std(wrong, ddof=1) / 2.0, abs=1e-12)
    assert display.best[1] == mean.min()
    assert display.simplest is not None
    C, value = display.simplest
    bound = mean.min() + display.standard_error(display.best[0])
    assert value <= bound
    assert np.all(mean[t < C] > bound)


def test_what_is_drawn_is_the_step_function() -> None:
    X, y = make_moons(80, noise=0.3, random_state=0)
    result = cross_validate_path(SVC(gamma=1.0), X, y, cv=3, C_min=0.1, C_max=10.0)
    _, ax = plt.subplots()
    display = ValidationPathDisplay.from_cross_validation(result, ax=ax, folds=True)
    assert display.ax_ is ax
    assert ax.get_xscale() == "log"
    assert ax.get_xlim() == (0.1, 10.0)
    steps = [line for line in ax.get_lines() if line.get_drawstyle() == "steps-post"]
    assert len(steps) == 4  # three folds and their mean
    x, drawn = steps[-1].get_data()
    assert x[-1] == 10.0
    assert np.array_equal(drawn[:-1], result.curve(x[:-1]))
    assert set(result.curve.starts) <= set(x)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0].startswith("simplest within one standard error: C = ")
    assert texts[1] == f"best: {result.best_score:.4g} at C = {result.best_C:.4g}"
    display.figure_.canvas.draw()


def test_squared_errors_have_curved_pieces() -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:90], scale(y)[:90]
    model = SVR(gamma=0.05, epsilon=0.1)
    display = ValidationPathDisplay.from_estimator(model, X, y, cv=3, C_min=0.1, C_max=5.0)
    t, mean, _ = display.table()
    assert np.array_equal(mean, display.curve(t))
    assert t[-1] == 5.0
    assert display.best[1] <= mean.min()
    assert display.best[1] == pytest.approx(mean.min(), rel=1e-3)
    assert display.ax_.get_ylabel() == "mean squared error"


def test_one_path_has_no_band() -> None:
    X, y = make_moons(60, noise=0.3, random_state=1)
    signs = 2 * y - 1
    path = c_path(SVC(gamma=1.0), X[:40], y[:40], 0.1, 10.0)
    display = ValidationPathDisplay.from_path(path, X[40:], signs[40:])
    assert display.simplest is None
    assert not display.ax_.collections
    assert display.best == path.validate(X[40:], signs[40:]).best
    between = weight_path(SVC(gamma=1.0), X[:40], y[:40], np.ones(40), np.linspace(0, 2, 40))
    linear = ValidationPathDisplay.from_path(between, X[40:], signs[40:], metric="squared")
    assert linear.ax_.get_xscale() == "linear"
    assert linear.ax_.get_xlim() == (0.0, 1.0)


def test_lambda_paths_are_drawn_too() -> None:
    X, y = make_moons(60, noise=0.3, random_state=0)
    result = cross_validate_path(QuadraticLossSVC(gamma=1.0), X, y, cv=3, lam_to=1e-3)
    display = ValidationPathDisplay.from_cross_validation(result)
    assert display.best[1] == result.best_score
    assert display.simplest is not None
    assert display.simplest[0] >= display.best[0]
    assert display.ax_.get_xlabel() == "lambda"


def test_other_results_are_refused() -> None:
    with pytest.raises(TypeError, match="A dict has no curve over C; pass what cross_validate_pa"):
        ValidationPathDisplay.from_cross_validation({})
