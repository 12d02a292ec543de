"""Fitted estimators to and from the content of LIBSVM's model files.

LIBSVM's decision value of a pair is positive for its first class and has `- rho`; the estimators
follow scikit-learn, where the positive class of a two-class model is the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...kernels import KERNELS, Precomputed
from ...kernels.choice import make_kernel
from ..common import one_vs_one
from .libsvm_file import LibsvmModel

#: Vectors with at least this share of nonzero values are kept as a dense array.
DENSE_SHARE = 0.25


def to_libsvm(estimator: Any) -> LibsvmModel:
    """The model file of a fitted estimator."""
    kernel_type = kernel_type_of(estimator.kernel)
    is_classifier = estimator._targets == "labels"
    sign = -1.0 if is_classifier and len(estimator.classes_) == 2 else 1.0
    if isinstance(estimator._kernel, Precomputed):
        vectors = sp.csr_array((estimator.support_ + 1.0)[:, np.newaxis])
    else:
        vectors = sp.csr_array(estimator.support_vectors_)
    return LibsvmModel(
        svm_type=estimator._declaration.libsvm.name,
        kernel_type=kernel_type,
        # Adding 0.0 turns -0.0 into 0.0.
        rho=-sign * estimator.intercept_ + 0.0,
        coef=sign * estimator.dual_coef_,
        vectors=vectors,
        degree=int(estimator.degree),
        gamma=getattr(estimator._kernel, "gamma", 0.0),
        coef0=float(estimator.coef0),
        labels=integer_labels(estimator.classes_) if is_classifier else [],
        n_support=estimator.n_support_.tolist() if is_classifier else [],
    )


def kernel_type_of(kernel: Any) -> str:
    """LIBSVM's name of an estimator's kernel."""
    if callable(kernel):
        raise ValueError(
            "The kernel is a Python function, which a LIBSVM model file cannot hold; fit with "
            "kernel='precomputed' instead."
        )
    known = KERNELS[kernel].libsvm
    if known is None:
        raise ValueError(
            f"LIBSVM has no kernel {kernel!r}, so a LIBSVM model file cannot hold the model; fit "
            f"with kernel='precomputed' instead."
        )
    return known.name


def integer_labels(classes: Any) -> list[int]:
    """The classes as integers, which is all that LIBSVM's labels can be."""
    if classes.dtype.kind in "iub" or (classes.dtype.kind == "f" and (classes % 1 == 0).all()):
        labels = [int(label) for label in classes]
        if all(abs(label) < 2**31 for label in labels):
            return labels
    raise ValueError(
        f"LIBSVM's labels are integers of 32 bits, but the classes are {classes.tolist()[:10]}; "
        f"encode them (with scikit-learn's LabelEncoder, say) before fitting."
    )


def set_from_libsvm(estimator: Any, model: LibsvmModel, n_features: int | None) -> None:
    """Set the fitted attributes of `estimator` from a model file."""
    coef, intercept, vectors = model.coef, -model.rho, model.vectors
    if estimator._targets == "labels":
        rank = np.argsort(np.argsort(model.labels)).tolist()
        order, coef, rho = one_vs_one.reorder_classes(model.n_support, coef, model.rho, rank)
        vectors = vectors[order]
        sign = -1.0 if len(rank) == 2 else 1.0
        coef, intercept = sign * coef, -sign * rho
        estimator.classes_ = np.sort(np.array(model.labels))
        estimator.n_support_ = np.array(model.n_support, dtype=np.int32)[np.argsort(rank)]
    else:
        estimator.n_support_ = np.array([coef.shape[1]], dtype=np.int32)
    estimator.dual_coef_ = np.ascontiguousarray(coef)
    estimator.intercept_ = intercept + 0.0
    estimator._gamma = model.gamma
    estimator._kernel = make_kernel(estimator.kernel, model.gamma, model.degree, model.coef0)
    if isinstance(estimator._kernel, Precomputed):
        samples = vectors.toarray()[:, 0].astype(np.int32)
        estimator.support_ = samples - 1
        estimator.support_vectors_ = np.empty((0, 0))
        n_found = int(samples.max(initial=1))
    else:
        n_found = vectors.shape[1]
    width = n_found if n_features is None else int(n_features)
    if width < n_found:
        raise ValueError(f"n_features is {n_features}, but the model file uses {n_found} features.")
    estimator.n_features_in_ = width
    if not isinstance(estimator._kernel, Precomputed):
        vectors.resize(vectors.shape[0], width)
        is_dense = vectors.nnz >= DENSE_SHARE * vectors.shape[0] * width
        estimator.support_vectors_ = vectors.toarray() if is_dense else vectors


def rank_to_libsvm(model: Any) -> LibsvmModel:
    """The model file of a fitted RankSVM; a linear one has its weights as the only vector."""
    kernel_type = kernel_type_of(model.kernel)
    coef = model.dual_coef_[np.newaxis, :]
    if model.kernel == "linear":
        vectors, coef = sp.csr_array(model.coef_[np.newaxis, :]), np.ones((1, 1))
    elif isinstance(model._kernel, Precomputed):
        vectors = sp.csr_array((model.support_ + 1.0)[:, np.newaxis])
    else:
        vectors = sp.csr_array(model.support_vectors_)
    return LibsvmModel(
        svm_type=model._declaration.libsvm.name,
        kernel_type=kernel_type,
        rho=np.zeros(1),
        coef=coef,
        vectors=vectors,
        degree=int(model.degree),
        gamma=getattr(model._kernel, "gamma", 0.0),
        coef0=float(model.coef0),
        labels=[],
        n_support=[],
    )
