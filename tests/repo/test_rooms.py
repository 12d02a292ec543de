"""The room table: which part of the code may use which other part.

Python rooms are checked by the imports of every file in src/alphapath, C++ rooms by the includes
(and a few telling calls) of every file in cpp. Only the tables below have to change when a room is
added; a file that belongs to no room fails the test. A Python room with sub-packages has floors: a
file uses its own sub-package and the floors below it. No two files use each other, not even by way
of others.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "alphapath"
CPP = ROOT / "cpp"


@dataclass(frozen=True)
class Room:
    """What lives in a room and what it may import; the standard library is always allowed."""

    members: tuple[str, ...]  # module or folder names directly under src/alphapath
    rooms: tuple[str, ...] = ()  # other rooms it may use (its own is always allowed)
    packages: tuple[str, ...] = ()  # third-party packages it may use
    banned_arguments: tuple[str, ...] = ()  # notions it must never be told about


PROBLEM = ("problem",)
SOLVING = (*PROBLEM, "kernels", "core")
BELOW_SEARCH = (*SOLVING, "seeds", "gpu", "solvers", "paths")

ROOMS = {
    "core": Room(("_core",), packages=("numpy",)),
    "problem": Room(
        (
            "problem",
            "errors",
            "interrupt",
            "output_files",
            "version",
        ),
        packages=("numpy",),
    ),
    "kernels": Room(
        ("kernels",),
        ("errors", "core"),
        ("numpy", "scipy"),
        banned_arguments=("y", "labels", "C", "cv", "fold", "folds", "class_weight"),
    ),
    "seeds": Room(("seeds",), SOLVING, ("numpy", "scipy")),
    "gpu": Room(
        ("gpu",),
        SOLVING,
        ("numpy", "scipy", "cupy", "cupyx"),
        banned_arguments=("y", "cv", "fold", "folds", "scoring"),
    ),
    "solvers": Room(
        ("solvers",),
        (*SOLVING, "gpu"),
        ("numpy", "scipy", "threadpoolctl"),
        banned_arguments=("cv", "fold", "folds", "scoring"),
    ),
    # A path that can not pass a degenerate point finishes with a solver.
    "paths": Room(("paths",), (*SOLVING, "solvers"), ("numpy", "scipy", "matplotlib")),
    "search": Room(("search",), BELOW_SEARCH, ("numpy", "scipy", "joblib", "rich", "networkx")),
    "estimators": Room(("estimators",), BELOW_SEARCH, ("numpy", "scipy", "sklearn")),
    "model_selection": Room(
        ("model_selection",),
        (*BELOW_SEARCH, "search", "estimators"),
        ("numpy", "scipy", "joblib", "sklearn"),
    ),
    # As in scikit-learn, a display may ask for the cross-validation that it draws.
    "report": Room(
        ("report",),
        (*PROBLEM, "seeds", "search", "paths", "model_selection"),
        ("numpy", "matplotlib", "sklearn", "rich"),
    ),
    "command": Room(
        ("cli", "__main__"),
        (
            *PROBLEM,
            "kernels",
            "seeds",
            "search",
            "paths",
            "estimators",
            "model_selection",
            "report",
            "front",
        ),
        ("numpy", "sklearn", "rich"),
    ),
    "front": Room(("__init__",), (*PROBLEM, "kernels", "paths", "search", "estimators")),
}

#: Inside a room, from the bottom up; "*" stands for the files that have no floor of their own.
FLOORS: dict[str, tuple[str, ...]] = {
    "solvers": ("native", "precision", "device", "dual primal sequence smooth", "ranking"),
    "paths": ("*", "quadratic ranking"),
    "search": ("*", "folds grid_tree journal"),
    "estimators": ("common", "exchange", "*", "registry"),
    "model_selection": ("scoring", "folds", "grid", "*"),
    "report": ("data_facts score_grid", "displays", "curve_record record_check", "record", "html"),
    "cli": ("failure", "output termination", "files", "*", "commands"),
}

# Rooms of cpp/src, from the bottom: each may use those named here, which stand above it. A header
# is included by its path in cpp/src.
CPP_ROOMS: dict[str, tuple[str, ...]] = {
    "simd": (),
    "base": ("simd",),
    "kernel": ("base", "simd"),
    "quadratic": ("base", "simd"),
    "smooth": ("base", "simd"),
    "factor": ("base", "kernel", "simd"),
    "problem": ("base", "kernel", "simd"),
    "dual": ("base", "kernel", "factor", "problem", "simd"),
    "path": ("base", "kernel", "factor", "problem", "simd"),
    "primal": ("base", "factor", "problem", "simd"),
    "sequence": ("base", "kernel", "problem", "dual", "simd"),
    "ranking": ("base", "kernel", "factor", "problem", "path", "primal", "simd"),
}

PYTHON_HEADERS = re.compile(r"^(Python\.h|nanobind/|pybind11/|numpy/)")
BANNED_HEADERS = {"iostream", "cstdio", "stdio.h", "print", "random"}
BANNED_CALLS = re.compile(r"\b(std::c(?:out|err|log)|f?printf|puts|s?rand|random_device)\b")
# Not C++, but needed: vector instructions, and memory straight from the system.
C_HEADERS = {"immintrin.h", "cpuid.h", "arm_neon.h", "sys/mman.h", "unistd.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)


def room_of(module: str) -> str | None:
    """The room of a dotted module name relative to alphapath ("" is the package itself)."""
    head = module.split(".")[0] or "__init__"
    return next((name for name, room in ROOMS.items() if head in room.members), None)


def imported_modules(tree: ast.AST, package: str) -> Iterator[str]:
    """Absolute names of all modules a file imports; `package` resolves its relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1] + ([base] if base else []))
            if base == "alphapath":  # each name is a room of its own, or a public name
                yield from (f"alphapath.{alias.name}" for alias in node.names)
            else:
                yield base
        elif isinstance(node, ast.Call) and node.args:
            name = ast.unparse(node.func)
            first = node.args[0]
            is_import = name in ("__import__", "import_module", "importlib.import_module")
            if is_import and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def may_use(room: Room, name: str, module: str) -> bool:
    """Whether `room`, called `name`, may import `module` (an absolute dotted name)."""
    top, _, rest = module.partition(".")
    if top != "alphapath":
        return top in sys.stdlib_module_names or top in room.packages
    target = room_of(rest)
    if target is None:  # `from alphapath import SVC`: a name the package offers
        target = "front"
    return target == name or target in room.rooms or rest.split(".")[0] in room.rooms


