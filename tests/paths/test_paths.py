"""Exact paths along C and weights: every point of them is the solution, every curve is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, SVR, QuadraticLossSVC, certify
from alphapath.model_selection import cross_validate, cross_validate_path, leave_one_out
from alphapath.paths import LambdaPath, Path, c_path, weight_path
from alphapath.paths.stored_problem import load_arrays, save_arrays
from alphapath.paths.validation_curve import make_curve
from alphapath.solvers import smo
from datasets import CLASSIFICATION, REGRESSION

KERNELS: dict[str, dict[str, Any]] = {
    "wide": {"gamma": 2.0**-9},
    "rbf": {"gamma": 2.0**-1},
    "narrow": {"gamma": 8.0},
    "linear": {"kernel": "linear"},
    "quadratic": {"kernel": "poly", "degree": 2, "gamma": 0.2, "coef0": 1.0},
}
TWO_CLASSES = ["breast_cancer", "generated", "duplicates", "ties", "constant_features"]


def two_classes(name: str, n: int = 120) -> tuple[Any, Any]:
    X, y = CLASSIFICATION[name]()
    order = np.random.default_rng(0).permutation(len(y))[:n]
    X = StandardScaler().fit_transform(X[order])
    return X, np.where(y[order] > 0, 1.0, -1.0)


def check_path(path: Path, times: Any, tol: float = 1e-8) -> None:
    """At every t: certified from raw data; at some also equal to a fresh solve."""
    assert path.gaps == ()
    for t in times:
        solution = path.at(float(t))
        certificate = certify(solution.problem, solution.beta, path.bias_at(float(t)))
        floor = 4e-15 * np.abs(solution.beta).sum() * (1.0 + np.abs(solution.gradient).max())
        assert certificate.is_optimal(max(tol, floor))
        # What rounding leaves in the bias costs as much for every unit of weight.
        rounding = 1e-12 * solution.problem.weights.sum()
        assert certificate.duality_gap <= 1e-9 * max(1.0, abs(certificate.objective)) + rounding


@pytest.mark.parametrize("container", [np.ndarray.tolist, pd.DataFrame, csc_array], ids=str)
def test_rows_in_any_container(container: Callable[[Any], Any]) -> None:
    X, y = two_classes("ties", 40)
    path = c_path(SVC(gamma=0.5), X, y, 0.1, 10.0)
    expected, curve = path.decision_function(X, 1.0), path.validate(X, y)
    assert_allclose(path.decision_function(container(X), 1.0), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(path.validate(container(X), y).best_value, curve.best_value, rtol=1e-12)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("name", TWO_CLASSES)
def test_c_path_is_exact_everywhere(name: str, kernel: str) -> None:
    X, y = two_classes(name)
    path = c_path(SVC(**KERNELS[kernel]), X, y, 2.0**-5, 2.0**15)
    rng = np.random.default_rng(1)
    check_path(path, 2.0 ** rng.uniform(-5.0, 15.0, 25))
    check_path(path, rng.choice(path.breakpoints_, 25))
    t = 2.0 ** rng.uniform(-5.0, 8.0)
    fresh = smo.solve(path.at(t).problem, tol=1e-9)
    assert_allclose(path.at(t).info.objective, fresh.info.objective, rtol=1e-9)


def test_c_path_of_regression() -> None:
    for name, load in REGRESSION.items():
        X, y = load()
        X, y = StandardScaler().fit_transform(X[:100]), (y[:100] - y.mean()) / y.std()
        for epsilon in (0.0, 0.1):
            path = c_path(SVR(gamma=0.3, epsilon=epsilon), X, y, 2.0**-5, 2.0**8)
            check_path(path, 2.0 ** np.random.default_rng(2).uniform(-5.0, 8.0, 20))
        assert path.n_events > 0, name


@pytest.mark.parametrize("name", ["generated", "duplicates"])
def test_weight_paths(name: str) -> None:
    X, y = two_classes(name)
    n = len(y)
    rng = np.random.default_rng(3)
    half = np.arange(n) < n // 2
    cases = [
        (np.ones(n), rng.uniform(0.0, 20.0, n)),
        (np.where(half, 0.0, 5.0), np.where(half, 5.0, 0.0)),
        (np.zeros(n), np.full(n, 10.0)),
        (np.full(n, 5.0), np.where(half, 0.0, 5.0)),
        (np.ones(n), np.ones(n)),
    ]
    for old, new in cases:
        path = weight_path(SVC(gamma=0.5), X, y, old, new)
        check_path(path, rng.uniform(0.01, 1.0, 15))
        check_path(path, [1.0])


def test_curve_of_errors_is_exact_and_misses_no_change() -> None:
    X, y = two_classes("generated", 200)
    path = c_path(SVC(gamma=0.1), X[:100], y[:100], 2.0**-5, 2.0**10)
    weights = np.random.default_rng(4).uniform(0.5, 2.0, 100)
    for sample_weight in (None, weights):
        curve = path.validate(X[100:], y[100:], "error", sample_weight)
        middles = (curve.starts + curve.ends) / 2.0
        grid = np.exp(np.linspace(np.log(path.start), np.log(path.end), 400)[1:-1])
        for t in np.concatenate([middles, grid]):
            wrong = (path.decision_function(X[100:], t) >= 0.0) != (y[100:] > 0.0)
            assert_allclose(curve(t), np.average(wrong, weights=sample_weight), atol=1e-12)
        assert curve.best_value == curve.value.min()
        assert_allclose(curve(curve.best_t), curve.best_value, atol=1e-12)


def test_curve_of_squared_errors_is_exact() -> None:
    X, y = REGRESSION["diabetes"]()
    y = (y - y.mean()) / y.std()
    path = c_path(SVR(gamma=0.05, epsilon=0.1), X[:100], y[:100], 2.0**-5, 2.0**8)
    curve = path.validate(X[100:200], y[100:200], "squared")
    grid = np.exp(np.linspace(np.log(path.start), np.log(path.end), 300)[1:-1])
    values = [np.mean((path.decision_function(X[100:200], t) - y[100:200]) ** 2) for t in grid]
    assert_allclose(curve(grid), values, rtol=1e-9)
    assert curve.best_value <= min(values) + 1e-12
    assert_allclose(curve(curve.best_t), curve.best_value, rtol=1e-12)


def test_curves_of_regression_are_not_of_signs() -> None:
    X, y = REGRESSION[next(iter(REGRESSION))]()
    path = c_path(SVR(gamma=0.1, epsilon=0.05 * np.std(y)), X[::2], y[::2], 0.01, 10.0)
    weights = np.random.default_rng(0).integers(0, 3, len(y[1::2])).astype(float)
    own = path.validate(X[1::2], y[1::2], sample_weight=weights)
    assert own.metric == "squared"
    absolute = path.validate(X[1::2], y[1::2], "absolute", weights)
    points = np.concatenate([np.geomspace(0.01, 10.0, 40), absolute.starts, [absolute.best_t]])
    for t in points:
        residual = path.decision_function(X[1::2], t) - y[1::2]
        assert float(own(t)) == pytest.approx(np.average(residual**2, weights=weights), rel=1e-8)
        expected = np.average(np.abs(residual), weights=weights)
        assert float(absolute(t)) == pytest.approx(expected, rel=1e-8)
    assert absolute.best_value == pytest.approx(absolute(points).min(), rel=1e-9)
    with pytest.raises(ValueError, match=r"path of a regression it must be one of \('squared'"):
        path.validate(X, y, "error")


def test_a_piece_that_is_no_solution_is_solved_again() -> None:
    X, y = two_classes("generated")
    path = c_path(SVC(gamma=0.1), X, y, 0.1, 10.0)
    path.pieces["beta"][:] = np.abs(path.pieces["beta"]) + 0.5
    solution = path.at(3.0)
    found = certify(solution.problem, solution.beta)
    assert found.is_optimal(1e-8)
    assert found.sum_violation < 1e-9


def test_curves_with_values_on_the_boundary() -> None:
    starts, ends = np.array([0.0, 1.0]), np.array([1.0, 2.0])
    first = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 0.0]])
    last = np.array([[-1.0, 0.0, 0.0], [-1.0, -1.0, 1.0]])
    targets = np.array([-1.0, 1.0, 1.0])
    curve = make_curve(starts, ends, first - targets, last - first, targets)
    assert_allclose(curve(np.array([0.5, 1.5])), [1 / 3, 1 / 3])


def test_path_becomes_an_estimator_and_a_file(tmp_path: Any) -> None:
    X, y = two_classes("generated")
    labels = np.where(y > 0, "yes", "no")
    path = c_path(SVC(gamma=0.1), X, labels, 0.1, 100.0)
    model = path.to_estimator(7.0)
    assert_allclose(model.decision_function(X), path.decision_function(X, 7.0), atol=1e-9)
    assert model.C == 7.0
    assert model.certify(X, labels).is_optimal(1e-9)
    assert model.forget([0]).certify(X[1:], labels[1:]).is_optimal(1e-9)
    path.save(tmp_path / "path.npz")
    again = Path.load(tmp_path / "path.npz", SVC(gamma=0.1).to_problem(X, labels))
    assert_array_equal(again.at(3.0).beta, path.at(3.0).beta)
    with pytest.raises(ValueError, match="this path goes from"):
        path.at(101.0)


def test_a_path_in_a_file_is_of_its_data(tmp_path: Any) -> None:
    """One of other rows, labels or parameters is refused; the container of the rows is no part."""
    X, y = two_classes("generated")
    model = SVC(gamma=0.1)
    c_path(model, X, y, 0.1, 10.0).save(tmp_path / "path.npz")
    Path.load(tmp_path / "path.npz", SVC(C=7.0, gamma=0.1).to_problem(csr_array(X), y))
    changed = X.copy()
    changed[3, 1] += 0.01
    others = {
        "other rows": model.to_problem(changed, y),
        "order": model.to_problem(np.roll(X, 1, axis=0), np.roll(y, 1)),
        "other parameters": SVC(gamma=0.1001).to_problem(X, y),
        "labels": model.to_problem(X, np.where(np.arange(y.size) == 5, -y, y)),
        "a regression": SVR(gamma=0.1).to_problem(X, y),
        "fewer rows": model.to_problem(X[:-1], y[:-1]),
    }
    for problem in others.values():
        with pytest.raises(ValueError, match="ive the problem of the same data"):
            Path.load(tmp_path / "path.npz", problem)
    c_path(SVR(gamma=0.1, epsilon=0.1), X, y, 0.1, 1.0).save(tmp_path / "r")
    assert (tmp_path / "r.npz").exists()
    with pytest.raises(ValueError, match="of other labels, targets or epsilon"):
        Path.load(tmp_path / "r.npz", SVR(gamma=0.1, epsilon=0.2).to_problem(X, y))
    with np.load(tmp_path / "path.npz") as file:
        kept = {name: file[name] for name in file.files}
    for changes, words in (
        ({"checksum": None}, "has no checksum"),
        ({"tau": kept["tau"][:-1]}, "not those that were written"),
        ({"beta": kept["beta"] + 1e-12}, "not those that were written"),
        ({"places": None}, "not those that were written"),
    ):
        changed = {key: value for key, value in (kept | changes).items() if value is not None}
        np.savez(tmp_path / "bad.npz", **changed)
        with pytest.raises(ValueError, match=words):
            Path.load(tmp_path / "bad.npz", model.to_problem(X, y))


def test_damaged_files_of_paths_are_refused(tmp_path: Any) -> None:
    """Whatever bytes change or are missing: the same path or a sentence."""
    X, y = two_classes("generated")
    problem, file = SVC(gamma=0.1).to_problem(X, y), tmp_path / "path.npz"
    c_path(SVC(gamma=0.1), X, y, 0.1, 1.0).save(file)
    content, expected = file.read_bytes(), Path.load(file, problem).beta_at(0.5)
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(150):
        changed = bytearray(content)
        for place in rng.integers(0, len(content), int(rng.integers(1, 4))):
            changed[place] = int(rng.integers(256))
        if rng.random() < 0.2:
            del changed[int(rng.integers(len(content))) :]
        file.write_bytes(changed)
        try:
            found = Path.load(file, problem)
        except ValueError as error:
            n_refused += "is no file of a path" in str(error)
        else:
            assert_array_equal(found.beta_at(0.5), expected)
    assert n_refused > 100
    for text in (b"", b"hello", b"PK\x03\x04", b"\x93NUMPY\x01\x00"):
        file.write_bytes(text)
        with pytest.raises(ValueError, match="is no file of a path"):
            Path.load(file, problem)
    with pytest.raises(FileNotFoundError):
        Path.load(tmp_path / "none.npz", problem)


def test_arrays_that_are_no_path_are_refused(tmp_path: Any) -> None:
    """Also with the checksum that belongs to them."""
    X, y = (values[:16] for values in two_classes("generated"))
    model, file = SVC(gamma=0.1), tmp_path / "path.npz"
    model_of_lambda = QuadraticLossSVC(gamma=0.1)
    c_path(model, X, y, 0.1, 1.0).save(file)
    check_forged(file, lambda: Path.load(file, model.to_problem(X, y)))
    model_of_lambda.lambda_path(X, y, lam_to=0.1).save(file)
    check_forged(file, lambda: LambdaPath.load(file, model_of_lambda.to_problem(X, y)))


def check_forged(file: Any, load: Any) -> None:
    kept = load_arrays(file)
    for name, array in kept.items():
        flat = array.ravel()
        changed = [None, array.astype("S"), array[None], np.repeat(flat, 2), flat[: flat.size // 2]]
        if array.dtype.kind in "iu" and name != "classes":
            changed += [array.astype(np.int64) + 2**40, array.astype(np.int64) - 2**40]
        if array.dtype.kind == "f":
            changed.append(np.full_like(array, np.nan))
        for value in changed:
            rest = {key: one for key, one in kept.items() if key != name}
            if value is not None and value.size == array.size == 0 and value.shape == array.shape:
                continue
            save_arrays(file, rest if value is None else {**rest, name: value})
            with pytest.raises(ValueError, match="path") as caught:
                load()
            assert str(file) in str(caught.value)
            assert str(caught.value).endswith(".")


def test_bad_arguments() -> None:
    X, y = two_classes("generated")
    with pytest.raises(ValueError, match="C_min is 2"):
        c_path(SVC(), X, y, 2.0, 1.0)
    with pytest.raises(ValueError, match="one weight for each"):
        weight_path(SVC(), X, y, np.ones(3), np.ones(len(y)))
    with pytest.raises(TypeError, match="to_problem"):
        c_path(object(), X, y, 1.0, 2.0)
    with pytest.raises(ValueError, match="two classes"):
        c_path(SVC(), X, np.arange(len(y)) % 3, 1.0, 2.0)
    with pytest.raises(ValueError, match="metric"):
        c_path(SVC(), X, y, 1.0, 2.0).validate(X, y, "auc")


def test_cross_validated_path_is_the_curve_of_refits() -> None:
    X, y = two_classes("generated", 150)
    folds = list(KFold(4).split(X))
    result = cross_validate_path(SVC(gamma=0.05), X, y, folds, C_min=2.0**-5, C_max=2.0**8)
    for C in 2.0 ** np.random.default_rng(5).uniform(-5.0, 8.0, 12):
        scores = cross_validate(SVC(gamma=0.05, C=C, tol=1e-8), X, y, cv=folds)["test_score"]
        assert_allclose(result.curve(C), 1.0 - scores.mean(), atol=1e-12)
    assert result.best_score == result.curve.value.min()
    assert result.is_exact
    assert result.paths == ()


def test_curves_are_the_same_with_paths_and_without() -> None:
    """Rows enough for walks that look at near instances alone, which drop what they recorded."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 6))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=500) > 0, 1.0, -1.0)
    folds = list(KFold(3).split(X))
    options: dict[str, Any] = {"C_min": 2.0**-2, "C_max": 2.0**10}
    alone = cross_validate_path(SVC(gamma=0.1), X, y, folds, **options)
    kept = cross_validate_path(SVC(gamma=0.1), X, y, folds, return_paths=True, **options)
    assert alone.n_events == sum(path.n_events for path in kept.paths) > 200
    assert all(path.gaps == () for path in kept.paths)
    points = np.geomspace(2.0**-2, 2.0**10, 500)
    for one, other, path, (_, test) in zip(
        alone.fold_curves, kept.fold_curves, kept.paths, folds, strict=True
    ):
        assert_array_equal(one.starts, other.starts)
        assert_array_equal(one.value, other.value)
        assert_allclose(one(points), path.validate(X[test], y[test])(points), atol=1e-12)


