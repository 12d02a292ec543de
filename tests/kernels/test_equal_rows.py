"""Equal rows have equal decision values, to the bit, so that scores do not depend on rounding."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import average_precision_score, make_scorer, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from alphapath import (
    SVC,
    SVR,
    LinearSVC,
    OneClassMaxMinOver,
    OneClassSVM,
    QuadraticLossSVC,
    RankSVM,
    SmoothSVC,
    SmoothSVR,
)
from alphapath.kernels import KernelStore, Linear, Poly, Rbf, Sigmoid
from alphapath.kernels.equal_rows import EqualRows, first_equal
from alphapath.model_selection import SVMSearchCV, cross_validate, leave_one_out
from alphapath.seeds import SEEDS
from gpu_cases import make_store


def label(estimator: Any) -> str:
    """The name of a test, without the address of a function."""
    return re.sub(r"<function (\w+) at \w+>", r"\1", str(estimator))


def few_rows(n: int = 160, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Passengers of a ship: a few different rows, each many times and with either label."""
    rng = np.random.default_rng(seed)
    kinds = rng.normal(size=(14, 3)).round(3)
    own = rng.integers(len(kinds), size=n)
    chance = rng.random((len(kinds), n_classes))
    draws = rng.random((n, 1)) * chance[own].sum(axis=1, keepdims=True)
    return kinds[own], (draws > np.cumsum(chance[own], axis=1)).sum(axis=1)


