"""Settings of the documentation: `sphinx-build -W docs build/docs`."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib
from sphinx_gallery.sorting import FileNameSortKey

from alphapath import __version__

matplotlib.use("Agg")

project = "alphapath"
author = "the alphapath developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.json"]
suppress_warnings = ["config.cache"]  # the sorting key of the gallery is a class
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "alphapath"
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "header_links_before_dropdown": 4,
}
# Pages that stand alone have nothing to list at their side.
html_sidebars: dict[str, list[str]] = {page.stem: [] for page in Path(__file__).parent.glob("*.md")}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": FileNameSortKey,
    "abort_on_example_error": True,
    "show_memory": False,
    "min_reported_time": 1e9,
}


#: Modules that users import from, with the heading of their part of the API.
MODULES = {
    "alphapath": "Estimators, problems and certificates",
    "alphapath.model_selection": "Model selection",
    "alphapath.paths": "Paths",
    "alphapath.report": "Reports",
    "alphapath.kernels": "Kernels",
}
#: Functions by name that are reached through a registry.
REGISTRIES = {
    "alphapath.solvers.SOLVERS": "Solvers",
    "alphapath.seeds.SEEDS": "Seeds",
}


def write_api(folder: Path) -> None:
    """The page of the API: whatever the public modules offer, so that no list has to follow."""
    lines = ["API", "===", ""]
    for name, heading in MODULES.items():
        offered = [one for one in import_module(name).__all__ if not one.startswith("_")]
        lines += [heading, "-" * len(heading), "", f".. currentmodule:: {name}", ""]
        lines += [".. autosummary::", "   :toctree: .", ""]
        lines += [f"   {one}" for one in offered] + [""]
    for name, heading in REGISTRIES.items():
        module, _, registry = name.rpartition(".")
        lines += [heading, "-" * len(heading), "", f".. currentmodule:: {module}", ""]
        lines += [f"``{name}`` has, by name:", ""]
        lines += [".. autosummary::", "   :toctree: .", ""]
        found = getattr(import_module(module), registry).values()
        names = [f"{one.__module__}.{one.__name__}" for one in found]
        lines += [f"   {one.removeprefix(module + '.')}" for one in names] + [""]
    folder.mkdir(exist_ok=True)
    (folder / "api.rst").write_text("\n".join(lines), encoding="utf-8")


write_api(Path(__file__).parent / "generated")


def clean_docstring(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Formulas are no markup, and what scikit-learn's texts refer to is in its documentation."""
    is_literal = False
    for k, line in enumerate(lines):
        if is_literal and line.strip() and not line.startswith(" "):
            is_literal = False
        if not is_literal and not line.lstrip().startswith((">>>", "...")):
            line = re.sub(r":(?:ref|term):`([^<`]*?)\s*(?:<[^`]*>)?`", r"\1", line)
            lines[k] = re.sub(r"(`+[^`]*`+)|\|", lambda match: match[1] or r"\|", line)
        is_literal = is_literal or line.rstrip().endswith("::")


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", clean_docstring)
