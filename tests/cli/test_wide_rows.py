"""Sparse rows with indices up to the largest there is: nothing is as long as that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath import SVC, SVR, OneClassSVM
from alphapath.cli import main
from alphapath.cli.files import svmlight as reader
from alphapath.kernels.base import WIDE, narrow
from alphapath.model_selection import cross_validate, leave_one_out

WIDTH = 2**31 - 2
KERNELS = ("linear", "rbf", "poly")


def rows(n: int = 60, seed: int = 0) -> tuple[Any, Any, Any]:
    """The same rows with columns 0, 1, ... and with the last of them far out, and labels."""
    rng = np.random.default_rng(seed)
    near = sp.csr_array(rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.6))
    columns = np.array([0, 1, 7, 10_000, WIDTH - 2, WIDTH - 1])
    parts = near.data, columns[near.indices], near.indptr
    y = np.where(near.toarray()[:, 4] + rng.normal(size=n) > 0.0, 1, -1)
    return near, sp.csr_array(parts, shape=(n, WIDTH)), y


@pytest.mark.parametrize("kernel", KERNELS)
def test_models_are_those_of_rows_without_gaps(kernel: str, tmp_path: Path) -> None:
    near, wide, y = rows()
    model, expected = (SVC(kernel=kernel, gamma=0.3, tol=1e-8).fit(X, y) for X in (wide, near))
    found = model.decision_function(wide)
    assert found == pytest.approx(expected.decision_function(near), abs=1e-6)
    assert model.certify(wide, y).is_optimal(1e-6)
    model.save_libsvm(tmp_path / "wide.model")
    again = SVC.load_libsvm(tmp_path / "wide.model", n_features=WIDTH)
    assert again.decision_function(wide) == pytest.approx(found, abs=1e-12)
    values, other = (
        cross_validate(SVC(kernel=kernel, gamma=0.3), X, y, cv=3) for X in (wide, near)
    )
    assert values["test_score"].tolist() == other["test_score"].tolist()


def test_other_models_take_them() -> None:
    near, wide, y = rows()
    targets = y + near.toarray()[:, 0]
    values, other = (SVR(gamma=0.3, tol=1e-8).fit(X, targets).predict(X) for X in (wide, near))
    assert values == pytest.approx(other, abs=1e-6)
    values, other = (OneClassSVM(gamma=0.3, tol=1e-8).fit(X).score_samples(X) for X in (wide, near))
    assert values == pytest.approx(other, abs=1e-6)
    values, other = (leave_one_out(SVC(gamma=0.3), X, y).decision_function_ for X in (wide, near))
    assert values == pytest.approx(other, abs=1e-2)


def test_only_empty_columns_are_left_out() -> None:
    near, wide, _ = rows()
    (found,) = narrow(wide)
    assert found.shape == (60, 6)
    assert (found != near).nnz == 0
    left, right = narrow(wide[:30], wide[30:])
    assert left.shape[1] == right.shape[1] == 6
    narrower = sp.csr_array(wide[:, : WIDE - 1])
    assert narrow(narrower)[0] is narrower


def write(path: Path, is_ranking: bool = False) -> Path:
    _, wide, y = rows()
    lines = []
    for k in range(wide.shape[0]):
        own = slice(wide.indptr[k], wide.indptr[k + 1])
        entries = zip(wide.indices[own] + 1, wide.data[own], strict=True)
        words = [
            str(y[k]),
            *(["qid:1"] if is_ranking else []),
            *(f"{i}:{v:.17g}" for i, v in entries),
        ]
        lines.append(" ".join(words))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_commands_take_them(tmp_path: Path, capsys: Any) -> None:
    file, model = str(write(tmp_path / "wide.svm")), str(tmp_path / "wide.model")
    assert main(["fit", file, "-c", "1", "-g", "0.5", "--model", model]) == 0
    assert main(["predict", file, model, str(tmp_path / "out.txt")]) == 0
    X, y, _ = reader.read_svmlight(Path(file))
    expected = SVC(C=1.0, gamma=0.5).fit(X, y).predict(X)
    assert np.loadtxt(tmp_path / "out.txt").tolist() == expected.tolist()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["fit", "--scale", "minmax"], "--scale minmax stores"), (["rank"], "linear kernel")],
)
def test_what_needs_a_number_for_each_feature_is_refused(
    words: list[str], reason: str, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("alphapath.estimators.common.width.default_memory_limit", lambda: 2**30)
    file = str(write(tmp_path / "wide.svm", words[0] == "rank"))
    row = 1 + int(np.flatnonzero(rows()[0].toarray()[:, 5])[0])
    assert main([words[0], file, *words[1:]]) == 2
    said = capsys.readouterr().err
    assert f"wide, row {row}: the index {WIDTH} is too large" in said
    assert reason in said


@pytest.mark.parametrize("text", ["std::bad_alloc", "Unable to allocate 16.0 GiB", ""])
def test_no_memory_is_a_sentence(text: str, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    """Also where native code finds none, whose message is none."""

    def run(options: Any) -> int:
        raise MemoryError(text)

    monkeypatch.setattr("alphapath.cli.commands.fit.run", run)
    assert main(["fit", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("alphapath: There is not enough memory for this")
    assert said.endswith("; use fewer rows or features.\n")
    assert ("GiB" in text) == ("GiB" in said)
    assert "bad_alloc" not in said
