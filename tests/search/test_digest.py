"""Digests: content and code count; names, addresses, places of files and lines do not."""

from __future__ import annotations

import enum
import functools
import logging
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC as PEER

from alphapath import SVC
from alphapath.errors import JournalError
from alphapath.search.journal.digest import digest, digest_facts


def test_digests_depend_on_content_alone() -> None:
    X = np.arange(12.0).reshape(3, 4)
    assert digest(X) == digest(X.copy()) == digest(np.asfortranarray(X))
    assert digest(sp.csr_array(X)) == digest(sp.csr_array(X.copy()))
    assert digest({"C": [1, 2], "gamma": 0.5}) == digest({"gamma": 0.5, "C": [1, 2]})
    assert digest({1, 2, 3}) == digest({3, 2, 1})
    assert digest(np.float64(0.5)) == digest(0.5)
    assert digest(digest) == digest(digest)
    assert digest(object()) == digest(object())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(3), np.zeros(3, dtype=np.float32)),
        (np.zeros(3), -np.zeros(3)),
        (np.array(["a", "bc"], dtype=object), np.array(["ab", "c"], dtype=object)),
        (["a", "bc"], ["ab", "c"]),
        ([[1], 2], [[1, 2]]),
        (1, 1.0),
        (1, True),
        ("1", 1),
        (None, "None"),
        (np.sum, np.mean),
        (sp.csr_array(np.eye(3)), np.eye(3)),
    ],
)
def test_different_contents_have_different_digests(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


OFFSET = 1.0
logger = logging.getLogger("tests")


class Kernel:
    def __init__(self, width: float) -> None:
        self.width = width
        self.lock = threading.Lock()

    def __call__(self, A: Any, B: Any) -> Any:
        logger.debug("called")
        return np.exp(-self.width * (A @ B.T)) + OFFSET


class Doubled(StandardScaler):
    def transform(self, X: Any, copy: Any = None) -> Any:
        return 2.0 * super().transform(X, copy)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Table(dict[str, int]):
    pass


@functools.lru_cache
def square(x: float) -> float:
    return x * x


def times(factor: float) -> Any:
    return lambda x: factor * x


def offset(x: float) -> float:
    return x + OFFSET


#: No two of them may have the same digest.
VALUES: dict[str, Any] = {
    "lambda": lambda x: x + 1,
    "another lambda": lambda x: x + 2,
    "more arguments": lambda x, *, y=1: x + 1,
    "default": lambda x=1: x,
    "another default": lambda x=2: x,
    "closure": times(1.0),
    "another closure": times(2.0),
    "nested": lambda x: [y + 1 for y in x],
    "another nested": lambda x: [y + 2 for y in x],
    "attribute": lambda x: x.real,
    "another attribute": lambda x: x.imag,
    "partial": functools.partial(times, 1.0),
    "another partial": functools.partial(times, factor=1.0),
    "cached": square,
    "state": Kernel(1.0),
    "another state": Kernel(2.0),
    "method": Kernel(1.0).__call__,
    "another method": Kernel(2.0).__call__,
    "builtin method": "text".join,
    "another builtin method": "other".join,
    "ufunc": np.exp,
    "another ufunc": np.tanh,
    "pattern": re.compile("x"),
    "another pattern": re.compile("y"),
    "member": Colour.RED,
    "another member": Colour.BLUE,
    "class": Colour,
    "subclass": Table(a=1),
    "another subclass": Table(a=2),
    "dictionary": {"a": 1},
    "set": {"a", 1, (2, 3)},
    "generator": np.random.default_rng(0),
    "another generator": np.random.default_rng(1),
    "scorer": make_scorer(accuracy_score),
    "another scorer": make_scorer(accuracy_score, greater_is_better=False),
    "estimator": SVC(),
    "another estimator": SVC(C=2.0),
    "peer": PEER(),
    "subclassed": Doubled(),
    "subclassed peer": StandardScaler(),
    "prepared": FrozenEstimator(StandardScaler().fit([[1.0], [2.0]])),
    "otherwise prepared": FrozenEstimator(StandardScaler().fit([[1.0], [3.0]])),
    "fitted method": SVC().fit([[0.0], [1.0]], [0, 1]).predict,
    "otherwise fitted method": SVC().fit([[0.0], [2.0]], [0, 1]).predict,
    "pipeline": make_pipeline(FunctionTransformer(lambda X: X), SVC()),
    "another pipeline": make_pipeline(FunctionTransformer(lambda X: -X), SVC()),
    "columns": ColumnTransformer([("a", "passthrough", list(range(500)))]),
    "other columns": ColumnTransformer([("a", "passthrough", [*range(499), 500])]),
    "long array": np.arange(2000),
    "another long array": np.r_[:1000, 1001, 1001:2000],
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),  # type: ignore[no-untyped-call]
    "otherwise masked": np.ma.array([1.0, 2.0], mask=[True, False]),  # type: ignore[no-untyped-call]
    "extended": np.array([1, 3], dtype=np.longdouble) / 3,
    "record": np.zeros(2, dtype=[("a", "i1"), ("b", "f8")]),
    "another record": np.zeros(2, dtype=[("a", "i1"), ("c", "f8")]),
    "table": pd.DataFrame({"a": [1, 2], "b": [3, 4]}),
    "another table": pd.DataFrame({"b": [1, 2], "a": [3, 4]}),
    "categories": pd.Series(["a", "b"], dtype="category"),
    "other categories": pd.Series(pd.Categorical(["a", "b"], ["b", "a"])),
}


