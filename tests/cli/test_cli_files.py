"""Outputs never overwrite inputs, each other, or files of other programs."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import alphapath
from alphapath.cli import COMMANDS, load_command, make_parser
from alphapath.cli.files.plan import INPUTS, OUTPUTS
from alphapath.cli.files.text import input_file
from conftest import Run

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def refused(run: Run, *arguments: str) -> str:
    """The sentence; nothing was changed, made or deleted."""
    before = contents()
    code, printed, errors = run(*arguments)
    assert (code, printed, errors.count("\n")) == (2, "", 1), errors
    assert contents() == before
    return errors


@pytest.fixture
def made(run: Run) -> Run:
    """Inputs of all commands."""
    assert run("fit", "train.svm", "--scale", "minmax", "--save-range", "s.range")[0] == 0
    arguments = ["-c", "1,8", "-g", "0.1", "--model", "m", "--json", "r.json", "--journal", "j.db"]
    assert run("search", "train.svm", *arguments)[0] == 0
    shutil.copy("train.svm", "z.model")
    os.link("train.svm", "hard")
    Path("soft").symlink_to("train.svm")
    Path("sub").mkdir()
    return run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("fit train.svm --model train.svm", "--model is train.svm, which is the input file"),
        ("fit train.svm --model ./sub/../train.svm", "which is the input file"),
        ("fit train.svm --model hard", "which is the input file"),
        ("fit train.svm --json soft", "which is the input file"),
        ("fit soft --model train.svm", "which is the input file"),
        ("fit z.model", "--model is z.model, which is the input file"),
        ("predict train.svm m train.svm", "the output is train.svm, which is the input file"),
        ("predict test.svm m m", "the output is m, which is the model file"),
        ("predict test.svm m m.meta.json", "which is the companion of the model file"),
        ("predict test.svm m s.range --range s.range", "which is the file of --range"),
        ("search train.svm --journal train.svm", "--journal is train.svm"),
        ("search train.svm --report j --journal j", "--journal is j, which is also --report"),
        ("search train.svm --report j-wal --journal j", "a part of --journal is j-wal"),
        ("search train.svm --json j-lock --journal j", "a part of --journal is j-lock"),
        ("report j.db --output j.db-lock", "which is a part of the input file"),
        ("search train.svm --report x --json x", "--report is x, which is also --json"),
        ("search train.svm --model x --json x", "--json is x, which is also --model"),
        ("search train.svm --model x --json x.meta.json", "which is also the companion of"),
        ("search train.svm --report train.json", "--report is train.json, which is also --json"),
        ("fit train.svm --scale minmax --save-range n --json n", "--json is n"),
        ("cv train.svm --json train.svm", "which is the input file"),
        ("loo train.svm --output v --json v", "the output is v, which is also --json"),
        ("loo train.svm --output train.svm", "which is the input file"),
        ("path two.svm --report two.svm", "which is the input file"),
        ("one-class train.svm --model train.svm", "which is the input file"),
        ("rank queries.svm --valid more.svm --model more.svm", "which is the file of --valid"),
        ("rank queries.svm --test more.svm --json more.svm", "which is the file of --test"),
        ("compare train.svm --json train.svm", "which is the input file"),
        ("report r.json --output r.json", "--output is r.json, which is the input file"),
        ("report j.db --output j.db", "--output is j.db, which is the input file"),
        ("report j.db --output j.db-wal", "which is a part of the input file"),
    ],
)
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_an_output_is_no_input_and_no_other_output(
    arguments: str, words: str, force: list[str], made: Run
) -> None:
    assert words in refused(made, *arguments.split(), *force)


@pytest.mark.parametrize(
    ("arguments", "name", "kind"),
    [
        ("fit train.svm --model two.svm", "two.svm", "model file"),
        ("fit train.svm --model notes", "notes.meta.json", "companion of a model"),
        ("fit train.svm --json package.json", "package.json", "JSON file"),
        ("search train.svm --report notes.html", "notes.html", "report"),
        ("predict train.svm m two.svm", "two.svm", "text output"),
        ("predict train.svm m rows.csv", "rows.csv", "text output"),
        ("predict train.svm m image", "image", "text output"),
        ("loo train.svm --output r.json", "r.json", "text output"),
        ("fit train.svm --scale minmax --save-range two.svm", "two.svm", "range file"),
    ],
)
def test_files_of_other_programs_need_force(
    arguments: str, name: str, kind: str, made: Run
) -> None:
    Path("notes.meta.json").write_text("{}")
    Path("package.json").write_text('{\n "name": "alphapath"}')
    Path("notes.html").write_text("<!DOCTYPE html>\n<html><head><title>notes</title>")
    Path("rows.csv").write_text("a,y\n1,0\n")
    Path("image").write_bytes(b"\x89PNG\r\n\x1a\n\0\n")
    errors = refused(made, *arguments.split())
    assert f"{name} exists and is not a {kind} of alphapath" in errors
    before = Path(name).read_bytes()
    assert made(*arguments.split(), "--force")[0] == 0
    assert Path(name).read_bytes() != before


def test_a_second_run_overwrites_the_first(run: Run) -> None:
    """With all outputs of each command, and names of classes that are no single words."""
    Path("words.csv").write_text(
        "x,y\n" + "".join(f'{k},"{("New, York", "a b:c", "#x")[k % 3]}"\n' for k in range(30))
    )
    for arguments in (
        "fit train.svm --scale minmax --save-range s.range --json f.json",
        "search two.svm -c 1,8 -g 0.1 --journal j.db",
        "cv train.svm --json c.json",
        "loo train.svm --output v.txt --json l.json",
        "path two.svm --most 1 --report p.html --json p.json",
        "one-class train.svm -c 1 -g 0.1 --model o --json o.json",
        "rank queries.svm --json q.json",
        "compare train.svm -c 1 -g 0.1 --json k.json",
        "report two.json --output again.html",
        "report j.db --output again.html",
        "predict test.svm train.model out.txt",
        "fit words.csv",
        "predict words.csv words.model words.txt",
        "predict words.csv words.model words.txt",
    ):
        for _ in range(2):
            code, _, errors = run(*arguments.split())
            assert code == 0, (arguments, errors)


def test_an_unrelated_file_beside_a_model_stays(run: Run) -> None:
    Path("m5.range").write_text("my notes")
    assert run("fit", "train.svm", "--model", "m5")[0] == 0
    assert Path("m5.range").read_text() == "my notes"


def test_streams_are_told_apart(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(Path("queries.svm").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    errors = refused(run, "rank", "-", "--valid", "/dev/stdin")
    assert "standard input can be read only once, but was given twice" in errors
    os.mkfifo("pipe")
    assert "pipe can be read only once" in refused(run, "rank", "pipe", "--valid", "pipe")
    assert "which is the input file" in refused(run, "predict", "pipe", "m", "pipe")


def test_devices_are_no_files(run: Run) -> None:
    """Not replaced, not compared, and without a companion."""
    arguments = [
        "train.svm",
        "--model",
        "/dev/null",
        "--json",
        "/dev/null",
        "--report",
        "/dev/null",
    ]
    code, _, errors = run("search", *arguments, "-c", "1", "-g", "0.1", "--scale", "minmax")
    assert code == 0
    assert "the scaling and the names of the model are not saved" in errors
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert not os.path.exists("/dev/null.meta.json")


def test_what_can_not_be_written_is_said_before_the_work(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *given, **more: False)
    assert "is read-only" in refused(run, "fit", "train.svm")
    assert "--save-range requires a scaling" in refused(
        run, "fit", "train.svm", "--save-range", "r"
    )


def test_a_write_protected_file_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renaming asks for rights to the folder alone."""
    assert run("fit", "train.svm")[0] == 0
    for name in ("train.model", "train.model.meta.json"):
        with monkeypatch.context() as patch:
            allowed = lambda path, mode, name=name: Path(path).name != name  # noqa: E731
            patch.setattr(os, "access", allowed)
            assert f"{name} cannot be written: it is read-only." in refused(run, "fit", "train.svm")