def test_a_grid_where_it_is_cheaper() -> None:
    X, y = two_classes("generated", 150)
    options = {"cv": 3, "C_min": 2.0**-3, "C_max": 2.0**5}
    exact = cross_validate_path(SVC(gamma=20.0), X, y, **options)
    grid = cross_validate_path(SVC(gamma=20.0), X, y, method="auto", **options)
    assert exact.is_exact
    assert not grid.is_exact
    points = 2.0 ** np.arange(-3.0, 6.0, 2.0)
    assert_allclose(grid.curve(points), exact.curve(points), atol=1e-12)
    linear = SVC(kernel="linear")
    assert cross_validate_path(linear, X, y, cv=3, C_max=2.0**12, method="auto").is_exact


def test_folds_by_decrement_are_those_of_refits() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:150], y[:150]
    model = SVC(C=10.0, gamma=0.02, tol=1e-8)
    exact = cross_validate(model, X, y, cv=7, seeding="decremental")
    cold = cross_validate(model, X, y, cv=7, seeding="none")
    assert_allclose(exact["decision_function"], cold["decision_function"], atol=1e-6)
    assert exact["certificate"]["kkt_violation"].max() < 1e-9
    assert set(exact["seed"]) == {"decremental"}
    one_out = leave_one_out(model, X, y, seeding="decremental")
    assert_allclose(
        one_out.decision_function_, leave_one_out(model, X, y).decision_function_, atol=1e-6
    )


