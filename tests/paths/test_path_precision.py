"""Large C: what doubles lose in K beta, by sums in extended precision."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from alphapath import SVC, Problem, certify
from alphapath.kernels import KernelStore, Linear
from alphapath.paths import Path, c_path
from alphapath.problem.certificate import multiply_exactly

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps,
    reason="no extended precision here",
)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Rows of few values, so that kernel values are exact and only sums are rounded."""
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (300, 12)) / 4.0
    noise = rng.normal(0.0, 6.0, 300)
    return X, np.where(X @ rng.normal(size=12) + noise > 0.0, 1.0, -1.0)


@pytest.fixture(scope="module")
def path(data: tuple[np.ndarray, np.ndarray]) -> Path:
    return c_path(SVC(kernel="linear"), *data, 2.0**5, 2.0**15)


def spread(X: np.ndarray, y: np.ndarray, path: Path, C: float) -> float:
    """The KKT violation by extended sums."""
    wide = X.astype(np.longdouble)
    beta = path.beta_at(C)
    gradient = wide @ (wide.T @ beta.astype(np.longdouble)) - y
    lower, upper = np.where(y > 0.0, 0.0, -C), np.where(y > 0.0, C, 0.0)
    return float(gradient[beta > lower].max() - gradient[beta < upper].min())


def test_margins_hold_where_betas_are_large(
    data: tuple[np.ndarray, np.ndarray], path: Path
) -> None:
    violations = [spread(*data, path, float(C)) for C in path.breakpoints_[-40:]]
    assert np.abs(path.beta_at(2.0**15)).sum() > 4e6
    assert max(violations) < 5e-9


def test_a_certificate_reads_no_rounding_of_its_own(
    data: tuple[np.ndarray, np.ndarray], path: Path
) -> None:
    solution = path.at(2.0**15)
    found = certify(solution.problem, solution.beta)
    assert found.kkt_violation == pytest.approx(spread(*data, path, 2.0**15), rel=1e-3, abs=1e-11)


def test_certificate_of_inner_products_needs_no_kernel_values() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 7))
    beta = rng.normal(size=50)
    beta = 1e8 * (beta - X @ np.linalg.lstsq(X, beta)[0])  # large, and K beta is not
    w = [
        sum(Fraction(b) * Fraction(x) for b, x in zip(beta, column, strict=True)) for column in X.T
    ]
    exact = [float(sum(Fraction(x) * v for x, v in zip(row, w, strict=True))) for row in X]
    for rows in (X, csr_array(X)):
        view = KernelStore(rows).view(Linear(), precision="float64")
        problem = Problem.classification(view, np.ones(50), np.ones(50))
        assert_allclose(multiply_exactly(problem, beta), exact, rtol=0.0, atol=1e-9)
    everybody = view.exact_rows(np.arange(50))
    assert np.abs(beta.astype(np.longdouble) @ everybody - exact).max() > 1e-8
