"""The benchmark harness: what it loads, how it judges, what it writes."""

from __future__ import annotations

import importlib
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris, make_classification
from sklearn.svm import SVC, SVR

import alphapath
from alphapath.paths import c_path
from benchmarks.__main__ import main
from benchmarks.fit import exactness
from benchmarks.harness import judge
from benchmarks.harness.data import DataSpec, data_file, load
from benchmarks.harness.measure import ROOT, Runner, resident_kilobytes
from benchmarks.harness.peers import chosen_peers
from benchmarks.harness.qp import solve_dual
from benchmarks.harness.registry import BENCHMARKS
from benchmarks.harness.report import show, shown_command
from benchmarks.paths import checks as path_checks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small stand-in under the name of a real data set."""
    X, y = make_classification(60, 5, random_state=0)
    dump_svmlight_file(X, np.where(y == 1, 1, -1), str(tmp_path / "heart_scale.svm"))
    return tmp_path


@pytest.fixture
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run here and not in fresh processes, whose imports take longer than the small cases.

    That processes work is shown by the benchmarks `fit` and `memory`.
    """

    def call(self: Runner, function: str, arguments: Any, *, python: Any = None, pin: bool) -> Any:
        module, _, name = function.partition(":")
        given = json.loads(json.dumps(arguments))
        return json.loads(json.dumps(getattr(import_module(module), name)(**given)))

    monkeypatch.setattr(Runner, "call", call)
    monkeypatch.setattr(Runner, "interpreter_with", lambda self, module: self.python)


def test_loading(folder: Path) -> None:
    X, y = load(DataSpec("heart_scale"), folder)
    assert isinstance(X, np.ndarray)
    assert X.shape == (60, 5)
    sparse, _ = load(DataSpec("heart_scale", is_sparse=True, n_rows=7), folder)
    assert sparse.shape == (7, 5)
    np.testing.assert_array_equal(sparse.toarray(), X[:7])
    scaled, _ = load(DataSpec("heart_scale", is_scaled=True), folder)
    np.testing.assert_allclose([scaled.min(0), scaled.max(0)], [[-1] * 5, [1] * 5])
    assert set(y) == {-1.0, 1.0}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No file nothing"):
        data_file("nothing", tmp_path)