@pytest.mark.parametrize("n_positive", [12, 15, 20])
def test_where_no_instance_is_free_the_bias_is_that_of_a_fit(n_positive: int) -> None:
    """Small C and a wide kernel: the bias is the middle of an interval whose ends move with C."""
    X = np.random.default_rng(n_positive).normal(size=(30, 3))
    y = np.where(np.argsort(np.argsort(X @ [1.0, 0.5, -1.0])) < n_positive, 1.0, -1.0)
    model = SVC(gamma=0.02)
    path = c_path(model, X, y, 1e-3, 10.0)
    curve = path.validate(X[::2], y[::2])
    n_bounded = 0
    for t in np.geomspace(1e-3, 10.0, 60)[1:-1]:
        fresh = sklearn.svm.SVC(gamma=0.02, C=t, tol=1e-10).fit(X, y)
        n_bounded += bool((np.abs(fresh.dual_coef_) > (1.0 - 1e-9) * t).all())
        values = fresh.decision_function(X)
        assert_allclose(path.decision_function(X, t), values, atol=2e-5)
        assert_allclose(path.at(t).decision_values, values, atol=2e-5)
        if np.abs(values[::2]).min() > 2e-5:
            assert curve(t) == pytest.approx(np.mean(np.sign(values[::2]) != y[::2]), abs=1e-12)
    assert (n_bounded > 10) == (n_positive == 15)


def test_a_path_is_told_in_a_line() -> None:
    X, y = two_classes("generated")
    path = c_path(SVC(gamma=0.5), X, y, 0.25, 8.0)
    assert repr(path) == f"Path(C from 0.25 to 8, {path.pieces['tau'].size} pieces)"


def test_what_bridges_a_gap_is_no_piece_of_the_path() -> None:
    """Of a kernel that is not definite: the solver's way to the solution has a time of its own."""
    rng = np.random.default_rng(0)
    X, y = 3.0 * rng.normal(size=(30, 2)), (rng.random(30) < 0.5).astype(int)
    path = c_path(SVC(kernel="sigmoid", gamma=0.1, coef0=-1.0), X, y, 0.01, 100.0)
    assert path.gaps
    assert np.all(np.diff(path.pieces["tau"]) >= 0.0)
