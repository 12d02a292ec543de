"""The committed stub of the compiled module says what the compiled module offers.

Only names and arguments are compared: how nanobind spells a type changes with its version.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def outline(stub: str) -> set[str]:
    """One line per class, function and method, with its argument names."""
    lines: set[str] = set()

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                lines.add(f"class {prefix}{node.name}")
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                names = ", ".join(argument.arg for argument in arguments)
                lines.add(f"{prefix}{node.name}({names})")

    visit(ast.parse(stub).body, "")
    return lines


def test_the_stub_is_up_to_date() -> None:
    path = ROOT / "tools" / "make_stubs.py"
    spec = importlib.util.spec_from_file_location("make_stubs", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    committed, current = outline(tool.STUB.read_text()), outline(tool.generated_stub())
    assert committed == current, (
        "src/alphapath/_core.pyi is out of date: run `python tools/make_stubs.py`.\n"
        f"Missing there: {sorted(current - committed)}\n"
        f"No longer offered: {sorted(committed - current)}"
    )


def test_the_outline_sees_a_changed_argument() -> None:
    before = outline("class A:\n    def f(self, x: int) -> int: ...\n")
    after = outline("class A:\n    def f(self, z: int) -> int: ...\n")
    assert before == {"class A", "A.f(self, x)"}
    assert before != after
