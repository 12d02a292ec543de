"""Mutated results of searches: a page that says what they say and runs nothing, or a sentence."""

from __future__ import annotations

import functools
import json
import math
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .cases import CaseError
from .data import Generator
from .formats import (
    NUMBERS,
    TIME_LIMIT,
    encode_alike,
    encode_strangely,
    folder,
    mutate_text,
    run_command,
    text_mutations,
)

__all__ = ["TIME_LIMIT", "run_case"]

MARKUP = "</title></script><script>alert(1)</script><img src=x onerror=alert(1) '\">&<!--"
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 1.5, -0.0, 1e150, 1e308, -1e308, 5e-324, 10**30, 10**400),
    *("", "x", "nan", MARKUP, "\ud800", "\x00\u2028", "2^8", "a" * 3000, "C", "error"),
    *([], {}, [[]], [None], {"a": 1}, [1.0, 2.0], {"": MARKUP}),
)


@functools.cache
def originals() -> tuple[str, ...]:
    """Results of a whole search with all that a page can show, and of one that was cut."""
    from alphapath import SVC
    from alphapath.model_selection import SVMSearchCV, cross_validate_path
    from alphapath.report import record_search
    from alphapath.report.curve_record import record_curve

    rng = data.generator("result files", 0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0.0, 1, -1)
    grid = {"C": [0.5, 1.0, 8.0], "gamma": [0.1, 0.3]}
    search = SVMSearchCV(SVC(), grid, cv=2).fit(X, y)
    curve = record_curve(cross_validate_path(SVC(gamma=0.1), X, y, cv=2), fixed={"gamma": 0.1})
    more = {"seconds": 0.5, "tol": 1e-3, "n_iter_cold": 500, "files": {"model": "x.model"}}
    more |= {"certificate": {"kkt_violation": 1e-4, "duality_gap": 1e-6}}
    whole = record_search(search, X=X, y=y, name="x", validation_path=curve, **more)
    cut = json.loads(json.dumps(whole))
    for key in ("best", "simplest", "chosen", "path", "certificate", "files", "n_iter_cold"):
        cut.pop(key, None)
    for key, column in cut["cv_results"].items():
        if key.startswith(("mean_test", "std_test")):
            cut["cv_results"][key] = [None] * len(column)
    cut["cv_results"]["status"] = ["partial", *["not_run"] * 5]
    cut["cv_results"]["partial_mean_test_score"] = [0.75, *[None] * 5]
    cut["cv_results"]["n_splits_done"] = [1, *[0] * 5]
    first = cut["cv_results"]["params"][0]
    cut["best_so_far"] = {"index": 0, "params": first, "mean": 0.75, "n_splits": 1}
    return json.dumps(whole, indent=1), json.dumps(cut)


# -- mutations of the tree


def any_node(root: Any, rng: Generator) -> tuple[Any, Any]:
    """A list or object of the tree, and one of its keys."""
    node = root
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[int(rng.integers(len(keys)))]
        if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.2:
            return node, key
        node = node[key]


def replace(root: Any, rng: Generator) -> None:
    node, key = any_node(root, rng)
    node[key] = VALUES[int(rng.integers(len(VALUES)))]


def drop(root: Any, rng: Generator) -> None:
    node, key = any_node(root, rng)
    del node[key]


def rename(root: Any, rng: Generator) -> None:
    node, key = any_node(root, rng)
    if isinstance(node, dict):
        node[str(data.pick(rng, ["x", "", MARKUP, "mean_test_x", "index"]))] = node.pop(key)


def move(root: Any, rng: Generator) -> None:
    """One part of the tree in the place of another."""
    node, key = any_node(root, rng)
    other, name = any_node(root, rng)
    other[name] = json.loads(json.dumps(node[key]))


def lengthen(root: Any, rng: Generator) -> None:
    node, key = any_node(root, rng)
    if isinstance(node, list):
        node.insert(key, VALUES[int(rng.integers(len(VALUES)))])
    else:
        node[MARKUP] = node[key]


def mark_texts(root: Any, rng: Generator) -> None:
    """Markup in a share of all texts."""
    share = rng.random()

    def change(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(item) for key, item in value.items()}
        if isinstance(value, list):
            return [change(item) for item in value]
        return MARKUP + value if isinstance(value, str) and rng.random() < share else value

    for key in ("search", "data", "trees", "files", "cv_results", "path"):
        if key in root:
            root[key] = change(root[key])


