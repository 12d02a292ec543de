"""What holds for every registered kernel that is a function of two rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from alphapath.gpu.matrix import is_on_devices
from alphapath.kernels import KERNELS, Kernel, KernelStore, Precomputed
from alphapath.kernels.choice import make_kernel
from gpu_cases import make_store

#: A value of each parameter that a kernel may have.
VALUES: dict[str, Any] = {"gamma": 0.3, "degree": 2, "coef0": 0.5}


def functions_of_rows() -> list[str]:
    """The kernels that are made of parameters alone."""
    return [
        name for name, kernel in KERNELS.items() if kernel.has_option and kernel is not Precomputed
    ]


def example(name: str) -> Kernel:
    """The kernel as an estimator with the parameters VALUES makes it."""
    return make_kernel(name, **VALUES)


def check_kernel(name: str) -> None:
    """The promises of `Kernel`, and that store and device keep to its formula."""
    kernel = example(name)
    assert type(kernel) is KERNELS[name]
    for parameter in kernel.parameters:
        assert getattr(kernel, parameter) == VALUES[parameter]
        other = make_kernel(name, **(VALUES | {parameter: VALUES[parameter] + 1}))
        assert other.key != kernel.key
        assert hash(other.key) is not None
    assert example(name).key == kernel.key
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(40, 4)), rng.normal(size=(7, 4))
    K = kernel.evaluate(X, X)
    scale = np.abs(K).max()
    np.testing.assert_allclose(K, K.T, rtol=0.0, atol=1e-13 * scale)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(kernel.evaluate(Z, X), kernel.evaluate(X, Z).T, rtol=1e-12)
    rows = sp.csr_array(X)
    np.testing.assert_allclose(kernel.evaluate(rows, rows), K, rtol=0.0, atol=1e-12 * scale)
    assert scale <= kernel.bound(float((X * X).sum(axis=1).max())) * (1.0 + 1e-12)
    assert (kernel.native_function() is not None) == kernel.has_native_form()
    store = KernelStore(X)
    np.testing.assert_allclose(
        store.matrix(kernel), K, rtol=0.0, atol=1e-13 * scale, err_msg="store"
    )
    store.keep_products()
    kept = store.view(kernel)
    values = kept.gram.rows(np.arange(40))
    np.testing.assert_allclose(values, K, rtol=0.0, atol=1e-12 * scale, err_msg="kept products")
    if kernel.product == "dot":
        np.testing.assert_allclose(kernel.of_products(X @ X.T), K, rtol=1e-12)
    if is_on_devices(type(kernel)):
        view = make_store(X, "numpy").view(kernel)
        product = view.multiply(np.arange(40), np.ones(40))
        np.testing.assert_allclose(product, K.sum(axis=1), rtol=0.0, atol=1e-10 * scale)
