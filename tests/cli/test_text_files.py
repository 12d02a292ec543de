"""Text as programs write it on any system, and the cause where a file is none."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphapath import SVC
from alphapath.cli import main

ROWS = "1 1:0.5 2:1\n-1 1:-0.5 3:1\n1 1:0.7 2:1\n-1 1:-0.3 2:-2 # last\n"
TABLE = "a,b,class\n0.5,1,yes\n-0.5,0,no\n0.7,1,yes\n-0.3,-2,no\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, content: bytes | str) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def refusal(capsys: Any, *words: str) -> str:
    """The sentence with which a command ends."""
    capsys.readouterr()
    assert main(list(words)) == 2
    said = str(capsys.readouterr().err)
    assert said.startswith("alphapath: ")
    assert said.endswith(".\n")
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks(end: str, mark: bytes) -> None:
    """Of data, tables and models alike."""
    for name, text in (("x.svm", ROWS), ("x.csv", TABLE)):
        main(["fit", write(name, text), "-g", "0.5", "--model", "right.model"])
        main(["predict", name, "right.model", "right.txt"])
        write(name, mark + text.replace("\n", end).encode())
        assert main(["fit", name, "-g", "0.5", "--model", "own.model"]) == 0
        assert Path("own.model").read_bytes() == Path("right.model").read_bytes()
        assert main(["predict", name, "own.model", "own.txt"]) == 0
        assert Path("own.txt").read_bytes() == Path("right.txt").read_bytes()
    text = Path("own.model").read_text()
    write("other.model", mark + text.replace("\n", end).encode())
    model, other = SVC.load_libsvm("own.model"), SVC.load_libsvm("other.model")
    X = np.eye(2)
    assert model.decision_function(X).tolist() == other.decision_function(X).tolist()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_named(encoding: str, capsys: Any) -> None:
    main(["fit", write("x.svm", ROWS), "--model", "own.model"])
    for name, text in (("y.svm", ROWS), ("x.csv", TABLE), ("x.json", "{}")):
        write(name, text.encode(encoding))
        command = "report" if name == "x.json" else "fit"
        assert f"{name} begins with" in (said := refusal(capsys, command, name))
        assert "UTF-16" in said
    write("other.model", Path("own.model").read_text().encode(encoding))
    assert "UTF-16" in refusal(capsys, "predict", "x.svm", "other.model", "out.txt")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_archives_are_named(capsys: Any) -> None:
    for name, pack in (("x.svm.gz", gzip.compress), ("x.svm.BZ2", bz2.compress)):
        whole = pack(ROWS.encode())
        for k in range(len(whole)):
            damaged = bytearray(whole)
            damaged[k] ^= 0x10
            write(name, bytes(damaged))
            capsys.readouterr()
            if main(["fit", name, "-g", "0.5", "--model", "own.model"]) != 0:
                assert f"alphapath: {name}" in capsys.readouterr().err
        for content in (whole[:-1], whole + b"more", whole + whole[:-9], whole + b"\x01" + whole):
            write(name, content)
            assert "cannot be unpacked" in refusal(capsys, "fit", name)
        main(["fit", write("x.svm", 2 * ROWS), "-g", "0.5", "--model", "right.model"])
        write(name, whole + whole)
        assert main(["fit", name, "-g", "0.5", "--model", "own.model"]) == 0
        assert Path("own.model").read_bytes() == Path("right.model").read_bytes()


def test_quotes_of_tables(capsys: Any) -> None:
    write("x.csv", TABLE + f'0.1,1,"{"a" * 200_000}"\n')
    assert "x.csv, line 6: a value is longer than 131072" in refusal(capsys, "fit", "x.csv")
    # The rest of the file would else become the name of a class.
    write("x.csv", TABLE.replace("no\n0.7", '"no\n0.7'))
    assert "x.csv, line 3: a quote is not closed" in refusal(capsys, "fit", "x.csv")
    write("x.csv", TABLE.replace("yes\n-0.5", '"y"es\n-0.5'))
    assert "x.csv, line 2: a quote is closed in the middle" in refusal(capsys, "fit", "x.csv")


def test_long_names_of_columns_are_shortened(capsys: Any) -> None:
    name = "a" * 5000
    for table in (TABLE.replace("no\n", "\n", 1), TABLE + "x,1,no\n"):
        write("x.csv", "\n".join([f"{name},{name},class", *table.splitlines()[1:], ""]))
        assert len(refusal(capsys, "fit", "x.csv")) < 500


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("1 qid:x 1:2", "'qid:x' is not of the form qid:number"),
        (f"1 qid:1{'0' * 18} 1:2", "is not of the form qid:number"),
        ("1 qid:1_0 1:2", "'qid:1_0' is not of the form qid:number"),
        ("1\u00a01:2", "the target"),
        ("1 1:2\x1c3:4", "is not of the form index:value"),
        ("1 1:\u0662", "is not a finite number"),
    ],
)
def test_odd_words_are_named_with_their_line(row: str, what: str, capsys: Any) -> None:
    said = refusal(capsys, "fit", write("x.svm", ROWS + row + "\n"))
    assert "x.svm, line 5: " in said
    assert what in said


def test_precomputed_models_take_sparse_rows() -> None:
    """The columns are values of the kernel; LIBSVM's files have the number of the row before."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    K = np.where(X @ X.T > 0.5, X @ X.T, 0.0)
    y = np.where(X[:, 0] > 0.0, 1, -1)
    model = SVC(kernel="precomputed").fit(K, y)
    model.save_libsvm("own.model")
    expected = model.predict(K).tolist()
    for first in (False, True):
        lines = []
        for k, row in enumerate(K):
            entries = [f"{j + 1}:{value:.17g}" for j, value in enumerate(row) if value]
            lines.append(" ".join([str(y[k]), *([f"0:{k + 1}"] if first else []), *entries]))
        write("x.svm", "\n".join(lines) + "\n")
        assert main(["predict", "x.svm", "own.model", "out.txt"]) == 0
        assert np.loadtxt("out.txt").tolist() == expected


def test_precomputed_models_have_their_samples_at_index_0(capsys: Any) -> None:
    header = "svm_type epsilon_svr\nkernel_type precomputed\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n"
    write("own.model", header + "1 2:1\n")
    said = refusal(capsys, "predict", write("x.svm", ROWS), "own.model", "out.txt")
    assert "own.model, line 7: a precomputed kernel needs one entry 0:sample" in said


def test_an_error_beyond_the_largest_number(capsys: Any) -> None:
    """No warning of NumPy's reaches the user."""
    write("x.svm", "1e200 1:1\n2 1:2\n")
    header = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n"
    write("own.model", header + "1 1:1\n")
    assert main(["predict", "x.svm", "own.model", "out.txt"]) == 0
    assert capsys.readouterr().err == "mean squared error inf\n"