def python_faults(path: str, source: str) -> list[str]:
    """Sentences for everything in one file of the package that its room forbids."""
    module = path.removesuffix(".pyi").removesuffix(".py").replace("/", ".")
    name = room_of(module.removesuffix(".__init__") if "." in module else module)
    if name is None:
        return [
            f"src/alphapath/{path} belongs to no room: add it to ROOMS in tests/repo/test_rooms.py."
        ]
    room = ROOMS[name]
    tree = ast.parse(source)
    package = ".".join(["alphapath", *path.split("/")[:-1]])
    faults = [
        f"src/alphapath/{path} (room '{name}') imports {used}; that room may use only its own "
        f"files, the rooms {list(room.rooms)} and the packages {list(room.packages)}."
        for used in imported_modules(tree, package)
        if not may_use(room, name, used)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg in room.banned_arguments:
            faults.append(
                f"src/alphapath/{path} line {node.lineno} has an argument called '{node.arg}'; "
                f"the room '{name}' must never be told about {list(room.banned_arguments)}."
            )
    return faults


Edges = set[tuple[str, str]]


def file_edges(sources: dict[str, str]) -> Edges:
    """Which file of the package uses which, by paths; a package's `__init__` is looked through."""
    paths = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for path in sources
    }
    names = {path: list(imported_names(path, source)) for path, source in sources.items()}

    def file_of(module: str, name: str) -> str | None:
        path = paths.get(module, "")
        if not path.endswith("__init__.py"):
            return path or None
        for source, own, bound in names[path]:
            if bound == name and f"{source}.{own}" not in paths:  # offered by the package
                return file_of(source, own)
        return paths.get(f"{module}.{name}")

    edges = set()
    for path in sources:
        for module, name, _ in names[path]:
            target = file_of(module, name)
            if target is not None and target != path:
                edges.add((path, target))
    return {(a, b) for a, b in edges if "__init__" not in a + b}


