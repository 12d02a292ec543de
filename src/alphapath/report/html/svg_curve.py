"""The best score along one parameter as inline SVG."""

from __future__ import annotations

import numpy as np

from ...problem.box_problem import FloatArray
from ..score_grid import Profile, ScoreGrid
from .markup import Markup, element
from .svg import (
    BOTTOM,
    CELL_WIDTH,
    LEFT,
    RIGHT,
    TOP,
    drawing,
    star,
    tick_values,
    with_room,
    x_labels,
)

HEIGHT = 200


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
