"""SearchDisplay and the layout of candidates behind it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, LinearSVC
from alphapath.model_selection import linear_c_search, one_standard_error
from alphapath.report import SearchDisplay, record_search
from alphapath.report.score_grid import NONE, Axis, ScoreGrid, score_range

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

GRID = {"C": [0.5, 8.0, 2.0], "gamma": [0.25, 0.0625, 1.0, 4.0]}


@pytest.fixture(scope="module")
def search() -> Any:
    return GridSearchCV(SVC(), GRID, cv=3).fit(*load_iris(return_X_y=True))


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def test_cells_are_the_candidates_in_order(search: Any) -> None:
    grid = ScoreGrid.from_cv_results(search.cv_results_)
    assert grid.x == Axis("C", (0.5, 2.0, 8.0))
    assert grid.y == Axis("gamma", (0.0625, 0.25, 1.0, 4.0))
    for row, gamma in enumerate(grid.y.values):
        for column, C in enumerate(grid.x.values):
            i = search.cv_results_["params"].index({"C": C, "gamma": gamma})
            assert grid.candidate[row, column] == i
            assert grid.mean[row, column] == search.cv_results_["mean_test_score"][i]
            scores = [search.cv_results_[f"split{k}_test_score"][i] for k in range(3)]
            error = np.std(scores, ddof=1) / np.sqrt(3)
            assert grid.error[row, column] == pytest.approx(error)
    assert search.cv_results_["mean_test_score"][grid.best] == search.best_score_
    assert grid.simplest == one_standard_error(search.cv_results_)


def test_a_profile_is_the_best_over_the_other_axis(search: Any) -> None:
    grid = ScoreGrid.from_cv_results(search.cv_results_)
    assert np.array_equal(grid.profile_along("x").mean, grid.mean.max(axis=0))
    assert np.array_equal(grid.profile_along("y").mean, grid.mean.max(axis=1))


def test_further_parameters_show_their_best() -> None:
    grids = [{"C": [1, 10], "kernel": ["linear"]}, {"C": [1, 10], "gamma": [0.1, 1.0]}]
    search = GridSearchCV(SVC(), grids, cv=3).fit(*load_iris(return_X_y=True))
    grid = ScoreGrid.from_cv_results(search.cv_results_)
    assert grid.y is not None
    assert grid.y.values == (None, 0.1, 1.0)
    assert grid.y.texts == ["-", "0.1", "1"]
    by_kernel = ScoreGrid.from_cv_results(search.cv_results_, x="kernel", y="C")
    assert by_kernel.x.values == (None, "linear")
    means = search.cv_results_["mean_test_score"]
    assert by_kernel.mean[0, 0] == max(means[2], means[3])  # C=1: the better gamma


def test_a_cell_without_score_is_empty(search: Any) -> None:
    results = {key: np.array(value) for key, value in search.cv_results_.items()}
    results["mean_test_score"][0] = np.nan
    grid = ScoreGrid.from_cv_results(results)
    assert np.isnan(grid.mean).sum() == 1
    results["params"] = results["params"][:-1]
    fewer = {key: value[: len(results["params"])] for key, value in results.items()}
    assert (ScoreGrid.from_cv_results(fewer).candidate == NONE).sum() == 1
    SearchDisplay.from_cv_results(fewer)
    results["mean_test_score"][:] = np.nan
    with pytest.raises(ValueError, match="nothing to show"):
        ScoreGrid.from_cv_results(results)


def test_values_are_written_as_people_do() -> None:
    assert Axis("C", (0.03125, 1.0, 2.0, 32768.0)).texts == ["2^-5", "2^0", "2^1", "2^15"]
    assert Axis("C", (0.001, 1.0, 100.0)).texts == ["10^-3", "10^0", "10^2"]
    assert Axis("C", (1.0, 3.0)).texts == ["1", "3"]
    assert Axis("gamma", (0.5, "scale")).texts == ["0.5", "scale"]
    assert Axis("svc__C", (1,)).label == "C"


def test_the_picture_shows_what_it_should(search: Any) -> None:
    display = SearchDisplay.from_estimator(search)
    assert set(display.axes_) == {"map", "x", "y", "bar"}
    (image,) = display.ax_.images
    assert np.array_equal(image.get_array(), display.grid.mean)
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert any(text.startswith(f"best: {search.best_score_:.4f} at C = ") for text in texts)
    assert any(text.startswith("simplest within one standard error") for text in texts)
    assert display.ax_.get_xlabel() == "C"
    display.figure_.canvas.draw()


def test_it_draws_into_given_axes(search: Any) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(11, 4))
    display = SearchDisplay.from_estimator(search, ax=axes[0])
    assert display.figure_ is figure
    placed = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    assert set(SearchDisplay.from_estimator(search, ax=placed).axes_) == {"map", "bar"}
    assert set(SearchDisplay.from_estimator(search, curves=False).axes_) == {"map", "bar"}
    display.plot()
    figure.canvas.draw()


def test_one_parameter_is_a_curve() -> None:
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(
        pipeline, {"svc__C": [0.1, 1, 10]}, cv=3, scoring=["f1_macro"], refit=False
    )
    search.fit(*load_iris(return_X_y=True))
    display = SearchDisplay.from_estimator(search, metric="f1_macro")
    assert set(display.axes_) == {"x"}
    assert display.ax_.get_xlabel() == "C"
    assert display.ax_.get_ylabel() == "mean test f1 macro"


def test_of_several_metrics_the_one_that_chose_is_drawn() -> None:
    metrics = {"scoring": ["f1_macro", "accuracy"], "refit": "accuracy", "cv": 3}
    search = GridSearchCV(SVC(gamma=0.1), {"C": [0.1, 1]}, **metrics)
    search.fit(*load_iris(return_X_y=True))
    display = SearchDisplay.from_estimator(search)
    assert display.ax_.get_ylabel() == "mean test accuracy"
    assert record_search(search)["metric"] == "accuracy"
    search.refit = False
    with pytest.raises(ValueError, match="metric is 'score'; the search has 'f1_macro', 'acc"):
        SearchDisplay.from_estimator(search)


def test_a_search_over_linear_models_is_drawn() -> None:
    X, y = load_iris(return_X_y=True)
    found = linear_c_search(LinearSVC(), X, y, C=[0.1, 1.0, 10.0], cv=3)
    display = SearchDisplay.from_estimator(found)
    assert set(display.axes_) == {"x"}
    assert display.grid.best == found.best_index
    assert one_standard_error(found.cv_results_) <= found.best_index


def test_colours_span_what_there_is_to_see() -> None:
    assert score_range(np.array([0.1, 0.9, 0.92, 0.94])) == pytest.approx((0.85, 0.94))
    assert score_range(np.array([0.5, 0.9, 0.9, 0.9])) == (0.5, 0.9)
    assert score_range(np.array([0.9, np.nan])) == (0.9, 0.9)


def test_what_can_not_be_drawn_is_said(search: Any) -> None:
    with pytest.raises(ValueError, match="has no cv_results_"):
        SearchDisplay.from_estimator(GridSearchCV(SVC(), GRID))
    with pytest.raises(ValueError, match="no parameter 'nu'; it varies 'C', 'gamma'"):
        SearchDisplay.from_estimator(search, x="nu")


def test_without_matplotlib_one_sentence_says_so() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from alphapath.report import SearchDisplay\n"
        "results = {'params': [{'C': 1}, {'C': 2}], 'mean_test_score': [0.5, 0.6],"
        " 'std_test_score': [0.0, 0.0]}\n"
        "try:\n    SearchDisplay.from_cv_results(results)\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("pip install 'alphapath[plot]'.")
