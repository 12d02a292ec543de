"""Bad input: a sentence that names the value and what is valid, before any native code runs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from alphapath import (
    SVC,
    SVR,
    LinearSVC,
    OneClassMaxMinOver,
    OneClassSVM,
    QuadraticLossSVC,
    RankSVM,
    SmoothSVC,
    TransductiveSVC,
    _core,
)
from alphapath.errors import KernelError
from alphapath.model_selection import (
    SVMSearchCV,
    cross_validate,
    cross_validate_path,
    leave_one_out,
    linear_c_search,
)
from alphapath.paths import c_path

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
Y = np.array([0, 1, 0, 1])


def with_value(value):
    bad = X.copy()
    bad[2, 1] = value
    return bad


CASES = {
    "nan": (SVC(), (with_value(np.nan), Y), "contains NaN"),
    "infinity": (SVC(), (with_value(np.inf), Y), "contains infinity"),
    "sparse nan": (SVC(), (sp.csr_array(with_value(np.nan)), Y), "contains NaN"),
    "nan target": (SVR(), (X, [0.0, np.nan, 1.0, 2.0]), "contains NaN"),
    "nan label": (SVC(), (X, [0.0, np.nan, 1.0, 2.0]), "contains NaN"),
    "continuous labels": (SVC(), (X, [0.5, 0.1, 0.2, 0.3]), "Unknown label type: continuous"),
    "no rows": (SVC(), (np.empty((0, 2)), []), r"0 sample\(s\).*minimum of 1"),
    "no features": (SVC(), (np.empty((4, 0)), Y), r"0 feature\(s\).*minimum of 1"),
    "no rows, one class": (OneClassSVM(), (np.empty((0, 2)),), r"0 sample\(s\)"),
    "one class": (SVC(), (X, np.zeros(4)), "one class only, 0.0; .* at least two classes"),
    "one dimension": (SVC(), (X[:, 0], Y), "Expected 2D array, got 1D array"),
    "lengths": (SVC(), (X, Y[:3]), r"inconsistent numbers of samples: \[4, 3\]"),
    "no target": (SVC(), (X, None), "requires y to be passed, but the target y is None"),
    "weight shape": (SVC(), (X, Y, np.ones(3)), r"sample_weight.shape == \(3,\), expected \(4,\)"),
    "negative weight": (
        SVC(),
        (X, Y, [1, -2, 1, 1]),
        r"sample_weight\[1\] is -2.0; every weight must be zero .* or positive",
    ),
    "nan weight": (SVR(), (X, Y, [1, np.nan, 1, 1]), "sample_weight contains NaN"),
    "infinite weight": (SVR(), (X, Y, [1, np.inf, 1, 1]), "sample_weight contains infinity"),
    "all weights zero": (SVR(), (X, Y, np.zeros(4)), "at least one non-zero number"),
    "all weights zero, one class": (OneClassSVM(), (X, None, np.zeros(4)), "at least one non-zero"),
    "class without weight": (
        SVC(),
        (X, Y, [1, 0, 1, 0]),
        "All rows of class 1 have sample_weight 0; give a row of each class a positive weight",
    ),
    "class weight": (SVC(class_weight={1: -1.0}), (X, Y), "class_weight of class 1 is -1.0"),
    "C = 0": (SVC(C=0.0), (X, Y), r"'C' .* must be a float in the range \(0.0, inf\). Got 0.0"),
    "C < 0": (SVR(C=-1.0), (X, Y), r"'C' .* Got -1.0 instead"),
    "C = nan": (SVC(C=np.nan), (X, Y), "'C' .* Got nan instead"),
    "C = inf": (SVC(C=np.inf), (X, Y), "'C' .* Got inf instead"),
    "gamma = 0": (SVC(gamma=0.0), (X, Y), r"'gamma' .* range \(0.0, inf\). Got 0.0 instead"),
    "gamma < 0": (SVC(gamma=-0.5), (X, Y), "'gamma' .* Got -0.5 instead"),
    "gamma text": (SVC(gamma="big"), (X, Y), "'gamma' .* Got 'big' instead"),
    "kernel": (SVC(kernel="cubic"), (X, Y), "'kernel' .* Got 'cubic' instead"),
    "degree": (SVC(kernel="poly", degree=-1), (X, Y), "'degree' .* Got -1 instead"),
    "tol": (SVC(tol=0.0), (X, Y), "'tol' .* Got 0.0 instead"),
    "epsilon": (SVR(epsilon=-0.1), (X, Y), "'epsilon' .* Got -0.1 instead"),
    "nu = 0": (OneClassSVM(nu=0.0), (X,), r"'nu' .* range \(0.0, 1.0\]. Got 0.0 instead"),
    "nu > 1": (OneClassSVM(nu=1.5), (X,), "'nu' .* Got 1.5 instead"),
    "max_iter": (SVC(max_iter=-2), (X, Y), "'max_iter' .* Got -2 instead"),
    "time_limit": (SVC(time_limit=0.0), (X, Y), "'time_limit' .* Got 0.0 instead"),
    "memory_limit": (SVC(memory_limit=-1), (X, Y), "'memory_limit' .* Got -1 instead"),
    "memory text": (SVC(memory_limit="lots"), (X, Y), "memory_limit == 'lots'.*'200MB'"),
    "not square": (SVC(kernel="precomputed"), (X, Y), r"shape \(4, 2\); it must be square"),
    "not symmetric": (
        SVC(kernel="precomputed"),
        (np.triu(np.ones((4, 4))), Y),
        r"not symmetric: \[0, 1\] is 1.0 but \[1, 0\] is 0.0",
    ),
    "overflow": (SVC(kernel="linear"), (with_value(1e200), Y), "Row 2 of X has squared norm inf"),
    "overflow of a power": (
        SVC(kernel="poly", degree=9, gamma=1.0),
        (with_value(1e60), Y),
        r"kernel Poly\(gamma=1.0, degree=9, coef0=0.0\) may reach inf on these rows; .* Scale the",
    ),
    "kernel function": (SVC(kernel=lambda A, B: A), (X, Y), r"returned an array of shape \(4, 2\)"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named(name, monkeypatch):
    def never(*_):
        raise AssertionError("native code was reached")

    for function in ("solve_smo", "gram_of_samples", "gram_of_array"):
        monkeypatch.setattr(_core, function, never)
    estimator, data, sentence = CASES[name]
    with pytest.raises(ValueError, match=sentence):
        estimator.fit(*data)
    assert not hasattr(estimator, "dual_coef_")


def test_sparse_precomputed_kernel():
    with pytest.raises(TypeError, match="is a sparse csr_array; pass a dense array"):
        SVC(kernel="precomputed").fit(sp.csr_array(np.eye(4)), Y)


def test_bad_rows_to_predict():
    model = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 2"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(with_value(np.nan))
    given = SVC(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="X has 2 features, but SVC is expecting 4"):
        given.predict(X)
    model.set_params(break_ties=True, decision_function_shape="ovo")
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


#: How a sparse matrix leads out of its arrays: its format, and the number that is wrong.
DAMAGES = {
    "column": ("csr", "indices", 3, 77),
    "negative column": ("csr", "indices", 3, -5),
    "pointer": ("csr", "indptr", 5, 10**6),
    "falling pointer": ("csr", "indptr", 5, 0),
    "last pointer": ("csr", "indptr", -1, 10**7),
    "first pointer": ("csr", "indptr", 0, 3),
    "row of CSC": ("csc", "indices", 3, 77),
    "pointer of CSC": ("csc", "indptr", 2, 10**6),
    "column of COO": ("coo", "col", 3, 77),
    "row of COO": ("coo", "row", 3, -1),
}
MODELS = {
    "SVC": SVC(gamma=0.5),
    "SVR": SVR(gamma=0.5),
    "OneClassSVM": OneClassSVM(gamma=0.5),
    "OneClassMaxMinOver": OneClassMaxMinOver(gamma=0.5),
    "LinearSVC": LinearSVC(),
    "SmoothSVC": SmoothSVC(gamma=0.5),
    "QuadraticLossSVC": QuadraticLossSVC(gamma=0.5),
    "TransductiveSVC": TransductiveSVC(gamma=0.5),
    "RankSVM": RankSVM(),
}
ROWS = np.random.default_rng(0).normal(size=(40, 5))
LABELS = np.where(ROWS[:, 0] > 0.0, 1, 0)


def damaged(kind):
    form, name, place, value = DAMAGES[kind]
    matrix = sp.csr_array(ROWS).asformat(form)
    numbers = getattr(matrix, name).copy()
    numbers[place] = value
    setattr(matrix, name, numbers)
    return matrix


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_sparse_matrix_reaches_no_native_code(kind):
    """SciPy's native code included, which crashes or reads other numbers."""
    takers = {
        "search": lambda rows: SVMSearchCV(SVC(), {"C": [1.0, 2.0]}).fit(rows, LABELS),
        "linear search": lambda rows: linear_c_search(LinearSVC(), rows, LABELS),
        "folds": lambda rows: cross_validate(SVC(), rows, LABELS),
        "leave-one-out": lambda rows: leave_one_out(SVC(gamma=0.5), rows, LABELS),
        "lambda": lambda rows: cross_validate_path(QuadraticLossSVC(gamma=0.5), rows, LABELS),
        "path": lambda rows: c_path(SVC(gamma=0.5), rows, LABELS, 0.1, 1.0),
    }
    for name, model in MODELS.items():
        more = {"qid": np.arange(40) // 10} if name == "RankSVM" else {}
        takers[f"{name}.fit"] = partial(clone(model).fit, y=LABELS, **more)
        takers[f"{name}.predict"] = clone(model).fit(ROWS, LABELS, **more).predict
    path = c_path(SVC(gamma=0.5), ROWS, LABELS, 0.1, 1.0)
    along_lambda = QuadraticLossSVC(gamma=0.5).lambda_path(ROWS, LABELS, lam_to=0.1)
    takers |= {
        "path.validate": lambda rows: path.validate(rows, LABELS),
        "path.decision_function": lambda rows: path.decision_function(rows, 0.5),
        "lambda_path.validate": lambda rows: along_lambda.validate(rows, LABELS),
        "lambda_path.predict": lambda rows: along_lambda.predict(rows, 0.5),
    }
    form = DAMAGES[kind][0].upper()
    for take in takers.values():
        with pytest.raises(KernelError, match=rf"X is not a valid {form} matrix: .*\.$"):
            take(damaged(kind))


def test_a_path_takes_rows_of_any_kind():
    path = c_path(SVC(gamma=0.5), ROWS, LABELS, 0.1, 1.0)
    expected = path.decision_function(ROWS, 0.5)
    for rows in (sp.coo_array(ROWS), sp.csc_array(ROWS), ROWS.tolist()):
        assert path.decision_function(rows, 0.5) == pytest.approx(expected, abs=1e-12)
        assert len(path.validate(rows, LABELS).value) == len(path.validate(ROWS, LABELS).value)
