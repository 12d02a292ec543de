"""Models on disk: names are any text, columns are found by name, files of two models never mix."""

from __future__ import annotations

import csv
import errno
import io
import itertools
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

from alphapath import output_files
from alphapath.cli.files.model import checksum
from conftest import Run

#: Line breaks of any program, separators, quotes, and what other programs take for nothing.
NAMES = (
    "New\nYork",
    "New York",
    "a\rb",
    "a\r\nb",
    "a\u2028b",
    "a\u0085b",
    "a\vb",
    "a\x1cb",
    "a, b",
    "a;b\tc",
    '"quoted"',
    '"New\\nYork"',
    "nul\0",
    "nul",
    "\nnul",
    "\u2028nul",
    "Zürich 東京",
)


def write_csv(name: str, header: Any, rows: Any) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(header)
    writer.writerows(rows)
    Path(name).write_bytes(text.getvalue().encode("utf-8"))


def iris_rows(order: Any = (0, 1, 2, 3)) -> list[list[Any]]:
    X, y = load_iris(return_X_y=True)
    return [[*row[list(order)].tolist(), int(label)] for row, label in zip(X, y, strict=True)]


HEADER = ["a", "b", "c", "d", "y"]


@pytest.fixture
def iris(run: Run) -> Run:
    """iris.csv and its model iris.model, scaled."""
    write_csv("iris.csv", HEADER, iris_rows())
    assert run("fit", "iris.csv", "--scale", "minmax", "-c", "10")[0] == 0
    assert run("predict", "iris.csv", "iris.model", "right.txt")[0] == 0
    return run


def right() -> bytes:
    return Path("right.txt").read_bytes()


# -- names are any text


def test_class_names_are_any_text(run: Run) -> None:
    rows = [[10.0 * k + j, name] for k, name in enumerate(NAMES) for j in range(4)]
    write_csv("names.csv", ["x", "y"], rows)
    assert run("fit", "names.csv", "-c", "1e4", "-g", "1")[0] == 0
    code, printed, errors = run("predict", "names.csv", "names.model", "out.txt")
    assert (code, printed) == (0, "")
    assert errors == "accuracy 1 (68 of 68)\n"
    content = Path("out.txt").read_bytes().decode("utf-8")
    assert content.splitlines() == content.removesuffix("\n").split("\n")
    found = [json.loads(line) if line[0] == '"' else line for line in content.splitlines()]
    assert found == [row[1] for row in rows]


def test_feature_names_are_any_text(run: Run) -> None:
    rng = np.random.default_rng(0)
    rows = [[*row.tolist(), int(row[0] > 0)] for row in rng.normal(size=(40, 3))]
    header = ["first\nname", "a;b,c", 'say "x"', "y\u2028z"]
    write_csv("f.csv", header, rows)
    assert run("fit", "f.csv", "--target", header[3])[0] == 0
    facts = json.loads(Path("f.model.meta.json").read_text())
    assert facts["features"] == header[:3]
    assert facts["target"] == header[3]
    _, expected, errors = run("predict", "f.csv", "f.model")
    assert "accuracy" in errors
    write_csv("g.csv", [header[k] for k in (3, 2, 0, 1)], [[r[3], r[2], r[0], r[1]] for r in rows])
    assert run("predict", "g.csv", "f.model")[1:] == (expected, errors)


def test_file_names_are_any_text(run: Run) -> None:
    for name in (b"a\nb.svm", b"\xff\xfe.svm", "東 京.svm".encode(), b"-dash.svm"):
        data = Path(os.fsdecode(name))
        shutil.copy("train.svm", data)
        model = f"{data.stem}.model"
        assert run("fit", f"./{data}", "--json", "r.json", "--scale", "minmax")[0] == 0
        assert Path(model).exists()
        assert run("predict", "test.svm", f"./{model}", "out.txt")[0] == 0
        assert json.loads(Path("r.json").read_text())["files"][0] == model


# -- columns


