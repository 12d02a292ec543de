"""Every listing of kernels comes from the registry: a new kernel is one class."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.utils._param_validation import InvalidParameterError

from alphapath import SVC, SmoothSVC
from alphapath.cli import options
from alphapath.errors import KernelError
from alphapath.estimators.exchange.libsvm_file import KERNEL_NUMBERS
from alphapath.kernels import KERNELS, Kernel
from alphapath.model_selection import SVMSearchCV, cross_validate
from gpu_cases import make_store
from kernel_checks import check_kernel, example, functions_of_rows

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0.0).astype(int)
CV = StratifiedKFold(3)


def dense(rows: Any) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.fixture
def laplacian() -> Iterator[type[Kernel]]:
    """A kernel by its formula alone, registered for one test."""

    @dataclass(frozen=True)
    class Laplacian(Kernel):
        gamma: float
        name: ClassVar[str] = "laplacian"
        parameters: ClassVar[tuple[str, ...]] = ("gamma",)

        @property
        def key(self) -> Hashable:
            return (self.name, self.gamma)

        def evaluate(self, X: Any, Z: Any) -> Any:
            return laplacian_kernel(dense(X), dense(Z), gamma=self.gamma)

        def diagonal(self, X: Any) -> Any:
            return np.ones(X.shape[0])

    yield Laplacian
    del KERNELS["laplacian"]


def peer(**parameters: Any) -> svm.SVC:
    gamma = parameters.pop("gamma", 0.5)
    return svm.SVC(kernel=lambda A, B: laplacian_kernel(A, B, gamma=gamma), **parameters)


@pytest.mark.parametrize("name", functions_of_rows())
def test_every_kernel_keeps_its_promises(name: str) -> None:
    check_kernel(name)


@pytest.mark.usefixtures("laplacian")
def test_a_new_kernel_is_tested_by_the_registry() -> None:
    assert "laplacian" in functions_of_rows()
    assert not example("laplacian").has_native_form()
    check_kernel("laplacian")


@pytest.mark.usefixtures("laplacian")
def test_an_estimator_takes_a_new_kernel() -> None:
    model = SVC(kernel="laplacian", gamma=0.5, C=3.0, tol=1e-6).fit(X, Y)
    expected = peer(C=3.0, tol=1e-6).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-4)
    assert model.certify(X, Y).is_optimal(1.01e-6)
    scaled = SVC(kernel="laplacian", tol=1e-6).fit(X, Y)  # gamma="scale"
    gamma = 1.0 / (3.0 * X.var())
    expected = peer(gamma=gamma, tol=1e-6).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(scaled.decision_function(X), expected, atol=1e-4)
    smooth = SmoothSVC(kernel="laplacian", gamma=0.5).fit(X, Y)
    given = SmoothSVC(kernel="precomputed").fit(laplacian_kernel(X, gamma=0.5), Y)
    np.testing.assert_allclose(
        smooth.decision_function(X),
        given.decision_function(laplacian_kernel(X, gamma=0.5)),
        atol=1e-6,
    )


@pytest.mark.usefixtures("laplacian")
def test_searches_and_folds_take_a_new_kernel() -> None:
    grid = {"gamma": [0.05, 0.5, 5.0], "C": [0.1, 1.0, 10.0], "coef0": [0.0, 1.0]}
    search = SVMSearchCV(SVC(kernel="laplacian"), grid, cv=CV).fit(X, Y)
    for gamma in grid["gamma"]:
        expected = GridSearchCV(peer(gamma=gamma), {"C": grid["C"]}, cv=CV).fit(X, Y)
        results = search.cv_results_
        chosen = np.asarray(results["param_gamma"] == gamma)
        for C, score in zip(
            results["param_C"][chosen], results["mean_test_score"][chosen], strict=True
        ):
            k = grid["C"].index(C)
            assert score == pytest.approx(expected.cv_results_["mean_test_score"][k])
    # It does not depend on coef0: there is one model for each gamma.
    assert len(search.plan_.chains) == len(
        SVMSearchCV(SVC(kernel="laplacian"), {"gamma": grid["gamma"], "C": grid["C"]}, cv=CV)
        .fit(X, Y)
        .plan_.chains
    )
    scores = cross_validate(SVC(kernel="laplacian", gamma=0.5), X, Y, cv=CV)["test_score"]
    place = search.cv_results_["params"].index({"gamma": 0.5, "C": 1.0, "coef0": 0.0})
    assert np.mean(scores) == pytest.approx(search.cv_results_["mean_test_score"][place])


@pytest.mark.usefixtures("laplacian")
def test_what_cannot_hold_a_new_kernel_says_so(tmp_path: Any) -> None:
    model = SVC(kernel="laplacian", gamma=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="LIBSVM has no kernel 'laplacian'"):
        model.save_libsvm(tmp_path / "model")
    with pytest.raises(KernelError, match="'laplacian' cannot be computed on a device"):
        make_store(X, "numpy").view(example("laplacian"))


def test_a_kernel_is_gone_with_its_entry(laplacian: type[Kernel]) -> None:
    with pytest.raises(KernelError, match="a kernel called 'laplacian' already"):
        type("Twin", (laplacian,), {"name": "laplacian"})
    saved = KERNELS.pop("laplacian")
    with pytest.raises(InvalidParameterError, match="'kernel' parameter"):
        SVC(kernel="laplacian", C=77.0).fit(X, Y)
    KERNELS["laplacian"] = saved


def test_listings_of_libsvm_are_as_ever() -> None:
    assert options.KERNELS == {"0": "linear", "1": "poly", "2": "rbf", "3": "sigmoid"}
    assert KERNEL_NUMBERS == {
        "linear": (),
        "polynomial": ("degree", "gamma", "coef0"),
        "rbf": ("gamma",),
        "sigmoid": ("gamma", "coef0"),
        "precomputed": (),
    }
