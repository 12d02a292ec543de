"""The same SVC fit by alphapath and by its peers, brought into one form.

A peer is prepared (untimed: its own input format), fitted (timed) and read (untimed). Every peer
gets the same kernel, C, gamma and tolerance, and otherwise its defaults.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.harness import judge


@dataclass(frozen=True)
class Setting:
    """An rbf SVC."""

    C: float
    gamma: float
    tol: float = 1e-3


@dataclass(frozen=True)
class Fitted:
    """f(x) = sum_k beta_k K(x_support_k, x) + bias; positive means the larger label."""

    support: np.ndarray
    beta: np.ndarray
    bias: float
    counts: dict[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """`module` must be importable; `prepare` gives the timed call, `read` its model as Fitted."""

    title: str
    module: str
    distribution: str
    prepare: Callable[[Any, np.ndarray, Setting], Callable[[], Any]]
    read: Callable[[Any], Fitted]


def read_attributes(model: Any) -> Fitted:
    """From scikit-learn's attributes, which are those of all estimators but LIBSVM's own."""
    n_iter = getattr(model, "n_iter_", None)
    return Fitted(
        support=np.asarray(model.support_),
        beta=judge.as_dense(model.dual_coef_).ravel(),
        bias=float(np.ravel(model.intercept_)[0]),
        counts={"n_iter": None if n_iter is None else int(np.sum(n_iter))},
    )


def prepare_ours(X: Any, y: np.ndarray, setting: Setting) -> Callable[[], Any]:
    from alphapath import SVC

    return lambda: SVC(C=setting.C, gamma=setting.gamma, tol=setting.tol).fit(X, y)


def read_ours(model: Any) -> Fitted:
    fitted = read_attributes(model)
    (info,) = model.solve_info_
    counts = {
        "n_iter": info.n_iter,
        "n_rows_computed": model.n_kernel_rows_,
        "n_free_set_solves": info.n_free_set_solves,
        "n_bound_hits": info.n_bound_hits,
    }
    return Fitted(fitted.support, fitted.beta, fitted.bias, counts)


def prepare_sklearn(X: Any, y: np.ndarray, setting: Setting) -> Callable[[], Any]:
    from sklearn.svm import SVC

    return lambda: SVC(C=setting.C, gamma=setting.gamma, tol=setting.tol).fit(X, y)


def prepare_sklearnex(X: Any, y: np.ndarray, setting: Setting) -> Callable[[], Any]:
    from sklearnex.svm import SVC

    return lambda: SVC(C=setting.C, gamma=setting.gamma, tol=setting.tol).fit(X, y)


@dataclass(frozen=True)
class LibsvmModel:
    model: Any
    printed: str


def printed_by_c(call: Callable[[], Any]) -> tuple[Any, str]:
    """Value of a call and what C code printed meanwhile: LIBSVM tells its counts only there."""
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            value = call()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        return value, file.read().decode(errors="replace")


def prepare_libsvm(X: Any, y: np.ndarray, setting: Setting) -> Callable[[], Any]:
    """LIBSVM's own nodes are made before the clock starts, in its favour."""
    from libsvm.svmutil import svm_parameter, svm_problem, svm_train
    from scipy import sparse

    problem = svm_problem(np.asarray(y), sparse.csr_matrix(X))
    options = f"-s 0 -t 2 -c {setting.C!r} -g {setting.gamma!r} -e {setting.tol!r}"
    parameter = svm_parameter(options)
    return lambda: LibsvmModel(*printed_by_c(lambda: svm_train(problem, parameter)))


def read_libsvm(model: LibsvmModel) -> Fitted:
    native = model.model
    # LIBSVM's positive class is the label it met first.
    sign = 1.0 if native.get_labels()[0] == max(native.get_labels()) else -1.0
    found = re.search(r"#iter = (\d+)", model.printed)
    return Fitted(
        support=np.asarray(native.get_sv_indices()) - 1,
        beta=sign * np.asarray([coefficient[0] for coefficient in native.get_sv_coef()]),
        bias=-sign * float(native.rho[0]),
        counts={"n_iter": int(found.group(1)) if found else None},
    )


PEERS = {
    "alphapath": Peer("alphapath", "alphapath", "alphapath", prepare_ours, read_ours),
    "sklearn": Peer(
        "scikit-learn", "sklearn.svm", "scikit-learn", prepare_sklearn, read_attributes
    ),
    "sklearnex": Peer(
        "scikit-learn-intelex",
        "sklearnex.svm",
        "scikit-learn-intelex",
        prepare_sklearnex,
        read_attributes,
    ),
    "libsvm": Peer("LIBSVM", "libsvm.svmutil", "libsvm-official", prepare_libsvm, read_libsvm),
}


def chosen_peers(names: str) -> list[str]:
    """The peers of --peers, ours always first."""
    others = [name for name in PEERS if name != "alphapath"]
    if names == "none":
        return ["alphapath"]
    wanted = others if names == "all" else [name.strip() for name in names.split(",")]
    unknown = sorted(set(wanted) - set(PEERS))
    if unknown:
        raise SystemExit(f"Unknown peers {unknown}; known are {others}, all and none.")
    return ["alphapath", *[name for name in wanted if name != "alphapath"]]
