"""Pictures of a page as inline SVG: no library, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..problem import FloatArray
from .score_grid import Axis, ScoreGrid, score_range

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
CELL_WIDTH, CELL_HEIGHT = 36, 26
LEFT, TOP, BOTTOM, RIGHT = 62, 8, 48, 10


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

    def legend(self, form: str) -> str:
        """The colours with the values at their ends."""
        colours = ", ".join(colour_of(k / 8) for k in range(9))
        first = ("at most " if self.is_cut else "") + form.format(self.low)
        return (
            f'<div class="legend"><span>{first}</span>'
            f'<i style="background:linear-gradient(to right, {colours})"></i>'
            f"<span>{form.format(self.high)}</span></div>"
        )


def stretch(values: FloatArray, low: float, high: float) -> FloatArray:
    if high > low:
        return (values - low) / (high - low)
    return np.where(np.isnan(values), np.nan, 1.0)


def raised(text: str) -> str:
    """2^-5 with a raised exponent."""
    base, mark, exponent = text.partition("^")
    if not mark:
        return escape(text)
    return f'{escape(base)}<tspan dy="-5" font-size="75%">{escape(exponent)}</tspan>'


def heat_map(
    grid: ScoreGrid,
    share: FloatArray,
    texts: Sequence[Sequence[str]],
    label: str,
    has_marks: bool = False,
) -> str:
    """Cells coloured by `share` (ny, nx); `texts` are what a cell says when pointed at."""
    n_rows, n_columns = share.shape
    width = LEFT + n_columns * CELL_WIDTH + RIGHT
    height = TOP + n_rows * CELL_HEIGHT + BOTTOM
    parts = [
        f'<svg class="map" viewBox="0 0 {width} {height}" style="max-width:{1.35 * width:.0f}px" '
        f'role="img" tabindex="0" aria-label="{escape(label)}" data-columns="{n_columns}">'
    ]
    for row in range(n_rows):
        y = TOP + (n_rows - 1 - row) * CELL_HEIGHT
        for column in range(n_columns):
            if grid.candidate[row, column] < 0:
                continue
            value = share[row, column]
            fill = (
                'class="cell empty"'
                if np.isnan(value)
                else f'class="cell" fill="{colour_of(value)}"'
            )
            text = escape(texts[row][column], quote=True)
            parts.append(
                f'<rect {fill} x="{LEFT + column * CELL_WIDTH}" y="{y}" width="{CELL_WIDTH}" '
                f'height="{CELL_HEIGHT}" data-row="{n_rows - 1 - row}" data-column="{column}" '
                f'data-text="{text}"></rect>'
            )
    if has_marks:
        parts += mark(grid, grid.simplest, n_rows, is_best=False)
        parts += mark(grid, grid.best, n_rows, is_best=True)
    parts += x_labels(grid.x, TOP + n_rows * CELL_HEIGHT)
    if grid.y is not None:
        parts += y_labels(grid.y, n_rows)
    parts.append("</svg>")
    return "".join(parts)


def mark(grid: ScoreGrid, candidate: int, n_rows: int, is_best: bool) -> list[str]:
    """A star for the best cell, a ring for the simplest within one standard error."""
    place = grid.place_of(candidate)
    if place is None:
        return []
    x = LEFT + (place[1] + 0.5) * CELL_WIDTH
    y = TOP + (n_rows - place[0] - 0.5) * CELL_HEIGHT
    if not is_best:
        return [f'<circle class="ring" cx="{x}" cy="{y}" r="9.5"></circle>']
    return [star(x, y)]


def star(x: float, y: float) -> str:
    points = [
        (x + r * math.sin(math.pi * k / 5), y - r * math.cos(math.pi * k / 5))
        for k, r in enumerate([8.0, 3.4] * 5)
    ]
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return f'<polygon class="star" points="{corners}"></polygon>'


def x_labels(axis: Axis, y: float) -> list[str]:
    step = -(-len(axis.values) // 12)
    middle = LEFT + len(axis.values) * CELL_WIDTH / 2
    found = [
        f'<text{every_other(k // step)} text-anchor="middle" x="{LEFT + (k + 0.5) * CELL_WIDTH}" '
        f'y="{y + 18}">{raised(text)}</text>'
        for k, text in enumerate(axis.texts)
        if k % step == 0
    ]
    name = escape(axis.label)
    return [*found, f'<text text-anchor="middle" x="{middle}" y="{y + 40}">{name}</text>']


def every_other(k: int) -> str:
    """Marks labels that a narrow screen leaves out, where text is larger."""
    return ' class="odd"' if k % 2 else ""


def y_labels(axis: Axis, n_rows: int) -> list[str]:
    step = -(-n_rows // 16)
    middle = TOP + n_rows * CELL_HEIGHT / 2
    found = [
        f'<text text-anchor="end" x="{LEFT - 6}" '
        f'y="{TOP + (n_rows - k - 0.5) * CELL_HEIGHT + 5}">{raised(text)}</text>'
        for k, text in enumerate(axis.texts)
        if k % step == 0
    ]
    name = escape(axis.label)
    turned = f'transform="rotate(-90 14 {middle})"'
    return [*found, f'<text text-anchor="middle" x="14" y="{middle}" {turned}>{name}</text>']


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
