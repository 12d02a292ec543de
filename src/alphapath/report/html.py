"""The report of a search: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from . import svg
from .html_parts import (
    cell_texts,
    facts_table,
    fold_out,
    grid_table,
    is_simplest,
    n_splits,
    number,
    params_text,
    raise_exponents,
    seconds_text,
    table,
)
from .record import record_search, results_of
from .score_grid import ScoreGrid

#: Candidates in the first table; all are in the second.
N_TOP = 10


def write_report(search: Any, path: str | PathLike[str], **options: Any) -> Path:
    """Write the report of a fitted search; `options` are those of `record_search`.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import SVMSearchCV
    >>> from alphapath.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVMSearchCV(SVC(), {"C": [1.0, 10.0], "gamma": [0.1, 1.0]}).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(search, f"{folder}/report.html", X=X, y=y, name="iris").name
    'report.html'
    """
    target = Path(path)
    target.write_text(render(record_search(search, **options)), encoding="utf-8")
    return target


def render(record: Mapping[str, Any]) -> str:
    """The page of a record."""
    name = escape(record["data"]["name"])
    sections = [summary(record)]
    if "best" in record:
        grid = ScoreGrid.from_cv_results(results_of(record), record["metric"])
        sections += [scores(record, grid), candidates(record), time_spent(record, grid)]
    sections += [data_facts(record), details(record)]
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    script = files(__package__).joinpath("page.js").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}: SVM search</title><style>\n{style}</style></head>\n<body>\n"
        f"<header><h1>{name}: SVM search</h1><p class='soft'>{escape(record['created'])}, "
        f"alphapath {escape(record['version'])}</p></header>\n<main>\n"
        + raise_exponents("\n".join(sections))
        + '\n</main><div id="tip" role="status" hidden></div>\n'
        f"<script>\n{script}</script>\n</body></html>\n"
    )


# -- sections


def summary(record: Mapping[str, Any]) -> str:
    status = record["cv_results"].get("status")
    n_cells = len(record["cv_results"]["params"])
    n_done = n_cells if status is None else sum(one != "not_run" for one in status)
    n_folds = n_splits(record)
    cards = []
    if "chosen" in record or "best" in record:
        chosen = record.get("chosen", record.get("best"))
        rule = "simplest within one standard error" if is_simplest(record) else "best mean score"
        cards.append((params_text(chosen["params"]), f"chosen by the {rule}"))
        cards.append(
            (
                f"{chosen['mean']:.4f} ± {chosen['error']:.4f}",
                f"mean of {n_folds} folds, standard error",
            )
        )
    if n_done < n_cells:
        note = "of the grid is done: this report is of an unfinished search"
        cards.append((f"{n_done} of {n_cells} cells", note))
    else:
        cards.append((f"{n_cells * n_folds} SVMs", f"{n_cells} cells, {n_folds} folds each"))
    if record.get("seconds") is not None:
        cards.append((seconds_text(record["seconds"]), "for the search"))
    certificate = record.get("certificate")
    text = "".join(
        f'<div class="card"><b>{escape(a)}</b><span>{escape(b)}</span></div>' for a, b in cards
    )
    if certificate is not None:
        is_good = certificate["kkt_violation"] <= 1.05 * record.get("tol", 1e-3)
        word, kind = ("certified", "good") if is_good else ("not optimal", "bad")
        text += (
            f'<div class="card"><b class="{kind}">{word}</b><span>KKT violation '
            f"{certificate['kkt_violation']:.1e}, recomputed outside the solver</span></div>"
        )
    notes = "".join(
        f'<p class="warning">{escape(w)}</p>' for w in record["data"].get("warnings", [])
    )
    return f'<section><div class="cards">{text}</div>{notes}</section>'


def scores(record: Mapping[str, Any], grid: ScoreGrid) -> str:
    colours = svg.ColourScale.of_scores(grid.mean)
    texts = cell_texts(record, grid)
    axes = grid.x.label if grid.y is None else f"{grid.x.label} and {grid.y.label}"
    label = f"Heat map of the mean test score over {axes}; the values are in the table below."
    picture = svg.heat_map(grid, colours.share, texts, label, has_marks=True)
    legend = (
        f"Star: best ({params_text(record['best']['params'])}). Ring: simplest within one standard "
        f"error ({params_text(record['simplest']['params'])}). Point at a cell or use arrow keys."
    )
    curves = [curve_figure(grid, "x")]
    if grid.y is not None:
        curves.append(curve_figure(grid, "y"))
    table_of_scores = fold_out("The scores as a table", grid_table(grid, grid.mean, "{:.4f}"))
    return (
        f'<section><h2>Scores</h2><div class="pair"><div><figure>{picture}'
        f"{colours.legend('{:.4f}')}<figcaption>{escape(legend)}</figcaption></figure>"
        f"{table_of_scores}</div><div>{''.join(curves)}</div></div></section>"
    )


def curve_figure(grid: ScoreGrid, side: str) -> str:
    profile = grid.profile_along(side)
    name = profile.axis.label
    label = f"Best mean test score for each {name} with its standard error."
    rows = [
        (text, f"{mean:.4f}", f"{error:.4f}", "yes" if mean >= grid.bound else "")
        for text, mean, error in zip(profile.axis.texts, profile.mean, profile.error, strict=True)
    ]
    data = table((name, "best score", "standard error", "within one error"), rows)
    caption = f"Best score along {name}. Band: one standard error. Dashed: one below the best."
    return (
        f"<figure><h3>Along {escape(name)}</h3>{svg.curve(profile, grid.bound, label)}"
        f"<figcaption>{escape(caption)}</figcaption>{fold_out('As a table', data)}</figure>"
    )


def candidates(record: Mapping[str, Any]) -> str:
    results = results_of(record)
    mean = results[f"mean_test_{record['metric']}"]
    order = sorted(range(len(mean)), key=lambda i: (np.isnan(mean[i]), -mean[i], i))
    extra = [key for key in ("n_iter", "seed", "duality_gap", "status") if key in results]
    std = results[f"std_test_{record['metric']}"]
    head = ("candidate", "mean score", "standard deviation", "seconds a fold", *extra)

    def row(i: int) -> list[str]:
        cells = [params_text(results["params"][i]), number(mean[i]), number(std[i])]
        cells.append(f"{results['mean_fit_time'][i]:.3g}")
        return cells + [number(results[key][i]) for key in extra]

    first = table(head, [row(i) for i in order[:N_TOP]], f"The best {min(N_TOP, len(order))}")
    rest = table(head, [row(i) for i in order])
    return f"<section><h2>Candidates</h2>{first}{fold_out(f'All {len(order)}', rest)}</section>"


def time_spent(record: Mapping[str, Any], grid: ScoreGrid) -> str:
    results = results_of(record)
    texts = cell_texts(record, grid)
    figures, tables = [], []
    n_folds = n_splits(record)
    for key, words, form, factor in (
        ("n_iter", "Iterations of all folds", "{:.0f}", 1),
        ("mean_fit_time", "Seconds of all folds", "{:.3g}", n_folds),
    ):
        if key not in results:
            continue
        values = np.where(grid.candidate < 0, np.nan, factor * results[key][grid.candidate])
        colours = svg.ColourScale.of_counts(values)
        picture = svg.heat_map(grid, colours.share, texts, f"{words}, heat map.")
        figures.append(
            f"<figure><h3>{words}</h3>{picture}{colours.legend(form)}<figcaption>Logarithmic; "
            f"{np.nansum(values):.4g} in total.</figcaption></figure>"
        )
        tables.append(grid_table(grid, values, form, words))
    parts = [f'<div class="pair">{"".join(figures)}</div>']
    parts.append(fold_out("As tables", "".join(tables)))
    if "seed" in results and "n_iter" in results:
        parts.append(by_seed(results, n_folds))
    cold = record.get("n_iter_cold")
    if cold:
        warm = float(np.nansum(results["n_iter"]))
        parts.append(
            f"<p>Solving every cell from zero takes {cold:,} iterations; this search took "
            f"{warm:,.0f}, {100 * (1 - warm / cold):.0f} % less.</p>"
        )
    return f"<section><h2>Where the time went</h2>{''.join(parts)}</section>"


def by_seed(results: Mapping[str, Any], n_folds: int) -> str:
    """How much each way to begin cost."""
    found: dict[str, list[float]] = {}
    for seed, n_iter, seconds in zip(
        results["seed"], results["n_iter"], results["mean_fit_time"], strict=True
    ):
        own = found.setdefault(seed or "not run", [0, 0.0, 0.0])
        own[0] += 1
        own[1] += 0.0 if np.isnan(n_iter) else n_iter
        own[2] += 0.0 if np.isnan(seconds) else n_folds * seconds
    rows = [
        (seed, f"{own[0]:.0f}", f"{own[1]:.0f}", f"{own[2]:.3g}")
        for seed, own in sorted(found.items(), key=lambda item: -item[1][1])
    ]
    return table(("began from", "cells", "iterations", "seconds"), rows, "By seed")


def data_facts(record: Mapping[str, Any]) -> str:
    rows = list(record["data"].get("rows", {}).items())
    if not rows:
        return ""
    return f"<section><h2>Data</h2>{facts_table(rows)}</section>"


def details(record: Mapping[str, Any]) -> str:
    parts = [facts_table(list(record["search"].items()))]
    if record.get("certificate"):
        rows = [(k.replace("_", " "), f"{v:.8g}") for k, v in record["certificate"].items()]
        parts.append("<h3>Certificate of the chosen model</h3>" + facts_table(rows))
    if record.get("files"):
        parts.append("<h3>Files</h3>" + facts_table([(k, v) for k, v in record["files"].items()]))
    if record.get("plan"):
        parts.append(
            fold_out("The plan: what was begun from what", f"<pre>{escape(record['plan'])}</pre>")
        )
    return f"<section><h2>How</h2>{''.join(parts)}</section>"
