"""The section of a report on an exact validation curve: a picture and its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...problem.box_problem import FloatArray
from ..displays.validation import SCORE_NAMES
from ..score_grid import value_text
from .markup import Markup, element, join
from .parts import Section, figure, fold_out, seconds_text, table
from .svg import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    drawing,
    every_other,
    raised,
    star,
    tick_values,
    with_room,
)

WIDTH, HEIGHT = 520, 250


def curve_section(record: Mapping[str, Any]) -> Section:
    """What the error is for every value of the parameter, not only on the grid."""
    name, words = record["name"], SCORE_NAMES[record["metric"]]
    best, simplest = record["best"], record["simplest"]
    fixed = record.get("fixed") or {}
    given = "".join(f", {key} = {value_text(value)}" for key, value in fixed.items())
    label = f"{words} over all {name}; values are in the tables below."
    exact = (
        f"{len(record['first'])} pieces, exact for every {name}"
        if record["is_exact"]
        else "on a grid: following the path would have cost more"
    )
    took = f", {seconds_text(record['seconds'])}" if record.get("seconds") is not None else ""
    caption = (
        f"Mean over the folds of the {words}{given}: {exact}{took}. Star: least. Ring: the "
        f"{'largest' if name == 'lambda' else 'smallest'} {name} within one standard error "
        f"(dashed). Band: one standard error."
    )
    chosen = table(
        ("", name, words, "standard error"),
        [
            ("least", f"{best['t']:.6g}", f"{best['value']:.5g}", text(best["error"])),
            ("within one error", f"{simplest['t']:.6g}", f"{simplest['value']:.5g}", ""),
        ],
    )
    parts = [
        figure(draw_curve(record, label), caption),
        chosen,
        fold_out("At powers of two", sampled_table(record)),
        fold_out("Where it is least", least_table(record)),
    ]
    return Section("path", f"The {words} for every {name}", join(parts))


def text(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.3g}"


def arrays_of(record: Mapping[str, Any]) -> tuple[FloatArray, ...]:
    """Edges, values at both ends, standard errors; None becomes nan."""
    keys = ("edges", "first", "last", "error")
    return tuple(np.array(record[key], dtype=float) for key in keys)


def sampled_table(record: Mapping[str, Any]) -> Markup:
    edges, first, last, error = arrays_of(record)
    low, high = math.ceil(math.log2(edges[0])), math.floor(math.log2(edges[-1]))
    rows = []
    for k in range(low, high + 1):
        j = min(int(np.searchsorted(edges, 2.0**k, side="right")) - 1, len(first) - 1)
        share = (2.0**k - edges[j]) / (edges[j + 1] - edges[j])
        value = first[j] + share * (last[j] - first[j])
        rows.append((f"2^{k}", f"{value:.5g}", text(float(error[j]))))
    return table((record["name"], SCORE_NAMES[record["metric"]], "standard error"), rows)


def least_table(record: Mapping[str, Any]) -> Markup:
    """The pieces with the least value, the widest first."""
    edges, first, last, _ = arrays_of(record)
    value = np.minimum(first, last)
    found = np.flatnonzero(value <= value.min() * (1.0 + 1e-12))
    found = found[np.argsort(-np.log(edges[found + 1] / edges[found]))][:20]
    name = record["name"]
    rows = [(f"{edges[k]:.6g}", f"{edges[k + 1]:.6g}", f"{value[k]:.5g}") for k in found]
    return table((f"{name} from", "to", SCORE_NAMES[record["metric"]]), rows)


# -- the picture


def draw_curve(record: Mapping[str, Any], label: str) -> Markup:
    edges, first, last, error = arrays_of(record)
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    spread = np.nan_to_num(error)
    low, high = float(np.min(first - spread)), float(np.max(first + spread))
    # A hopeless end would press the interesting part flat.
    best, middle = float(record["best"]["value"]), float(np.median(first))
    high = min(high, best + 4.0 * max(middle - best, 0.1 * (high - best)))
    low, high = with_room(low, high)
    logs = np.log(edges)

    def x_of(t: Any) -> Any:
        return LEFT + width * (np.log(t) - logs[0]) / (logs[-1] - logs[0])

    def y_of(value: Any) -> Any:
        return TOP + height * (high - value) / (high - low)

    x = np.repeat(x_of(edges), 2)[1:-1]
    line = thin(x, y_of(np.ravel(np.column_stack([first, last]))))
    parts: list[Any] = []
    for value in tick_values(low, high):
        y = float(y_of(value))
        number = element("text", f"{value:.4g}", text_anchor="end", x=LEFT - 6, y=f"{y + 5:.1f}")
        parts += [across("grid", y), number]
    parts += x_ticks(edges, x_of)
    frame = element("rect", x=LEFT, y=TOP, width=width, height=height)
    parts.append(element("clipPath", frame, id="plot"))
    inside = []
    if not np.isnan(error).all():
        upper = thin(x, y_of(np.repeat(first + spread, 2)))
        lower = thin(x, y_of(np.repeat(first - spread, 2)))
        outline = joined([*upper, *lower[::-1]])
        inside.append(element("polygon", class_="band", points=outline))
        inside.append(across("bound", float(y_of(best + float(record["best"]["error"])))))
    inside.append(element("polyline", class_="line", points=joined(line)))
    parts.append(element("g", inside, clip_path="url(#plot)"))
    parts += marks(record, x_of, y_of)
    place = {"x": LEFT + width / 2, "y": HEIGHT - 8}
    parts.append(element("text", record["name"], text_anchor="middle", **place))
    return drawing(parts, "path", (WIDTH, HEIGHT), label)


def across(kind: str, y: float) -> Markup:
    """A line from side to side."""
    height = f"{y:.1f}"
    return element("line", class_=kind, x1=LEFT, x2=WIDTH - RIGHT, y1=height, y2=height)


def x_ticks(edges: FloatArray, x_of: Any) -> list[Markup]:
    low, high = math.ceil(math.log2(edges[0])), math.floor(math.log2(edges[-1]))
    step = max(1, -(-(high - low) // 11))
    return [
        element(
            "text",
            raised(f"2^{k}"),
            class_=every_other(place),
            text_anchor="middle",
            x=f"{float(x_of(2.0**k)):.1f}",
            y=HEIGHT - BOTTOM + 18,
        )
        for place, k in enumerate(range(low, high + 1, step))
    ]


def marks(record: Mapping[str, Any], x_of: Any, y_of: Any) -> list[Markup]:
    """A ring at the simplest value and a star at the best."""
    (x, y), (x_best, y_best) = (
        (float(x_of(record[key]["t"])), float(y_of(record[key]["value"])))
        for key in ("simplest", "best")
    )
    ring = element("circle", class_="pick", cx=f"{x:.1f}", cy=f"{y:.1f}", r=7)
    return [ring, star(x_best, y_best)]


def thin(x: FloatArray, y: FloatArray) -> list[tuple[float, float]]:
    """The same line with at most four points a column of half a unit: first, extremes, last."""
    column = np.rint(2.0 * x).astype(int)
    starts = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
    found: list[tuple[float, float]] = []
    for begin, end in zip(starts, np.append(starts[1:], len(x)), strict=True):
        own = y[begin:end]
        keep = sorted({0, int(np.argmin(own)), int(np.argmax(own)), end - begin - 1})
        found += [(float(x[begin + k]), float(own[k])) for k in keep]
    return found


def joined(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