def test_no_two_things_have_the_same_digest() -> None:
    found: dict[str, str] = {}
    for name, value in VALUES.items():
        code = digest(value)
        assert code not in found, f"{name} and {found[code]}"
        found[code] = name


def test_equal_things_have_the_same_digest() -> None:
    for one, other in [
        (lambda x: x + 1, lambda x: x + 1),
        (times(1.0), times(1.0)),
        (Kernel(1.0), Kernel(1.0)),
        (SVC().fit([[0.0], [1.0]], [0, 1]), SVC()),
        (make_pipeline(StandardScaler().fit([[1.0]])), make_pipeline(StandardScaler())),
        (np.random.default_rng(3), np.random.default_rng(3)),
        (np.array([1, 3], dtype=np.longdouble) / 3, np.array([1, 3], dtype=np.longdouble) / 3),
        ([VALUES["state"], VALUES["state"]], [Kernel(1.0), Kernel(1.0)]),
    ]:
        assert digest(one) == digest(other), one


def test_a_global_counts_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(offset), digest(Kernel(1.0)), digest(square)
    monkeypatch.setitem(offset.__globals__, "OFFSET", 2.0)
    after = digest(offset), digest(Kernel(1.0)), digest(square)
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True]


def test_what_holds_itself_has_a_digest() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert digest(loop) == digest(loop) != digest([1, [1]])

    def recursive(n: int) -> int:
        return n and recursive(n - 1)

    assert digest(recursive) == digest(recursive)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda: sys.stdout, "is an object of type"),
        ((x for x in [1]), "type 'generator'"),
        (functools.reduce(lambda inner, _: [inner], range(5000), []), "nested too deeply"),
    ],
)
def test_what_has_no_content_is_refused(value: Any, words: str, tmp_path: Path) -> None:
    if callable(value):
        with (tmp_path / "open.txt").open("w") as file, pytest.raises(JournalError, match=words):
            digest_facts({"estimator": (SVC(kernel=lambda A, B: file.write("")),)})
        return
    with pytest.raises(JournalError, match=f"Of its grid: .*{words}"):
        digest_facts({"grid": (value,)})


MODULE = """
import numpy as np
import helper
from helper import scale

def inner(A, B):
    import late
    return late.power(scale * helper.product(A, B))

class Kernel:
    sets = frozenset({"a", "b", ("c", 1)})

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, A, B):
        return inner(A, B) if "a" in {"a", "b", "c"} else self.parts
"""
HELPER = "scale = 2.0\ndef product(A, B):\n    return A @ B.T\n"
LATE = "def power(A):\n    return A ** 2\n"
CODE = """
import importlib, sys
from alphapath.search.journal.digest import digest
for folder in sys.argv[1:]:
    sys.path[0] = folder
    importlib.invalidate_caches()
    for name in ("kernels", "helper", "late"):
        sys.modules.pop(name, None)
    kernel = importlib.import_module("kernels").Kernel({"x", "y", "z"})
    print(digest(kernel, {"b": {1, "q"}, "a": None}))
"""