def imported_names(path: str, source: str) -> Iterator[tuple[str, str, str]]:
    """Module (relative to alphapath), name there and name here of all that a file imports."""
    package = path.split("/")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            parents = package[: len(package) - node.level + 1]
            module = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                yield module, alias.name, alias.asname or alias.name


def floor_faults(edges: Edges) -> list[str]:
    """Sentences for every use of a floor that is not below."""
    faults = []
    for user, used in sorted(edges):
        room, _, rest = user.partition("/")
        if room not in FLOORS or used.split("/")[0] != room:
            continue
        own, other = (
            name.split("/")[0].removesuffix(".py") for name in (rest, used[len(room) + 1 :])
        )
        floors = {
            name: number for number, floor in enumerate(FLOORS[room]) for name in floor.split()
        }
        level, goal = (floors.get(name, floors.get("*", -1)) for name in (own, other))
        is_beside = goal == level and own not in floors and other not in floors
        if goal >= level and own != other and not is_beside:
            faults.append(
                f"src/alphapath/{user} uses {used}; the floors of '{room}' are, from the bottom, "
                f"{list(FLOORS[room])}, and a file uses its own and those below."
            )
        if -1 in (level, goal):
            faults.append(f"src/alphapath/{user} or {used} has no floor in '{room}'.")
    return faults


def find_cycle(edges: Edges) -> list[str]:
    """Files that use each other in a circle; empty where there is none."""
    uses: dict[str, list[str]] = {}
    for user, used in sorted(edges):
        uses.setdefault(user, []).append(used)
    done: set[str] = set()
    for first in uses:
        trail, stack = [], [(first, False)]
        while stack:
            path, is_left = stack.pop()
            if is_left:
                trail.pop()
                done.add(path)
            elif path in trail:
                return [*trail[trail.index(path) :], path]
            elif path not in done:
                trail.append(path)
                stack.append((path, True))
                stack += [(used, False) for used in uses.get(path, [])]
    return []


def cpp_faults(path: str, source: str) -> list[str]:
    """Sentences for everything in one C++ file that its folder forbids."""
    folder, room = [*path.split("/"), ""][:2]
    if folder == "bindings":
        return []
    if folder == "src" and room not in CPP_ROOMS:
        return [f"cpp/{path} belongs to no room: add it to CPP_ROOMS in tests/repo/test_rooms.py."]
    faults = []
    for opening, header in INCLUDE.findall(source):
        if PYTHON_HEADERS.match(header):
            faults.append(
                f"cpp/{path} includes {header}: only cpp/bindings may include Python headers."
            )
        elif folder == "tests":
            continue
        elif header in BANNED_HEADERS:
            faults.append(
                f"cpp/{path} includes <{header}>: the core neither prints nor draws hidden random "
                "numbers; return a value, or take a generator as an argument."
            )
        elif opening == "<" and not re.fullmatch(r"[a-z_]+", header) and header not in C_HEADERS:
            faults.append(
                f"cpp/{path} includes <{header}>: the core may use only the C++ standard library "
                f"and {sorted(C_HEADERS)}."
            )
        elif opening == '"' and header.split("/")[0] not in (room, *CPP_ROOMS[room]):
            faults.append(
                f'cpp/{path} (room {room}) includes "{header}": that room may use only its own '
                f"files and the rooms {list(CPP_ROOMS[room])}."
            )
    if folder != "tests":
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.S)
        faults += [
            f"cpp/{path} uses {call}: the core neither prints nor draws hidden random numbers."
            for call in sorted(set(BANNED_CALLS.findall(code)))
        ]
    return faults


