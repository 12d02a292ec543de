"""The command `rank`: what it answers and writes, and what it says when that is impossible."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_svmlight_file

from alphapath import SVR, RankSVM, ndcg
from alphapath.paths import rank_weight_path
from conftest import Run


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rank_writes_the_model_it_certifies(kernel: str, run: Run, folder: Path) -> None:
    code, printed, errors = run(
        *("rank", "queries.svm", "-c", "0.1", "-g", "0.2", "-t", kernel, "-k", "3"),
        *("--test", "more.svm", "--model", "rank.model", "--json", "rank.json"),
    )
    assert code == 0, errors
    X, y, qid = load_svmlight_file("queries.svm", query_id=True)
    V, v, vq = load_svmlight_file("more.svm", query_id=True)
    model = RankSVM(C=0.1, gamma=0.2, kernel=kernel).fit(X.toarray(), y, qid)
    record = json.loads((folder / "rank.json").read_text())
    assert record["pairs"] == model.n_pairs_
    for k in (1, 2, 3):
        scores = model.predict(V.toarray())
        assert_allclose(record["ndcg"]["test"][k - 1], ndcg(v, scores, vq, k=k), atol=1e-12)
    assert f"{record['ndcg']['test'][2]:.4f}" in printed
    stored = SVR.load_libsvm("rank.model", n_features=V.shape[1])
    assert_allclose(stored.predict(V.toarray()), model.predict(V.toarray()), atol=1e-9)
    assert run("predict", "more.svm", "rank.model", "scores.txt")[0] == 0
    assert_allclose(np.loadtxt("scores.txt"), model.predict(V.toarray()), atol=1e-9)


def test_rank_chooses_weights_on_a_validation_file(run: Run, folder: Path) -> None:
    code, printed, errors = run(
        *("rank", "queries.svm", "--valid", "more.svm", "-c", "0.01", "--scale", "standard"),
        *("--model", "rank.model", "--json", "rank.json"),
    )
    assert code == 0, errors
    record = json.loads((folder / "rank.json").read_text())
    assert record["ndcg"]["valid"][9] == pytest.approx(record["best_ndcg"], abs=1e-9)
    assert record["best_ndcg"] == max(record["curve_ndcg"])
    assert "pieces from uniform" in printed
    assert (folder / "rank.model.meta.json").exists()


def test_rank_follows_the_path_of_the_library(run: Run, folder: Path) -> None:
    run("rank", "queries.svm", "--valid", "more.svm", "-c", "0.1", "--json", "rank.json")
    X, y, qid = load_svmlight_file("queries.svm", query_id=True)
    V, v, vq = load_svmlight_file("more.svm", query_id=True)
    path = rank_weight_path(RankSVM(C=0.1), X.toarray(), y, qid=qid)
    record = json.loads((folder / "rank.json").read_text())
    assert_allclose(path.validate(V.toarray(), v, vq).best_value, record["best_ndcg"], atol=1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 qid:1 1:2\n0 1:3\n", "line 2: the row has no query"),
        ("1 1:2\n0 1:3\n", "line 1: the row has no query"),
        ("1 qid:1 1:2\n0 qid:1 1:x\n", "line 2: 'x' is not a finite number"),
        ("1 qid:1 1:2\n1 qid:1 1:3\n", "no pair to rank among n_samples = 2 rows"),
        ("a,b\n1,2\n", "ranking reads lines such as"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(text: str, words: str, run: Run, folder: Path) -> None:
    (folder / "bad.svm").write_text(text)
    code, printed, errors = run("rank", "bad.svm")
    assert code == 2
    assert words in errors
    assert printed == ""


def test_bad_options_are_refused(run: Run) -> None:
    assert "'0' is not a whole number of at least 1" in run("rank", "queries.svm", "-k", "0")[2]
    assert "There is no file" in run("rank", "absent.svm")[2]
    assert run("rank", "queries.svm", "-c", "-1")[0] == 2
