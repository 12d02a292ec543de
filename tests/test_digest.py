"""Digests: the same content, the same digits, in every process."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from alphapath.search.digest import digest


def test_digests_depend_on_content_alone() -> None:
    X = np.arange(12.0).reshape(3, 4)
    assert digest(X) == digest(X.copy()) == digest(np.asfortranarray(X))
    assert digest(sp.csr_array(X)) == digest(sp.csr_array(X.copy()))
    assert digest({"C": [1, 2], "gamma": 0.5}) == digest({"gamma": 0.5, "C": [1, 2]})
    assert digest({1, 2, 3}) == digest({3, 2, 1})
    assert digest(np.float64(0.5)) == digest(0.5)
    assert digest(digest) == digest(digest)
    assert digest(object()) == digest(object())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(3), np.zeros(3, dtype=np.float32)),
        (np.zeros(3), -np.zeros(3)),
        (np.array(["a", "bc"], dtype=object), np.array(["ab", "c"], dtype=object)),
        (["a", "bc"], ["ab", "c"]),
        ([[1], 2], [[1, 2]]),
        (1, 1.0),
        (1, True),
        ("1", 1),
        (None, "None"),
        (np.sum, np.mean),
        (sp.csr_array(np.eye(3)), np.eye(3)),
    ],
)
def test_different_contents_have_different_digests(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_a_digest_is_the_same_in_another_process() -> None:
    code = (
        "import numpy as np; from alphapath.search.digest import digest;"
        "print(digest({'C': [1.0, 'x'], 'f': np.linalg.norm, 's': {'a', 'b'}}, np.arange(5)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = digest({"C": [1.0, "x"], "f": np.linalg.norm, "s": {"a", "b"}}, np.arange(5))
    assert done.stdout.strip() == here
