"""A ranking model as a LIBSVM model file: an epsilon_svr whose values are the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...kernels import Precomputed
from .libsvm_file import LibsvmModel
from .libsvm_model import KERNEL_TYPE, SVM_TYPE


def rank_to_libsvm(model: Any) -> LibsvmModel:
    """The model file of a fitted RankSVM; a linear one has its weights as the only vector."""
    if callable(model.kernel):
        raise ValueError(
            "The kernel is a Python function, which a LIBSVM model file can not hold; fit with "
            "kernel='precomputed' instead."
        )
    coef = model.dual_coef_[np.newaxis, :]
    if model.kernel == "linear":
        vectors, coef = sp.csr_array(model.coef_[np.newaxis, :]), np.ones((1, 1))
    elif isinstance(model._kernel, Precomputed):
        vectors = sp.csr_array((model.support_ + 1.0)[:, np.newaxis])
    else:
        vectors = sp.csr_array(model.support_vectors_)
    return LibsvmModel(
        svm_type=SVM_TYPE["numbers"],
        kernel_type=KERNEL_TYPE[model.kernel],
        rho=np.zeros(1),
        coef=coef,
        vectors=vectors,
        degree=int(model.degree),
        gamma=getattr(model._kernel, "gamma", 0.0),
        coef0=float(model.coef0),
        labels=[],
        n_support=[],
    )
