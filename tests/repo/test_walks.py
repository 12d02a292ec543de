"""How far a call walks through the package: the files it enters, and the switches between rooms.

A room is the first folder below the package. A switch is a call or a return from one room to
another; the native core does not count. First calls are made before, so that imports and caches do
not count either. What rises above its limit has got a detour: a property that is called where an
attribute would do, a callback, a value fetched piece by piece.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import alphapath
from alphapath import SVC, LinearSVC
from alphapath.model_selection import SVMSearchCV, cross_validate, leave_one_out

ROOT = str(Path(alphapath.__file__).parent)

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0, 1, -1)

#: The call, its files and its switches at most.
WALKS: dict[str, tuple[Callable[[], Any], int, int]] = {
    "fit": (lambda: SVC().fit(X, y), 20, 18),
    "search": (
        lambda: SVMSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 0.5]}, cv=3).fit(X, y),
        41,
        162,
    ),
    "cross_validate": (lambda: cross_validate(SVC(), X, y, cv=5), 28, 112),
    "leave_one_out": (lambda: leave_one_out(SVC(), X, y), 25, 45),
    "linear fit": (lambda: LinearSVC().fit(X, y), 15, 30),
}


def room_of(path: str) -> str:
    folder, slash, _ = path[len(ROOT) + 1 :].partition("/")
    return folder if slash else "nouns"


def walk(call: Callable[[], Any]) -> tuple[set[str], int]:
    """The files that a call enters, and its switches."""
    files: set[str] = set()
    stack: list[str] = []
    n_switches = 0

    def follow(frame: FrameType, event: str, _: Any) -> None:
        nonlocal n_switches
        path = frame.f_code.co_filename.replace("\\", "/")
        if not path.startswith(ROOT) or event not in ("call", "return"):
            return
        here = room_of(path)
        if event == "call":
            files.add(path[len(ROOT) + 1 :])
            n_switches += bool(stack) and stack[-1] != here
            stack.append(here)
        else:
            stack.pop()
            n_switches += bool(stack) and stack[-1] != here

    gc.disable()  # what dies late would tell its store inside the walk
    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(before)
        gc.enable()
    return files, n_switches


@pytest.mark.parametrize("name", WALKS)
def test_walks_are_short(name: str) -> None:
    call, most_files, most_switches = WALKS[name]
    call()
    call()
    for _ in range(5):  # where the machine is busy, the native core asks whether to stop
        files, n_switches = walk(call)
        if len(files) <= most_files and n_switches <= most_switches:
            return
    assert len(files) <= most_files, sorted(files)
    assert n_switches <= most_switches


def test_a_walk_counts_calls_and_returns_between_rooms() -> None:
    assert walk(lambda: np.zeros(3)) == (set(), 0)
    model = SVC().fit(X, y)
    files, n_switches = walk(lambda: model.predict(X))
    assert "estimators/svc.py" in files
    assert n_switches > 0
    assert n_switches % 2 == 0
