"""The section of a report on where the time went: by cell, by seed, and against a cold start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...seeds import REGISTRY
from ..record import results_of
from ..score_grid import ScoreGrid
from . import svg
from .markup import Markup, element, join
from .parts import Section, cell_texts, figure, fold_out, grid_table, n_splits, seconds_text, table


def time_spent(record: Mapping[str, Any], grid: ScoreGrid) -> Section:
    results = results_of(record)
    texts = cell_texts(record, grid)
    figures, tables = [], []
    n_folds = n_splits(record)
    for key, words, form, factor in (
        ("n_iter", "Iterations of all folds", "{:,.0f}", 1),
        ("mean_fit_time", "Seconds of all folds", "{:.3g}", n_folds),
    ):
        if key not in results:
            continue
        values = np.where(grid.candidate < 0, np.nan, factor * results[key][grid.candidate])
        colours = svg.ColourScale.of_counts(values)
        picture = svg.heat_map(grid, colours.share, texts, f"{words}, heat map.")
        caption = f"Logarithmic; {form.format(np.nansum(values))} in total."
        figures.append(figure([picture, colours.legend(form)], caption, words))
        tables.append(grid_table(grid, values, form, words))
    parts = [saved(record)] if record.get("n_iter_cold") else []
    parts.append(element("div", figures, class_="pair"))
    parts.append(fold_out("As tables", tables))
    if "seed" in results and "n_iter" in results:
        parts.append(by_seed(results, n_folds))
    return Section("time", "Where the time went", join(parts))


def saved(record: Mapping[str, Any]) -> Markup:
    """Compare the iterations with those of a search with only cold starts, as two bars."""
    cold = float(record["n_iter_cold"])
    warm = float(np.nansum(results_of(record)["n_iter"]))
    share = 100 * (1 - warm / cold)
    bars = [
        element(
            "div",
            element("span", words),
            svg.bar(n / max(cold, warm)),
            element("b", f"{n:,.0f}"),
            class_="bar",
        )
        for words, n in (("every cell from zero", cold), ("this search", warm))
    ]
    note = (
        f"Solving every cell from zero takes {cold:,.0f} iterations; this search took "
        f"{warm:,.0f}, {share:.0f} % less."
    )
    return join(element("div", bars, class_="bars"), element("p", note))


def by_seed(results: Mapping[str, Any], n_folds: int) -> Markup:
    """The cost of each way to start."""
    found: dict[str, list[float]] = {}
    for seed, n_iter, seconds in zip(
        results["seed"], results["n_iter"], results["mean_fit_time"], strict=True
    ):
        own = found.setdefault(seed or "not run", [0, 0.0, 0.0])
        own[0] += 1
        own[1] += 0.0 if np.isnan(n_iter) else n_iter
        own[2] += 0.0 if np.isnan(seconds) else n_folds * seconds
    rows = [
        (seed, f"{own[0]:.0f}", f"{own[1]:,.0f}", seconds_text(own[2]), seed_words(seed))
        for seed, own in sorted(found.items(), key=lambda item: -item[1][1])
    ]
    head = ("began from", "cells", "iterations", "time", "which is")
    return element("div", table(head, rows, "By seed"), class_="words")


def seed_words(seed: str) -> str:
    """What a cell began from; "keep+lift" is some folds by one and some by the other."""
    if seed == "not run":
        return "not reached"
    if "+" in seed:
        return "some folds by one, some by the other"
    return REGISTRY[seed].words if seed in REGISTRY else "an existing solution"
