"""The report of a search: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..search.result import UNFINISHED
from ..version import __version__
from . import svg, svg_curve
from .html_curve import curve_section
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
    unbroken,
)
from .html_plan import plan_tree
from .html_time import time_spent
from .record import record_search, results_of
from .score_grid import ScoreGrid

#: Candidates in the first table; all are in the second.
N_TOP = 10
#: What a search of ours says of a candidate besides scores, and what it is called.
COLUMNS = {
    "n_iter": "iterations",
    "seed": "began from",
    "duality_gap": "duality gap",
    "status": "status",
}


def write_report(search: Any, path: str | PathLike[str], **options: Any) -> Path:
    """Write the report of a fitted search, or of a journal; `options` are those of `record_search`.

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
    sections = [summary(record)]
    if "best" in record:
        grid = ScoreGrid.from_cv_results(results_of(record), record["metric"])
        sections.append(scores(record, grid))
        if "path" in record:
            sections.append(curve_section(record["path"]))
        sections += [candidates(record), time_spent(record, grid)]
    sections += [data_facts(record), details(record)]
    when = datetime.fromisoformat(record["created"]).strftime("%d %B %Y, %H:%M %Z").lstrip("0")
    title = f"{record['data']['name']}: SVM search"
    return page(title, f"{when}, alphapath {record['version']}", sections)


def render_curve(record: Mapping[str, Any], title: str) -> str:
    """The page of an exact validation curve alone (`curve_record`)."""
    return page(title, f"alphapath {__version__}", [curve_section(record)])


def page(title: str, subtitle: str, sections: Sequence[str]) -> str:
    """A whole page with its style and script."""
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    script = files(__package__).joinpath("page.js").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1><p class='soft'>{escape(subtitle)}</p>"
        f"{contents(sections)}</header>\n<main>\n"
        + raise_exponents("\n".join(sections))
        + '\n</main><div id="tip" role="status" hidden></div>\n'
        f"<script>\n{script}</script>\n</body></html>\n"
    )


def contents(sections: Sequence[str]) -> str:
    """Links to the sections that have a name, where there are several."""
    found = re.findall(r'<section id="(\w+)"><h2>(.*?)</h2>', "".join(sections))
    if len(found) < 2:
        return ""
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title in found)
    return f'<nav aria-label="Sections">{links}</nav>'


# -- sections


def summary(record: Mapping[str, Any]) -> str:
    status = record["cv_results"].get("status")
    n_cells = len(record["cv_results"]["params"])
    n_done = n_cells if status is None else sum(one not in UNFINISHED for one in status)
    n_folds = n_splits(record)
    cards = []
    if "chosen" in record or "best" in record:
        chosen = record.get("chosen", record.get("best"))
        rule = "simplest within one standard error" if is_simplest(record) else "best mean score"
        note = f"chosen by the {rule}" if "chosen" in record else "best mean score so far"
        cards.append((params_text(chosen["params"]), note))
        cards.append(
            (
                f"{chosen['mean']:.4f} ±\u00a0{chosen['error']:.4f}",
                f"mean of {n_folds} folds, standard error",
            )
        )
    if "best_so_far" in record:
        best = record["best_so_far"]
        note = (
            f"best so far: mean score {best['mean']:.4f} on {best['n_splits']} of {n_folds} folds"
        )
        cards.append((params_text(best["params"]), note))
    if n_done < n_cells:
        note = "of the grid is done: this report is of an unfinished search"
        cards.append((f"{n_done} of {n_cells} cells", note))
    else:
        cards.append((f"{n_cells * n_folds:,} SVMs", f"{n_cells} cells, {n_folds} folds each"))
    if record.get("seconds") is not None:
        cards.append((seconds_text(record["seconds"]), "for the search"))
    certificate = record.get("certificate")
    text = "".join(
        f'<div class="card"><b>{unbroken(a)}</b><span>{escape(b)}</span></div>' for a, b in cards
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
    best, simplest = record["best"], record["simplest"]
    legend = (
        f"Star: best ({params_text(best['params'])}). Ring: simplest within one standard "
        f"error ({params_text(simplest['params'])})."
    )
    if best["index"] == simplest["index"]:
        legend = (
            f"Star and ring: {params_text(best['params'])} is best, and nothing simpler is within "
            f"one standard error of it."
        )
    legend += " Point at a cell, or tab to the map and use the arrow keys."
    curves = [curve_figure(grid, "x")]
    if grid.y is not None:
        curves.append(curve_figure(grid, "y"))
    table_of_scores = fold_out("The scores as a table", grid_table(grid, grid.mean, "{:.4f}"))
    return (
        f'<section id="scores"><h2>Scores</h2><div class="pair"><div><figure>{picture}'
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
    caption = (
        f"Best score for each {name}. Band: one standard error. Dashed: one standard error below "
        f"the best. Star: best. Ring: simplest above the dashed line."
    )
    picture, is_cut = svg_curve.curve(profile, grid, label)
    if is_cut:
        caption += " Lower scores are cut off; they are in the table."
    return (
        f"<figure><h3>Along {escape(name)}</h3>{picture}"
        f"<figcaption>{escape(caption)}</figcaption>{fold_out('As a table', data)}</figure>"
    )


def candidates(record: Mapping[str, Any]) -> str:
    results = results_of(record)
    mean = results[f"mean_test_{record['metric']}"]
    order = sorted(range(len(mean)), key=lambda i: (np.isnan(mean[i]), -mean[i], i))
    extra = [key for key in COLUMNS if key in results]
    std = results[f"std_test_{record['metric']}"]
    names = (COLUMNS[key] for key in extra)
    head = ("candidate", "mean score", "standard deviation", "time a fold", *names)

    def row(i: int) -> list[str]:
        cells = [params_text(results["params"][i]), number(mean[i]), number(std[i])]
        cells.append(seconds_text(results["mean_fit_time"][i]))
        return cells + [number(results[key][i]) for key in extra]

    first = table(head, [row(i) for i in order[:N_TOP]], f"The best {min(N_TOP, len(order))}")
    rest = table(head, [row(i) for i in order])
    more = fold_out(f"All {len(order)}", rest)
    return f'<section id="candidates"><h2>Candidates</h2>{first}{more}</section>'


def data_facts(record: Mapping[str, Any]) -> str:
    rows = list(record["data"].get("rows", {}).items())
    if not rows:
        return ""
    return f'<section id="data"><h2>Data</h2>{facts_table(rows)}</section>'


def details(record: Mapping[str, Any]) -> str:
    parts = [facts_table(list(record["search"].items()))]
    if record.get("certificate"):
        rows = [(k.replace("_", " "), f"{v:.8g}") for k, v in record["certificate"].items()]
        parts.append("<h3>Certificate of the chosen model</h3>" + facts_table(rows))
    if record.get("files"):
        parts.append("<h3>Files</h3>" + facts_table([(k, v) for k, v in record["files"].items()]))
    if record.get("trees"):
        title = "The plan as a tree: what was begun from what"
        parts.append(fold_out(title, plan_tree(record["trees"])))
    return f'<section id="how"><h2>How it was done</h2>{"".join(parts)}</section>'
