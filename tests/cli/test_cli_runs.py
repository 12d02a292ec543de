"""Commands in the middle of their work: Ctrl-C, readers that leave, folders that are not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_classification

import alphapath
from alphapath.cli.commands import cv as cv_command
from alphapath.cli.commands import loo as loo_command
from alphapath.cli.commands import search as search_command
from conftest import Run

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}


@pytest.fixture
def hard(folder: Path) -> str:
    """A file that every command below works on for many seconds."""
    X, y = make_classification(3000, 20, n_informative=12, flip_y=0.3, random_state=0)
    dump_svmlight_file(X, y, "hard.svm", zero_based=False)
    return "hard.svm"


def interrupt(arguments: list[str], seconds: float) -> tuple[int, str, str]:
    """Ctrl-C after `seconds` of the command's work (its imports are not counted)."""
    code = (
        "import sys; from alphapath.cli import main, make_parser; make_parser();"
        "print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=120)
    return process.returncode, printed, errors


def test_ctrl_c_keeps_the_rows_of_leave_one_out(hard: str) -> None:
    arguments = ["loo", hard, "-c", "100", "-g", "0.02", "--json", "r.json"]
    code, printed, errors = interrupt(arguments, 4.0)
    assert code == 130, errors
    assert "Traceback" not in errors
    if printed:  # else the full fit was not over yet
        n_done = int(printed.split("rows done")[1].split()[0])
        values = json.loads(Path("r.json").read_text())["decision_function"]
        assert sum(value is not None for value in values) == n_done < 3000


@pytest.mark.parametrize("command", ["cv", "loo"])
def test_ctrl_c_before_there_is_anything(
    command: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name = {
        "cv": (cv_command, "cross_validate"),
        "loo": (loo_command, "leave_one_out"),
    }[command]

    def stop(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, stop)
    code, printed, errors = run(command, "train.svm")
    assert (code, printed, errors) == (130, "", "alphapath: interrupted.\n")


def test_ctrl_c_after_the_search_keeps_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search_command, "count_cold", stop)
    arguments = ["search", "train.svm", "-c", "1,10", "-g", "0.1", "--count-cold", "--json", "r"]
    code, printed, _ = run(*arguments)
    assert code == 130
    assert "train.model" in printed
    assert json.loads(Path("r").read_text())["cv_results"]["status"] == ["solved", "solved"]


def test_a_reader_that_leaves_costs_no_results(folder: Path) -> None:
    """As in `alphapath search ... | head -1`: no traceback, and the files are there."""
    arguments = ["search", "train.svm", "-c", "1,10", "-g", "0.1", "--json", "r.json"]
    with subprocess.Popen(
        [sys.executable, "-m", "alphapath", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 141
    json.loads(Path("r.json").read_text())
    assert Path("report.html").exists()


def test_what_can_not_be_written_is_said_before_the_work(run: Run) -> None:
    for arguments in (
        ["search", "--report", "none/r.html"],
        ["fit", "--model", "none/m"],
        ["cv", "--json", "none/r.json"],
    ):
        code, printed, errors = run(*arguments)
        assert (code, printed) == (2, "")
        assert errors.startswith("alphapath: Cannot write ")
        assert "directory none does not exist" in errors
    Path("full").mkdir()
    assert "full is a directory" in run("cv", "--json", "full")[2]


def test_the_program_alone_shows_its_commands(run: Run) -> None:
    code, printed, errors = run()
    assert (code, printed) == (2, "")
    assert "compare with scikit-learn on your own file" in errors


# -- CSV files as people have them


def write_csv(name: str, text: str) -> None:
    Path(name).write_bytes(text.encode("utf-8"))


def test_a_file_without_a_header(run: Run) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'yes' if a > b else 'no'}" for a, b in rng.normal(size=(60, 2))]
    write_csv("bare.csv", "\n".join(rows))
    code, _, errors = run("fit", "bare.csv", "--target", "3")
    assert code == 2
    assert "line 1:" in errors
    assert "pass --no-header" in errors
    assert run("fit", "bare.csv", "--no-header", "--target", "3", "--model", "m")[0] == 0
    code, printed, errors = run("predict", "bare.csv", "m", "--no-header", "--target", "3")
    assert code == 0
    assert len(printed.split()) == 60
    assert "accuracy 1 (60 of 60)" in errors
    assert "the columns are '1', '2', '3'" in run("fit", "bare.csv", "--no-header")[2]
    write_csv("bare.csv", "1,2,yes\n3,no\n")
    words = "line 2: 2 values, but line 1 has 3 columns"
    assert words in run("fit", "bare.csv", "--no-header", "--target", "3")[2]


def test_names_that_are_whole_numbers_are_names(run: Run) -> None:
    write_csv("frame.csv", "0,1,target\n1,2,0\n2,1,1\n3,4,0\n")
    assert run("fit", "frame.csv", "--model", "m")[0] == 0


def test_a_byte_order_mark_is_no_part_of_a_name(run: Run) -> None:
    write_csv("sheet.csv", "\ufeffgroup;x\r\n0;1\r\n1;2\r\n0;1.5\r\n")
    assert run("fit", "sheet.csv", "--target", "group", "--model", "m")[0] == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,y\n1,0\n\xe4,1\n", "line 3: this is not a text file in UTF-8, byte 0xe4"),
        (b"a,y\n1,0\n1e200,1\n", "line 3: column 'a': 1e200 is too large"),
        (b"1 1:0.5\n-1 1:1e200\n", "line 2: 1e200 is too large"),
        (b"1 1:0.5\n-1 4000000000:1\n", "line 2: index 4000000000 is above"),
        (b"1 1:0.5\n-1 99999999999999999:1\n", "line 2: index 99999999999999999 is above"),
    ],
)
def test_values_that_can_not_be(content: bytes, words: str, run: Run) -> None:
    Path("bad.csv").write_bytes(content)
    code, printed, errors = run("fit", "bad.csv")
    assert (code, printed) == (2, "")
    assert words in errors
    assert errors.count("\n") == 1
