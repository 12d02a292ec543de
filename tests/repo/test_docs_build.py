"""The documentation builds without a warning, with every example run, and its Python runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot

import alphapath
from alphapath.seeds import SEEDS
from alphapath.solvers import SOLVERS

matplotlib.use("Agg")
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
MODULES = (
    "alphapath",
    "alphapath.model_selection",
    "alphapath.paths",
    "alphapath.report",
    "alphapath.kernels",
)


def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("sphinx_gallery", reason="the extra 'docs' is not installed")
    pytest.importorskip("pydata_sphinx_theme", reason="the extra 'docs' is not installed")
    # Of a copy: the gallery and the summaries are written beside the pages.
    for name in ("docs", "examples"):
        copy_tree(ROOT / name, tmp_path / name)
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", "html"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env=environment(), timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    gallery = tmp_path / "html" / "gallery"
    for example in (ROOT / "examples").glob("*.py"):
        assert (gallery / f"{example.stem}.html").exists()
    api = (tmp_path / "html" / "generated" / "api.html").read_text(encoding="utf-8")
    for module, name in public_names():
        assert name in api or name == "__version__", f"{module}.{name} is not in the API."


def copy_tree(source: Path, target: Path) -> None:
    for path in source.rglob("*"):
        parts = path.relative_to(source).parts
        if path.is_file() and parts[0] not in ("generated", "gallery", "__pycache__"):
            copy = target.joinpath(*parts)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "```python\n" in p.read_text()], ids=lambda page: page.stem
)
def test_the_python_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for what it writes
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    try:
        exec(compile("\n".join(blocks), str(page), "exec"), {"__name__": "__main__"})
    finally:
        pyplot.close("all")


def public_names() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            yield module, name


def is_called(thing: Any) -> bool:
    """Functions, estimators, displays; values that these return are shown by their examples."""
    name = getattr(thing, "__name__", "")
    return inspect.isfunction(thing) or hasattr(thing, "fit") or name.endswith(("Display", "Store"))


@pytest.mark.parametrize(("module", "name"), list(public_names()))
def test_every_public_name_has_an_example_that_runs(module: str, name: str) -> None:
    thing: Any = getattr(importlib.import_module(module), name)
    if not is_called(thing):
        assert inspect.getdoc(thing) or name == "__version__"
        return
    text = inspect.getdoc(thing) or ""
    examples = doctest.DocTestParser().get_examples(text)
    run = [example for example in examples if not example.options.get(doctest.SKIP)]
    assert run, f"{module}.{name} has no example that runs."
    test = doctest.DocTestParser().get_doctest(
        text, vars(sys.modules[thing.__module__]).copy(), name, None, None
    )
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=printed.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(printed)


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_every_solver_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(SOLVERS[name]) or "")


@pytest.mark.parametrize("name", [*SEEDS, *SOLVERS])
def test_every_registered_algorithm_has_a_page(name: str) -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "algorithms").glob("*.md"))
    assert re.search(rf'"{name}"|\*\*{name}\*\*|\b{name}\b', pages, re.I), name


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name} links to {target}."


def test_public_modules_name_what_they_offer() -> None:
    for module in MODULES[:-1]:  # kernels define their registry beside what they import
        tree = ast.parse(inspect.getsource(importlib.import_module(module)))
        imported = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module != "__future__"
            for alias in node.names
        }
        assert imported == set(importlib.import_module(module).__all__)