def test_a_sentence_is_one_line_whatever_names_it_has(run: Run) -> None:
    name = "a\nb\x1b[2J\udcff\u2028ö.svm"
    said = refused(run, "fit", name)
    assert said == "alphapath: There is no file a\\nb\\x1b[2J\\udcff\\u2028ö.svm.\n"
    shutil.copy("train.svm", name)
    code, printed, _ = run("search", name, "-c", "1", "-g", "0.1", "--journal", f"{name}.db")
    assert code == 0
    assert all(line.isprintable() for line in printed.split("\n"))
    assert "\\x1b[2J\\udcff\\u2028ö.model" in printed
    assert run("report", f"{name}.db", "--output", "again.html")[0] == 0
    assert run("fit", name, "--model", name + "m")[0] == 0
    assert run("predict", "test.svm", name + "m", name + "p")[0] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_streams_that_are_full(folder: Path) -> None:
    command = f"'{sys.executable}' -m alphapath"
    for script, code in (
        ("fit train.svm > /dev/full", 2),
        ("predict train.svm train.model > /dev/full", 2),
        ("predict train.svm train.model out.txt 2> /dev/full", 2),
        ("fit missing.svm 2> /dev/full", 2),
        ("search train.svm -c 1 -g 1 --json /dev/full", 2),
    ):
        done = subprocess.run(
            ["bash", "-c", f"{command} {script}"], env=ENVIRONMENT, capture_output=True, text=True
        )
        assert done.returncode == code, (script, done.stderr)
        is_told = "No space left on device." in done.stderr
        assert is_told or ("2> /dev/full" in script and not done.stderr), script
    assert Path("train.model").read_bytes().startswith(b"svm_type c_svc\n")
    assert Path("out.txt").stat().st_size > 0


def test_the_standard_output_is_no_file(run: Run) -> None:
    assert run("fit", "train.svm")[0] == 0
    expected = run("predict", "test.svm", "train.model")[1]
    for name in ("-", "/dev/stdout"):
        assert run("predict", "test.svm", "train.model", name)[1] == expected
    assert not Path("-").exists()


def test_a_closed_standard_input_is_empty(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    errors = refused(run, "fit", "-")
    assert errors == "alphapath: standard input, line 1: the file is empty.\n"
    sys.stdin.close()


def test_no_file_takes_the_place_of_a_closed_stream(folder: Path) -> None:
    script = f"'{sys.executable}' -m alphapath fit train.svm --json r.json >&- 2>&-"
    assert subprocess.run(["bash", "-c", script], env=ENVIRONMENT).returncode == 0
    assert Path("train.model").read_bytes().startswith(b"svm_type c_svc\n")
    json.loads(Path("r.json").read_text())


def test_every_option_that_names_a_file_is_known() -> None:
    """A new option of a command cannot be forgotten."""
    parser = make_parser()
    commands = parser._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    for name in COMMANDS:
        load_command(name)
        for action in commands[name]._actions:  # type: ignore[index]
            if action.type is Path:
                assert action.dest in OUTPUTS, f"{name}: {action.dest}"
            if action.type is input_file:
                assert action.dest in INPUTS, f"{name}: {action.dest}"