def files(folder: Path, *patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.rglob(pattern))


def test_python_rooms() -> None:
    faults = [
        fault
        for path in files(PACKAGE, "*.py", "*.pyi")
        for fault in python_faults(path.relative_to(PACKAGE).as_posix(), path.read_text())
    ]
    assert not faults, "\n".join(faults)


def test_floors_and_cycles() -> None:
    sources = {
        path.relative_to(PACKAGE).as_posix(): path.read_text() for path in files(PACKAGE, "*.py")
    }
    edges = file_edges(sources)
    assert ("solvers/dual/smo.py", "solvers/native.py") in edges
    faults = floor_faults(edges)
    assert not faults, "\n".join(faults)
    assert not find_cycle(edges), " uses ".join(find_cycle(edges))


def test_floors_are_folders_and_files() -> None:
    for room, floors in FLOORS.items():
        for name in " ".join(floors).replace("*", "").split():
            place = PACKAGE / room / name
            assert place.is_dir() or place.with_suffix(".py").is_file(), f"{room} has no {name}."


def test_a_package_is_looked_through() -> None:
    sources = {
        "kernels/__init__.py": "from .store import KernelStore\nfrom . import rbf",
        "kernels/store.py": "from .rbf import Rbf",
        "kernels/rbf.py": "import numpy",
        "solvers/dual/smo.py": "from ...kernels import KernelStore, rbf\nfrom ..native import run",
        "solvers/native.py": "def run():\n    from .dual.smo import solve",
    }
    assert file_edges(sources) == {
        ("kernels/store.py", "kernels/rbf.py"),
        ("solvers/dual/smo.py", "kernels/store.py"),
        ("solvers/dual/smo.py", "kernels/rbf.py"),
        ("solvers/dual/smo.py", "solvers/native.py"),
        ("solvers/native.py", "solvers/dual/smo.py"),
    }


@pytest.mark.parametrize(
    ("user", "used", "is_fault"),
    [
        ("solvers/dual/smo.py", "solvers/native.py", False),
        ("solvers/dual/smo.py", "solvers/dual/newton.py", False),
        ("solvers/dual/smo.py", "kernels/store.py", False),
        ("solvers/native.py", "solvers/dual/smo.py", True),
        ("solvers/dual/smo.py", "solvers/smooth/newton.py", True),
        ("search/plan.py", "search/chain.py", False),
        ("search/plan.py", "search/folds/run.py", True),
        ("estimators/common/base.py", "estimators/svc.py", True),
    ],
)
def test_a_floor_uses_what_is_below(user: str, used: str, is_fault: bool) -> None:
    faults = floor_faults({(user, used)})
    assert len(faults) == is_fault
    assert all(user in fault and used in fault for fault in faults)


def test_cycles_are_found() -> None:
    chain = {("a.py", "b.py"), ("b.py", "c.py"), ("a.py", "c.py")}
    assert find_cycle(chain) == []
    cycle = find_cycle(chain | {("c.py", "b.py")})
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {"b.py", "c.py"}


