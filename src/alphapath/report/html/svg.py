"""Pictures of a page as inline SVG: no library, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...problem.box_problem import FloatArray
from ..score_grid import Axis, Profile, ScoreGrid, score_range
from .markup import Markup, element, join

#: Points of the viridis colour map, from the lowest to the highest value.
COLOURS = (
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
)
#: How many of their colours a list has.
N_SHADES = 64
CELL_WIDTH, CELL_HEIGHT = 36, 26
LEFT, TOP, BOTTOM, RIGHT = 62, 8, 48, 10

HEIGHT = 200


def colour_of(share: float) -> str:
    """The colour at a share between 0 and 1."""
    place = min(max(share, 0.0), 1.0) * (len(COLOURS) - 1)
    k = min(int(place), len(COLOURS) - 2)
    mixed = (
        round(a + (b - a) * (place - k)) for a, b in zip(COLOURS[k], COLOURS[k + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


@dataclass(frozen=True)
class ColourScale:
    """Values as shares of the colours between `low` and `high`, nan where there is no value."""

    share: FloatArray
    low: float
    high: float
    is_cut: bool = False

    @classmethod
    def of_scores(cls, values: FloatArray) -> ColourScale:
        """Hopeless scores share the lowest colour (`score_range`)."""
        low, high = score_range(values)
        return cls(stretch(values, low, high), low, high, low > float(np.nanmin(values)))

    @classmethod
    def of_counts(cls, values: FloatArray) -> ColourScale:
        """Logarithmic; zeros have the colour of the smallest positive count."""
        positive = values[values > 0.0]
        if positive.size == 0:
            return cls(np.where(np.isnan(values), np.nan, 0.0), 0.0, 0.0)
        low, high = float(positive.min()), float(positive.max())
        logs = np.log(np.maximum(values, low))
        return cls(stretch(logs, np.log(low), np.log(high)), low, high, bool(np.any(values == 0)))

    def legend(self, form: str) -> Markup:
        """The colours with the values at their ends."""
        first = ("at most " if self.is_cut else "") + form.format(self.low)
        ends = element("span", first), element("span", form.format(self.high))
        return element("div", ends[0], element("i"), ends[1], class_="legend")


def shade_of(share: float) -> str:
    """The class of `colour_rules` whose colour is at a share between 0 and 1."""
    return f"c{round(min(max(share, 0.0), 1.0) * (N_SHADES - 1))}"


def colour_rules() -> str:
    """Style rules for colours outside pictures, since elements have no style of their own."""
    stops = ", ".join(colour_of(k / 8) for k in range(9))
    rules = [f".legend i {{ background: linear-gradient(to right, {stops}); }}"]
    for k in range(N_SHADES):
        rules.append(f".c{k} {{ border-color: {colour_of(k / (N_SHADES - 1))}; }}")
    return "\n".join(rules) + "\n"


def stretch(values: FloatArray, low: float, high: float) -> FloatArray:
    if high > low:
        return (values - low) / (high - low)
    return np.where(np.isnan(values), np.nan, 1.0)


def raised(text: str) -> Markup:
    """2^-5 with a raised exponent."""
    base, mark, exponent = text.partition("^")
    if not mark:
        return join(text)
    return join(base, element("tspan", exponent, dy=-5, font_size="75%"))


def drawing(parts: Any, kind: str, size: tuple[float, float], label: str, **more: Any) -> Markup:
    """A picture of the given size in its own units."""
    box = f"0 0 {size[0]} {size[1]}"
    return element("svg", parts, class_=kind, viewBox=box, role="img", aria_label=label, **more)


def bar(share: float) -> Markup:
    """A bar as long as a share of its place."""
    own = element("rect", width=f"{100.0 * share:.1f}", height=1)
    more = {"preserveAspectRatio": "none", "aria_hidden": "true"}
    return element("svg", own, viewBox="0 0 100 1", **more)


def heat_map(
    grid: ScoreGrid,
    share: FloatArray,
    texts: Sequence[Sequence[str]],
    label: str,
    has_marks: bool = False,
) -> Markup:
    """Cells coloured by `share` (ny, nx); `texts` are what a cell says when pointed at."""
    n_rows, n_columns = share.shape
    width = LEFT + n_columns * CELL_WIDTH + RIGHT
    height = TOP + n_rows * CELL_HEIGHT + BOTTOM
    parts = []
    for row in range(n_rows):
        for column in range(n_columns):
            if grid.candidate[row, column] >= 0:
                place = n_rows - 1 - row, column
                parts.append(cell(place, share[row, column], texts[row][column]))
    if has_marks:
        parts += mark(grid, grid.simplest, n_rows, is_best=False)
        parts += mark(grid, grid.best, n_rows, is_best=True)
    parts += x_labels(grid.x, TOP + n_rows * CELL_HEIGHT)
    if grid.y is not None:
        parts += y_labels(grid.y, n_rows)
    more = {"width": f"{1.35 * width:.0f}", "tabindex": 0, "data_columns": n_columns}
    return drawing(parts, "map", (width, height), label, **more)


def cell(place: tuple[int, int], share: float, text: str) -> Markup:
    """A cell of a heat map, in the row from above and the column of `place`."""
    row, column = place
    return element(
        "rect",
        class_="cell empty" if np.isnan(share) else "cell",
        fill=None if np.isnan(share) else colour_of(share),
        x=LEFT + column * CELL_WIDTH,
        y=TOP + row * CELL_HEIGHT,
        width=CELL_WIDTH,
        height=CELL_HEIGHT,
        data_row=row,
        data_column=column,
        data_text=text,
    )


def mark(grid: ScoreGrid, candidate: int, n_rows: int, is_best: bool) -> list[Markup]:
    """A star for the best cell, a ring for the simplest within one standard error."""
    place = grid.place_of(candidate)
    if place is None:
        return []
    x = LEFT + (place[1] + 0.5) * CELL_WIDTH
    y = TOP + (n_rows - place[0] - 0.5) * CELL_HEIGHT
    return [star(x, y) if is_best else element("circle", class_="ring", cx=x, cy=y, r=9.5)]


def star(x: float, y: float) -> Markup:
    points = [
        (x + r * math.sin(math.pi * k / 5), y - r * math.cos(math.pi * k / 5))
        for k, r in enumerate([8.0, 3.4] * 5)
    ]
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return element("polygon", class_="star", points=corners)


def x_labels(axis: Axis, y: float) -> list[Markup]:
    step = -(-len(axis.values) // 12)
    middle = LEFT + len(axis.values) * CELL_WIDTH / 2
    found = [
        element(
            "text",
            raised(text),
            class_=every_other(k // step),
            text_anchor="middle",
            x=LEFT + (k + 0.5) * CELL_WIDTH,
            y=y + 18,
        )
        for k, text in enumerate(axis.texts)
        if k % step == 0
    ]
    return [*found, element("text", axis.label, text_anchor="middle", x=middle, y=y + 40)]


def every_other(k: int) -> str | None:
    """The class of labels that a narrow screen leaves out, where text is larger."""
    return "odd" if k % 2 else None


def y_labels(axis: Axis, n_rows: int) -> list[Markup]:
    step = -(-n_rows // 16)
    middle = TOP + n_rows * CELL_HEIGHT / 2
    found = [
        element(
            "text",
            raised(text),
            text_anchor="end",
            x=LEFT - 6,
            y=TOP + (n_rows - k - 0.5) * CELL_HEIGHT + 5,
        )
        for k, text in enumerate(axis.texts)
        if k % step == 0
    ]
    turned = f"rotate(-90 14 {middle})"
    own = element("text", axis.label, text_anchor="middle", x=14, y=middle, transform=turned)
    return [*found, own]


def with_room(low: float, high: float) -> tuple[float, float]:
    """The range widened a little, also where it is a single value."""
    room = 0.06 * (high - low) or 0.01 * max(1.0, abs(low))
    return low - room, high + room


def tick_values(low: float, high: float) -> list[float]:
    """Three to five round numbers between two."""
    step = 10.0 ** math.floor(math.log10(high - low))
    for part in (1.0, 0.5, 0.25, 0.2, 0.1):
        first = math.ceil(low / (step * part))
        found: list[Any] = [k * step * part for k in range(first, first + 20)]
        found = [value for value in found if value <= high]
        if len(found) >= 3:
            return found
    return [low, high]


def curve(profile: Profile, grid: ScoreGrid, label: str) -> tuple[Markup, bool]:
    """The picture, and whether hopeless scores are below it.

    The standard error is a band; the best candidate has a star, the simplest within one standard
    error a ring.
    """
    n = len(profile.mean)
    width, plot = LEFT + n * CELL_WIDTH + RIGHT, HEIGHT - TOP - BOTTOM
    low, high, is_cut = find_range(profile, grid)

    def x_of(k: int) -> float:
        return LEFT + (k + 0.5) * CELL_WIDTH

    def y_of(value: float) -> float:
        return TOP + plot * (high - value) / (high - low)

    def across(kind: str, value: float) -> Markup:
        y = f"{y_of(value):.1f}"
        return element("line", class_=kind, x1=LEFT, x2=width - RIGHT, y1=y, y2=y)

    parts: list[Markup] = []
    for value in tick_values(low, high):
        place = {"x": LEFT - 6, "y": f"{y_of(value) + 5:.1f}"}
        number = element("text", f"{value:.4g}", text_anchor="end", **place)
        parts += [across("grid", value), number]
    known = [k for k in range(n) if not np.isnan(profile.mean[k])]
    mean, error = profile.mean, np.nan_to_num(profile.error)
    ends = [f"{x_of(k):.1f},{y_of(mean[k] + error[k]):.1f}" for k in known]
    ends += [f"{x_of(k):.1f},{y_of(mean[k] - error[k]):.1f}" for k in reversed(known)]
    line = [f"{x_of(k):.1f},{y_of(mean[k]):.1f}" for k in known]
    name = "clip-x" if profile.axis is grid.x else "clip-y"
    frame = element("rect", x=LEFT, y=0, width=width - LEFT - RIGHT, height=TOP + plot)
    inside = [
        element("polygon", class_="band", points=" ".join(ends)),
        across("bound", grid.bound),
        element("polyline", class_="line", points=" ".join(line)),
    ]
    for k in known:
        own = {"cx": f"{x_of(k):.1f}", "cy": f"{y_of(mean[k]):.1f}", "r": 3}
        inside.append(element("circle", class_="dot", **own))
    for candidate in dict.fromkeys((grid.simplest, grid.best)):
        found = grid.place_of(candidate)
        if found is None:
            continue
        x, y = x_of(found[1] if profile.axis is grid.x else found[0]), grid.all_means[candidate]
        if candidate == grid.simplest:
            ring = {"cx": f"{x:.1f}", "cy": f"{y_of(y):.1f}", "r": 8}
            inside.append(element("circle", class_="pick", **ring))
        if candidate == grid.best:
            inside.append(star(x, y_of(y)))
    parts.append(element("clipPath", frame, id=name))
    parts.append(element("g", inside, clip_path=f"url(#{name})"))
    parts += x_labels(profile.axis, TOP + plot)
    size = f"{1.35 * width:.0f}"
    return drawing(parts, "curve", (width, HEIGHT), label, width=size), is_cut


def find_range(profile: Profile, grid: ScoreGrid) -> tuple[float, float, bool]:
    """(low, high, whether anything is lower): a hopeless end would press the rest flat."""
    spread = np.nan_to_num(profile.error)
    low = float(np.nanmin(profile.mean - spread))
    high = float(np.nanmax(profile.mean + spread))
    best = float(grid.all_means[grid.best])
    reach = 4.0 * max(best - median_of(profile.mean), best - grid.bound)
    least = best - reach if reach > 0.0 else low
    is_cut = float(np.nanmin(profile.mean)) < least
    low = max(low, least)
    return *with_room(low, high), is_cut


def median_of(values: FloatArray) -> float:
    return float(np.nanmedian(values))
