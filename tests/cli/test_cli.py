"""The command line: what it reads, answers and writes, and what it says when that is impossible."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import dump_svmlight_file, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import alphapath
from alphapath import cli
from alphapath.cli.files.data import read_data
from alphapath.cli.files.scaling import FeatureScaler, read_range
from conftest import Run


def wine() -> tuple[Any, Any]:
    X, y = load_wine(return_X_y=True)
    return MinMaxScaler((-1.0, 1.0)).fit_transform(X), y


# -- every command


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_example_of_the_help_runs(name: str, run: Run) -> None:
    code, printed, _ = run(name, "--help")
    assert code == 0
    example = printed.split("example:")[1].strip()
    program, *arguments = shlex.split(example)
    assert program == "alphapath"
    if "train.model" in arguments and name != "fit":
        assert run("fit", "train.svm", "--model", "train.model")[0] == 0
    if "results.json" in arguments and name != "search":
        assert run("search", "train.svm", "-c", "1,10", "--json", "results.json")[0] == 0
    code, printed, errors = run(*arguments)
    assert code == 0, errors
    assert errors == "" or name == "predict"


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version")[1].startswith("alphapath 0.")


# -- fit and predict


@pytest.mark.parametrize(("kind", "peer"), [("0", sklearn.svm.SVC), ("3", sklearn.svm.SVR)])
def test_fit_and_predict_agree_with_scikit_learn(kind: str, peer: Any, run: Run) -> None:
    code, printed, _ = run("fit", "train.svm", "-s", kind, "-c", "4", "-g", "0.25", "-e", "1e-4")
    assert code == 0
    assert "Optimal to a KKT violation" in printed
    code, _, errors = run("predict", "test.svm", "train.model", "out.txt")
    assert code == 0
    X, y = wine()
    model = peer(C=4, gamma=0.25, tol=1e-4).fit(X[::2], y[::2])
    found = np.loadtxt("out.txt")
    assert np.allclose(found, model.predict(X[1::2]), atol=2e-3)
    if kind == "0":
        n_right = int(np.sum(found == y[1::2]))
        assert f"({n_right} of {len(found)})" in errors
    else:
        assert "mean squared error" in errors


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_a_scaled_model_is_used_as_it_was_trained(scale: str, run: Run) -> None:
    X, y = load_wine(return_X_y=True)
    dump_svmlight_file(X[::2], y[::2], "raw.svm", zero_based=False)
    dump_svmlight_file(X[1::2], y[1::2], "new.svm", zero_based=False)
    assert run("fit", "raw.svm", "--scale", scale)[0] == 0
    assert run("predict", "new.svm", "raw.model", "out.txt")[0] == 0
    scaler = MinMaxScaler((-1.0, 1.0)) if scale == "minmax" else StandardScaler()
    model = sklearn.svm.SVC(gamma="auto").fit(scaler.fit_transform(X[::2]), y[::2])
    assert np.array_equal(np.loadtxt("out.txt"), model.predict(scaler.transform(X[1::2])))
    assert run("fit", "raw.svm", "--scale", "none")[0] == 0
    assert json.loads(Path("raw.model.meta.json").read_text())["scaling"] is None
    assert not Path("raw.model.range").exists()


def test_classes_may_be_words(run: Run) -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    lines = ["a,b,c,d,species"]
    lines += [
        ",".join([*(f"{v:g}" for v in row), name]) for row, name in zip(X, names, strict=True)
    ]
    Path("iris.csv").write_text("\n".join(lines))
    assert run("fit", "iris.csv", "--target", "species")[0] == 0
    code, printed, errors = run("predict", "iris.csv", "iris.model", "--target", "species")
    assert code == 0
    model = sklearn.svm.SVC(gamma="auto").fit(X, y)
    assert printed.split() == [["setosa", "versicolor", "virginica"][k] for k in model.predict(X)]
    assert "accuracy" in errors
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)  # the same classes by their numbers
    assert run("predict", "iris.svm", "iris.model")[2] == errors
    Path("rows.csv").write_text("a;b;c;d\n5;3;1.5;0.2\n")
    assert run("predict", "rows.csv", "iris.model")[1] == "setosa\n"


def test_one_class(run: Run) -> None:
    assert run("fit", "train.svm", "-s", "one-class", "-n", "0.2")[0] == 0
    _, printed, _ = run("predict", "test.svm", "train.model")
    X, _ = wine()
    model = sklearn.svm.OneClassSVM(nu=0.2, gamma="auto").fit(X[::2])
    assert np.mean(np.array(printed.split(), dtype=int) == model.predict(X[1::2])) >= 0.97


# -- cv and loo


def test_cv_gives_scikit_learns_scores(run: Run) -> None:
    code, printed, _ = run(
        "cv", "train.svm", "-c", "10", "-g", "0.1", "-v", "4", "--json", "r.json"
    )
    assert code == 0
    X, y = wine()
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    expected = cross_val_score(sklearn.svm.SVC(C=10, gamma=0.1), X[::2], y[::2], cv=folds)
    assert json.loads(Path("r.json").read_text())["test_score"] == pytest.approx(expected)
    assert f"{expected.mean():.4f}" in printed


def test_cv_scales_each_fold_by_its_own_rows(run: Run) -> None:
    assert run("cv", "--json", "r.json", "-v", "3")[0] == 0
    data = read_data(None, "c-svc")
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, data.y)
    for k, (train, test) in enumerate(folds):
        scaler = StandardScaler().fit(data.X[train])
        model = sklearn.svm.SVC(gamma="auto").fit(scaler.transform(data.X[train]), data.y[train])
        score = model.score(scaler.transform(data.X[test]), data.y[test])
        assert json.loads(Path("r.json").read_text())["test_score"][k] == pytest.approx(score)


def test_loo_writes_every_value(run: Run) -> None:
    code, printed, _ = run("loo", "-s", "3", "--output", "v.txt", "--json", "r.json")
    assert code == 0
    values = np.loadtxt("v.txt")
    assert len(values) == 442
    assert "refits" in printed
    assert json.loads(Path("r.json").read_text())["decision_function"] == pytest.approx(values)


# -- what is read


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_packed_files_are_read(pack: Any, folder: Path) -> None:
    ending = ".gz" if pack is gzip.compress else ".bz2"
    Path(f"train.svm{ending}").write_bytes(pack(Path("train.svm").read_bytes()))
    data = read_data(Path(f"train.svm{ending}"), "c-svc")
    assert data.name == "train"
    assert np.allclose(data.X, wine()[0][::2])
    Path(f"t.csv{ending}").write_bytes(pack(b"x,y\n1,0\n2,1\n"))
    assert read_data(Path(f"t.csv{ending}"), "c-svc").X.tolist() == [[1.0], [2.0]]


def test_a_sparse_file_stays_sparse(folder: Path) -> None:
    Path("s.svm").write_text("1 1:1 50:2\n-1 7:1 # a comment\n\n1 qid:3 2:1\n")
    data = read_data(Path("s.svm"), "c-svc")
    assert data.is_sparse
    assert data.X.shape == (3, 50)
    assert data.y.tolist() == [1, -1, 1]
    for scale in ("minmax", "standard"):
        scaler = FeatureScaler(scale).fit(data.X)
        assert hasattr(scaler.transform(data.X), "tocsr")
        Path("s.range").write_text(scaler.range_.as_text())
        again = read_range(Path("s.range"), 50).transform(data.X)
        assert np.allclose(again.toarray(), scaler.transform(data.X).toarray())


def test_range_files_of_svm_scale_are_read(folder: Path) -> None:
    Path("r.range").write_text("x\n0 1\n1 2 4\n3 -1 1\n")
    X = np.array([[2.0, 9.0, 1.0], [3.0, 9.0, 0.0]])
    expected = [[0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]
    assert np.allclose(read_range(Path("r.range"), 3).transform(X), expected)


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        (None, [], "There is no file bad.txt."),
        ("", [], "line 1: the file is empty"),
        ("\n# nothing\n", [], "line 1: the file is empty"),
        ("hello world\n", [], "line 1: 'hello world' is neither a LIBSVM line"),
        ("1 1:0.5\n-1 2:x\n", [], "line 2: 'x' is not a finite number"),
        ("1 1:0.5\n-1 3:1 2:1\n", [], "line 2: index 2 is not larger than the previous one"),
        ("1 1:0.5\n\n-1 2\n", [], "line 3: '2' is not of the form index:value"),
        ("1 1:0.5\n-1 2:nan\n", [], "line 2: 'nan' is not a finite number"),
        ("1 1:0.5\nz 2:1\n", [], "line 2: the target 'z' is not a finite number"),
        ("1.5 1:0.5\n-1 2:1\n", [], "the target of row 1 is 1.5, not the number of a class"),
        ("a,y\n1,0\n2\n", [], "line 3: 1 values, but the header names 2 columns"),
        ("a,y\n1,0\n\n2,1,3\n", [], "line 4: 3 values, but the header names 2 columns"),
        ("a,y\n1,0\nx,1\n", [], "line 3: column 'a': 'x' is not a number"),
        ("a,y\n1,0\n,1\n", [], "line 3: column 'a': the value is missing"),
        ("a,y\n1,0\ninf,1\n", [], "line 3: column 'a': inf is not finite"),
        ("a,y\n1,\n", [], "line 2: column 'y' is empty"),
        ("a,y\n", [], "line 1: there are no rows after the header"),
        ("a,b\n1,0\n", [], "which column is the target? Pass its name as --target"),
        ("a,y\n1,0\n", ["--target", "z"], "there is no column 'z'; the columns are 'a', 'y'"),
        ("1 1:1\n", ["--target", "z"], "its targets come first in each line"),
        (
            "a,y\n1,x\n2,y\n",
            ["-s", "3"],
            "the target of row 1 is 'x', which is not a finite",
        ),
        (
            "a,y\n1,2.5\n2,3\n",
            [],
            "row 1 is 2.5, not the number of a class; for regression",
        ),
        ("1 1:1\n1 1:2\n", [], "class"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    content: str | None, arguments: list[str], words: str, run: Run
) -> None:
    if content is not None:
        Path("bad.txt").write_text(content)
    code, printed, errors = run("fit", "bad.txt", *arguments)
    assert code == 2
    assert printed == ""
    assert words in errors
    assert errors.startswith("alphapath: ")
    assert errors.count("\n") == 1


def test_files_that_are_no_text(run: Run, folder: Path) -> None:
    Path("a.svm").write_bytes(b"\xff\x01\x02\x03")
    assert "line 1: this is not a text file" in run("fit", "a.svm")[2]
    Path("a.svm.gz").write_bytes(b"1 1:1\n")
    assert "cannot be" in run("fit", "a.svm.gz")[2]
    assert "is a directory" in run("fit", str(folder))[2]
    Path("m.model").write_text("svm_type nu_svc\nSV\n")
    assert run("predict", "test.svm", "m.model")[0] == 2
    assert "There is no file none.model" in run("predict", "test.svm", "none.model")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-c", "0"], "'0' is not a number above 0"),
        (["-c", "x^2"], "'x^2' is not a number above 0"),
        (["-t", "9"], "'9' is not one of 0 linear"),
        (["-s", "1"], "'1' is not one of 0 c-svc"),
        (["--scale", "no"], "invalid choice"),
    ],
)
def test_wrong_options_are_refused(arguments: list[str], words: str, run: Run) -> None:
    code, _, errors = run("fit", *arguments)
    assert code == 2
    assert words in errors


def test_unfavourable_data_are_warned_of(run: Run) -> None:
    X, y = load_wine(return_X_y=True)
    rows = np.concatenate([X, X[:20]])
    dump_svmlight_file(rows, np.concatenate([y, y[:20]]), "raw.svm", zero_based=False)
    _, _, errors = run("cv", "raw.svm")
    assert "alphapath: warning: The features are not scaled" in errors
    assert "20 of 198 rows equal an earlier one" in errors


def test_powers_are_understood(run: Run) -> None:
    assert "C=8.0, gamma=0.25" in run("fit", "train.svm", "-c", "2^3", "-g", "2^-2")[1]


@pytest.mark.parametrize("command", ["loo", "path", "compare"])
def test_long_work_shows_on_a_terminal_and_only_there(command: str, folder: Path) -> None:
    """A spinner on the standard error stream; what is printed stays the same."""
    arguments = ["-c", "1,4"] if command == "compare" else []
    call = [sys.executable, "-m", "alphapath", command, "two.svm", *arguments]
    env = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1]), "TERM": "xterm"}
    reader, writer = pty.openpty()
    seen = subprocess.run(call, env=env, stdout=subprocess.PIPE, stderr=writer, text=True)
    os.close(writer)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while block := os.read(reader, 65536):
            shown += block
    os.close(reader)
    assert seen.returncode == 0
    assert b"0:00:0" in shown  # how long it took so far
    if command != "loo":  # the same function shows it everywhere
        return
    quiet = subprocess.run(call, env=env, capture_output=True, text=True)
    assert quiet.stderr == ""
    timed = re.compile(r"[0-9.]+ m?s\b")
    assert timed.sub("", quiet.stdout).split() == timed.sub("", seen.stdout).split()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("fit -c 1_0", "'1_0' is not a number above 0"),
        ("fit -c nan", "'nan' is not a number above 0"),
        ("fit -c 1e400", "'1e400' is not a number above 0"),
        ("fit -c 2^2000", "'2^2000' is not a number above 0"),
        ("fit -c 10s", "'10s' is not a number above 0"),
        ("fit -e -1", "'-1' is not a number above 0"),
        ("fit -r inf", "'inf' is not a finite number"),
        ("fit -r x", "'x' is not a finite number"),
        ("fit -p -0.1", "'-0.1' is not a number of at least 0"),
        ("fit -n 0", "'0' is not a number above 0 and at most 1"),
        ("fit -n 1.5", "'1.5' is not a number above 0 and at most 1"),
        ("fit -d 2.5", "'2.5' is not a whole number of at least 0"),
        ("fit -d -1", "'-1' is not a whole number of at least 0"),
        ("cv -v 1", "'1' is not a whole number of at least 2"),
        ("cv --seed -1", "'-1' is not a whole number from 0 to 4294967295"),
        ("cv --seed 1_0", "'1_0' is not a whole number from 0"),
        ("cv --n-jobs 0", "'0' is not a number of workers"),
        ("cv --n-jobs two", "'two' is not a number of workers"),
        ("fit --time-limit 0", "'0' is not a time above 0"),
        ("fit --time-limit 5weeks", "'5weeks' is not a time above 0 (such as 90, 90s, 5min or 2h)"),
        ("fit --time-limit nan", "'nan' is not a time above 0"),
        ("fit --memory-limit 1_0MB", "'1_0MB' is not a size above 0 (such as 200MB or 1.5GiB)"),
        ("fit --memory-limit 0", "'0' is not a size above 0"),
        ("one-class --memory-limit lots", "'lots' is not a size above 0"),
        ("rank --memory-limit 1XB", "'1XB' is not a size above 0"),
        ("path --least 0", "'0' is not a number above 0"),
        ("search -c 1,,2", "'' is not a number above 0"),
        ("search --log2c 1_0,20,1", "is not BEGIN,END,STEP"),
    ],
)
def test_numbers_of_options_are_refused_before_the_work(
    arguments: str, words: str, run: Run
) -> None:
    code, printed, errors = run(*arguments.split())
    assert (code, printed) == (2, "")
    assert words in errors


def test_numbers_of_options_have_units_and_powers() -> None:
    parse = cli.make_parser().parse_args
    for text, value in (("90", 90.0), ("1.5h", 5400.0), ("2min", 120.0), ("500ms", 0.5)):
        assert parse(["fit", "--time-limit", text]).time_limit == value
    for text, value in (("200MB", 200_000_000), ("1.5GiB", 3 << 29), ("4096", 4096)):
        assert parse(["search", "--memory-limit", text]).memory_limit == value
    for text, value in (("-1e3", -1000.0), ("-.5", -0.5), ("2^3", 8.0)):
        assert parse(["fit", "-r", text]).coef0 == value
    assert parse(["cv", "--seed", "4294967295"]).seed == 4294967295
    assert parse(["cv", "--n-jobs", "-1"]).n_jobs == -1
    assert parse(["search", "--log2c", "-5,15,2"]).log2c == (-5.0, 15.0, 2.0)
