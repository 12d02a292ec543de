"""A journaled search, killed at any moment, resumes where it stopped and gives the same results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_classification
from sklearn.model_selection import KFold

import alphapath
from alphapath import SVC
from alphapath.errors import JournalError
from alphapath.model_selection import SVMSearchCV
from alphapath.search.journal import Journal

# Every chain that is begun is written down, so that what is done twice can be counted.
SEARCH = """
import json, sys
import numpy as np
from sklearn.datasets import make_classification
from alphapath import SVC
from alphapath.model_selection import search_work
from alphapath.model_selection import SVMSearchCV

journal, log, out = sys.argv[1:]
run = search_work.SearchWork.__call__

def run_and_tell(self, chain, neighbour):
    with open(log, "a") as file:
        file.write(chain.key + "\\n")
    return run(self, chain, neighbour)

search_work.SearchWork.__call__ = run_and_tell
X, y = make_classification(1200, 12, n_informative=4, flip_y=0.2, random_state=0)
grid = {"C": 2.0 ** np.arange(-5, 14, 3), "gamma": 2.0 ** np.linspace(-9, 1, 24)}
search = SVMSearchCV(SVC(), grid, cv=5, refit=False, journal=journal or None).fit(X, y)
results = {key: np.asarray(value).tolist() for key, value in search.cv_results_.items()}
json.dump({k: v for k, v in results.items() if "_time" not in k}, open(out, "w"))
"""


def start(folder: Path, journal: str, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SEARCH, journal, str(log), str(folder / "results.json")]
    return subprocess.Popen(command)


def count_lines(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def kill_and_resume(folder: Path, n_kills: int) -> None:
    log = folder / "plain.log"
    assert start(folder, "", log).wait(timeout=300) == 0
    expected = json.loads((folder / "results.json").read_text())
    n_chains = count_lines(log)
    assert n_chains >= 24
    rng = np.random.default_rng(n_kills)
    moments = np.sort(rng.choice(n_chains - 1, size=n_kills, replace=False))
    log, journal = folder / "killed.log", folder / "search.db"
    (folder / "results.json").unlink()
    n_begun = 0
    for moment in moments:
        process = start(folder, str(journal), log)
        # A chain that was cut off is begun once more: one line more for each kill before.
        wanted = max(n_begun + 1, int(moment) + 1)
        while count_lines(log) < wanted and process.poll() is None:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        n_begun = count_lines(log)
        with Journal(journal) as kept:
            assert len(kept) >= len(set(log.read_text().split())) - 1
    assert start(folder, str(journal), log).wait(timeout=300) == 0
    assert json.loads((folder / "results.json").read_text()) == expected
    begun = Counter(log.read_text().split())
    assert len(begun) == n_chains
    assert sum(begun.values()) - n_chains <= n_kills  # at most one chain redone for each kill
    # And once more, with nothing left to do.
    n_begun = count_lines(log)
    assert start(folder, str(journal), log).wait(timeout=300) == 0
    assert count_lines(log) == n_begun
    assert json.loads((folder / "results.json").read_text()) == expected


def test_a_killed_search_resumes(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, n_kills=2)


@pytest.mark.slow
def test_ten_random_kills(tmp_path: Path) -> None:
    kill_and_resume(tmp_path, n_kills=10)


GRID = {"C": [0.5, 4.0], "gamma": [0.1, 1.0]}


def make_search(journal: Path, **changes: Any) -> Any:
    options = {"param_grid": GRID, "cv": 3, **changes}
    return SVMSearchCV(SVC(), journal=journal, refit=False, **options)


@pytest.mark.parametrize("change", ["data", "targets", "splits", "grid", "estimator", "scoring"])
def test_another_search_is_refused(change: str, tmp_path: Path) -> None:
    X, y = make_classification(80, random_state=0)
    path = tmp_path / "search.db"
    make_search(path).fit(X, y)
    changes: dict[str, Any] = {
        "splits": {"cv": KFold(3, shuffle=True, random_state=1)},
        "grid": {"param_grid": {**GRID, "C": [0.5, 8.0]}},
        "scoring": {"scoring": "balanced_accuracy"},
    }.get(change, {})
    search = make_search(path, **changes)
    if change == "estimator":
        search.set_params(estimator__tol=1e-4)
    if change == "data":
        X = X.copy()
        X[3, 3] += 1e-12
    if change == "targets":
        y = np.where(np.arange(80) == 5, 1 - y, y)
    word = {"targets": "data"}.get(change, change)
    with pytest.raises(JournalError, match=f"belongs to another search .*{word}"):
        search.fit(X, y)
    assert len(Journal(path)) > 0


def test_workers_share_a_journal(tmp_path: Path) -> None:
    X, y = make_classification(700, random_state=0)
    path = tmp_path / "search.db"
    serial = make_search(tmp_path / "serial.db").fit(X, y)
    both = make_search(path, n_jobs=2).fit(X, y)
    again = make_search(path).fit(X, y)
    for search in (both, again):
        for key, value in serial.cv_results_.items():
            if "_time" not in key:
                assert np.array_equal(np.asarray(search.cv_results_[key]), np.asarray(value)), key


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    dump_svmlight_file(
        X, np.sign(rng.normal(size=3000)), str(tmp_path / "noise.svm"), zero_based=False
    )
    command = [sys.executable, "-m", "alphapath", "search", "noise.svm", "--journal", "noise.db"]
    # In another folder, a relative PYTHONPATH would lead nowhere.
    env = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    path = tmp_path / "noise.db"
    while process.poll() is None and not (path.exists() and len(Journal(path)) >= 6):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=100)
    assert process.returncode == 130, errors
    assert "written" in printed
    status = json.loads((tmp_path / "noise.json").read_text())["cv_results"]["status"]
    assert "not_run" in status
    assert "solved" in status
    assert "unfinished" in (tmp_path / "report.html").read_text(encoding="utf-8")
