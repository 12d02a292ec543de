"""LIBSVM model files: read by LIBSVM itself, restored to the bit, and never trusted."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm

from alphapath import SVC, SVR, OneClassSVM
from alphapath.errors import ModelFileError
from alphapath.estimators.exchange.libsvm_file import read_model
from datasets import CLASSIFICATION, REGRESSION


def case(name):
    """(fitted estimator, rows to predict)."""
    X, y = CLASSIFICATION["iris"]()
    Z, r = REGRESSION["diabetes"]()
    return {
        "two_classes": lambda: (SVC(C=3.0).fit(X[:100], y[:100]), X),
        "three_classes": lambda: (SVC(kernel="linear").fit(X, 7 - 5 * y), X),
        "poly": lambda: (SVC(kernel="poly", degree=2, coef0=0.5).fit(X, y), X),
        "sigmoid": lambda: (SVC(kernel="sigmoid", gamma=0.001).fit(X[50:], y[50:]), X),
        "precomputed": lambda: (SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T),
        "sparse": lambda: (SVC().fit(sp.csr_array(X), y), X),
        "svr": lambda: (SVR(C=10.0).fit(Z, r), Z),
        "svr_without_support": lambda: (SVR(epsilon=1e6).fit(Z, r), Z),
        "one_class": lambda: (OneClassSVM(nu=0.2).fit(X), X),
    }[name]()


CASES = [
    "two_classes",
    "three_classes",
    "poly",
    "sigmoid",
    "precomputed",
    "sparse",
    "svr",
    "svr_without_support",
    "one_class",
]


def values(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("name", CASES)
def test_a_model_survives_the_way_out_and_in(name, tmp_path):
    model, X = case(name)
    model.save_libsvm(tmp_path / "model")
    restored = type(model).load_libsvm(tmp_path / "model", n_features=X.shape[1])
    assert np.array_equal(restored.dual_coef_, model.dual_coef_)
    assert np.array_equal(restored.intercept_, model.intercept_)
    assert np.array_equal(restored.n_support_, model.n_support_)
    assert np.allclose(values(restored, X), values(model, X), rtol=1e-12, atol=1e-12)
    assert np.array_equal(restored.predict(X) > 0, model.predict(X) > 0)
    restored.save_libsvm(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def predict_by_libsvm(path, X, tmp_path, is_given):
    """Predictions of the program svm-predict or, without it, of LIBSVM's Python package."""
    rows = [
        {k + 1: v for k, v in enumerate(row.tolist())} | ({0: i + 1} if is_given else {})
        for i, row in enumerate(X)
    ]
    program = shutil.which("svm-predict")
    if program is None:
        svmutil = pytest.importorskip("libsvm.svmutil")
        model = svmutil.svm_load_model(str(path))
        assert model is not None
        return np.array(svmutil.svm_predict([0] * len(rows), rows, model, "-q")[0])
    lines = (
        "0 " + " ".join(f"{k}:{v:.17g}" for k, v in sorted(row.items())) + "\n" for row in rows
    )
    (tmp_path / "rows").write_text("".join(lines))
    command = [program, "-q", str(tmp_path / "rows"), str(path), str(tmp_path / "predictions")]
    subprocess.run(command, check=True, timeout=60)
    return np.loadtxt(tmp_path / "predictions")


@pytest.mark.parametrize("name", CASES)
def test_libsvm_reads_it(name, tmp_path):
    model, X = case(name)
    model.save_libsvm(tmp_path / "model")
    found = predict_by_libsvm(tmp_path / "model", X, tmp_path, name == "precomputed")
    expected = model.predict(X)
    if isinstance(model, SVR):
        assert np.allclose(found, expected, rtol=1e-5)
    else:
        clear = np.abs(values(model, X).reshape(X.shape[0], -1)).min(axis=1) > 1e-9
        assert np.array_equal(found[clear], expected[clear])