CHANGES = (replace, replace, replace, drop, drop, rename, move, lengthen, mark_texts)


def change_tree(text: str, rng: Generator) -> tuple[str, str]:
    root, names = json.loads(text), []
    for _ in range(int(rng.integers(1, 4))):
        change = CHANGES[int(rng.integers(len(CHANGES)))]
        if root:
            change(root, rng)
            names.append(change.__name__)
    return json.dumps(root), ", ".join(names)


def change_text(text: str, rng: Generator) -> tuple[str, str]:
    """Words between commas; or what no tree can hold."""
    kind = int(rng.integers(6))
    if kind == 0:
        depth = int(data.pick(rng, [100, 900, 1100, 100_000]))
        marks = data.pick(rng, [("[", "]"), ('{"a":', "}")])
        return text.replace('"x"', marks[0] * depth + "1" + marks[1] * depth, 1), "nested"
    if kind == 1:
        number = str(data.pick(rng, ["NaN", "Infinity", "1e999", "-1e999", *NUMBERS]))
        return text.replace("0.5", number, 1), f"the number {number[:10]}"
    if kind == 2:
        return text[:-1] + ', "metric": "score", "data": {"name": "y"}}', "a key twice"
    return mutate_text(text, rng, text_mutations(","))


# -- pages


class Page(HTMLParser):
    """What is on a page: its tags, attributes and tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.tables: list[list[list[str]]] = []
        self._is_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attributes}
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        self._is_cell = tag in ("th", "td")
        if self._is_cell:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_cell = False

    def handle_data(self, text: str) -> None:
        if self._is_cell:
            self.tables[-1][-1][-1] += text


@functools.cache
def usual() -> tuple[frozenset[str], frozenset[str]]:
    """The tags and attributes of pages as they should be."""
    tags: set[str] = set()
    names: set[str] = set()
    for text in originals():
        with folder() as place:
            (place / "x.json").write_text(text)
            run_command("report", place / "x.json", "--output", place / "x.html")
            page = Page((place / "x.html").read_text(encoding="utf-8"))
        tags, names = tags | set(page.tags), names | page.names
    return frozenset(tags), frozenset(names)


def prepare() -> None:
    usual()


def run_case(seed: int) -> str | None:
    rng = data.generator("result files", seed + 1)
    text = str(data.pick(rng, originals(), (3, 1)))
    kind = rng.random()
    if kind < 0.05:
        content, words = encode_alike(text, rng), "encoded alike"
    elif kind < 0.07:
        content, words = encode_strangely(text, rng), "encoded strangely"
    else:
        text, words = (change_tree if kind < 0.8 else change_text)(text, rng)
        content = text.encode("utf-8", "surrogatepass")
    with folder() as place:
        (place / "x.json").write_bytes(content)
        try:
            check(place, content, must_read=words == "encoded alike")
        except CaseError as error:
            return f"{words}: {error}"
    return None


def check(place: Path, content: bytes, must_read: bool) -> None:
    outcome = run_command("report", place / "x.json", "--output", place / "x.html")
    if not outcome.is_accepted:
        if must_read:
            raise CaseError(f"refused: {outcome.said}")
        if (place / "x.html").exists():
            raise CaseError("a page was written though the file was refused")
        return
    page = Page((place / "x.html").read_bytes().decode("utf-8"))
    tags, names = usual()
    if not set(page.tags) <= tags or not page.names <= names or page.tags.count("script") != 1:
        strange = {*page.tags} - tags, page.names - names
        raise CaseError(f"the page has markup of the file: {strange}")
    record = json.loads(content.decode("utf-8-sig"))
    if "best" in record:
        check_scores(page, record)


def check_scores(page: Page, record: Any) -> None:
    """The table of all candidates must have the scores of the file, the best first."""
    means = record["cv_results"][f"mean_test_{record['metric']}"]
    known = sorted((float(one) for one in means if one is not None), reverse=True)
    expected = [*map(number, known), *["-"] * (len(means) - len(known))]
    found = [rows for rows in page.tables if rows and rows[0][:2] == ["candidate", "mean score"]]
    if len(found) != 2 or [row[1] for row in found[1][1:]] != expected:
        raise CaseError(f"the candidates are not those of the file, {expected[:5]}")


def number(value: float) -> str:
    return f"{value:.4g}" if value != math.floor(value) else f"{value:,.0f}"
