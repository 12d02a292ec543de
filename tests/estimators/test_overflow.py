"""Rows, kernel values and sums so large that they overflow: refused in a sentence, never solved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath import (
    SVC,
    SVR,
    LinearSVC,
    OneClassMaxMinOver,
    OneClassSVM,
    Problem,
    QuadraticLossSVC,
    RankSVM,
    SmoothSVC,
    SmoothSVR,
    TransductiveSVC,
    certify,
)
from alphapath.errors import InfeasibleStart, KernelError
from alphapath.gpu import DeviceStore
from alphapath.kernels import KernelStore, Linear, Poly, Precomputed, Rbf
from alphapath.model_selection import (
    SVMSearchCV,
    cross_validate,
    leave_one_out,
    linear_c_search,
)
from alphapath.paths import c_path, lambda_path, rank_c_path
from alphapath.problem import MarginProblem, certify_margin, optimality
from alphapath.solvers import smo

N = 24
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 3))
SIGNS = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0.0, 1, -1)
NUMBERS = X[:, 0] + 0.1 * RNG.normal(size=N)
GRADES = RNG.integers(0, 3, size=N)

POLY = {"kernel": "poly", "degree": 4, "gamma": 1.0}
#: Models of a kernel, with their targets.
MODELS = {
    "SVC": (SVC, SIGNS),
    "SVC, three classes": (SVC, GRADES),
    "SVR": (SVR, NUMBERS),
    "OneClassSVM": (OneClassSVM, None),
    "QuadraticLossSVC": (QuadraticLossSVC, SIGNS),
    "RankSVM": (RankSVM, GRADES),
    "SmoothSVC": (SmoothSVC, SIGNS),
    "SmoothSVR": (SmoothSVR, NUMBERS),
    "OneClassMaxMinOver": (OneClassMaxMinOver, None),
    "TransductiveSVC": (TransductiveSVC, np.where(np.arange(N) % 3 == 0, -1, SIGNS > 0)),
}
TOO_LARGE = r"Values of the kernel {}.* may reach .* must not exceed 1e\+100. Scale the features"
NOT_FINITE = "Row 1 of X has the decision value .*: values of the kernel .* not finite or too large"

each_model = pytest.mark.parametrize("name", MODELS)


def values_of(model, rows):
    has_values = hasattr(model, "decision_function")
    return model.decision_function(rows) if has_values else model.predict(rows)


@each_model
@pytest.mark.parametrize(("kernel", "scale"), [("linear", 1e52), ("poly", 1e30), ("poly", 1e70)])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_fits_refuse_kernel_values_that_overflow(name, kernel, scale, is_sparse):
    model, y = MODELS[name]
    rows = sp.csr_array(X * scale) if is_sparse else X * scale
    with pytest.raises(KernelError, match=TOO_LARGE.format(kernel.capitalize())):
        model(**POLY | {"kernel": kernel}).fit(rows, y)


@each_model
@pytest.mark.parametrize("kernel", ["linear", "rbf", "sigmoid"])
def test_fits_refuse_rows_whose_sums_overflow(name, kernel):
    model, y = MODELS[name]
    with pytest.raises(KernelError, match=r"Row \d+ of X has squared norm .*at most 1e\+300"):
        model(kernel=kernel).fit(X * 1e152, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber"])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("scale", [1e52, 1e152, 1e160])
def test_linear_models_refuse_rows_whose_sums_overflow(loss, is_sparse, scale):
    rows = sp.csr_array(X * scale) if is_sparse else X * scale
    for search in (LinearSVC(loss).fit, lambda *data: linear_c_search(LinearSVC(loss), *data)):
        with pytest.raises(KernelError, match="Scale the features"):
            search(rows, SIGNS)


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_values_beyond_float32_are_solved_in_double(scale):
    """Float32 ends at 3.4e38; these reach 1e98."""
    model = SVC(**POLY).fit(X * scale, SIGNS)
    assert model.fit_status_ == 0
    assert np.isfinite(model.dual_coef_).all()
    assert model.certify(X * scale, SIGNS).is_optimal(1e-3)
    expected = SVC(**POLY, C=1e6).fit(X, SIGNS).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X * scale), expected, atol=2e-3)


def test_entries_of_a_given_matrix_are_looked_at():
    K = X @ X.T
    with pytest.raises(KernelError, match=r"entry .* at \[0, 0\]; .* at most 1e\+100 in size"):
        SVC(kernel="precomputed").fit(K * 1e150, SIGNS)
    K[3, 4] = K[4, 3] = 1e40  # beyond float32 where the diagonal is not
    for fit in (SVC(kernel="precomputed", tol=1e-3).fit, SVR(kernel="precomputed").fit):
        model = fit(K, SIGNS)
        assert model.certify(K, SIGNS).kkt_violation <= 1e-3


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e150])
@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "QuadraticLossSVC", "RankSVM"])
def test_functions_that_return_what_is_not_finite_are_refused(name, value):
    model, y = MODELS[name]

    def kernel(A, B):
        K = A @ B.T
        K[(A[:, 0] == X[2, 0]), :] = K[:, (B[:, 0] == X[2, 0])] = value
        return K

    with pytest.raises(KernelError, match="kernel function has the entry"):
        model(kernel=kernel).fit(X, y)
    usable = np.delete(np.arange(N), 2)
    fitted = model(kernel=kernel).fit(X[usable], None if y is None else y[usable])
    if not abs(value) < np.inf:
        with pytest.raises(KernelError, match=NOT_FINITE):
            values_of(fitted, X[[1, 2, 3]])


@each_model
@pytest.mark.parametrize("is_sparse", [False, True])
def test_predictions_refuse_rows_on_which_the_kernel_overflows(name, is_sparse):
    model, y = MODELS[name]
    fitted = model(**POLY).fit(X, y)
    rows = X[:3] * np.array([[1.0], [1e90], [1.0]])
    with pytest.raises(KernelError, match=NOT_FINITE):
        values_of(fitted, sp.csr_array(rows) if is_sparse else rows)
    assert np.isfinite(values_of(fitted, X[:3])).all()


def test_linear_predictions_refuse_rows_on_which_they_overflow():
    fitted = LinearSVC(C=1e6).fit(X * 1e-3, SIGNS)
    with pytest.raises(KernelError, match=NOT_FINITE):
        fitted.predict(X[:3] * np.array([[1.0], [1e308], [1.0]]))


def test_what_is_not_finite_has_no_certificate():
    view = KernelStore(X).view(Rbf(0.5))
    problem = Problem.classification(view, SIGNS, weights=np.ones(N))
    beta = smo.solve(problem).beta.copy()
    gradient = view.multiply(np.arange(N), beta) - SIGNS
    for bad in (np.nan, np.inf, -np.inf):
        broken = beta.copy()
        broken[4] = bad
        with pytest.raises(InfeasibleStart, match=r"beta\[4\] is .*; only what is finite"):
            certify(problem, broken)
        assert optimality.kkt_violation(problem, broken, gradient) == np.inf
        slopes = gradient.copy()
        slopes[4] = bad
        assert optimality.kkt_violation(problem, beta, slopes) == np.inf
    margins = MarginProblem(X * 1e300, SIGNS, np.ones(N), "hinge", offset="none")
    with pytest.raises(InfeasibleStart, match=r"decision value of row .*; only what is finite"):
        certify_margin(margins, np.full(3, 1e20), 0.0)


def test_certificates_of_a_model_refuse_data_on_which_its_kernel_overflows():
    model = SVC(**POLY).fit(X, SIGNS)
    with pytest.raises(InfeasibleStart, match=r"K beta\[0\] is .*; only what is finite"):
        model.certify(X * 1e90, SIGNS)


def test_stores_refuse_what_solvers_could_not_add_up():
    for scale, kernel in ((1e30, Poly(1.0, 4)), (1e60, Linear())):
        with pytest.raises(KernelError, match="must not exceed"):
            KernelStore(X * scale).view(kernel)
        with pytest.raises(KernelError, match="must not exceed"):
            KernelStore(X * scale).matrix(kernel)
        with pytest.raises(KernelError, match="must not exceed"):
            DeviceStore(X * scale, xp=np).view(kernel)
    with pytest.raises(KernelError, match=r"float32, up to 1e\+36. Use device='cpu'"):
        DeviceStore(X * 1e10, xp=np).view(Poly(1.0, 4))
    with pytest.raises(KernelError, match="at most 1e"):
        KernelStore(np.eye(3) * 1e120).view(Precomputed())


@pytest.mark.parametrize(("model", "y"), [(SVC(**POLY), SIGNS), (SVR(**POLY), NUMBERS)])
def test_updates_refuse_rows_that_overflow_and_change_nothing(model, y):
    model.fit(X, y)
    model.partial_fit(X[:2] + 0.1, y[:2])
    before = values_of(model, X)
    with pytest.raises(KernelError, match="must not exceed"):
        model.partial_fit(X[:2] * 1e30, y[:2])
    assert (values_of(model, X) == before).all()
    model.forget([0])
    rows, targets = np.vstack([X, X[:2] + 0.1])[1:], np.append(y, y[:2])[1:]
    assert model.certify(rows, targets).is_optimal(1e-3)


def test_updates_refuse_values_of_a_function_that_are_not_finite():
    def kernel(A, B):
        K = A @ B.T
        K[np.abs(A).max(axis=1) > 50.0, :] = np.nan
        return K

    model = SVC(kernel=kernel).fit(X, SIGNS)
    with pytest.raises(KernelError, match="on the added rows are not finite"):
        model.partial_fit(X[:2] * 1e3, SIGNS[:2])
    model.partial_fit(X[:2] + 0.1, SIGNS[:2])
    assert model.certify(np.vstack([X, X[:2] + 0.1]), np.append(SIGNS, SIGNS[:2])).is_optimal(1e-3)


def test_folds_and_leave_one_out_refuse_what_overflows():
    for model, y in ((SVC(**POLY), SIGNS), (SVR(**POLY), NUMBERS), (LinearSVC(), SIGNS)):
        for verb in (cross_validate, leave_one_out):
            if verb is leave_one_out and isinstance(model, LinearSVC):
                continue
            with pytest.raises((KernelError, ValueError), match="Scale the features"):
                verb(model, X * 1e60, y)


def test_cells_of_a_search_that_overflow_are_not_solved():
    grid = {"degree": [2, 40], "C": [1e-3, 1.0]}
    search = SVMSearchCV(SVC(kernel="poly", gamma=1.0), grid, cv=3)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        search.fit(X * 100.0, SIGNS)
    texts = [str(warning.message) for warning in seen]
    assert any("6 fits failed" in text and "degree=40" in text for text in texts)
    scores = search.cv_results_["mean_test_score"]
    has_overflow = np.array([params["degree"] == 40 for params in search.cv_results_["params"]])
    assert np.isnan(scores[has_overflow]).all()
    assert np.isfinite(scores[~has_overflow]).all()
    with pytest.raises(KernelError, match=r"degree=40.* may reach"):
        SVMSearchCV(search.estimator, grid, cv=3, error_score="raise").fit(X * 100.0, SIGNS)


def test_paths_refuse_what_overflows():
    with pytest.raises(KernelError, match="must not exceed"):
        c_path(SVC(**POLY), X * 1e30, SIGNS, 0.1, 1.0)
    with pytest.raises(KernelError, match="must not exceed"):
        lambda_path(X * 1e30, SIGNS, kernel=Poly(1.0, 4), lam_from=1.0, lam_to=0.1)
    with pytest.raises(KernelError, match="must not exceed"):
        rank_c_path(RankSVM(**POLY), X * 1e30, GRADES, 0.1, 1.0)
    rows = X[:3] * np.array([[1.0], [1e90], [1.0]])
    path = c_path(SVC(**POLY), X, SIGNS, 0.1, 1.0)
    ranked = rank_c_path(RankSVM(**POLY), X, GRADES, 0.01, 0.1)
    for values in (
        lambda: path.decision_function(rows, 0.5),
        lambda: path.validate(rows, SIGNS[:3]),
        lambda: ranked.decision_function(rows, 0.05),
        lambda: ranked.validate(rows, GRADES[:3]),
    ):
        with pytest.raises(KernelError, match=NOT_FINITE):
            values()
