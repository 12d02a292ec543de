"""The command one-class: the search of the library, judged and saved."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from alphapath import OneClassMaxMinOver, OneClassSVM
from alphapath.cli.commands.one_class import divide
from alphapath.cli.files.data import read_data
from conftest import Run


def test_without_labels_the_leave_one_out_error_chooses(run: Run) -> None:
    code, printed, errors = run(
        "one-class", "train.svm", "-c", "1,16", "-g", "0.1,1", "--json", "r.json"
    )
    assert (code, errors) == (0, "")
    record = json.loads(Path("r.json").read_text())
    X = read_data(Path("train.svm"), "one-class").X
    for k in range(4):
        C, gamma = (record["results"][f"param_{name}"][k] for name in ("C", "gamma"))
        # The error is that of the exact solution, whatever the gap of the search.
        model = OneClassMaxMinOver(C=C, gamma=gamma, gap_tol=1e-12).fit(X)
        is_support = np.abs(model.dual_coef_.ravel()) > 1e-9 * np.abs(model.dual_coef_).max()
        error = record["results"]["leave_one_out_error"][k]
        assert error == pytest.approx(is_support.sum() / len(X), abs=1e-12)
    assert record["score"] == -min(record["results"]["leave_one_out_error"])
    assert record["gap"] <= 1e-4
    assert "by the leave-one-out error" in printed


def test_with_labels_the_others_judge(run: Run) -> None:
    arguments = ("one-class", "two.svm", "--inliers", "1", "-c", "1,16,256", "--log2g", "-5,1,2")
    assert run(*arguments, "--json", "r.json", "--model", "one.model")[0] == 0
    record = json.loads(Path("r.json").read_text())
    data = read_data(Path("two.svm"), "c-svc")
    trained, judged, sides = divide(data, "1", 0)
    assert set(data.y[trained]) == {1}
    assert sorted([*trained, *judged]) == list(range(len(data.y)))
    model = OneClassMaxMinOver(**record["best"]).fit(data.X[trained])
    area = roc_auc_score(sides > 0, model.decision_function(data.X[judged]))
    assert record["score"] == pytest.approx(area, abs=1e-3)
    assert model.certify(data.X[trained]).relative_gap <= 1e-4
    assert run("predict", "two.svm", "one.model", "ours.txt")[0] == 0
    expected = model.predict(data.X)
    assert np.mean(np.loadtxt("ours.txt") == expected) >= 0.99
    if shutil.which("svm-predict"):
        subprocess.run(["svm-predict", "-q", "two.svm", "one.model", "theirs.txt"], check=True)
        assert np.array_equal(np.loadtxt("ours.txt"), np.loadtxt("theirs.txt"))


def test_the_embedded_data_are_scaled_and_split(run: Run) -> None:
    code, printed, _ = run("one-class", "-c", "1,4", "-g", "0.01")
    assert code == 0
    assert "179 rows, by 390 other rows" in printed
    assert json.loads(Path("breast_cancer.model.meta.json").read_text())["scaling"] is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["two.svm", "--inliers", "7"], "the targets of two are '0', '1'"),
        (["few.svm", "--inliers", "1"], "1 of 2 rows of few have the target '1'"),
        (["two.svm", "--inliers", "1", "-g", "0"], "is not a number above 0"),
    ],
)
def test_what_can_not_be_is_refused(arguments: list[str], words: str, run: Run) -> None:
    Path("few.svm").write_text("1 1:1\n-1 1:2\n")
    code, _, errors = run("one-class", *arguments)
    assert code == 2
    assert words in errors


def test_a_model_with_squared_slacks_is_read_as_a_one_class_model(tmp_path: Path) -> None:
    X: Any = np.random.default_rng(0).normal(size=(60, 3))
    for options in ({"sigma": 2.0}, {"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2}):
        model = OneClassMaxMinOver(C=50.0, **options).fit(X)
        model.save_libsvm(tmp_path / "m.model")
        read = OneClassSVM.load_libsvm(tmp_path / "m.model")
        assert np.allclose(read.decision_function(X), model.decision_function(X), atol=1e-12)
