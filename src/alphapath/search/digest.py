"""Digests of data and parameters that are the same in every process and on every run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Where an object has no better text than its address.
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def digest(*values: Any) -> str:
    """32 hexadecimal digits that depend on the content of `values` alone.

    Arrays (dense or sparse) count with dtype, shape and every byte, containers with their items,
    functions by name; anything else by its repr without memory addresses.

    Examples
    --------
    >>> digest([1, 2.0]) == digest([1, 2.0]) != digest([1, 2])
    True
    """
    state = hashlib.blake2b(digest_size=16)
    for value in values:
        _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    if sp.issparse(value):
        rows = value.tocsr()
        _tell(state, "sparse", value.format, rows.shape)
        for part in (rows.data, rows.indices, rows.indptr):
            _feed(state, part)
    elif isinstance(value, np.ndarray):
        _feed_array(state, value)
    elif isinstance(value, np.generic):
        _feed(state, value.item())
    elif isinstance(value, Mapping):
        _tell(state, "mapping", len(value))
        for key in sorted(value, key=repr):
            _feed(state, key)
            _feed(state, value[key])
    elif isinstance(value, AbstractSet):
        _tell(state, "set", sorted(digest(item) for item in value))
    elif isinstance(value, list | tuple | range):
        _tell(state, "sequence", len(value))
        for item in value:
            _feed(state, item)
    elif callable(value) and hasattr(value, "__qualname__"):
        _tell(state, "function", value.__module__, value.__qualname__)
    else:
        _tell(state, type(value).__qualname__, ADDRESS.sub("", repr(value)))


def _feed_array(state: Any, array: Any) -> None:
    if array.dtype.hasobject:
        _tell(state, "objects", array.shape)
        for item in array.ravel().tolist():
            _feed(state, item)
        return
    _tell(state, "array", array.dtype.str, array.shape)
    state.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")


def _tell(state: Any, *words: Any) -> None:
    """One item with its length in front, so that no two lists of items run together."""
    text = repr(words).encode()
    state.update(len(text).to_bytes(8, "little"))
    state.update(text)
