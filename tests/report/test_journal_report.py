"""The report of a journal: while the search runs, after it was killed, and when it is done."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_wine
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import alphapath
from alphapath import SVC
from alphapath.errors import JournalError
from alphapath.model_selection import SVMSearchCV
from alphapath.report import record_search, write_report
from alphapath.search.journal import Journal
from alphapath.search.journal.outline import read_search
from conftest import Run


def test_a_running_search_is_reported(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.sign(rng.normal(size=3000))
    dump_svmlight_file(rng.normal(size=(3000, 10)), y, "noise.svm", zero_based=False)
    command = [sys.executable, "-m", "alphapath", "search", "noise.svm", "--journal", "noise.db"]
    env = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        seen = []
        for n_wanted in (6, 9):
            while process.poll() is None and n_finished(Path("noise.db")) < n_wanted:
                time.sleep(0.02)
            code, printed, errors = run("report", "noise.db", "--output", "now.html")
            assert (code, errors) == (0, "")
            seen.append(int(printed.split()[1]))
        assert process.poll() is None, "the search ended before it could be looked at"
    finally:
        process.kill()
        process.wait()
    assert 0 < seen[0] <= seen[1] < 110
    page = Path("now.html").read_text(encoding="utf-8")
    assert f"{seen[1]} of 110 cells" in page
    assert "unfinished" in page
    assert page.count("not run") >= 110 - seen[1]
    assert "noise: SVM search" in page


def n_finished(path: Path) -> int:
    if not path.exists():
        return 0
    with Journal(path) as journal:
        return len(journal)


@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_a_journal_tells_what_the_search_tells(scoring: list[str] | None, tmp_path: Path) -> None:
    X, y = load_wine(return_X_y=True)
    search = SVMSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": np.array([0.5, 4.0]), "svc__gamma": [0.1, 1.0, "scale"]},
        cv=KFold(3, shuffle=True, random_state=0),
        scoring=scoring,
        refit=False,
        journal=tmp_path / "s.db",
    ).fit(X, y)
    read = read_search(tmp_path / "s.db")
    for key, values in read.cv_results_.items():
        expected = search.cv_results_[key]
        if key == "params":
            assert [dict(one) for one in expected] == values
        elif np.asarray(values).dtype.kind == "f":
            assert np.allclose(values, np.asarray(expected, dtype=float), equal_nan=True), key
        else:
            assert list(values) == list(expected), key
    assert str(read.plan_) == str(search.plan_)
    metric = "score" if scoring is None else "f1_macro"
    ours = record_search(search, metric=metric)
    theirs = record_search(tmp_path / "s.db", metric=metric)
    for key in ("best", "simplest", "search", "trees"):
        assert theirs[key] == ours[key]


def test_the_journal_of_a_finished_search(tmp_path: Path) -> None:
    X, y = load_wine(return_X_y=True)
    journal = str(tmp_path / "s.db")
    SVMSearchCV(SVC(), {"C": [1.0, 2.0], "gamma": [1e-4, 1e-3]}, cv=3, journal=journal).fit(X, y)
    before = (tmp_path / "s.db").read_bytes()
    with pytest.raises(ValueError, match="is the journal itself"):
        write_report(journal, tmp_path / "s.db")
    assert (tmp_path / "s.db").read_bytes() == before
    page = write_report(journal, tmp_path / "r.html", X=X, y=y, name="wine")
    text = re.sub(r"<[^>]*>", " ", page.read_text(encoding="utf-8"))
    assert "unfinished" not in text
    assert "12 SVMs" in text
    assert "178" in text


def test_journals_that_say_nothing(tmp_path: Path, run: Run) -> None:
    with pytest.raises(JournalError, match=r"There is no journal .*none\.db"):
        read_search(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with Journal(tmp_path / "new.db") as journal:
        assert journal.outline == ""
        with pytest.raises(JournalError, match="has not begun"):
            read_search(tmp_path / "new.db")
        journal.bind({"data": "1"}, json.dumps({"a": 1}))
        assert json.loads(journal.outline) == {"a": 1}
        journal.bind({"data": "1"}, "other")  # what is there stays
        assert json.loads(journal.outline) == {"a": 1}
    code, _, errors = run("report", "none.json")
    assert code == 2
    assert "There is no file none.json" in errors
