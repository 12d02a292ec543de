"""Parts of a page: tables, texts of cells, numbers in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..record import results_of
from ..score_grid import ScoreGrid, value_text
from .markup import Markup, element, join


@dataclass(frozen=True)
class Section:
    """A part of a page; one with a title is linked from the top."""

    name: str
    title: str
    content: Markup

    @property
    def markup(self) -> Markup:
        if not self.title:
            return element("section", self.content)
        return element("section", element("h2", self.title), self.content, id=self.name)


def cell_texts(record: Mapping[str, Any], grid: ScoreGrid) -> list[list[str]]:
    """What each cell says when pointed at."""
    results = results_of(record)
    n_folds = n_splits(record)

    def text(i: int) -> str:
        lines = [params_text(results["params"][i])]
        if np.isnan(grid.all_means[i]):
            lines.append("not run")
            return "\n".join(lines)
        lines.append(f"score {grid.all_means[i]:.4f} ± {grid.all_errors[i]:.4f}")
        if "n_iter" in results:
            lines.append(f"{results['n_iter'][i]:,.0f} iterations, from {results['seed'][i]}")
        lines.append(seconds_text(n_folds * results["mean_fit_time"][i]))
        if "status" in results:
            lines.append(str(results["status"][i]))
        return "\n".join(lines)

    return [["" if i < 0 else text(int(i)) for i in row] for row in grid.candidate]


def grid_table(grid: ScoreGrid, values: Any, form: str, caption: str = "") -> Markup:
    corner = grid.x.label if grid.y is None else f"{grid.y.label} \\ {grid.x.label}"
    names = [""] if grid.y is None else grid.y.texts
    rows = [
        (name, *("" if np.isnan(v) else form.format(v) for v in row))
        for name, row in zip(names, values, strict=True)
    ]
    return table((corner, *grid.x.texts), rows[::-1], caption)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> Markup:
    top = (element("th", name, scope="col") for name in head)
    body = (
        element(
            "tr",
            element("th", row[0], scope="row"),
            (element("td", value) for value in row[1:]),
        )
        for row in rows
    )
    title = element("caption", caption) if caption else ""
    whole = element("table", title, element("thead", element("tr", top)), element("tbody", body))
    label = caption or f"{head[0]}, {head[-1]}"
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=label)


def facts_table(rows: Iterable[tuple[str, Any]]) -> Markup:
    body = (
        element("tr", element("th", name, scope="row"), element("td", str(value)))
        for name, value in rows
    )
    return element("table", element("tbody", body), class_="facts")


def fold_out(title: str, content: Any) -> Markup:
    return element("details", element("summary", title), content)


def figure(picture: Any, caption: str, title: str = "", more: Any = "") -> Markup:
    """A picture with what it shows below it."""
    heading = element("h3", title) if title else ""
    return element("figure", heading, picture, element("figcaption", caption), more)


def params_text(params: Mapping[str, Any]) -> str:
    texts = (
        (k.rpartition("__")[2], "None" if v is None else value_text(v)) for k, v in params.items()
    )
    return ", ".join(f"{name} = {text}" for name, text in texts)


def unbroken(text: str) -> Markup:
    """Each part of "C = 8, gamma = 2^-7" on one line, whatever the width."""
    parts = text.replace(", ", ",\n").split("\n")
    pieces = [element("span", part, class_="whole") for part in parts]
    return join(pieces[0], *((" ", piece) for piece in pieces[1:]))


def number(value: Any) -> str:
    if isinstance(value, str):
        return value
    return (
        "-"
        if value is None or np.isnan(value)
        else f"{value:.4g}"
        if value % 1
        else f"{value:,.0f}"
    )


def seconds_text(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    return f"{1000 * seconds:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"


def n_splits(record: Mapping[str, Any]) -> int:
    name = f"_test_{record['metric']}"
    return sum(key.startswith("split") and key.endswith(name) for key in record["cv_results"])


def is_simplest(record: Mapping[str, Any]) -> bool:
    """Whether the one-standard-error rule chose, and not the mean score."""
    chosen = record.get("chosen")
    if chosen is None:
        return False
    return bool(
        chosen["index"] == record["simplest"]["index"] and chosen["mean"] < record["best"]["mean"]
    )
