"""Passes of many rows with a few vectors, against NumPy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from alphapath import _core

PROGRAM = """
import numpy as np
from alphapath import _core
assert _core.instruction_set() == {isa!r}
rng = np.random.default_rng(1)
X, V, C = rng.normal(size=(7, 37)), rng.normal(size=(6, 37)), rng.normal(size=(6, 7))
np.testing.assert_allclose(_core.multiply_few(X, None, V), V @ X.T, atol=1e-12)
np.testing.assert_allclose(_core.combine_few(X, None, C), C @ X, atol=1e-12)
"""


@pytest.mark.parametrize("n_vectors", [1, 2, 3, 4, 5, 10, 16, 17, 33])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 7), (4, 8), (9, 1024), (6, 2051)])
def test_products_and_sums(n, d, n_vectors):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(n + 2, d + 3))
    X = wide[:n, :d]  # rows that are not next to each other
    V, C = rng.normal(size=(n_vectors, d)), rng.normal(size=(n_vectors, n))
    some = rng.permutation(n)[: max(1, n - 2)]
    np.testing.assert_allclose(_core.multiply_few(X, None, V), V @ X.T, atol=1e-11)
    np.testing.assert_allclose(_core.multiply_few(X, some, V), V @ X[some].T, atol=1e-11)
    np.testing.assert_allclose(_core.combine_few(X, None, C), C @ X, atol=1e-11)
    part = np.ascontiguousarray(C[:, : some.size])
    np.testing.assert_allclose(_core.combine_few(X, some, part), part @ X[some], atol=1e-11)


def test_no_rows():
    nobody = np.empty(0, dtype=np.intp)
    assert _core.multiply_few(np.ones((3, 2)), nobody, np.ones((4, 2))).shape == (4, 0)
    assert not _core.combine_few(np.ones((3, 2)), nobody, np.ones((4, 0))).any()


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(isa, monkeypatch):
    names = ["baseline", "avx2", "avx512", "avx512vnni"]
    if names.index(isa) > names.index(_core.instruction_set()):
        pytest.skip(f"this processor has no {isa}")
    monkeypatch.setenv("ALPHAPATH_ISA", isa)
    subprocess.run([sys.executable, "-c", PROGRAM.format(isa=isa)], check=True)


def test_refusals():
    X = np.ones((3, 4))
    with pytest.raises(ValueError, match=r"vectors has 3 columns; there must be 4\."):
        _core.multiply_few(X, None, np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"coefs has 2 columns; there must be 3\."):
        _core.combine_few(X, None, np.ones((2, 2)))
    with pytest.raises(ValueError, match="next to each other"):
        _core.multiply_few(np.ones((4, 3)).T, None, np.ones((2, 4)))
    with pytest.raises((IndexError, ValueError)):
        _core.multiply_few(X, np.array([3]), np.ones((2, 4)))
