"""Commands read streams whole: the standard input, pipes and devices, compressed or not."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sklearn.datasets import load_wine

import alphapath
from conftest import Run

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}
PACKERS: dict[str, Any] = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress}


@contextlib.contextmanager
def pipe_with(content: bytes, name: str = "pipe") -> Iterator[str]:
    """A named pipe into which `content` is written once, in pieces."""
    os.mkfifo(name)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), open(name, "wb") as file:
            for k in range(0, len(content), 4096):
                file.write(content[k : k + 4096])

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    yield name
    thread.join(timeout=10)
    os.unlink(name)


#: Arguments of each command, and where its JSON has answers that depend on every row.
COMMANDS = {
    "fit": (["train.svm", "-c", "2"], ["certificate"]),
    "search": (["train.svm", "-c", "1,8", "-g", "0.1"], ["cv_results", "mean_test_score"]),
    "cv": (["train.svm"], ["test_score"]),
    "loo": (["train.svm"], ["decision_function"]),
    "path": (["two.svm", "-g", "0.02", "--most", "8"], ["first"]),
    "one-class": (["train.svm", "-c", "1,16", "-g", "0.1"], ["results", "relative_gap"]),
    "rank": (["queries.svm", "-c", "0.1"], ["ndcg"]),
    "compare": (["train.svm", "-c", "1,8", "-g", "0.1"], ["scikit-learn"]),
}


def results_of(run: Run, *arguments: str) -> Any:
    """The answers of a command."""
    code, _, errors = run(*arguments, "--json", "r.json")
    assert code == 0, errors
    record = json.loads(Path("r.json").read_text())
    for name in COMMANDS[arguments[0]][1]:
        record = record[name]
    return record


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_is_read_whole(command: str, run: Run) -> None:
    name, *options = COMMANDS[command][0]
    expected = results_of(run, command, name, *options)
    content = Path(name).read_bytes()
    assert len(content) > 2 * 8192
    with pipe_with(content) as pipe:
        assert results_of(run, command, pipe, *options) == expected


@pytest.mark.parametrize("form", PACKERS)
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_the_standard_input_is_read_whole(
    name: str, form: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = results_of(run, "fit", "train.svm")
    content = PACKERS[form](Path("train.svm").read_bytes())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert results_of(run, "fit", name) == expected
    assert Path("data.model").read_bytes() == Path("train.model").read_bytes()


def test_a_csv_stream_is_read_whole(run: Run) -> None:
    X, y = load_wine(return_X_y=True)
    lines = [",".join([f"x{k}" for k in range(13)] + ["y"])]
    lines += [",".join([*map(str, row), str(label)]) for row, label in zip(X, y, strict=True)]
    Path("wine.csv").write_text("\n".join(lines))
    expected = results_of(run, "fit", "wine.csv", "--scale", "minmax")
    assert run("predict", "wine.csv", "wine.model", "file.txt")[0] == 0
    content = gzip.compress(Path("wine.csv").read_bytes())
    with pipe_with(content) as pipe:
        assert results_of(run, "fit", pipe, "--scale", "minmax") == expected
    with pipe_with(Path("wine.csv").read_bytes()) as pipe:
        assert run("predict", pipe, "wine.model", "pipe.txt")[0] == 0
    assert Path("pipe.txt").read_bytes() == Path("file.txt").read_bytes()
    assert len(Path("pipe.txt").read_text().splitlines()) == 178


def test_a_shell_substitutes_a_process(run: Run) -> None:
    """As users write it: alphapath fit <(cat train.svm)."""
    assert run("fit", "train.svm")[0] == 0
    script = f"'{sys.executable}' -m alphapath fit <(cat train.svm)"
    done = subprocess.run(
        ["bash", "-c", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert "89 x 13" in done.stdout
    assert Path("data.model").read_bytes() == Path("train.model").read_bytes()


def test_what_is_wrong_in_a_stream_is_one_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, words in (
        (b"", "standard input, line 1: the file is empty"),
        (b"1 1:1\n-1 2:x\n", "standard input, line 2: 'x' is not a finite number"),
        (gzip.compress(b"1 1:1\n" * 9)[:-12], "standard input cannot be unpacked"),
    ):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        code, printed, errors = run("fit", "-")
        assert (code, printed) == (2, "")
        assert words in errors
        assert errors.count("\n") == 1


def test_content_and_not_the_name_tells_what_is_compressed(run: Run) -> None:
    content = Path("train.svm").read_bytes()
    expected = results_of(run, "fit", "train.svm")
    for name, form in (("A.SVM.GZ", "gz"), ("b.svm", "gz"), ("c.data", "bz2")):
        Path(name).write_bytes(PACKERS[form](content))
        assert results_of(run, "fit", name) == expected
    Path("d.svm.gz").write_bytes(content)
    code, _, errors = run("fit", "d.svm.gz")
    assert (code, errors.count("\n")) == (2, 1)
    assert "its content is not in the format gz" in errors