@pytest.mark.parametrize("order", [(3, 1, 0, 2), (1, 0, 3, 2)])
def test_columns_are_found_by_their_names(order: Any, iris: Run) -> None:
    write_csv("other.csv", [HEADER[k] for k in order] + ["y"], iris_rows(order))
    code, _, errors = iris("predict", "other.csv", "iris.model", "out.txt")
    assert (code, errors.count("\n")) == (0, 1)
    assert Path("out.txt").read_bytes() == right()


def test_columns_that_are_missing_or_twice_are_refused(iris: Run) -> None:
    for header, words in (
        (["a", "b", "c", "y"], "the model was trained on columns that are missing here: 'd'"),
        (["a", "b", "c", "D", "y"], "columns that are missing here: 'd'; the file has 'a', 'b'"),
        (["a", "b", "b", "c", "d", "y"], "'b' is the name of several columns"),
        (["a", "b", "c", "y", "z"], "are missing here: 'd'"),
    ):
        write_csv("bad.csv", [*header, "n" * 5000], [[1.0] * (len(header) + 1)])
        code, printed, errors = iris("predict", "bad.csv", "iris.model")
        assert (code, printed, errors.count("\n")) == (2, "", 1)
        assert len(errors) < 500
        assert words in errors
    assert (
        "is the target and a feature"
        in iris("predict", "iris.csv", "iris.model", "--target", "b")[2]
    )


def test_other_columns_are_left_out(iris: Run) -> None:
    rows = [["row", *row[:4], 7.0, row[4]] for row in iris_rows()]
    write_csv("wide.csv", ["name", *HEADER[:4], "extra", "y"], rows)
    code, _, errors = iris("predict", "wide.csv", "iris.model", "out.txt")
    assert code == 0
    assert "not trained on the columns 'name', 'extra', which are not used" in errors
    assert Path("out.txt").read_bytes() == right()


def test_the_target_of_the_training_file_is_known_again(run: Run) -> None:
    """Also where a feature has a name that is usual for targets."""
    rows = [[row[0], row[4], row[1], row[2], row[3]] for row in iris_rows()]
    write_csv("t.csv", ["y", "kind", "b", "c", "d"], rows)
    assert run("fit", "t.csv", "--target", "kind")[0] == 0
    assert "accuracy" in run("predict", "t.csv", "t.model")[2]
    write_csv("u.csv", ["d", "c", "b", "y"], [[r[4], r[3], r[2], r[0]] for r in rows])
    with_target, without = run("predict", "t.csv", "t.model"), run("predict", "u.csv", "t.model")
    assert with_target[1] == without[1]
    assert without[2] == ""


def test_columns_without_names_are_counted(iris: Run) -> None:
    Path("bare.csv").write_text("".join(f"{r[0]},{r[1]},{r[2]},{r[3]}\n" for r in iris_rows()))
    assert iris("predict", "bare.csv", "iris.model", "out.txt", "--no-header")[0] == 0
    assert Path("out.txt").read_bytes() == right()
    Path("bare.csv").write_text("1,2,3\n")
    code, _, errors = iris("predict", "bare.csv", "iris.model", "--no-header")
    assert code == 2
    assert "has 3 columns in addition to the target, and the model was trained on 4" in errors
    Path("wide.svm").write_text("0 1:1 5:2\n")
    assert (
        "has 5 features, and the model was trained on 4"
        in iris("predict", "wide.svm", "iris.model")[2]
    )


def test_indices_count_as_in_the_training_file(run: Run) -> None:
    """A file from 0 without any 0 in it looks as one from 1: the model knows."""
    X, y = load_iris(return_X_y=True)
    X[::3, 0] = 0.0
    dump_svmlight_file(X, y, "zero.svm", zero_based=True)
    assert run("fit", "zero.svm", "-c", "10")[0] == 0
    _, expected, _ = run("predict", "zero.svm", "zero.model")
    lines = Path("zero.svm").read_text().splitlines(keepends=True)
    Path("part.svm").write_text("".join(lines[::3]))
    assert " 0:" not in Path("part.svm").read_text()
    assert run("predict", "part.svm", "zero.model")[1].split() == expected.split()[::3]
    dump_svmlight_file(X, y, "one.svm", zero_based=False)
    assert run("fit", "one.svm", "-c", "10")[0] == 0
    code, _, errors = run("predict", "zero.svm", "one.model")
    assert code == 2
    assert "has the index 0, but the rows of the model count features from 1" in errors