def assert_equal_bits(X: Any, values: Any) -> None:
    """Rows of X that are equal have equal values."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    _, first, places = np.unique(dense, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(values, np.asarray(values)[first][places.ravel()])


def assert_folds_agree(estimator: Any, X: Any, y: Any, cv: Any, **options: Any) -> Any:
    """Equal held-out rows of a fold, and rows in one call of what it returns, have equal bits."""
    found = cross_validate(estimator, X, y, cv=cv, return_estimator=True, **options)
    for model, (_, test) in zip(found["estimator"], cv.split(np.zeros(len(y)), y), strict=True):
        assert_equal_bits(X[test], found["decision_function"][test])
        values = getattr(model, "decision_function", model.predict)(X[test])
        assert_equal_bits(X[test], values)
        if values.ndim == 1:
            np.testing.assert_allclose(found["decision_function"][test], values, atol=1e-8)
    return found


CV = StratifiedKFold(4, shuffle=True, random_state=0)


class TestFolds:
    @pytest.mark.parametrize("seeding", ["auto", "none", "decremental", *SEEDS])
    def test_ranking_scores_are_those_of_the_returned_estimators(self, seeding):
        X, y = few_rows()
        found = assert_folds_agree(
            SVC(C=0.1, gamma=0.01),
            X,
            y,
            CV,
            seeding=seeding,
            scoring=["roc_auc", "average_precision"],
        )
        for h, (_, test) in enumerate(CV.split(X, y)):
            values = found["estimator"][h].decision_function(X[test])
            assert found["test_roc_auc"][h] == roc_auc_score(y[test], values)
            expected = average_precision_score(y[test], values)
            assert found["test_average_precision"][h] == expected

    @pytest.mark.parametrize(
        "estimator",
        [
            SVC(gamma=0.5),  # in one native call
            SVC(),  # a kernel for each fold
            SVC(kernel="linear", C=10.0),
            SVC(kernel="poly", degree=2, gamma=0.3, coef0=1.0),
            SVC(kernel=rbf_kernel),
            SVC(gamma=0.3, memory_limit=40_000),  # rows on demand
            SVC(gamma=100.0, class_weight="balanced"),
            LinearSVC(),
            LinearSVC(loss="hinge"),
            SmoothSVC(),
            SmoothSVC(kernel="rbf", gamma=0.5),
        ],
        ids=label,
    )
    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_models(self, estimator, is_sparse):
        X, y = few_rows(seed=3)
        if is_sparse:
            X = sp.csr_array(np.where(X > 0.5, X, 0.0))
        for scoring in (None, "roc_auc"):
            assert_folds_agree(estimator, X, y, CV, scoring=scoring)

    @pytest.mark.parametrize(
        "estimator",
        [SVC(gamma=0.5), SVC(C=10.0), SVC(kernel=rbf_kernel), LinearSVC(), SmoothSVC()],
        ids=label,
    )
    def test_many_classes(self, estimator):
        X, y = few_rows(n_classes=4)
        assert_folds_agree(estimator, X, y, CV)
        if isinstance(estimator, SVC):
            assert_folds_agree(clone(estimator).set_params(decision_function_shape="ovo"), X, y, CV)

    def test_regression_and_one_class(self):
        X, y = few_rows()
        y = y + 0.1 * np.arange(len(y))
        cv = KFold(4, shuffle=True, random_state=0)
        for estimator in (SVR(C=10.0, gamma=0.5), SVR(epsilon=0.0), SmoothSVR()):
            assert_folds_agree(estimator, X, y, cv)
        ones = OneClassSVM(nu=0.3, gamma=0.5)
        assert_folds_agree(ones, X, y, cv, scoring=lambda model, X, y=None: 0.0)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_given_matrix_with_a_larger_diagonal(self, n_classes):
        X, y = few_rows(n_classes=n_classes)
        K = np.exp(-np.abs(X[:, None, :] - X).sum(axis=2)) + 0.1 * np.eye(len(y))
        found = cross_validate(SVC(kernel="precomputed"), K, y, cv=CV)
        for train, test in CV.split(X, y):
            assert_equal_bits(K[np.ix_(test, train)], found["decision_function"][test])

    def test_behind_preprocessing(self):
        X, y = few_rows()
        assert_folds_agree(make_pipeline(StandardScaler(), SVC()), X, y, CV, scoring="roc_auc")

    def test_training_scores(self):
        X, y = few_rows()
        scorer = make_scorer(count_values, response_method="decision_function")
        for estimator in (SVC(gamma=0.5), LinearSVC(), SmoothSVC(), SVC(kernel=rbf_kernel)):
            found = cross_validate(estimator, X, y, cv=CV, scoring=scorer, return_train_score=True)
            for part in ("test", "train"):
                assert found[f"{part}_score"].max() <= len(np.unique(X, axis=0))

    def test_on_a_device(self, reference_device):
        X, y = few_rows()
        for estimator in (SVC(gamma=0.5, device="cuda"), SVC(device="cuda")):
            found = cross_validate(estimator, X, y, cv=CV, scoring="roc_auc")
            for _, test in CV.split(X, y):
                assert_equal_bits(X[test], found["decision_function"][test])

    @pytest.mark.parametrize("seeding", ["auto", "none", "decremental", *SEEDS])
    def test_values_below_rounding_say_nothing_of_the_labels(self, seeding):
        X = np.random.default_rng(0).normal(size=(60, 3))
        y = np.tile([0, 1], 30)
        model = SVC(gamma=1e5, C=1e3)  # the kernel matrix is the identity
        found = cross_validate(
            model, X, y, cv=StratifiedKFold(5), scoring="roc_auc", seeding=seeding
        )
        np.testing.assert_array_equal(found["test_score"], 0.5)

    def test_a_class_that_folds_lack_is_the_smallest_number(self):
        X, y = few_rows(n=40, n_classes=3)
        y[:] = np.arange(40) % 2
        y[0] = 2
        cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
        values = cross_validate(SVC(gamma=0.5), X, y, cv=cv)["decision_function"]
        assert values[0, 2] == np.finfo(float).min


def count_values(_: Any, values: Any) -> float:
    return float(np.unique(values, axis=0).shape[0])


class TestSearches:
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("estimator", [SVC(), SVC(kernel=rbf_kernel), LinearSVC()], ids=label)
    def test_values_to_rank(self, estimator, n_classes):
        X, y = few_rows(n_classes=n_classes)
        scorer = make_scorer(count_values, response_method="decision_function")
        grid = {"C": [0.1, 1.0, 100.0]}
        if isinstance(estimator, SVC) and estimator.kernel == "rbf":
            grid["gamma"] = [0.01, 1.0, 1e4]
        search = SVMSearchCV(estimator, grid, cv=CV, scoring=scorer, refit=False).fit(X, y)
        for h, (_, test) in enumerate(CV.split(X, y)):
            most = len(np.unique(X[test], axis=0))
            assert search.cv_results_[f"split{h}_test_score"].max() <= most

    def test_values_that_grow_with_C(self):
        # Solutions are scaled from C to C, and the rounding of the targets with them.
        rng = np.random.default_rng(0)
        X = 1e-6 * rng.integers(-2, 3, size=(50, 1)).astype(float)
        y = rng.integers(2, size=50)
        scorer = make_scorer(count_values, response_method="decision_function")
        grid = {"C": [0.1, 1.0, 100.0, 1e4]}
        model = SVC(kernel="linear")
        search = SVMSearchCV(model, grid, cv=CV, scoring=scorer, refit=False).fit(X, y)
        for h in range(4):
            assert search.cv_results_[f"split{h}_test_score"].max() <= 5


class TestLeaveOneOut:
    @pytest.mark.parametrize("seeding", ["auto", "none", "top", "greedy"])
    @pytest.mark.parametrize(
        "model", [SVC(gamma=0.5, C=10.0), SVR(gamma=0.5), OneClassSVM(nu=0.4, gamma=0.5)], ids=str
    )
    def test_rows_that_are_equal_share_a_refit(self, model, seeding):
        X, y = few_rows(n=60)
        model = clone(model).set_params(tol=1e-8)
        found = leave_one_out(model, X, y, seeding=seeding)
        keys = X if isinstance(model, OneClassSVM) else np.column_stack([X, y])
        assert_equal_bits(keys, found.decision_function_)
        assert found.n_refits_ <= len(np.unique(keys, axis=0))
        for row in range(0, 60, 7):
            refit = clone(model).fit(np.delete(X, row, axis=0), np.delete(y, row))
            value = getattr(refit, "decision_function", refit.predict)(X[[row]])[0]
            assert found.decision_function_[row] == pytest.approx(value, abs=1e-5)

    def test_a_smooth_svm(self):
        X, y = few_rows(n=60)
        found = leave_one_out(SmoothSVC(), X, y)
        assert_equal_bits(np.column_stack([X, y]), found.decision_function_)
        assert found.n_refits_ <= len(np.unique(np.column_stack([X, y]), axis=0))


class TestPredictions:
    @pytest.mark.parametrize(
        "model",
        [
            SVC(),
            SVC(kernel="linear"),
            SVC(kernel="poly", degree=2),
            SVR(),
            OneClassSVM(),
            LinearSVC(),
            SmoothSVC(),
            SmoothSVC(kernel="rbf"),
            QuadraticLossSVC(),
            OneClassMaxMinOver(),
        ],
        ids=label,
    )
    @pytest.mark.parametrize("container", [np.asarray, sp.csr_array, np.float32])
    def test_equal_rows_in_one_call(self, model, container):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(90, 13)) + 3.0, np.arange(90) % 2
        fitted = clone(model).fit(container(X), y)
        several = container(X[rng.integers(90, size=157)])
        dense = several.toarray() if sp.issparse(several) else several
        values = getattr(fitted, "decision_function", fitted.predict)(several)
        assert_equal_bits(dense, values)

    def test_ranking(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 7)), rng.integers(3, size=60)
        model = RankSVM(kernel="rbf").fit(X, y, qid=np.arange(60) // 10)
        several = X[rng.integers(60, size=101)]
        assert_equal_bits(several, model.decision_function(several))


class TestEqualRows:
    def test_the_first_of_equal_rows(self):
        rng = np.random.default_rng(0)
        X = rng.integers(-1, 2, size=(500, 5)) * 1.0
        X[rng.random(X.shape) < 0.2] *= -1.0  # -0.0 equals 0.0
        _, first, places = np.unique(X, axis=0, return_index=True, return_inverse=True)
        for rows in (X, sp.csr_array(X), np.asfortranarray(X), X.astype(np.float32)):
            np.testing.assert_array_equal(first_equal(rows), first[places.ravel()])

    def test_rows_that_differ(self):
        X = np.random.default_rng(0).normal(size=(200, 3))
        for rows in (X, sp.csr_array(X), X[:1], X[:0]):
            assert first_equal(rows) is None
        values = np.arange(5.0)
        assert EqualRows(X).share(values, np.arange(5)) is values

    def test_equal_hashes_alone_are_not_equal_rows(self, monkeypatch):
        monkeypatch.setattr(
            "alphapath.kernels.equal_rows.hash_rows", lambda X: np.zeros(X.shape[0], np.uint64)
        )
        X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 0.0]]))
        np.testing.assert_array_equal(first_equal(X), [0, 1, 0, 3])


class TestProducts:
    @pytest.mark.parametrize("kernel", [Rbf(0.3), Linear(), Poly(0.5, 2, 1.0), Sigmoid(0.1)])
    @pytest.mark.parametrize("precision", ["float32", "float64"])
    @pytest.mark.parametrize("limit", [None, 30_000])
    def test_they_are_those_of_the_kernel_whatever_the_targets(self, kernel, precision, limit):
        X, y = few_rows(n=75)
        view = KernelStore(X + 5.0, memory_limit=limit).view(kernel, precision=precision)
        rng = np.random.default_rng(0)
        beta = rng.normal(size=(3, 75)) * (rng.random((3, 75)) < 0.3)
        K = view.block(np.arange(75), np.arange(75))
        targets = np.where(y > 0, 1.0, -1.0) * 1e3
        gradient = beta @ K - targets + 1e-13 * rng.normal(size=(3, 75))
        rows, sizes = rng.permutation(75)[:50], np.array([[1e2, 1.0], [1e3, 1.0], [np.inf, 9.0]])
        found = view.products_at(gradient, targets, beta, sizes, rows).reshape(3, 50)
        size = np.abs(K).max() * np.abs(beta).sum(axis=1).max() + 1e3
        np.testing.assert_allclose(found, (beta @ K)[:, rows], rtol=0.0, atol=1e-11 * size)
        assert_equal_bits(X[rows], found.T)
        ends = np.array([10, 10, 50])
        parts = view.products_at(gradient, targets, beta, sizes, rows, ends)
        np.testing.assert_allclose(parts[:10], found[0, :10], rtol=0.0, atol=1e-11 * size)
        np.testing.assert_allclose(parts[10:], found[2, 10:], rtol=0.0, atol=1e-11 * size)

    def test_on_a_device(self):
        X, y = few_rows(n=75)
        view = make_store(X, "numpy").view(Rbf(0.3))
        targets = np.where(y > 0, 1.0, -1.0)
        noise = 1e-14 * np.random.default_rng(0).normal(size=(1, 75))
        rows, beta = np.arange(75), np.zeros((1, 75))
        values = view.products_at(noise - targets, targets, beta, np.ones((1, 2)), rows)
        np.testing.assert_array_equal(values, 0.0)
