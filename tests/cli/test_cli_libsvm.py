"""Model files between the command line and LIBSVM's own programs, both ways, the same answers.

The programs are svm-train, svm-predict and svm-scale (Debian's libsvm-tools) where they are
installed, else LIBSVM's Python package.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_wine
from sklearn.preprocessing import minmax_scale

from conftest import Run

KERNELS = ("0", "1", "2", "3")
#: Data and `-s` of svm-train; two classes, three, one, and regressions.
MODELS = (("two", "0"), ("three", "0"), ("two", "2"), ("numbers", "3"))
NU_MODELS = (("two", "1"), ("three", "1"), ("numbers", "4"))
HAS_PROGRAMS = all(map(shutil.which, ("svm-train", "svm-predict")))


def write_rows(name: str) -> None:
    """`rows.svm` to train on and `new.svm` to predict."""
    X, y = (load_diabetes if name == "numbers" else load_wine)(return_X_y=True)
    X = minmax_scale(X, (-1.0, 1.0))
    if name == "numbers":
        y = y / 100.0
    elif name == "two":
        X, y = X[y < 2], 1 - 2 * y[y < 2]
    # LIBSVM numbers classes by their first appearance, which should not be the sorted order.
    order = np.random.default_rng(3).permutation(len(y))
    X, y = X[order], y[order]
    dump_svmlight_file(X[::2], y[::2], "rows.svm", zero_based=False)
    dump_svmlight_file(X[1::2], y[1::2], "new.svm", zero_based=False)


def train_by_libsvm(flags: list[str], model: str) -> None:
    if HAS_PROGRAMS:
        subprocess.run(["svm-train", "-q", *flags, "rows.svm", model], check=True, timeout=60)
        return
    svmutil = pytest.importorskip("libsvm.svmutil")
    y, X = svmutil.svm_read_problem("rows.svm")
    svmutil.svm_save_model(model, svmutil.svm_train(y, X, " ".join(["-q", *flags])))


def predict_by_libsvm(rows: str, model: str) -> Any:
    if HAS_PROGRAMS:
        subprocess.run(["svm-predict", "-q", rows, model, "theirs.txt"], check=True, timeout=60)
        return np.loadtxt("theirs.txt")
    svmutil = pytest.importorskip("libsvm.svmutil")
    y, X = svmutil.svm_read_problem(rows)
    return np.array(svmutil.svm_predict(y, X, svmutil.svm_load_model(model), "-q")[0])


def predict(run: Run, rows: str, model: str) -> Any:
    code, _, errors = run("predict", rows, model, "ours.txt")
    assert code == 0, errors
    return np.loadtxt("ours.txt")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("data", "kind"), [*MODELS, *NU_MODELS])
def test_models_of_svm_train_are_read(data: str, kind: str, kernel: str, run: Run) -> None:
    if (data, kind) == ("three", "1") and not HAS_PROGRAMS:
        pytest.skip("LIBSVM's Python package crashes on a nu-SVC of three classes")
    write_rows(data)
    flags = ["-s", kind, "-t", kernel, "-c", "4", "-g", "0.05", "-r", "0.5", "-n", "0.3"]
    train_by_libsvm(flags, "their.model")
    found = predict(run, "new.svm", "their.model")
    expected = predict_by_libsvm("new.svm", "their.model")
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-7)
    if data != "numbers":
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("data", "kind"), MODELS)
def test_svm_predict_reads_our_models(data: str, kind: str, kernel: str, run: Run) -> None:
    write_rows(data)
    flags = ["-s", kind, "-t", kernel, "-g", "0.05", "-r", "0.5"]
    flags += ["-n", "0.3"] if kind == "2" else ["-c", "4"]
    # 1 where the kernel (sigmoid) makes the problem non-convex: the file is written all the same.
    assert run("fit", "rows.svm", *flags, "--model", "our.model")[0] in (0, 1)
    found = predict(run, "new.svm", "our.model")
    expected = predict_by_libsvm("new.svm", "our.model")
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-7)
    if data != "numbers":
        assert np.array_equal(found, expected)


@pytest.mark.skipif(
    shutil.which("svm-scale") is None, reason="svm-scale (libsvm-tools) is not installed"
)
@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_svm_scale_reads_our_ranges(scale: str, run: Run) -> None:
    X, y = load_wine(return_X_y=True)
    dump_svmlight_file(X[::2], y[::2], "rows.svm", zero_based=False)
    dump_svmlight_file(X[1::2], y[1::2], "new.svm", zero_based=False)
    assert (
        run(
            "fit",
            "rows.svm",
            "-c",
            "4",
            "--scale",
            scale,
            "--model",
            "our.model",
            "--save-range",
            "r",
        )[0]
        == 0
    )
    scaled = subprocess.run(["svm-scale", "-r", "r", "new.svm"], capture_output=True, check=True)
    Path("scaled.svm").write_bytes(scaled.stdout)
    expected = predict_by_libsvm("scaled.svm", "our.model")
    assert np.array_equal(predict(run, "new.svm", "our.model"), expected)