# -- labels


def test_labels_that_are_no_integers_are_kept_as_words(run: Run) -> None:
    names = ["01", "1", "1_0", "10"]
    write_csv("l.csv", ["x", "y"], [[10.0 * k + j, n] for k, n in enumerate(names) for j in (0, 1)])
    assert run("fit", "l.csv", "-c", "1e4", "-g", "1")[0] == 0
    _, printed, errors = run("predict", "l.csv", "l.model")
    assert printed.split() == [name for name in names for _ in (0, 1)]
    assert errors == "accuracy 1 (8 of 8)\n"


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("1", "1.0"), "the targets '1' and '1.0' are the same number"),
        (("+1", "-1", "1"), "the targets '+1' and '1' are the same number"),
        (("1", "2.5"), "the target of row 2 is 2.5, not the number of a class"),
    ],
)
def test_labels_that_can_not_be_told_apart(labels: Any, words: str, run: Run) -> None:
    Path("l.csv").write_text("x,y\n" + "".join(f"{k},{v}\n" for k, v in enumerate(labels)))
    code, _, errors = run("fit", "l.csv")
    assert code == 2
    assert words in errors


def test_numbers_of_python_alone_are_refused(run: Run) -> None:
    for text, words in (
        ("1_0 1:1\n2 1:2\n", "line 1: '1_0"),
        ("1 1:1_5\n2 1:2\n", "line 1: '1_5' is not a finite number"),
        ("x,y\n1_5,0\n2,1\n", "column 'x': '1_5' is not a number"),
        ("x,y\n١,0\n2,1\n", "column 'x': '١' is not a number"),
        ("5000000000 1:1\n1 1:2\n", "must be below 2^31"),
    ):
        Path("bad.txt").write_text(text, encoding="utf-8")
        code, _, errors = run("fit", "bad.txt")
        assert code == 2
        assert words in errors
    Path("fine.svm").write_text("1 1:1 # a_b\n2 1:2\n1 1:3\n")
    assert run("fit", "fine.svm")[0] == 0


def test_labels_of_other_files_are_compared_by_value(run: Run) -> None:
    """Words in a test file are not the codes of classes that are numbers."""
    write_csv("n.csv", ["x", "y"], [[k, k % 2] for k in range(10)])
    run("fit", "n.csv", "-c", "1e4", "-g", "10")
    write_csv("w.csv", ["x", "y"], [[k, ("no", "yes")[k % 2]] for k in range(10)])
    assert "accuracy 0 (0 of 10)" in run("predict", "w.csv", "n.model")[2]
    write_csv("d.csv", ["x", "y"], [[k, f"{k % 2}.0"] for k in range(10)])
    assert "accuracy 1 (10 of 10)" in run("predict", "d.csv", "n.model")[2]


# -- files that belong together


def refused(run: Run, *arguments: str) -> str:
    code, printed, errors = run("predict", *arguments)
    assert (code, printed, errors.count("\n")) == (2, "", 1), errors
    assert "Traceback" not in errors
    return errors


def test_files_of_two_models_are_refused(iris: Run) -> None:
    assert iris("fit", "iris.csv", "-c", "3", "--model", "other.model")[0] == 0
    shutil.copy("other.model", "iris.model")
    assert "belongs to another model than iris.model" in refused(iris, "iris.csv", "iris.model")
    shutil.copy("iris.model.meta.json", "other.model.meta.json")
    assert "belongs to another model" in refused(iris, "iris.csv", "other.model")
    Path("iris.model.meta.json").write_text("")
    assert "does not hold the facts of a model" in refused(iris, "iris.csv", "iris.model")


def test_a_changed_companion_is_refused(iris: Run) -> None:
    """Whatever byte changes or is missing: the right answer or a sentence."""
    path = Path("iris.model.meta.json")
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for k in rng.integers(0, len(content), 60).tolist():
        changed = bytearray(content)
        changed[k] = int(rng.integers(256))
        for text in (bytes(changed), content[:k]):
            path.write_bytes(text)
            code, printed, errors = iris("predict", "iris.csv", "iris.model")
            assert "Traceback" not in errors
            assert code == 2 or printed.encode() == right()


