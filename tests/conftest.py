"""Settings that must be made before the libraries are imported, and fixtures of several files."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# scikit-learn's estimator checks leave out array-API input without it.
os.environ["SCIPY_ARRAY_API"] = "1"
# A shell's background jobs ignore Ctrl-C, and all that they start would do so too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files that the examples of the command line name."""
    from sklearn.datasets import dump_svmlight_file, load_wine
    from sklearn.preprocessing import minmax_scale

    monkeypatch.chdir(tmp_path)
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X, (-1.0, 1.0))
    dump_svmlight_file(X[::2], y[::2], "train.svm", zero_based=False)
    dump_svmlight_file(X[1::2], y[1::2], "test.svm", zero_based=False)
    dump_svmlight_file(X[y < 2], y[y < 2], "two.svm", zero_based=False)
    queries = (np.arange(len(y)) * 7) % 12
    for name, rows in (("queries.svm", queries < 8), ("more.svm", queries >= 8)):
        kept = {"query_id": queries[rows], "zero_based": False}
        dump_svmlight_file(X[rows], y[rows], name, **kept)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs one command in `folder`; gives the exit code and what was printed."""
    from alphapath import cli

    monkeypatch.setattr(cli.warnings, "showwarning", cli.warnings.showwarning)

    def call(*arguments: object) -> tuple[int, str, str]:
        with cli.warnings.catch_warnings():
            cli.warnings.simplefilter("always")
            try:
                code = cli.main([str(argument) for argument in arguments])
            except SystemExit as error:
                code = int(error.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Working sets and rounds of the gpu room so small that every part of its driver is used."""
    from alphapath.gpu import batch, state, store

    for module in (state, store):
        monkeypatch.setattr(module, "SIZE", 32)
    monkeypatch.setattr(batch, "COMMON_ROUNDS", 16)
    monkeypatch.setattr(batch, "FREE_SET_ROUNDS", 24)


@pytest.fixture
def reference_device(monkeypatch: pytest.MonkeyPatch, small_sets: None) -> None:
    """device="cuda" means the NumPy reference."""
    from alphapath.gpu import DeviceStore

    made = DeviceStore.__init__

    def make(self: Any, X: Any, *, memory_limit: Any = None, xp: Any = None) -> None:
        made(self, X, memory_limit=memory_limit, xp=np)

    monkeypatch.setattr(DeviceStore, "__init__", make)


@pytest.fixture
def one_by_one(monkeypatch):
    """Pairs are solved one by one inside the context that this gives."""

    def switch():
        monkeypatch.setattr("alphapath.estimators.common.problems.MOST_INSTANCES", 0)

    return switch
