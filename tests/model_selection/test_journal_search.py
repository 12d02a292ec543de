"""A journaled search, killed at any moment, resumes where it stopped and gives the same results."""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import alphapath
from alphapath import SVC, LinearSVC
from alphapath.errors import JournalError
from alphapath.model_selection import SVMSearchCV
from alphapath.model_selection.grid.chain import ChainSolver
from alphapath.model_selection.grid.work import SearchWork
from alphapath.search.chain import NEIGHBOUR
from alphapath.search.journal import Journal

# Every chain that is begun is written down, so that what is done twice can be counted.
SEARCH = """
import json, sys
import numpy as np
from sklearn.datasets import make_classification
from alphapath import SVC
from alphapath.model_selection.grid import work as search_work
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


def make_search(journal: Path | None, **changes: Any) -> Any:
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


def rbf(width: float) -> Any:
    return lambda A, B: np.exp(-width * ((A[:, None] - B[None]) ** 2).sum(-1))


def train_on(columns: Any) -> Any:
    chosen = ColumnTransformer([("chosen", StandardScaler(), columns)])
    return make_pipeline(chosen, SVC())


def score_times(factor: float) -> Any:
    def score(model: Any, X: Any, y: Any) -> float:
        return factor * float(model.score(X, y))

    return score


class Power:
    """A kernel whose state, and no code, tells it from another."""

    def __init__(self, degree: int) -> None:
        self.degree = degree

    def __call__(self, A: Any, B: Any) -> Any:
        return (1.0 + A @ B.T) ** self.degree


WIDE = np.random.default_rng(0).normal(size=(60, 1200))
CHANGES: dict[str, tuple[Any, Any]] = {
    "lambda": (SVC(kernel=lambda A, B: A @ B.T), SVC(kernel=lambda A, B: (A @ B.T) ** 3)),
    "closure": (SVC(kernel=rbf(0.001)), SVC(kernel=rbf(0.1))),
    "state": (SVC(kernel=Power(1)), SVC(kernel=Power(3))),
    "method": (SVC(kernel=Power(1).__call__), SVC(kernel=Power(3).__call__)),
    "partial": (
        SVC(kernel=partial(Power.__call__, Power(1))),
        SVC(kernel=partial(Power.__call__, Power(2))),
    ),
    "step": tuple(
        make_pipeline(FunctionTransformer(function), SVC())
        for function in (lambda X: X, lambda X: X[:, :5])
    ),
    "columns": (train_on(list(range(800))), train_on([*range(799), 900])),
    "array": (train_on(np.arange(1100)), train_on(np.r_[:500, 501:1101])),
    "class": (SVC(kernel="linear"), LinearSVC()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_function_is_another_search(change: str, tmp_path: Path) -> None:
    y = np.arange(60) % 2
    first, second = (
        SVMSearchCV(
            estimator,
            {"C" if hasattr(estimator, "C") else "svc__C": [1.0]},
            cv=2,
            refit=False,
            journal=tmp_path / "search.db",
        )
        for estimator in CHANGES[change]
    )
    scores = first.fit(WIDE, y).cv_results_["mean_test_score"]
    assert clone(first).fit(WIDE, y).cv_results_["mean_test_score"] == scores
    with pytest.raises(JournalError, match=r"another search \(estimator"):
        second.fit(WIDE, y)


def test_an_edited_scorer_is_another_search(tmp_path: Path) -> None:
    X, y = make_classification(80, random_state=0)
    path = tmp_path / "search.db"
    make_search(path, scoring=score_times(1.0)).fit(X, y)
    make_search(path, scoring=score_times(1.0)).fit(X, y)
    with pytest.raises(JournalError, match=r"another search \(scoring"):
        make_search(path, scoring=score_times(2.0)).fit(X, y)


def test_what_has_no_digest_is_refused_at_once(tmp_path: Path) -> None:
    X, y = make_classification(80, random_state=0)
    search = make_search(tmp_path / "search.db", param_grid={"C": [1.0]})
    search.set_params(estimator__kernel=lambda A, B: next(widths) * A @ B.T)
    widths = (width for width in [1.0])
    sentence = r"Of its estimator: the variable 'widths'.* is an object of type 'generator'"
    with pytest.raises(JournalError, match=sentence):
        search.fit(X, y)
    assert not (tmp_path / "search.db").exists()


def test_two_searches_at_a_time_are_refused(tmp_path: Path) -> None:
    X, y = make_classification(80, random_state=0)
    path = tmp_path / "search.db"
    refusals = []

    def search_again(model: Any, X: Any, y: Any) -> float:
        with pytest.raises(JournalError, match="another search that keeps this journal is running"):
            make_search(path).fit(*data)
        refusals.append(1)
        return float(model.score(X, y))

    data = X, y
    make_search(path, scoring=search_again).fit(X, y)
    assert refusals
    make_search(tmp_path / "other.db").fit(X, y)
    assert not [*tmp_path.glob("*-lock")]


LINKED = {"C": [500.0], "gamma": np.geomspace(0.01, 1.0, 7)}


@pytest.mark.parametrize("n_done", range(1, 7))
def test_linked_kernels_resume_after_any_chain(n_done: int, tmp_path: Path) -> None:
    """What a chain begins from is kept until it is finished: one chain is solved, not its unit."""
    X, y = make_classification(300, 8, n_informative=5, flip_y=0.2, random_state=1)
    path = tmp_path / "search.db"
    options = {"param_grid": LINKED, "plan": "linked_kernels"}
    plain = make_search(None, **options).fit(X, y)
    assert any(step.parent == NEIGHBOUR for chain in plain.plan_.chains for step in chain.steps)
    solved: list[str] = []
    run = SearchWork.__call__

    def stop_in_time(self: Any, chain: Any, neighbour: Any) -> Any:
        if len(solved) == n_done:
            raise KeyboardInterrupt
        solved.append(chain.key)
        return run(self, chain, neighbour)

    def count(self: Any, chain: Any, neighbour: Any) -> Any:
        solved.append(chain.key)
        return run(self, chain, neighbour)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SearchWork, "__call__", stop_in_time)
        with (
            pytest.raises(KeyboardInterrupt),
            pytest.warns(ConvergenceWarning, match="were not run"),
        ):
            make_search(path, **options).fit(X, y)
        patch.setattr(SearchWork, "__call__", count)
        resumed = make_search(path, **options).fit(X, y)
    assert len(solved) == len(set(solved)) == 7
    assert str(resumed.plan_) == str(plain.plan_)
    for key, value in plain.cv_results_.items():
        if "_time" not in key:
            assert np.array_equal(np.asarray(resumed.cv_results_[key]), np.asarray(value)), key
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM legacy").fetchone() == (0,)
    connection.close()


def test_a_full_disk_costs_no_results(tmp_path: Path) -> None:
    X, y = make_classification(80, random_state=0)
    path = tmp_path / "search.db"
    plain = make_search(None).fit(X, y)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with Journal(path) as journal:  # its tables fit
            assert len(journal) == 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
        with pytest.warns(RuntimeWarning, match="The search goes on, but what it solves from now"):
            full = make_search(path).fit(X, y)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    again = make_search(path).fit(X, y)
    for search in (full, again):
        for key, value in plain.cv_results_.items():
            if "_time" not in key:
                assert np.array_equal(np.asarray(search.cv_results_[key]), np.asarray(value)), key


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more")
@pytest.mark.parametrize("plan", ["along_c", "linked_kernels"])
def test_a_refusal_that_passes_is_not_kept(
    plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be more memory when the search resumes."""
    X, y = make_classification(80, random_state=0)
    options: dict[str, Any] = {"plan": plan, "error_score": np.nan}
    plain = make_search(None, **options).fit(X, y)
    path, solve = tmp_path / "search.db", ChainSolver.solve
    calls = itertools.count()

    def fail(self: ChainSolver, *given: Any) -> None:
        if next(calls) == 1:
            raise MemoryError
        solve(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(ChainSolver, "solve", fail)
        failed = make_search(path, **options).fit(X, y)
    assert "refused" in failed.cv_results_["status"]
    again = make_search(path, **options).fit(X, y)
    for key, value in plain.cv_results_.items():
        if "_time" not in key:
            assert np.array_equal(np.asarray(again.cv_results_[key]), np.asarray(value)), key


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


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_command_keeps_what_is_done(stop: int, code: int, tmp_path: Path) -> None:
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
    process.send_signal(stop)
    printed, errors = process.communicate(timeout=100)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    assert "written" in printed
    status = json.loads((tmp_path / "noise.json").read_text())["cv_results"]["status"]
    assert "not_run" in status
    assert "solved" in status
    assert "unfinished" in (tmp_path / "report.html").read_text(encoding="utf-8")