def digests_elsewhere(folders: list[str], seed: str) -> list[str]:
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", CODE, *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return done.stdout.split()


def test_a_digest_is_the_same_in_another_process_and_place(tmp_path: Path) -> None:
    files = {"kernels": MODULE, "helper": HELPER, "late": LATE}
    variants: dict[str, dict[str, str]] = {
        "plain": {},
        "commented": {"kernels": "# a comment\n\n" + MODULE},
        "helper": {"helper": HELPER.replace("A @ B.T", "B @ A.T")},
        "late": {"late": LATE.replace("2", "3")},
        "inner": {"kernels": MODULE.replace("scale *", "scale +")},
    }
    for variant, changes in variants.items():
        (tmp_path / variant).mkdir()
        for name, text in (files | changes).items():
            (tmp_path / variant / f"{name}.py").write_text(text)
    folders = [str(tmp_path / variant) for variant in variants]
    found = digests_elsewhere(folders, "1")
    assert digests_elsewhere(folders[::-1], "2") == found[::-1]
    assert found[0] == found[1]
    assert len(set(found)) == 4


#: Files in which {} is edited, and code that reaches it by `f`.
PARTS = {"part.py": "def one(x): return x\ndef two(x): return x + {}\n"}
PACK = {"pack/__init__.py": "", "pack/sub.py": PARTS["part.py"]}
SHORT = {"pack/__init__.py": "from .sub import two\n", "pack/sub.py": PARTS["part.py"]}
PASSED_ON = {"through.py": "from part import two\n", **PARTS}
REACHED: dict[str, tuple[dict[str, str], str]] = {
    "attribute": (PARTS, "import part\nf = lambda x: part.two(x)"),
    "closure": (PARTS, "import part\ndef g(m):\n    return lambda x: m.two(x)\nf = g(part)"),
    "default": (PARTS, "import part\nf = lambda x, m=part: m.two(x)"),
    "local name": (PARTS, "import part\ndef f(x):\n    m = part\n    return m.two(x)"),
    "by name": (PARTS, "import part\nf = lambda x: getattr(part, 'two')(x)"),
    "table": (PARTS, "import part\ntable = {1: part}\nf = lambda x: table[1].two(x)"),
    "state": (
        PARTS,
        "import part\nclass K:\n    def __init__(self):\n        self.m = part\n"
        "    def __call__(self, x):\n        return self.m.two(x)\nf = K()",
    ),
    "module of a package": (
        PACK,
        "import pack.sub\ng = lambda x: pack.sub.one(x)\nh = lambda x: pack.sub.two(x)\nf = [g, h]",
    ),
    "import in a function": (PARTS, "def f(x):\n    import part\n    return part.two(x)"),
    "import from a module": (PARTS, "def f(x):\n    from part import two\n    return two(x)"),
    "import from a package": (PACK, "def f(x):\n    from pack import sub\n    return sub.two(x)"),
    "import of a package": (SHORT, "def f(x):\n    import pack\n    return pack.two(x)"),
    "import of an import": (PASSED_ON, "def f(x):\n    import through\n    return through.two(x)"),
    "name in a library": (
        {"patch.py": "import scipy.linalg\nscipy.linalg.patched = lambda x: x + {}\n"},
        "import scipy, patch\nf = lambda x: scipy.linalg.patched(x)",
    ),
}


@pytest.mark.parametrize("name", REACHED)
def test_an_edit_counts_however_the_code_reaches_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, code = REACHED[name]
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(scipy.linalg, "patched", None, raising=False)

    def digest_with(number: str) -> str:
        folder = tmp_path / number
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace("{}", number))
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            scope: dict[str, Any] = {"__name__": "script"}
            try:
                exec(code, scope)
                return digest(scope["f"])
            finally:
                for module in ("part", "pack", "pack.sub", "through", "patch"):
                    sys.modules.pop(module, None)

    assert digest_with("1") == digest_with("1") != digest_with("2")
