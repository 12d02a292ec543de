"""The report of a search: one self-contained HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...output_files import write_file
from ...search.table import UNFINISHED
from ...version import __version__
from ..record import record_search, results_of
from ..score_grid import ScoreGrid
from . import svg
from . import svg as svg_curve
from .curve import curve_section
from .markup import Markup, document, element, join, raise_exponents, verbatim
from .parts import (
    Section,
    cell_texts,
    facts_table,
    figure,
    fold_out,
    grid_table,
    is_simplest,
    n_splits,
    number,
    params_text,
    seconds_text,
    table,
    unbroken,
)
from .plan import plan_tree
from .time import time_spent

#: Candidates in the first table; all are in the second.
N_TOP = 10
#: Columns that alphapath searches add to the scores of a candidate, and their titles.
COLUMNS = {
    "n_iter": "iterations",
    "seed": "began from",
    "duality_gap": "duality gap",
    "status": "status",
}


def write_report(search: Any, path: str | PathLike[str], **options: Any) -> Path:
    """Write the report of a fitted search or a journal; `options` are as in `record_search`.

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
    if isinstance(search, str | PathLike) and target.exists() and target.samefile(search):
        raise ValueError(f"{target} is the journal itself; choose another name for the report.")
    write_file(target, render(record_search(search, **options)))
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
    facts = data_facts(record)
    sections += [details(record)] if facts is None else [facts, details(record)]
    when = datetime.fromisoformat(record["created"]).strftime("%d %B %Y, %H:%M %Z").lstrip("0")
    title = f"{record['data']['name']}: SVM search"
    return page(title, f"{when}, alphapath {record['version']}", sections)


def render_curve(record: Mapping[str, Any], title: str) -> str:
    """The page of an exact validation curve alone (`curve_record`)."""
    return page(title, f"alphapath {__version__}", [curve_section(record)])


def page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """A whole page with its style and script, which are all that its policy lets it use."""
    style = "\n" + read_asset("page.css") + svg.colour_rules()
    script = "\n" + read_asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{digest_of(style)}'; script-src '{digest_of(script)}'; "
        f"base-uri 'none'; form-action 'none'"
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"alphapath {__version__}"),
        element("title", title),
        verbatim("style", style),
    ]
    top = [element("h1", title), element("p", subtitle, class_="soft"), contents(sections)]
    main = raise_exponents(join([("\n", section.markup) for section in sections], "\n"))
    tip = element("div", id="tip", role="status", hidden=True)
    body = [element("header", top), "\n", element("main", main), tip, "\n"]
    return document(join(head), join(body, verbatim("script", script)))


def read_asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def digest_of(text: str) -> str:
    """How a content security policy names the text of a style or script element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def contents(sections: Sequence[Section]) -> Markup:
    """Links to the sections that have a title, where there are several."""
    links = [element("a", one.title, href=f"#{one.name}") for one in sections if one.title]
    return element("nav", links, aria_label="Sections") if len(links) > 1 else join()


# -- sections


def summary(record: Mapping[str, Any]) -> Section:
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
    parts = [
        element("div", element("b", unbroken(a)), element("span", b), class_="card")
        for a, b in cards
    ]
    certificate = record.get("certificate")
    if certificate is not None:
        tol = 1e-3 if record.get("tol") is None else record["tol"]
        is_good = certificate["kkt_violation"] <= 1.05 * tol
        word, kind = ("certified", "good") if is_good else ("not optimal", "bad")
        note = f"KKT violation {certificate['kkt_violation']:.1e}, recomputed outside the solver"
        parts.append(
            element("div", element("b", word, class_=kind), element("span", note), class_="card")
        )
    notes = [element("p", one, class_="warning") for one in record["data"].get("warnings", [])]
    return Section("", "", join(element("div", parts, class_="cards"), notes))


def scores(record: Mapping[str, Any], grid: ScoreGrid) -> Section:
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
    drawn = figure([picture, colours.legend("{:.4f}")], legend)
    sides = element("div", drawn, table_of_scores), element("div", curves)
    return Section("scores", "Scores", element("div", sides, class_="pair"))


def curve_figure(grid: ScoreGrid, side: str) -> Markup:
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
    return figure(picture, caption, f"Along {name}", fold_out("As a table", data))


def candidates(record: Mapping[str, Any]) -> Section:
    results = results_of(record)
    mean = results[f"mean_test_{record['metric']}"]
    order = sorted(range(len(mean)), key=lambda i: (np.isnan(mean[i]), -mean[i], i))
    extra = [key for key in COLUMNS if key in results]
    std = results[f"std_test_{record['metric']}"]
    names = (COLUMNS[key] for key in extra)
    head = ("candidate", "mean score", "standard deviation", "time per fold", *names)

    def row(i: int) -> list[str]:
        cells = [params_text(results["params"][i]), number(mean[i]), number(std[i])]
        cells.append(seconds_text(results["mean_fit_time"][i]))
        return cells + [number(results[key][i]) for key in extra]

    first = table(head, [row(i) for i in order[:N_TOP]], f"The best {min(N_TOP, len(order))}")
    rest = table(head, [row(i) for i in order])
    more = fold_out(f"All {len(order)}", rest)
    return Section("candidates", "Candidates", join(first, more))


def data_facts(record: Mapping[str, Any]) -> Section | None:
    rows = list(record["data"].get("rows", {}).items())
    return Section("data", "Data", facts_table(rows)) if rows else None


def details(record: Mapping[str, Any]) -> Section:
    parts = [facts_table(list(record["search"].items()))]
    if record.get("certificate"):
        rows = [(k.replace("_", " "), f"{v:.8g}") for k, v in record["certificate"].items()]
        parts += [element("h3", "Certificate of the chosen model"), facts_table(rows)]
    if record.get("files"):
        parts += [element("h3", "Files"), facts_table(list(record["files"].items()))]
    if record.get("trees"):
        title = "The plan as a tree of warm starts"
        parts.append(fold_out(title, plan_tree(record["trees"])))
    return Section("how", "How it was done", join(parts))