def test_a_companion_is_checked_even_if_its_checksum_is_right(iris: Run) -> None:
    path = Path("iris.model.meta.json")
    record = json.loads(path.read_text())
    four = {"low": [0.0] * 4, "high": [1.0] * 4}
    for changes, words in (
        ({"n_features": 0}, "n_features"),
        ({"n_features": 2, "features": None, "scaling": None}, "describes 2 features"),
        ({"index_base": True}, "index_base"),
        ({"features": ["a"]}, "features are not 4 names"),
        ({"features": "abcd"}, "features are not 4 names"),
        ({"target": 3}, "target is not a name"),
        ({"classes": ["x", "y"]}, "names 2 classes"),
        ({"classes": [1, 2, 3]}, "classes are not"),
        ({"scaling": {"low": [0.0]}}, "scaling is not"),
        ({"scaling": {**four, "low": [2.0] * 4}}, "low above its high"),
        ({"scaling": {**four, "high": [1e300] * 4}}, "scaling is not"),
        ({"scaling": 3}, "scaling is not"),
        ({"layout": 2}, "its layout is 2, and this version reads 1"),
        ({"format": "other"}, "not of the format"),
    ):
        changed = {**record, **changes}
        changed.pop("checksum")
        path.write_text(json.dumps({**changed, "checksum": checksum(changed)}))
        assert words in refused(iris, "iris.csv", "iris.model")
    for key in ("n_features", "index_base", "features", "target", "classes", "scaling"):
        changed = {name: value for name, value in record.items() if name not in (key, "checksum")}
        path.write_text(json.dumps({**changed, "checksum": checksum(changed)}))
        assert f"it has no {key}" in refused(iris, "iris.csv", "iris.model")
    for text in ("[" * 100_000, '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[]", "9" * 5000):
        path.write_text(text)
        assert "does not hold the facts" in refused(iris, "iris.csv", "iris.model")


def test_a_full_disk_keeps_the_old_model_and_its_facts(
    iris: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted((path.name, path.read_bytes()) for path in Path().iterdir())
    count = itertools.count()

    def fail(descriptor: int) -> None:
        if next(count) == 1:  # the model fits, its companion does not
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(output_files.os, "fsync", fail)
    code, printed, errors = iris("fit", "iris.csv", "--scale", "standard")
    assert (code, printed) == (2, "")
    assert errors == "alphapath: iris.model.meta.json: No space left on device.\n"
    assert sorted((path.name, path.read_bytes()) for path in Path().iterdir()) == before


class Killed(BaseException):
    """The process is gone: nothing is tidied up."""


@pytest.mark.parametrize("step", range(6))
def test_a_kill_leaves_a_model_or_a_refusal(
    step: int, iris: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step of writing the two files: the old answers, the new ones, or a sentence."""
    assert iris("fit", "iris.csv", "--scale", "standard", "-c", "0.01", "--model", "new")[0] == 0
    new = iris("predict", "iris.csv", "new")[1].encode()
    assert new != right()
    count = itertools.count()

    def dying(action: Any) -> Any:
        def act(*given: Any) -> Any:
            if next(count) >= step:
                raise Killed
            return action(*given)

        return act

    with monkeypatch.context() as patched:
        for name in ("make_temporary", "fill"):
            patched.setattr(output_files, name, dying(getattr(output_files, name)))
        patched.setattr(output_files.os, "replace", dying(os.replace))
        patched.setattr(Path, "unlink", dying(Path.unlink))
        with pytest.raises(Killed):
            iris("fit", "iris.csv", "--scale", "standard", "-c", "0.01", "--model", "iris.model")
    code, printed, errors = iris("predict", "iris.csv", "iris.model")
    if step < 5:
        assert printed.encode() == right()
    else:
        assert (code, printed) == (2, "")
        assert "belongs to another model" in errors
    assert iris("fit", "iris.csv", "--scale", "minmax", "-c", "10")[0] == 0
    assert iris("predict", "iris.csv", "iris.model")[1].encode() == right()


def test_a_link_to_a_model_is_used_as_the_model(iris: Run) -> None:
    Path("links").mkdir()
    Path("links/current").symlink_to("../iris.model")
    assert iris("predict", "iris.csv", "links/current", "out.txt")[0] == 0
    assert Path("out.txt").read_bytes() == right()
    assert iris("fit", "iris.csv", "--scale", "minmax", "--model", "links/current")[0] == 0
    assert Path("links/current").is_symlink()
    assert sorted(path.name for path in Path("links").iterdir()) == ["current"]
    assert iris("predict", "iris.csv", "iris.model")[0] == 0


def test_what_older_versions_left_beside_a_model_is_told_of(iris: Run) -> None:
    Path("iris.model.meta.json").unlink()
    for name in ("iris.model.classes", "iris.model.range"):
        Path(name).write_text("x\n-1 1\n")
        assert f"{name} lies beside iris.model" in refused(iris, "iris.csv", "iris.model")
        if name.endswith(".classes"):
            Path(name).unlink()
    assert iris("fit", "iris.csv", "--model", "iris.model")[0] == 0
    assert Path("iris.model.range").exists()  # not ours to delete
    assert iris("predict", "iris.csv", "iris.model")[0] == 0


# -- range files of svm-scale, given by hand


def test_a_range_file_by_hand(iris: Run) -> None:
    assert iris("fit", "iris.csv", "--scale", "minmax", "-c", "10", "--save-range", "r")[0] == 0
    assert "has its own scaling" in refused(iris, "iris.csv", "iris.model", "--range", "r")
    shutil.copy("iris.model", "plain.model")
    arguments = ("iris.csv", "plain.model", "out.txt", "--range", "r")
    assert iris("predict", *arguments)[0] == 0
    assert Path("out.txt").read_bytes() == right()
    content = Path("r").read_text()
    for text, words in (
        ("", "is truncated"),
        ("x\n", "is truncated"),
        (content[:-1], "is truncated"),
        ("".join(content.splitlines(keepends=True)[:-1]), "has no range for feature 4"),
        ("x\n-1 1\n", "has no range for feature 1"),
        ("y\n-1 1\n0 1\n" + content, "line 1: it also scales targets"),
        ("1 2 3\n", "line 1: a range file of svm-scale begins with the line 'x'"),
        (content.replace("-1 1", "1 -1"), "line 2: the bounds of the scaled values are 1 and -1"),
        (content.replace("-1 1", "-1 nan"), "line 2: the bounds"),
        (content.replace("\n2 ", "\n0 "), "line 4: '0 "),
        (content.replace("\n2 ", "\n-2 "), "line 4: '-2 "),
        (content.replace("\n2 ", "\n1 "), "line 4: index 1 is not larger"),
        (content + "5 nan 1\n", "the values of feature 5"),
        (content + "5 1 1\n", "the first must be below the second"),
        (content + "5 -1e300 1e300\n", "both within 1e+150"),
        (content.replace("-1 1", "0 4.9e-324"), "cannot be distinguished"),
        (content + "5 0 \u2028 1\n", "is not of the form index minimum maximum"),
        (content + "99999999999 0 1\n", "is not of the form index minimum maximum"),
    ):
        Path("r").write_text(text)
        assert words in refused(iris, *arguments), text
    Path("r").write_text(content + "2000000000 0 1\n")
    assert iris("predict", *arguments)[0] == 0
    assert Path("out.txt").read_bytes() == right()


def test_a_model_through_a_pipe(iris: Run) -> None:
    """It has no companion; it is read once."""
    assert iris("fit", "train.svm")[0] == 0
    _, expected, _ = iris("predict", "test.svm", "train.model")
    reader, writer = os.pipe()
    os.write(writer, Path("train.model").read_bytes()[:60_000])
    os.close(writer)
    assert iris("predict", "test.svm", f"/dev/fd/{reader}")[1] == expected
    os.close(reader)