def test_cpp_rooms() -> None:
    faults = [
        fault
        for path in files(CPP, "*.hpp", "*.cpp", "*.h")
        for fault in cpp_faults(path.relative_to(CPP).as_posix(), path.read_text())
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("path", "source", "word"),
    [
        ("solvers/dual/smo.py", "from sklearn.svm import SVC", "sklearn.svm"),
        ("solvers/dual/smo.py", "from alphapath.seeds import sir", "alphapath.seeds"),
        ("solvers/dual/smo.py", "from ...seeds.sir import sir", "alphapath.seeds.sir"),
        ("solvers/dual/smo.py", "from ... import estimators", "alphapath.estimators"),
        ("solvers/dual/smo.py", "from alphapath import SVC", "alphapath.SVC"),
        ("solvers/dual/smo.py", "def f():\n    import sklearn", "sklearn"),
        ("solvers/dual/smo.py", "import importlib\nimportlib.import_module('sklearn')", "sklearn"),
        ("problem/box_problem.py", "from alphapath.solvers import smo", "alphapath.solvers"),
        ("problem/certificate.py", "import scipy.sparse", "scipy.sparse"),
        ("kernels/store.py", "from alphapath.problem import Problem", "alphapath.problem"),
        ("kernels/store.py", "def view(X, *, C): ...", "'C'"),
        ("search/runner.py", "from sklearn.base import clone", "sklearn.base"),
        ("report/html/page.py", "from alphapath.solvers import smo", "alphapath.solvers"),
        ("estimators/svc.py", "from ..model_selection import x", "alphapath.model_selection"),
        ("helpers.py", "x = 1", "no room"),
    ],
)
def test_an_offending_import_is_named(path: str, source: str, word: str) -> None:
    faults = python_faults(path, source)
    assert len(faults) == 1
    assert word in faults[0]
    assert path in faults[0]


def test_cpp_rooms_stand_on_rooms_above_them_in_the_table() -> None:
    rooms = list(CPP_ROOMS)
    for k, room in enumerate(rooms):
        assert set(CPP_ROOMS[room]) <= set(rooms[:k]), room


def test_no_cycle_between_cpp_folders_and_between_headers() -> None:
    folders: Edges = set()
    headers: Edges = set()
    for path in files(CPP / "src", "*.hpp", "*.cpp"):
        name = path.relative_to(CPP / "src").as_posix()
        for opening, used in INCLUDE.findall(path.read_text()):
            ends = (posixpath.dirname(name), posixpath.dirname(used))
            if opening == '"' and ends[0] != ends[1]:
                folders.add(ends)
            if opening == '"' and path.suffix == ".hpp":
                headers.add((name, used))
    assert folders
    assert headers
    assert find_cycle(folders) == []
    assert find_cycle(headers) == []


@pytest.mark.parametrize(
    ("path", "source", "word"),
    [
        ("src/dual/smo.cpp", "#include <Python.h>\n", "Python.h"),
        ("src/base/a.hpp", "#include <nanobind/nanobind.h>\n", "nanobind"),
        ("tests/smo.cpp", "#include <nanobind/ndarray.h>\n", "nanobind"),
        ("src/dual/smo.cpp", "#include <iostream>\n", "iostream"),
        ("src/dual/smo.cpp", "#include <random>\n", "random"),
        ("src/dual/smo.cpp", "#include <cblas.h>\n", "cblas.h"),
        ("src/dual/smo.cpp", '#include "path/walker.hpp"\n', "path/walker.hpp"),
        ("src/dual/smo.cpp", '#include "smo.hpp"\n', "smo.hpp"),
        ("src/dual/smo.cpp", "int f() { return rand(); }\n", "rand"),
        ("src/smo.cpp", "#include <vector>\n", "no room"),
    ],
)
def test_an_offending_include_is_named(path: str, source: str, word: str) -> None:
    faults = cpp_faults(path, source)
    assert len(faults) == 1
    assert word in faults[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("solvers/dual/smo.py", "import numpy as np\nfrom alphapath import _core\nfrom . import x"),
        ("solvers/dual/smo.py", "from alphapath.kernels.store import KernelView"),
        ("kernels/store.py", "from ..errors import KernelError\nfrom alphapath._core import Gram"),
        ("estimators/svc.py", "from sklearn.base import BaseEstimator\nfrom ..solvers import smo"),
        ("model_selection/search_cv.py", "from ..estimators.common.base import BaseSVM"),
        ("__init__.py", "from alphapath.estimators import SVC"),
    ],
)
def test_a_rightful_import_passes(path: str, source: str) -> None:
    assert python_faults(path, source) == []


def test_comments_and_bindings_pass() -> None:
    assert cpp_faults("src/dual/smo.cpp", "// never printf here\n#include <vector>\n") == []
    assert cpp_faults("bindings/module.cpp", "#include <nanobind/nanobind.h>\n") == []
