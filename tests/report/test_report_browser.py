"""The report in a real browser: no errors, cells that answer, no sideways scrolling on a phone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_wine
from sklearn.preprocessing import StandardScaler

import alphapath
from alphapath import SVC
from alphapath.model_selection import SVMSearchCV, cross_validate_path
from alphapath.report import record_search, write_report
from alphapath.report.html.page import render
from alphapath.search.journal import Journal

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium on this machine (Debian's package chromium is enough)"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    grid = {"C": [2.0**k for k in range(-5, 16, 2)], "gamma": [2.0**k for k in range(-15, 4, 2)]}
    search = SVMSearchCV(SVC(), grid, cv=3).fit(X, y)
    curve = cross_validate_path(SVC(gamma=0.02), X[y > 0], y[y > 0], cv=3)
    return write_report(
        search,
        tmp_path_factory.mktemp("report") / "r.html",
        X=X,
        y=y,
        name="wine",
        validation_path=curve,
        seconds=1.0,
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_page(browser: Any, report: Path, width: int, scheme: str = "light") -> tuple[Any, Any]:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: problems.append(request.url) if "file:" not in request.url else None,
    )
    page.goto(report.as_uri())
    return page, problems


@pytest.mark.parametrize("width", [360, 1280])
def test_cells_answer_the_pointer(browser: Any, report: Path, width: int) -> None:
    page, problems = open_page(browser, report, width)
    assert page.locator("svg.map").count() == 3
    cells = page.locator("svg.map").first.locator(".cell")
    assert cells.count() == 110
    assert page.locator("#tip").is_hidden()
    for k in (0, 57, 109):
        cells.nth(k).hover()
        assert page.locator("#tip").is_visible()
        assert page.locator("#tip").inner_text() == cells.nth(k).get_attribute("data-text")
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.mouse.move(1, 1)
    assert page.locator("#tip").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert problems == []


def test_cells_answer_the_keyboard(browser: Any, report: Path) -> None:
    page, problems = open_page(browser, report, 1000)
    page.locator("svg.map").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expected = page.locator('svg.map >> nth=0 >> .cell[data-row="1"][data-column="1"]')
    assert page.locator("#tip").inner_text() == expected.get_attribute("data-text")
    for _ in range(30):
        page.keyboard.press("ArrowDown")  # stays at the edge
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    assert problems == []


def test_it_follows_the_scheme_and_folds_out_tables(browser: Any, report: Path) -> None:
    back = []
    for scheme in ("light", "dark"):
        page, problems = open_page(browser, report, 800, scheme)
        back.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert problems == []
    assert back[0] == "rgb(255, 255, 255)"
    assert back[0] != back[1]
    table = page.locator("details table").first
    assert table.is_hidden()
    page.locator("summary").first.click()
    assert table.is_visible()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_path_and_the_plan_fit_the_page(browser: Any, report: Path, width: int) -> None:
    page, problems = open_page(browser, report, width)
    box = page.locator("svg.path").bounding_box()
    assert box["width"] > 0.8 * min(width, 520)
    assert page.locator("svg.path .star").is_visible()
    line = page.locator("svg.path .line").bounding_box()
    assert box["x"] <= line["x"]
    assert line["x"] + line["width"] <= box["x"] + box["width"]
    page.locator("summary", has_text="The plan as a tree").click()
    assert page.locator("ol.steps").first.is_visible()
    assert page.locator("ol.steps").count() == 30  # ten kernels, three folds
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert problems == []


def test_texts_of_a_record_do_nothing(browser: Any, report: Path, tmp_path: Path) -> None:
    """Markup is shown as it is, and what the page's policy does not name is not run."""
    change = "document.title = 'lost'"
    hostile = f'<img src=x onerror="{change}"><script>{change}</script>'
    X, y = load_wine(return_X_y=True)
    record = record_search(SVMSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=3).fit(X, y), name=hostile)
    record["trees"] = [{"label": hostile, "fold": 0, "steps": []}]
    page, problems = open_page(browser, report_of(record, tmp_path), 800)
    assert hostile in page.locator("h1").inner_text()
    assert page.title() == f"{hostile}: SVM search"
    assert problems == []
    page, problems = open_page(browser, report, 800)
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', `<img src=x onerror='document.title = 1'>"
        "<b id=late style='position:fixed' onclick='document.title = 2'>late</b>`)"
    )
    page.locator("#late").dispatch_event("click")
    assert page.title() == "wine: SVM search"
    assert page.evaluate("getComputedStyle(document.getElementById('late')).position") == "static"
    assert sum("Content Security Policy" in text for text in problems) >= 3


def report_of(record: Any, folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(render(record), encoding="utf-8")
    return path


def test_a_running_search_can_be_looked_at(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.sign(rng.normal(size=3000))
    file = str(tmp_path / "noise.svm")
    dump_svmlight_file(rng.normal(size=(3000, 10)), y, file, zero_based=False)
    command = [sys.executable, "-m", "alphapath", "search", "noise.svm", "--journal", "noise.db"]
    env = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    path = tmp_path / "noise.db"
    try:
        while process.poll() is None and not (path.exists() and len(Journal(path)) >= 7):
            time.sleep(0.05)
        report = write_report(path, tmp_path / "now.html", name="noise")
        assert process.poll() is None, "the search ended before it could be looked at"
    finally:
        process.kill()
        process.wait()
    page, problems = open_page(browser, report, 1280)
    assert "unfinished" in page.locator(".cards").inner_text()
    cells = page.locator("svg.map").first.locator(".cell")
    assert cells.count() == 110
    empty = page.locator("svg.map").first.locator(".cell.empty")
    assert 0 < empty.count() < 110
    empty.first.hover()
    assert "not run" in page.locator("#tip").inner_text()
    assert problems == []
