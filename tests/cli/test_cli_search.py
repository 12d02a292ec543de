"""The commands search, compare and report."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import dump_svmlight_file, load_wine
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, minmax_scale

from alphapath import QuadraticLossSVC
from alphapath.cli import options
from alphapath.cli.commands.compare import describe_equal, score_tolerance
from alphapath.cli.files.data import read_data
from conftest import Run


@pytest.fixture
def wine() -> tuple[Any, Any]:
    X, y = load_wine(return_X_y=True)
    return minmax_scale(X, (-1.0, 1.0)), y


def test_search_finds_what_scikit_learn_finds(run: Run, wine: Any) -> None:
    code, printed, errors = run(
        "search", "train.svm", "--log2c", "-3,5,2", "-g", "2^-5,2^-3,2^-1", "-v", "4", "--seed", "3"
    )
    assert (code, errors) == (0, "")
    X, y = wine
    grid = {"C": [2.0**k for k in range(-3, 6, 2)], "gamma": [2.0**k for k in (-5, -3, -1)]}
    cv = StratifiedKFold(4, shuffle=True, random_state=3)
    peer = GridSearchCV(sklearn.svm.SVC(), grid, cv=cv).fit(X[::2], y[::2])
    record = json.loads(Path("train.json").read_text())
    assert record["cv_results"]["mean_test_score"] == pytest.approx(
        peer.cv_results_["mean_test_score"]
    )
    assert record["chosen"]["params"] == peer.best_params_
    assert "15 cells" in printed
    assert Path("report.html").stat().st_size > 10_000
    run("predict", "test.svm", "train.model", "out.txt")
    assert np.array_equal(np.loadtxt("out.txt"), peer.predict(X[1::2]))


def test_the_rule_of_one_standard_error(run: Run) -> None:
    assert run("search", "train.svm", "-t", "linear", "--rule", "1se")[0] == 0
    record = json.loads(Path("train.json").read_text())
    assert record["chosen"] == record["simplest"]
    assert "gamma" not in record["chosen"]["params"]


def test_regression_and_scaling(run: Run) -> None:
    code, printed, _ = run("search", "-s", "3", "-c", "1,10", "-g", "0.01", "--scale", "minmax")
    assert code == 0
    assert "diabetes" in printed
    assert json.loads(Path("diabetes.model.meta.json").read_text())["scaling"] is not None
    assert "svr" in Path("diabetes.model").read_text()[:40]


def test_what_the_time_does_not_suffice_for_is_left_out(run: Run) -> None:
    code, printed, errors = run("search", "train.svm", "--time-limit", "1e-9")
    assert code == 2
    assert "110 of 110 candidates were not run" in errors
    assert "0 SVMs" in printed
    assert set(json.loads(Path("train.json").read_text())["cv_results"]["status"]) == {"not_run"}
    assert "unfinished" in Path("report.html").read_text(encoding="utf-8")
    assert not Path("train.model").exists()


def test_the_iterations_saved_are_counted(run: Run) -> None:
    code, printed, _ = run("search", "two.svm", "--count-cold")
    assert code == 0
    record = json.loads(Path("two.json").read_text())
    assert record["n_iter_cold"] > sum(record["cv_results"]["n_iter"])
    assert str(record["n_iter_cold"]) in printed
    assert "from zero takes" in Path("report.html").read_text(encoding="utf-8")


def value_on(record: Any, t: float) -> float:
    """The curve of a record at t."""
    k = int(np.searchsorted(record["edges"], t)) - 1
    share = (t - record["edges"][k]) / (record["edges"][k + 1] - record["edges"][k])
    return float(record["first"][k] + share * (record["last"][k] - record["first"][k]))


def test_the_path_gives_the_error_of_every_lambda(run: Run) -> None:
    arguments = ("path", "two.svm", "--along", "lambda", "-g", "0.1", "-v", "3")
    assert run(*arguments, "--json", "p.json")[0] == 0
    record = json.loads(Path("p.json").read_text())
    data = read_data(Path("two.svm"), "c-svc")
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for lam in (0.003, 0.3, record["best"]["t"]):
        peer = QuadraticLossSVC(gamma=0.1, lam=lam)
        scores = cross_val_score(peer, data.X, data.y, cv=folds)
        assert value_on(record, lam) == pytest.approx(1.0 - scores.mean(), abs=1e-9)


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_the_path_gives_the_error_of_every_C(scale: str, run: Run) -> None:
    arguments = ("path", "two.svm", "-g", "0.02", "-v", "3", "--most", "100", "--scale", scale)
    code, printed, _ = run(*arguments, "--json", "p.json", "--report", "p.html")
    assert code == 0
    record = json.loads(Path("p.json").read_text())
    data = read_data(Path("two.svm"), "c-svc")
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for C in (0.05, 1.7, 60.0, record["best"]["t"], 1.0001 * record["simplest"]["t"]):
        peer: Any = sklearn.svm.SVC(C=C, gamma=0.02, tol=1e-8)
        if scale == "standard":
            peer = make_pipeline(StandardScaler(), peer)
        scores = cross_val_score(peer, data.X, data.y, cv=folds)
        assert value_on(record, C) == pytest.approx(1.0 - scores.mean(), abs=1e-9)
    assert f"C = {record['best']['t']:.6g}" in printed
    assert "error rate for every C" in Path("p.html").read_text(encoding="utf-8")


def test_the_path_of_a_regression(run: Run) -> None:
    X, y = load_wine(return_X_y=True)
    X = minmax_scale(X, (-1.0, 1.0))
    dump_svmlight_file(X, y + X[:, 0], "r.svm", zero_based=False)
    arguments = ("path", "r.svm", "-s", "3", "-g", "0.2", "-p", "0.05", "--most", "50", "-v", "3")
    assert run(*arguments, "--json", "p.json")[0] == 0
    record = json.loads(Path("p.json").read_text())
    data = read_data(Path("r.svm"), "epsilon-svr")
    folds = KFold(3, shuffle=True, random_state=0)
    for C in (0.5, record["best"]["t"]):
        peer = sklearn.svm.SVR(C=C, gamma=0.2, epsilon=0.05, tol=1e-8)
        scores = cross_val_score(peer, data.X, data.y, cv=folds, scoring="neg_mean_squared_error")
        assert value_on(record, C) == pytest.approx(-scores.mean(), rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["path", "train.svm"], "train has 3 classes; a path can be followed for two classes only"),
        (
            ["search", "train.svm", "--path"],
            "train has 3 classes; a path can be followed for two classes only",
        ),
        (["path", "two.svm", "--along", "lambda", "-t", "poly"], "not c-svc with poly"),
        (["path", "two.svm", "--along", "lambda", "--most", "3"], "--most is for --along C"),
        (["path", "two.svm", "--least", "8", "--most", "3"], "C_m"),
    ],
)
def test_paths_that_can_not_be_followed(arguments: list[str], words: str, run: Run) -> None:
    code, _, errors = run(*arguments)
    assert code == 2
    assert words in errors
    assert errors.count("\n") == 1


def test_a_search_with_its_path(run: Run) -> None:
    code, printed, _ = run("search", "two.svm", "--path", "--scale", "standard", "-v", "4")
    assert code == 0
    record = json.loads(Path("two.json").read_text())
    path, results = record["path"], record["cv_results"]
    gamma = path["fixed"]["gamma"]
    compared = 0
    for params, mean in zip(results["params"], results["mean_test_score"], strict=True):
        C = params["svm__C"]
        if params["svm__gamma"] == gamma and path["edges"][0] < C < path["edges"][-1]:
            # The search stops at a tolerance, the path is exact: a row may be on the boundary.
            assert value_on(path, C) == pytest.approx(1.0 - mean, abs=0.01)
            compared += 1
    assert compared == 9
    assert path["best"]["value"] <= 1.0 - record["best"]["mean"] + 1e-12
    assert "every C" in printed
    page = Path("report.html").read_text(encoding="utf-8")
    assert "error rate for every C" in page
    assert "At powers of two" in page
    assert run("report", "two.json", "--output", "again.html")[0] == 0
    assert Path("again.html").read_text(encoding="utf-8") == page


def test_compare_agrees(run: Run) -> None:
    code, printed, errors = run(
        "compare", "train.svm", "-c", "1,8", "-g", "0.1,1", "--json", "c.json"
    )
    assert (code, errors) == (0, "")
    assert "equal scores 4 of 4 cells" in " ".join(printed.split())
    assert "x as fast as scikit-learn" in printed
    record = json.loads(Path("c.json").read_text())
    assert record["alphapath"] == record["scikit-learn"]


def test_compare_of_a_regression_allows_for_the_stopping_rule(run: Run) -> None:
    code, printed, errors = run("compare", "-s", "3", "-c", "1,8", "-g", "0.02,0.1", "-p", "1")
    assert (code, errors) == (0, "")
    words = " ".join(printed.split())
    assert "equal scores 4 of 4 cells, within the" in words
    assert "that tol = 0.001 leaves open" in words


def test_scores_beyond_the_tolerance_are_not_equal() -> None:
    options = SimpleNamespace(kind="epsilon-svr", tol=1e-3)
    ours, theirs = np.array([0.5, 0.5, 0.5]), np.array([0.5, 0.5 + 1e-4, 0.6])
    tolerance = score_tolerance(options, np.array([-10.0, 10.0]), ours, theirs)
    assert describe_equal(np.abs(ours - theirs), tolerance, 1e-3).startswith("2 of 3 cells")
    options.kind = "c-svc"
    none = score_tolerance(options, np.array([-1, 1]), ours, theirs)
    assert describe_equal(np.abs(ours - theirs), none, 1e-3) == "1 of 3 cells"


def test_targets_like_those_of_a_regression_are_told_of(run: Run) -> None:
    X = np.arange(60.0)[:, None]
    dump_svmlight_file(X, np.arange(60) // 2 + 100, "many.svm", zero_based=False)
    errors = run("fit", "many.svm")[2]
    assert (
        "30 different values in 60 rows, each taken as a class; for regression, pass -s" in errors
    )
    assert "different values" not in run("fit", "many.svm", "-s", "3")[2]
    Path("many.csv").write_text("a,y\n" + "".join(f"{k},{k // 2}.0\n" for k in range(60)))
    assert "30 different values in 60 rows" in run("fit", "many.csv")[2]


def test_a_report_is_made_again(run: Run) -> None:
    run("search", "train.svm", "-c", "1,8", "-g", "0.1,1", "--json", "r.json")
    first = Path("report.html").read_text(encoding="utf-8")
    assert run("report", "r.json", "--output", "again.html")[0] == 0
    assert Path("again.html").read_text(encoding="utf-8") == first
    Path("bad.json").write_text('{\n"a": }')
    assert "bad.json, line 2: this is not JSON" in run("report", "bad.json")[2]
    Path("bad.json").write_text("[]")
    assert "does not hold the results" in run("report", "bad.json")[2]


@pytest.mark.parametrize(
    ("text", "words"),
    [("1,2", "is not BEGIN,END,STEP"), ("5,1,2", "has no values"), ("1,2,0", "has no values")],
)
def test_ranges_that_say_nothing(text: str, words: str, run: Run) -> None:
    code, _, errors = run("search", "train.svm", "--log2c", text)
    assert code == 2
    assert words in errors


def test_the_guides_grid_is_the_default() -> None:
    assert options.powers(options.LOG2_C) == [2.0**k for k in range(-5, 16, 2)]
    assert options.powers(options.LOG2_GAMMA) == [2.0**k for k in range(-15, 4, 2)]
    assert options.log_range("15,-5,-2") == (-5.0, 15.0, 2.0)
