"""The report: whole, self-contained, true to the search, and readable without a picture."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, QuadraticLossSVC
from alphapath.model_selection import SVMSearchCV, cross_validate_path, one_standard_error
from alphapath.report import record_search, write_report
from alphapath.report.curve_record import record_curve
from alphapath.report.data_facts import find_facts
from alphapath.report.html.curve import thin
from alphapath.report.html.markup import element, verbatim
from alphapath.report.html.page import render
from alphapath.report.html.svg import ColourScale, colour_of, curve, find_range, tick_values
from alphapath.report.record import check_record, results_of
from alphapath.report.score_grid import ScoreGrid, power_texts

GRID = {"svc__C": [0.5, 2.0, 8.0], "svc__gamma": [0.0625, 0.25, 1.0]}
VOID = {"meta", "link", "br", "img", "input"}
KNOWN: dict[str, Any] = {}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects texts, cells and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[dict[str, str | None]] = []
        self.tables = 0
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.policies: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        own = dict(attributes)
        self.tags.append(tag)
        self.names |= set(own)
        if own.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(own["content"] or "")
        if tag not in VOID:
            self.open.append(tag)
        self.tables += tag == "table"
        if "cell" in (own.get("class") or "").split():
            self.cells.append(own)
        self.ids += [v for k, v in attributes if k == "id" and v]
        self.addresses += [v for k, v in attributes if k in ("src", "href") and v]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture(scope="module")
def search() -> Any:
    pipeline = make_pipeline(StandardScaler(), SVC())
    return SVMSearchCV(pipeline, GRID, cv=3).fit(*load_wine(return_X_y=True))


@pytest.fixture(scope="module")
def record(search: Any) -> Any:
    X, y = load_wine(return_X_y=True)
    return record_search(search, X=X, y=y, name="wine <1>", seconds=0.25, is_scaled=True)


def test_the_page_is_whole_and_needs_nothing_else(record: Any) -> None:
    text = render(record)
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    # Links lead to its own sections and nowhere else.
    assert page.addresses == [
        f"#{name}" for name in ("scores", "candidates", "time", "data", "how")
    ]
    assert {address[1:] for address in page.addresses} <= set(page.ids)
    assert not re.search(r"https?://|@import|url\((?!#)", text)
    assert "wine <1>: SVM search" in page.text
    assert "<1>" not in text  # what users name is escaped
    assert text.startswith("<!DOCTYPE html>")
    assert 'lang="en"' in text
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text


def test_every_cell_says_what_the_search_found(record: Any, search: Any) -> None:
    page = Page(render(record))
    own = [cell for cell in page.cells if "score" in (cell["data-text"] or "")]
    assert len(own) == 3 * 9  # scores, iterations, seconds
    for i, params in enumerate(search.cv_results_["params"]):
        words = f"C = {params['svc__C']:g}, gamma = "
        mean = f"score {search.cv_results_['mean_test_score'][i]:.4f}"
        n_iter = f"{search.cv_results_['n_iter'][i]:,} iterations"
        assert any(
            words in (cell["data-text"] or "")
            and mean in (cell["data-text"] or "")
            and n_iter in (cell["data-text"] or "")
            for cell in own
        )


def test_tables_stand_beside_the_pictures(record: Any, search: Any) -> None:
    page = Page(render(record))
    assert page.tables >= 8
    for mean in search.cv_results_["mean_test_score"]:
        assert f"{mean:.4f}" in page.text
    assert "Where the time went" in page.text
    assert "By seed" in page.text
    assert "plan" in page.text
    assert "178" in page.text  # rows of wine


def test_a_curve_marks_what_to_choose(search: Any) -> None:
    grid = ScoreGrid.from_cv_results(search.cv_results_)
    picture, is_cut = curve(grid.profile_along("x"), grid, "scores")
    assert picture.text.count('class="star"') == 1
    assert picture.text.count('class="pick"') == 1
    assert not is_cut
    # A hopeless value would press the others flat: it is left below, and that is said.
    results = {key: np.array(value) for key, value in search.cv_results_.items()}
    for key in results:
        if key.startswith(("mean_test", "split")):
            hopeless = [params["svc__C"] == min(GRID["svc__C"]) for params in results["params"]]
            results[key][hopeless] = 0.01
    grid = ScoreGrid.from_cv_results(results)
    low, high, is_cut = find_range(grid.profile_along("x"), grid)
    assert is_cut
    assert 0.01 < low < grid.bound < high


def test_iterations_saved_are_drawn(search: Any) -> None:
    record = record_search(search, n_iter_cold=10 * int(search.cv_results_["n_iter"].sum()))
    page = Page(render(record))
    assert "90 % less" in page.text
    assert f"{record['n_iter_cold']:,}" in page.text


def test_the_plan_is_a_tree(record: Any, search: Any) -> None:
    trees = record["trees"]
    assert sum(len(tree["steps"]) for tree in trees) == search.plan_.n_nodes
    text = render(record)
    assert text.count('<ol class="steps">') == len(trees)
    assert text.count("cold: C = ") == sum(
        step["seed"] == "cold" for tree in trees for step in tree["steps"]
    )


@pytest.mark.parametrize("kind", ["C", "lambda"])
def test_an_exact_path_stands_beside_the_grid(kind: str, tmp_path: Path) -> None:
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[y < 2], y[y < 2]
    model: Any = SVC(gamma=0.05) if kind == "C" else QuadraticLossSVC(gamma=0.05)
    found = cross_validate_path(model, X, y, cv=3)
    search = SVMSearchCV(SVC(gamma=0.05), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    written = write_report(search, tmp_path / "r.html", validation_path=found)
    page = Page(written.read_text(encoding="utf-8"))
    assert f"error rate for every {kind}" in page.text
    own = record_curve(found)
    assert f"{own['best']['t']:.6g}" in page.text
    assert own["best"]["value"] == min(own["first"])
    bound = own["best"]["value"] + own["best"]["error"]
    # The simplest value is within the bound, and nothing more regular is.
    k = int(np.searchsorted(own["edges"], own["simplest"]["t"], side="right")) - 1
    assert own["first"][k] <= bound + 1e-12
    beyond = own["first"][:k] if kind == "C" else own["first"][k + 1 :]
    assert np.all(beyond > bound)
    with pytest.raises(TypeError, match="no validation curve"):
        record_curve(3.0)


def test_a_thinned_line_keeps_its_extremes() -> None:
    x = np.linspace(0.0, 50.0, 40_000)
    y = np.random.default_rng(0).normal(size=x.size)
    points = np.array(thin(x, y))
    assert len(points) <= 4 * 101
    assert points[:, 1].min() == y.min()
    assert points[:, 1].max() == y.max()
    assert np.all(np.diff(points[:, 0]) >= 0.0)


def test_a_record_survives_json(record: Any) -> None:
    again = json.loads(json.dumps(record, allow_nan=False))
    assert render(check_record(again, "file")) == render(record)
    assert results_of(again)["mean_test_score"].dtype == float


def test_a_foreign_record_is_refused() -> None:
    with pytest.raises(ValueError, match=r"x\.json does not hold the results"):
        check_record({"a": 1}, "x.json")
    with pytest.raises(ValueError, match="layout 99"):
        check_record({"format": "alphapath search", "layout": 99}, "x.json")


HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"'&<!--\ud800\x00]]>"


def with_markup(value: Any) -> Any:
    """The record with markup in every text and in the name of everything that has any name."""
    if isinstance(value, dict):
        return {key: with_markup(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_markup(item) for item in value]
    return HOSTILE + value if isinstance(value, str) else value


def full_record(search: Any) -> Any:
    """A record with everything that a page can show."""
    X, y = load_wine(return_X_y=True)
    found = cross_validate_path(SVC(gamma=0.05), X[y < 2], y[y < 2], cv=3)
    return record_search(
        search,
        X=X,
        y=y,
        name="wine",
        seconds=0.25,
        tol=1e-3,
        validation_path=record_curve(found, fixed={"gamma": 0.05}, seconds=0.5),
        n_iter_cold=10_000,
        certificate={"kkt_violation": 1e-4},
        files={"model": "wine.model"},
    )


def test_values_are_never_markup(search: Any) -> None:
    plain = full_record(search)
    hostile = with_markup(plain)
    for key in ("format", "created"):
        hostile[key] = plain[key]
    hostile["path"]["metric"] = plain["path"]["metric"]
    for one in (hostile["search"], hostile["data"]["rows"], hostile["files"]):
        one[HOSTILE] = HOSTILE
    hostile["certificate"][HOSTILE] = 1.0
    hostile["path"]["fixed"] = {HOSTILE: HOSTILE}
    hostile["trees"][0]["steps"][0]["from"] = HOSTILE
    hostile["data"]["warnings"] = [HOSTILE]
    for key in list(hostile["cv_results"]):
        if key.endswith("_test_score"):
            column = hostile["cv_results"][key]
            hostile["cv_results"][f"{key.removesuffix('score')}{HOSTILE}score"] = column
    names = {name: HOSTILE + name for name in plain["best"]["params"]}
    chosen = [hostile[key]["params"] for key in ("best", "simplest", "chosen")]
    for params in [*hostile["cv_results"]["params"], *chosen]:
        for old, new in names.items():
            if old in params:
                params[new] = params.pop(old)
    text = render(check_record(hostile, "file"))
    page, other = Page(text), Page(render(plain))
    assert set(page.tags) == set(other.tags)
    assert page.names == other.names
    assert text.count("<script") == text.count("</script") == 1
    assert page.text.count("alert(1)") > 50
    assert HOSTILE.replace("\ud800", "\ufffd") in page.text
    text.encode()


def test_only_the_page_itself_may_run_or_be_loaded(record: Any) -> None:
    text = render(record)
    (policy,) = Page(text).policies
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for name in ("style", "script"):
        (own,) = re.findall(f"<{name}>(.*?)</{name}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert rules[f"{name}-src"] == f"'sha256-{digest}'"
    assert not re.search(r"<[^>]* (style|on\w+)=", text)


def test_tags_are_written_in_one_place() -> None:
    """Whatever else makes a page has no markup of its own that a value could be put into."""
    for path in sorted(Path(str(files("alphapath.report"))).rglob("*.py")):
        if path.name == "markup.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        tags = [text for text in texts if isinstance(text, str) and re.search(r"<[!/a-zA-Z]", text)]
        assert not tags, f"{path.name} writes tags itself: {tags}"


def test_elements_refuse_what_would_run() -> None:
    for name in ("onclick", "style"):
        with pytest.raises(ValueError, match=name):
            element("p", **{name: "alert(1)"})
    for name in ("p onclick=x", "p>", ""):
        with pytest.raises(ValueError, match="not the name"):
            element(name)
    with pytest.raises(ValueError, match="would end it"):
        verbatim("script", "a </script>")


FAULTS = [
    ("created", "yesterday", "created"),
    ("created", None, "created"),
    ("version", 3, "version"),
    ("metric", "f1", "mean_test_f1"),
    ("search", [], "search"),
    ("search", {"cv": [1]}, "search.cv"),
    ("data", {}, "data has no 'name'"),
    ("data", {"name": "a", "warnings": "b"}, "data.warnings"),
    ("data", {"name": "a", "rows": {"b": {}}}, "data.rows.b"),
    ("cv_results", None, "cv_results"),
    ("cv_results.params", [], "cv_results.params"),
    ("cv_results.params.0", 1, r"params\[0\]"),
    ("cv_results.params.0.svc__C", 10**400, "svc__C"),
    ("cv_results.status", [1] * 9, r"status\[0\]"),
    ("cv_results.seed", ["cold"], "seed has 1 values; it must have 9"),
    ("cv_results.mean_test_score", ["a"] * 9, r"mean_test_score\[0\]"),
    ("cv_results.mean_test_score", [None] * 9, "at least one score"),
    ("cv_results.n_iter", [-1] * 9, r"n_iter\[0\]"),
    ("best.index", 9, "from 0 to 8"),
    ("best.index", True, "from 0 to 8"),
    ("best.mean", 0.5, "best.mean"),
    ("best.params", {}, "best.params"),
    ("cv_results.params", [{"svc__C": "a" * 5000}] * 9, "^.{,200}$"),
    ("best.mean", 10**300, "best.mean"),
    ("simplest", None, "simplest"),
    ("chosen.error", None, "chosen.error"),
    ("seconds", "long", "seconds"),
    ("certificate", {"gap": 1.0}, "kkt_violation"),
    ("certificate", False, "certificate"),
    ("path", None, "path"),
    ("path.metric", "f1", "path.metric"),
    ("path.edges", [1.0], "rising"),
    ("path.edges.0", -1.0, r"edges\[0\]"),
    ("path.error", [], "path.error"),
    ("path.best.t", 1e9, "path.best.t"),
    ("trees.0", {}, r"trees\[0\] has no 'label'"),
    ("trees.0.steps.0.work", -1.0, "work"),
]


@pytest.mark.parametrize(("place", "value", "message"), FAULTS)
def test_a_record_that_cannot_be_shown_is_refused(
    place: str, value: Any, message: str, search: Any, record: Any
) -> None:
    if "full" not in KNOWN:
        KNOWN["full"] = full_record(search)
    damaged = json.loads(json.dumps(KNOWN["full"]))
    *before, last = place.split(".")
    node = damaged
    for key in before:
        node = node[int(key) if isinstance(node, list) else key]
    node[int(last) if isinstance(node, list) else last] = value
    with pytest.raises(ValueError, match=message) as caught:
        check_record(damaged, "file.json")
    assert str(caught.value).startswith("file.json")
    assert str(caught.value).endswith(".")


def test_scores_of_any_size_can_be_drawn(search: Any) -> None:
    for value in (-1e20, 0.0, 1e-300, 3.0):
        results = {key: np.array(column) for key, column in search.cv_results_.items()}
        for key in results:
            if key.startswith(("mean_test", "std_test", "split")):
                results[key][:] = 0.0 if key.startswith("std") else value
        grid = ScoreGrid.from_cv_results(results)
        low, high, _ = find_range(grid.profile_along("x"), grid)
        assert low < value < high
    assert power_texts([2.0**-1074, 2.0**1023]) == ["2^-1074", "2^1023"]
    assert power_texts([1e-23, 1e308]) == ["10^-23", "10^308"]
    assert power_texts([1.7976931348623157e308, 1.0]) is None


def test_whole_numbers_of_any_size_can_be_shown(record: Any) -> None:
    assert "1e+30 s" in Page(render(check_record({**record, "seconds": 10**30}, "file"))).text


def test_a_certificate_without_a_tolerance_has_the_usual_one(record: Any) -> None:
    kept = {**record, "certificate": {"kkt_violation": 5e-4}}
    without = {key: value for key, value in kept.items() if key != "tol"}
    expected = render(without)
    assert "certified" in expected
    assert render({**kept, "tol": None}) == expected


def test_a_search_without_parameters_has_a_report() -> None:
    X, y = load_iris(return_X_y=True)
    search = SVMSearchCV(SVC(gamma=0.1), {}, cv=3).fit(X, y)
    assert len(Page(render(record_search(search))).cells) == 3


def test_an_unfinished_search_is_reported_as_such(search: Any) -> None:
    class Partial:
        estimator = search.estimator
        cv_results_: ClassVar[Any] = {
            key: np.array(value) for key, value in search.cv_results_.items()
        }
        get_params = search.get_params

    results = Partial.cv_results_
    for key in results:
        if key.startswith(("mean_test", "std_test", "split", "mean_fit")):
            results[key][3:] = np.nan
    results["status"][3:] = "not_run"
    page = Page(render(record_search(Partial())))
    assert "3 of 9 cells" in page.text
    assert "unfinished" in page.text
    assert any("not run" in (cell["data-text"] or "") for cell in page.cells)
    for key in results:
        if key.startswith(("mean_test", "std_test", "split")):
            results[key][:] = np.nan
    results["status"][:] = "not_run"
    assert "0 of 9 cells" in Page(render(record_search(Partial()))).text


def test_other_searches_and_one_parameter(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(gamma=0.1), {"C": [0.1, 1, 10]}, cv=3, refit=one_standard_error)
    path = write_report(search.fit(X, y), tmp_path / "r.html", X=X, y=y, name="iris")
    page = Page(path.read_text(encoding="utf-8"))
    assert "iris: SVM search" in page.text
    assert "Along C" in page.text
    assert len(page.cells) == 3 + 3


def test_colours_and_ticks() -> None:
    assert colour_of(0.0) == "#440154"
    assert colour_of(1.0) == colour_of(7.0) == "#fde725"
    scores = ColourScale.of_scores(np.array([[0.1, 0.9, 0.92, 0.94, np.nan]]))
    assert scores.is_cut
    assert scores.share[0, 3] == 1.0
    assert np.isnan(scores.share[0, 4])
    counts = ColourScale.of_counts(np.array([0.0, 1.0, 100.0]))
    assert counts.share.tolist() == [0.0, 0.0, 1.0]
    assert ColourScale.of_counts(np.zeros(2)).share.tolist() == [0.0, 0.0]
    for low, high in ((0.5, 1.0), (0.971, 0.979), (-3.0, 250.0)):
        ticks = tick_values(low, high)
        assert 2 <= len(ticks) <= 12
        assert all(low <= tick <= high for tick in ticks)


def test_words_stand_out_from_their_ground() -> None:
    """A contrast of 4.5 at least (WCAG AA), in both schemes, on the page and on its panels."""
    style = files("alphapath.report.html").joinpath("page.css").read_text(encoding="utf-8")
    schemes = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in style.split("@media")[:2]]
    for colours in schemes:
        for name in ("text", "soft", "accent", "bound", "good", "bad"):
            for ground in ("back", "panel"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def test_facts_about_data() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1.0, 1.0, 1e4, 0.0]
    X[-10:] = X[:10]
    y = np.array([0] * 57 + [1] * 3)
    facts = find_facts(X, y)
    assert facts.rows["constant features"] == 1
    assert facts.rows["rows equal to an earlier one"] == 10
    text = " ".join(facts.warnings)
    assert "not scaled" in text
    assert "10 of 60 rows" in text
    assert "Class 1 has 3 of 60" in text
    assert not any("not scaled" in w for w in find_facts(X, y, is_scaled=True).warnings)
    sparse = find_facts(sp.csr_array(X), y)
    assert sparse.rows["rows equal to an earlier one"] == 10
    assert find_facts(X, np.linspace(0, 1, 60)).rows["target"].startswith("0 to 1")
