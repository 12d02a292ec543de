"""GridTreeDisplay and GapDisplay."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from alphapath import OneClassMaxMinOver
from alphapath.model_selection import OneClassSearch
from alphapath.report import GapDisplay, GridTreeDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X = np.random.default_rng(0).normal(size=(40, 2))
GRID = {"C": np.geomspace(1, 100, 4), "sigma": np.geomspace(0.3, 3, 3)}


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def test_the_tree_has_an_arrow_for_every_edge_and_a_square_for_every_root():
    search = OneClassSearch(OneClassMaxMinOver(), GRID).fit(X)
    display = GridTreeDisplay.from_estimator(search)
    arrows = [text for text in display.ax_.texts if text.arrow_patch is not None]
    assert len(arrows) == 11
    nodes, roots = (np.asarray(c.get_offsets()) for c in display.ax_.collections)
    assert len(nodes) == 11
    assert roots.tolist() == [[pytest.approx(3.0), 1.0]]
    assert display.orientations == {"C up": 3, "narrower": 2, "C down": 6}
    heights = [bar.get_height() for bar in display.axes_["edges"].patches]
    assert sum(heights) == pytest.approx(1.0)
    display.figure_.canvas.draw()


def test_the_tree_can_be_drawn_into_given_axes_and_for_gamma():
    gamma = {"C": [1.0, 10.0], "gamma": [0.1, 1.0]}
    search = OneClassSearch(OneClassMaxMinOver(), gamma, plan="independent").fit(X)
    _, ax = plt.subplots()
    display = GridTreeDisplay.from_estimator(search, ax=ax)
    assert display.ax_ is ax
    assert ax.get_xlabel() == "gamma"
    assert "edges" not in display.axes_
    assert not display.orientations


def test_the_gap_is_that_of_the_trace():
    model = OneClassMaxMinOver(C=100.0, solver="maxminover").fit(X)
    display = GapDisplay.from_estimator(model)
    steps, gaps = display.ax_.lines[0].get_data()
    assert gaps[-1] == pytest.approx(model.relative_gap_)
    assert steps[-1] == model.n_iter_
    assert display.ax_.get_yscale() == "log"
    display.figure_.canvas.draw()


def test_what_was_not_fitted_is_refused():
    with pytest.raises(ValueError, match="has no tree_"):
        GridTreeDisplay.from_estimator(OneClassSearch(OneClassMaxMinOver(), GRID))
    with pytest.raises(ValueError, match="solver='maxminover'"):
        GapDisplay.from_estimator(OneClassMaxMinOver().fit(X))