@pytest.mark.parametrize("model", [SVC(gamma=0.3, decision_function_shape="ovo"), SVR(gamma=0.3)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_judge_reads_models(model: SVC | SVR, n_classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes].astype(float)
    model.fit(X, y)
    duals, biases = judge.pair_models(model, len(y))
    f = judge.rbf(X, X, 0.3) @ duals + biases
    expected = model.decision_function(X) if isinstance(model, SVC) else model.predict(X)
    np.testing.assert_allclose(f.squeeze(), np.squeeze(expected), atol=1e-10)


@pytest.mark.parametrize("kernel", [{"gamma": 0.2}, {"kernel": "linear"}])
def test_blocks_of_breakpoints_are_certified_as_each_alone(
    kernel: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(path_checks, "BLOCK_VALUES", 300)  # seven betas at once
    X, labels = make_classification(40, 4, flip_y=0.2, random_state=2)
    path = c_path(alphapath.SVC(**kernel), X, 2 * labels - 1, 0.1, 1e4)
    found = path_checks.breakpoint_violations(path)
    assert found.size == path.breakpoints_.size > 14
    assert found.max() < 1e-9
    path.pieces["beta"][path.pieces["first"][3]] += 1e-3
    found = path_checks.breakpoint_violations(path)
    alone = [
        alphapath.certify(path.at(float(t)).problem, path.beta_at(float(t))).kkt_violation
        for t in path.breakpoints_
    ]
    np.testing.assert_allclose(found, alone, rtol=1e-6, atol=1e-11)
    assert found[3] > 1e-6


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_general_qp_agrees_with_libsvm(epsilon: float) -> None:
    X, labels = make_classification(60, 5, random_state=1)
    y = np.where(labels == 1, 1.0, -1.0)
    K, C = judge.rbf(X, X, 0.3), 2.0
    if epsilon == 0.0:
        model = SVC(C=C, gamma=0.3, tol=1e-8).fit(X, y)
        lower, upper = np.minimum(0.0, C * y), np.maximum(0.0, C * y)
    else:
        model = SVR(C=C, gamma=0.3, tol=1e-8, epsilon=epsilon).fit(X, y)
        lower, upper = np.full(60, -C), np.full(60, C)
    beta, bias = solve_dual(K, y, lower, upper, epsilon)
    duals, biases = judge.pair_models(model, 60)
    np.testing.assert_allclose(K @ beta + bias, K @ duals[:, 0] + biases[0], atol=1e-4)
    ours = judge.objectives(K, beta[:, None], y[:, None], epsilon)
    theirs = judge.objectives(K, duals, y[:, None], epsilon)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_signs_near_zero_are_forgiven() -> None:
    reference = np.array([1.0, -1e-3, -1.0, 0.5])
    assert judge.sign_differences(np.array([1.0, 1e-3, -2.0, 0.1]), reference, 2e-3) == 0
    assert judge.sign_differences(np.array([1.0, 1e-3, 2.0, -0.1]), reference, 2e-3) == 2


def test_every_limit_of_exactness_can_fail() -> None:
    good = {
        "objective_excess": -1e-9,
        "n_label_differences": 0,
        "error_tight": 1e-7,
        "reference_kkt": 1e-10,
        "qp_objective": None,
    }
    assert exactness.verdict(good) == []
    bad = {
        "objective_excess": 2e-4,
        "n_label_differences": 1,
        "error_tight": float("nan"),
        "reference_kkt": 1e-3,
        "qp_objective": -1e-3,
    }
    for key, value in bad.items():
        assert len(exactness.verdict(good | {key: value})) == 1, key


def test_peers_are_chosen_by_name() -> None:
    assert chosen_peers("none") == ["alphapath"]
    assert chosen_peers("libsvm") == ["alphapath", "libsvm"]
    assert len(chosen_peers("all")) == 4
    with pytest.raises(SystemExit, match="Unknown peers"):
        chosen_peers("sklern")


def test_tables_show_no_places_of_the_machine() -> None:
    assert shown_command(["fit", "--data", "somewhere"]) == "python -m benchmarks fit --data DIR"
    assert [show(v) for v in (None, True, 12345, 0.25, 1e-7)] == [
        "-",
        "yes",
        "12,345",
        "0.25",
        "1.00e-07",
    ]


def test_fit_writes_both_files(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--only", "heart_scale C=1", "--repeats", "1", "--quick", "--peers", "sklearn"]
    assert main(["fit", "--data", str(folder), "--out", str(folder / "out"), *options]) == 0
    written = json.loads((folder / "out" / "fit.json").read_text())
    peers = [row["peer"].split()[0] for row in written["rows"]]
    assert peers == ["alphapath", "scikit-learn"]
    assert all(row["n_label_differences"] == 0 for row in written["rows"])
    assert all(abs(row["excess"]) < 1e-3 for row in written["rows"])
    assert str(folder) not in (folder / "out" / "fit.md").read_text()
    assert "scikit-learn" in capfd.readouterr().out


def test_registered_benchmarks_can_be_imported() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name, entry in BENCHMARKS.items():
        assert callable(entry.run)
        assert f"| `{name}` |" in page, f"docs/benchmarks.md does not say what {name} measures."


def test_jobs_can_be_imported() -> None:
    """The pieces that run in processes of their own are named in strings."""
    jobs = {
        job
        for path in (ROOT / "benchmarks").rglob("*.py")
        for job in re.findall(r'"(benchmarks[\w.]*:\w*)', path.read_text(encoding="utf-8"))
    }
    assert len(jobs) > 30
    for job in jobs:
        module, _, function = job.partition(":")
        found = importlib.import_module(module)
        assert not function or callable(getattr(found, function))


def test_growth_would_be_seen() -> None:
    before = resident_kilobytes()
    held = np.ones(4_000_000)
    assert resident_kilobytes() - before > 0.9 * held.nbytes / 1024


def test_memory_does_not_grow(folder: Path) -> None:
    assert main(["memory", "--data", str(folder), "--out", str(folder / "out"), "--quick"]) == 0


@pytest.mark.usefixtures("_in_process")
def test_a_smaller_row_cache_computes_more_rows(tmp_path: Path) -> None:
    assert main(["row_cache", "--out", str(tmp_path), "--quick", "--repeats", "1"]) == 0
    rows = json.loads((tmp_path / "row_cache.json").read_text())["rows"]
    # The first row is the whole matrix: all rows, wanted or not.
    computed = [row["n_rows_computed"] for row in rows[1:]]
    assert computed == sorted(computed)
    assert computed[-1] > computed[0]
    np.testing.assert_allclose([row["objective"] for row in rows], rows[0]["objective"], rtol=1e-4)


@pytest.mark.usefixtures("_in_process")
def test_cross_validation_agrees_with_the_cold_run(folder: Path) -> None:
    options = ["--only", "heart_scale", "--quick", "--repeats", "1", "--out", str(folder / "out")]
    assert main(["cross_validation", "--data", str(folder), *options]) == 0
    rows = json.loads((folder / "out" / "cross_validation.json").read_text())["rows"]
    peers = [row for row in rows if row["seeding"] == "scikit-learn"]
    assert [row["k"] for row in peers] == [3, 10]
    for row in rows:
        (theirs,) = [peer["accuracy"] for peer in peers if peer["k"] == row["k"]]
        assert row["accuracy"] == pytest.approx(theirs, abs=0.02)
        assert (row["iter_ratio"] if row["seeding"] == "none" else 1.0) == 1.0


@pytest.mark.usefixtures("_in_process")
def test_grid_search_agrees(folder: Path) -> None:
    options = ["--quick", "--repeats", "1", "--out", str(folder / "out")]
    assert main(["grid_search", "--data", str(folder), *options]) == 0
    found = json.loads((folder / "out" / "grid_search.json").read_text())
    assert [row["case"] for row in found["rows"]] == ["heart_scale", "heart_scale, StandardScaler"]
    for row in found["rows"]:
        assert row["n_solves"] == 550
        assert row["unsolved"] == []
        assert row["n_off"] == 0
        assert row["own_error"] <= row["peer_error"]


@pytest.mark.usefixtures("_in_process")
def test_the_lambda_path_is_optimal_everywhere(tmp_path: Path) -> None:
    options = ["--only", "artificial 100, huber", "--quick", "--skip-slow-peers"]
    assert main(["lambda_path", "--out", str(tmp_path), *options]) == 0
    (row,) = json.loads((tmp_path / "lambda_path.json").read_text())["rows"]
    assert row["worst_kkt"] < 1e-8
    assert row["n_resets"] == 0


@pytest.fixture
def linear_folder(tmp_path: Path) -> Path:
    """Stand-ins under the names of large linear sets."""
    X, y = make_classification(300, 8, class_sep=0.7, random_state=0)
    for name in ("ijcnn1", "w8a"):
        dump_svmlight_file(X, np.where(y == 1, 1, -1), str(tmp_path / f"{name}.svm"))
    return tmp_path


def run_quick(name: str, only: str, folder: Path) -> list[dict]:
    options = ["--only", only, "--quick", "--repeats", "1", "--out", str(folder / "out")]
    assert main([name, "--data", str(folder), *options]) == 0
    return json.loads((folder / "out" / f"{name}.json").read_text())["rows"]


def test_margin_bounds_change_nothing_but_the_work(linear_folder: Path) -> None:
    rows = run_quick("margin_bounds", "ijcnn1", linear_folder)
    settings = {(row["what"], row["setting"]) for row in rows}
    assert ("gradient, lazy", "eps 0.0001") in settings
    assert ("gradient, sorted", "fixed step, 10") in settings
    assert ("pegasos, bounds", "k = 1000") in settings
    shapes = [row for row in rows if "distance" not in row]  # margins counted, nothing else run
    assert shapes
    for row in rows:
        if row in shapes:
            continue
        assert row["distance"] < 1e-3  # steps that overshoot let rounding grow
        assert row["examined"] < 1.1
    clouds = run_quick("margin_bounds", "two clouds", linear_folder)
    assert [row["distance"] for row in clouds] == [0.0] * 4
    assert clouds[0]["examined"] < clouds[-1]["examined"]


def test_one_linear_fit_is_near_the_optimum(linear_folder: Path) -> None:
    rows = run_quick("linear_fit", "w8a", linear_folder)
    own = [row for row in rows if row["peer"].startswith("alphapath")]
    assert (len(own), len(rows)) == (4, 6)
    assert all(-1e-6 < row["excess"] < 2e-3 for row in own)


@pytest.mark.usefixtures("_in_process")
def test_the_linear_search_agrees_with_liblinear(linear_folder: Path) -> None:
    pytest.importorskip("liblinear", reason="liblinear-official is not installed")
    ours, peer = run_quick("linear_search", "ijcnn1", linear_folder)
    assert ours["n_C"] == peer["n_C"]
    # It fails where LIBLINEAR is closer to the optimum, or does other than its search.
    own, exact, search, from_zero, close = run_quick("linear_quality", "ijcnn1", linear_folder)
    assert own["best_C"] == exact["best_C"] == close["best_C"]
    assert ours["best_rate"] == pytest.approx(own["rate"], abs=1e-12)
    assert search["rate"] == pytest.approx(peer["best_rate"], abs=1e-5)
    assert search["closer"] == from_zero["closer"] == f"0 of {5 * ours['n_C']}"
    assert min(search["least_factor"], from_zero["least_factor"]) > 1.0