def test_labels_in_any_order_are_sorted(tmp_path):
    """LIBSVM numbers classes by their first appearance."""
    svmutil = pytest.importorskip("libsvm.svmutil")
    X, y = CLASSIFICATION["iris"]()
    for keep in (y < 3, y > 0):
        order = np.flatnonzero(keep)[::-1]
        rows, labels = X[order], [2 * int(label) - 1 for label in y[order]]
        theirs = svmutil.svm_train(labels, rows.tolist(), "-q -c 2 -g 0.3")
        assert theirs.get_labels() == sorted(set(labels), reverse=True)
        svmutil.svm_save_model(str(tmp_path / "model"), theirs)
        model = SVC.load_libsvm(tmp_path / "model").set_params(decision_function_shape="ovo")
        assert np.all(np.diff(model.classes_) > 0)
        peer = svm.SVC(C=2.0, gamma=0.3, decision_function_shape="ovo").fit(rows, labels)
        assert np.allclose(model.decision_function(X), peer.decision_function(X), atol=5e-3)
        assert np.array_equal(model.predict(rows), peer.predict(rows))


def test_what_a_file_can_not_hold(tmp_path):
    X, y = CLASSIFICATION["iris"]()
    names = np.array(["a", "b", "c"])[y]
    with pytest.raises(ValueError, match=r"labels are integers.*\['a', 'b', 'c'\]"):
        SVC().fit(X, names).save_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match="kernel is a Python function"):
        SVC(kernel=lambda A, B: A @ B.T).fit(X, y).save_libsvm(tmp_path / "model")
    SVC().fit(X, y.astype(float)).save_libsvm(tmp_path / "model")
    with pytest.raises(ModelFileError, match="svm_type is c_svc; SVR reads epsilon_svr"):
        SVR.load_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match="n_features is 2, but the model file uses 4"):
        SVC.load_libsvm(tmp_path / "model", n_features=2)
    with pytest.raises(ValueError, match="read from a file"):
        SVC.load_libsvm(tmp_path / "model").certify(X, y)
    with pytest.raises(FileNotFoundError):
        SVC.load_libsvm(tmp_path / "missing")


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:-1
-1 2:0.75
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("c_svc", "nu_sv", "line 1: svm_type is 'nu_sv'; it must be one of c_svc"),
        ("rbf", "cubic", "line 2: kernel_type is 'cubic'"),
        ("gamma 0.5\n", "", "line 8: the header has no gamma"),
        ("gamma 0.5", "gamma -1", "line 3: gamma is -1.0; it must be positive"),
        ("gamma 0.5", "gamma nan", "line 3: 'nan' is not a finite number"),
        ("gamma 0.5", "gamma 1e999", "line 3: '1e999' is not a finite number"),
        ("gamma 0.5", "gamma 1_0", "line 3: '1_0' is not a finite number"),
        ("nr_class 2", "nr_class 1000000000000", "line 4: nr_class '1000000000000' is no integer"),
        ("nr_class 2", "nr_class 2147483647", "line 6: rho has 1 values instead of 230584300"),
        ("total_sv 2", "total_sv 1000000000000", "line 5: total_sv '1000000000000' is no integer"),
        ("total_sv 2", "total_sv 2147483647", "line 8: nr_sv sums to 2, but total_sv is 21474"),
        ("rho 0.25", "rho 0.25 1", "line 6: rho has 2 values instead of 1"),
        ("label 1 -1", "label 1 1", r"line 7: label \[1, 1\] names a class twice"),
        ("label 1 -1", "label 1 x", "line 7: label 'x' is no integer"),
        ("label 1 -1\n", "", "the header has no label"),
        ("nr_sv 1 1", "nr_sv -1 3", "line 8: nr_sv '-1' is no integer"),
        ("SV\n", "", "line 9: unknown header entry '1'"),
        ("rho 0.25", "rho 0.25\nrho 0.25", "line 7: rho is given twice"),
        ("-1 2:0.75\n", "", "line 11: the file ends after 1 support vectors; total_sv is 2"),
        ("-1 2:0.75\n", "-1 2:0.75\n1 1:1\n", "line 12: more support vectors than total_sv 2"),
        ("2:0.75", "2:", "line 11: '' is not a finite number"),
        ("2:0.75", "2;0.75", "line 11: '2;0.75' is not of the form index:value"),
        ("2:0.75", "0:0.75", "line 11: index 0 is not in 1"),
        ("2:0.75", "99999999999:1", "line 11: index 99999999999 is not in 1"),
        ("3:-1", "1:-1", "line 10: index 1 is not larger than the one before"),
        ("kernel_type rbf", "kernel_type precomputed", "needs one entry 0:sample|is not in"),
        ("0.75", "0.7\xe9", "must be ASCII text"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, old, new, sentence):
    path = tmp_path / "model"
    assert old in GOOD
    path.write_bytes(GOOD.replace(old, new, 1).encode("latin-1"))
    with pytest.raises(ModelFileError, match=sentence):
        SVC.load_libsvm(path)


