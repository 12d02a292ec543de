"""Fitted estimators to and from scikit-learn's own.

scikit-learn keeps LIBSVM's signs in private copies (`_dual_coef_`, `_intercept_`) beside the
public attributes, and the coefficients of a model fitted on sparse data as a full CSR matrix.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm

from ...kernels import Callable as CallableKernel
from ...kernels.choice import make_kernel
from ...problem.solution import Status

COPIED = ("classes_", "class_weight_", "shape_fit_", "n_features_in_", "feature_names_in_")

#: Parameters of both, with the same meaning.
SHARED = ("loss", "C", "tol", "fit_intercept", "class_weight", "random_state")
FITTED = ("classes_", "n_features_in_", "feature_names_in_", "n_iter_")
#: What the model knows of, with the only value that it has.
FIXED = {"penalty": "l2", "multi_class": "ovr", "intercept_scaling": 1}


def to_sklearn(estimator: Any) -> Any:
    """The equivalent fitted scikit-learn estimator."""
    peer = estimator._declaration.peer()
    own = estimator.get_params(deep=False)
    peer.set_params(**{k: v for k, v in own.items() if k in peer.get_params(deep=False)})
    copy_requests(estimator, peer)
    for name in COPIED:
        if hasattr(estimator, name):
            setattr(peer, name, getattr(estimator, name))
    n_support = estimator.dual_coef_.shape[1]
    peer.support_ = getattr(estimator, "support_", np.arange(n_support, dtype=np.int32))
    peer.support_vectors_ = estimator.support_vectors_
    if estimator._targets == "labels":
        peer._n_support = estimator.n_support_
    else:
        peer._n_support = np.array([n_support, 0], dtype=np.int32)
    set_coefficients(peer, estimator)
    peer._gamma = estimator._gamma
    peer._probA = peer._probB = np.empty(0)
    peer._effective_probability = False
    peer.fit_status_ = int(getattr(estimator, "fit_status_", Status.SOLVED))
    if hasattr(estimator, "n_iter_"):
        peer.n_iter_ = estimator.n_iter_
        peer._num_iter = np.atleast_1d(estimator.n_iter_).astype(np.int32)
    if isinstance(estimator._kernel, CallableKernel):
        # scikit-learn evaluates a Python kernel against all its training rows: the support will do.
        peer._BaseLibSVM__Xfit = estimator.support_vectors_
        peer.support_ = np.arange(n_support, dtype=np.int32)
        peer.support_vectors_ = np.empty((0, 0))
        peer.shape_fit_ = estimator.support_vectors_.shape
    return peer


def copy_requests(source: Any, target: Any) -> None:
    """Give `target` the metadata requests that were set on `source` (`set_fit_request`, ...)."""
    if hasattr(source, "_metadata_request"):
        target._metadata_request = copy.deepcopy(source._metadata_request)


def set_coefficients(peer: Any, estimator: Any) -> None:
    """dual_coef_ and intercept_, public and private, dense or sparse as the vectors are."""
    peer._sparse = sp.issparse(estimator.support_vectors_) and not callable(estimator.kernel)
    peer.intercept_ = estimator.intercept_.copy()
    dual_coef = estimator.dual_coef_
    if peer._sparse:
        vectors = sp.csr_matrix(estimator.support_vectors_)
        vectors.indices = vectors.indices.astype(np.int32)
        vectors.indptr = vectors.indptr.astype(np.int32)
        peer.support_vectors_ = vectors
        n_rows, n_columns = dual_coef.shape
        indices = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
        indptr = np.arange(n_rows + 1, dtype=np.int32) * n_columns
        dual_coef = sp.csr_matrix((dual_coef.ravel(), indices, indptr), dual_coef.shape)
    peer.dual_coef_ = dual_coef.copy()
    sign = -1.0 if estimator._targets == "labels" and len(estimator.classes_) == 2 else 1.0
    peer._dual_coef_ = sign * peer.dual_coef_
    peer._intercept_ = sign * peer.intercept_
    if estimator._targets == "ignored":
        peer.offset_ = -peer.intercept_


def from_sklearn(estimator: Any, peer: Any) -> None:
    """Give `estimator` the parameters of `peer` and, if that is fitted, its model."""
    expected = estimator._declaration.peer
    if not isinstance(peer, expected):
        raise TypeError(
            f"{type(estimator).__name__}.from_sklearn takes a scikit-learn {expected.__name__}, "
            f"not {type(peer).__name__}."
        )
    given = peer.get_params(deep=False)
    if given.get("probability") is True:
        raise ValueError(
            "probability=True has no counterpart; wrap the estimator in CalibratedClassifierCV."
        )
    estimator.set_params(**{k: v for k, v in given.items() if k in estimator.get_params()})
    copy_requests(peer, estimator)
    if not hasattr(peer, "dual_coef_"):
        return
    for name in (*COPIED, "support_", "n_support_", "n_iter_"):
        if hasattr(peer, name):
            setattr(estimator, name, getattr(peer, name))
    dual_coef = peer.dual_coef_
    estimator.dual_coef_ = dual_coef.toarray() if sp.issparse(dual_coef) else dual_coef.copy()
    estimator.intercept_ = peer.intercept_.copy()
    estimator._gamma = float(peer._gamma)
    estimator._kernel = make_kernel(peer.kernel, estimator._gamma, peer.degree, peer.coef0)
    estimator.fit_status_ = Status(int(peer.fit_status_))
    estimator.support_vectors_ = peer.support_vectors_
    if callable(peer.kernel):
        estimator.support_vectors_ = peer._BaseLibSVM__Xfit[peer.support_]
        estimator.n_features_in_ = estimator.support_vectors_.shape[1]


def linear_to_sklearn(estimator: Any) -> svm.LinearSVC:
    """The equivalent scikit-learn estimator, fitted if this one is."""
    if estimator.loss == "huber" or not estimator.penalise_intercept or estimator.lam is not None:
        raise ValueError(
            f"scikit-learn's LinearSVC has loss 'hinge' or 'squared_hinge', a penalised intercept "
            f"and C; here loss={estimator.loss!r}, penalise_intercept="
            f"{estimator.penalise_intercept} and lam={estimator.lam}."
        )
    peer = svm.LinearSVC(**{name: getattr(estimator, name) for name in SHARED})
    copy_requests(estimator, peer)
    if hasattr(estimator, "coef_"):
        peer.coef_, peer.intercept_ = estimator.coef_.copy(), estimator.intercept_.copy()
        for name in FITTED:
            if hasattr(estimator, name):
                setattr(peer, name, getattr(estimator, name))
    return peer


def linear_from_sklearn(estimator: Any, peer: Any) -> None:
    """Give `estimator` the parameters of `peer` and, if that is fitted, its model.

    `dual`, `max_iter` and `verbose` are about LIBLINEAR's solvers and are left out.
    """
    if not isinstance(peer, svm.LinearSVC):
        raise TypeError(
            f"LinearSVC.from_sklearn takes a scikit-learn LinearSVC, not {type(peer).__name__}."
        )
    for name, value in FIXED.items():
        if getattr(peer, name) != value:
            raise ValueError(
                f"{name} is {getattr(peer, name)!r}; for a LinearSVC of alphapath it must be "
                f"{value!r}."
            )
    estimator.set_params(**{name: getattr(peer, name) for name in SHARED})
    copy_requests(peer, estimator)
    if hasattr(peer, "coef_"):
        estimator.coef_ = peer.coef_.copy()
        # scikit-learn keeps a plain 0.0 where there is no intercept.
        estimator.intercept_ = peer.coef_[:, 0] * 0.0 + peer.intercept_
        for name in FITTED:
            if hasattr(peer, name):
                setattr(estimator, name, getattr(peer, name))
