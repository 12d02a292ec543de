"""The best score along one parameter as inline SVG."""

from __future__ import annotations

from html import escape

import numpy as np

from ..problem import FloatArray
from .score_grid import Profile, ScoreGrid
from .svg import BOTTOM, CELL_WIDTH, LEFT, RIGHT, TOP, star, tick_values, x_labels

HEIGHT = 200


def curve(profile: Profile, grid: ScoreGrid, label: str) -> tuple[str, bool]:
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

    def across(kind: str, value: float) -> str:
        y = f"{y_of(value):.1f}"
        return f'<line class="{kind}" x1="{LEFT}" x2="{width - RIGHT}" y1="{y}" y2="{y}"></line>'

    parts = [
        f'<svg class="curve" viewBox="0 0 {width} {HEIGHT}" '
        f'style="max-width:{1.35 * width:.0f}px" role="img" aria-label="{escape(label)}">'
    ]
    for value in tick_values(low, high):
        y = f"{y_of(value) + 5:.1f}"
        parts.append(f'{across("grid", value)}<text text-anchor="end" x="{LEFT - 6}" y="{y}">')
        parts.append(f"{value:.4g}</text>")
    known = [k for k in range(n) if not np.isnan(profile.mean[k])]
    mean, error = profile.mean, np.nan_to_num(profile.error)
    ends = [f"{x_of(k):.1f},{y_of(mean[k] + error[k]):.1f}" for k in known]
    ends += [f"{x_of(k):.1f},{y_of(mean[k] - error[k]):.1f}" for k in reversed(known)]
    line = [f"{x_of(k):.1f},{y_of(mean[k]):.1f}" for k in known]
    name = "clip-x" if profile.axis is grid.x else "clip-y"
    parts.append(
        f'<clipPath id="{name}"><rect x="{LEFT}" y="0" width="{width - LEFT - RIGHT}" '
        f'height="{TOP + plot}"></rect></clipPath><g clip-path="url(#{name})">'
        f'<polygon class="band" points="{" ".join(ends)}"></polygon>{across("bound", grid.bound)}'
        f'<polyline class="line" points="{" ".join(line)}"></polyline>'
    )
    for k in known:
        parts.append(f'<circle class="dot" cx="{x_of(k):.1f}" cy="{y_of(mean[k]):.1f}" r="3">')
        parts.append("</circle>")
    for candidate in dict.fromkeys((grid.simplest, grid.best)):
        place = grid.place_of(candidate)
        if place is None:
            continue
        x, y = x_of(place[1] if profile.axis is grid.x else place[0]), grid.all_means[candidate]
        if candidate == grid.simplest:
            parts.append(f'<circle class="pick" cx="{x:.1f}" cy="{y_of(y):.1f}" r="8"></circle>')
        if candidate == grid.best:
            parts.append(star(x, y_of(y)))
    return "".join([*parts, "</g>", *x_labels(profile.axis, TOP + plot), "</svg>"]), is_cut


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
    room = 0.06 * (high - low) or 0.01
    return low - room, high + room, is_cut


def median_of(values: FloatArray) -> float:
    return float(np.nanmedian(values))