def test_the_good_file_is_good(tmp_path):
    path = tmp_path / "model"
    path.write_text(GOOD.replace("\n", "\r\n"))
    model = SVC.load_libsvm(path)
    assert model.classes_.tolist() == [-1, 1]
    X = np.array([[0.5, 0.0, -1.0]])
    expected = 1.0 - np.exp(-0.5 * (0.25 + 0.75**2 + 1.0)) - 0.25
    assert model.decision_function(X)[0] == pytest.approx(expected)


def test_a_huge_index_takes_no_memory(tmp_path):
    path = tmp_path / "model"
    path.write_text(GOOD.replace("2:0.75", "2147483647:0.75"))
    model = SVC.load_libsvm(path)
    assert sp.issparse(model.support_vectors_)
    assert model.n_features_in_ == 2147483647


def every_good_file():
    precomputed = (
        "svm_type one_class\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 1e-3\nSV\n"
        "1 0:4\n0.5 0:2\n"
    )
    poly = (
        "svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 1\ncoef0 -.5\nnr_class 3\n"
        "total_sv 3\nrho 1 2 3\nlabel 3 1 2\nnr_sv 1 1 1\nprobA 1 1 1\nSV\n"
        "1 2 1:1\n-1 1 1:2\n-2 -1 2:1\n"
    )
    return [GOOD, precomputed, poly]


@settings(deadline=None, max_examples=400)
@given(
    st.sampled_from(every_good_file()),
    st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=0, max_size=4
    ),
    st.floats(0, 1),
)
def test_no_damage_raises_anything_else(tmp_path_factory, text, flips, end):
    content = bytearray(text.encode("ascii"))
    for where, byte in flips:
        content[int(where * len(content))] = byte
    path = tmp_path_factory.getbasetemp() / "fuzzed"
    path.write_bytes(bytes(content[: round(end * len(content))]))
    for estimator in (SVC, OneClassSVM):
        try:
            model = estimator.load_libsvm(path)
        except ModelFileError:
            continue
        assert np.isfinite(model.dual_coef_).all()
        assert read_model(path).coef.size == model.dual_coef_.size


def test_as_sklearn_and_back():
    for name in CASES:
        model, X = case(name)
        peer = model.as_sklearn()
        scale = 1.0 + np.abs(model.dual_coef_).sum()
        assert np.allclose(values(peer, X), values(model, X), rtol=0, atol=1e-12 * scale)
        assert peer.get_params()["kernel"] == model.kernel
        back = type(model).from_sklearn(peer)
        assert np.allclose(values(back, X), values(model, X), rtol=1e-12, atol=1e-12 * scale)


def test_as_sklearn_with_a_python_kernel():
    X, y = CLASSIFICATION["iris"]()

    def kernel(A, B):
        return A @ B.T

    model = SVC(kernel=kernel).fit(X, y)
    peer = model.as_sklearn()
    assert np.allclose(peer.decision_function(X), model.decision_function(X), atol=1e-12)
    back = SVC.from_sklearn(svm.SVC(kernel=kernel).fit(X, y))
    assert np.array_equal(back.predict(X), peer.predict(X))


def test_from_sklearn_takes_parameters_only_where_they_mean_something():
    peer = svm.SVC(C=7.0, cache_size=500, shrinking=False, random_state=3, class_weight={0: 2.0})
    model = SVC.from_sklearn(peer)
    assert model.get_params() == SVC(C=7.0, class_weight={0: 2.0}).get_params()
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        SVC.from_sklearn(svm.SVC(probability=True))
    with pytest.raises(TypeError, match="takes a scikit-learn SVR, not SVC"):
        SVR.from_sklearn(peer)
