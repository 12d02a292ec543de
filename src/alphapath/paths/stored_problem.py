"""Files of paths: whole or refused, and tied to the problem, so that none is used on other data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..output_files import write_arrays
from ..problem.box_problem import FloatArray

#: Kernel values may be in single precision, and come from another machine.
ROUNDING = 1e-6


def save_arrays(path: str | PathLike[str] | IO[bytes], arrays: Mapping[str, Any]) -> None:
    """Write an .npz file with a checksum of all its arrays."""
    values = {name: np.asarray(value) for name, value in arrays.items()}
    values["checksum"] = np.array(checksum(values))
    if isinstance(path, str | PathLike):
        write_arrays(path, values)
    else:
        np.savez_compressed(path, **values)  # type: ignore[arg-type]


def load_arrays(path: str | PathLike[str] | IO[bytes]) -> dict[str, NDArray[Any]]:
    """What `save_arrays` wrote; a file that is damaged, or of something else, is refused."""
    if isinstance(path, str | PathLike):
        with open(path, "rb") as file:
            stored = read_arrays(file, path)
    else:
        stored = read_arrays(path, "the stream")
    known = stored.pop("checksum", None)
    if known is None:
        raise refuse(path, "it has no checksum, and may be of an older version")
    if str(known) != checksum(stored):
        raise refuse(path, "its arrays are not those that were written")
    return stored


def read_arrays(file: IO[bytes], name: Any) -> dict[str, NDArray[Any]]:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
            if not all(isinstance(value, np.ndarray) for value in found.values()):
                raise ValueError("it contains something other than arrays")
            return found
    except OSError:
        raise
    except Exception as error:  # numpy and zipfile raise much
        what = " ".join(str(error).split())
        raise refuse(name, ascii(what)[1:-1] or "it is damaged") from None


def refuse(path: Any, what: str) -> ValueError:
    return ValueError(f"{path} is no file of a path: {what.rstrip('.')}. Save the path again.")


def checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The SHA-256 of names, types, shapes and values."""
    state = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        head = repr((name, value.dtype.str, value.shape)).encode("utf-8", "backslashreplace")
        state.update(len(head).to_bytes(8, "little") + head)
        state.update(np.ascontiguousarray(value).tobytes())
    return state.hexdigest()


@dataclass(frozen=True)
class StoredArrays:
    """The arrays of a file, looked at before anything is computed from them."""

    path: Any
    arrays: Mapping[str, NDArray[Any]]

    def require(self, name: str, kinds: str, *shape: int | None) -> NDArray[Any]:
        """The array of that name, type and shape, None for any number."""
        found = self.arrays.get(name)
        if found is None:
            raise refuse(self.path, f"it has no array {name!r}")
        is_shape = len(found.shape) == len(shape) and all(
            wanted in (None, size) for size, wanted in zip(found.shape, shape, strict=True)
        )
        if found.dtype.kind not in kinds or not is_shape:
            raise refuse(
                self.path, f"its array {name!r} has type {found.dtype} and shape {found.shape}"
            )
        return found

    def numbers(self, name: str, *shape: int | None) -> FloatArray:
        found = self.require(name, "f", *shape)
        if not np.isfinite(found).all():
            raise refuse(self.path, f"its array {name!r} has values that are not finite")
        return found

    def integers(self, name: str, n: int | None, high: int, low: int = 0) -> NDArray[Any]:
        """Whole numbers from `low` to `high`."""
        found = self.require(name, "iu", n)
        if found.size and not (low <= found.min() and found.max() <= high):
            raise refuse(
                self.path,
                f"its array {name!r} has {int(found.min())} to {int(found.max())}, where {low} to "
                f"{high} would be valid",
            )
        return found

    def rising(self, name: str, n: int | None, high: int) -> NDArray[Any]:
        """Whole numbers from 0 to `high`, none below the one before."""
        found = self.integers(name, n, high)
        if np.any(np.diff(found.astype(np.int64)) < 0):
            raise refuse(self.path, f"its array {name!r} does not rise")
        return found


def describe_problem(view: Any, facts: FloatArray) -> dict[str, NDArray[Any]]:
    """Arrays that tell a problem from others: sums over all kernel values, and `facts`.

    Only kernel values decide a path, not the form of the rows, so only they count. `facts` are the
    further numbers that must agree: targets, and the box as far as it is independent of weights.
    """
    weights = 1.0 + np.modf(np.arange(1, view.n + 1) * 0.6180339887498949)[0]
    sums = np.asarray(view.multiply(np.arange(view.n), weights))
    return {"problem_facts": np.asarray(facts), "problem_sums": sums}


def check_problem(
    path: Any, stored: Mapping[str, NDArray[Any]], view: Any, facts: FloatArray
) -> None:
    """Reject the path of other rows, labels or kernel parameters."""
    own = describe_problem(view, facts)
    if not own.keys() <= stored.keys():
        raise refuse(path, "it does not say of which data its path is")
    for name in own:
        StoredArrays(path, stored).numbers(name, None)
    n = stored["problem_sums"].size
    if n != view.n:
        raise ValueError(
            f"The path in {path} is of {n} instances, and the problem has {view.n}; give the "
            f"problem of the same data."
        )
    # Where the terms of all sums cancel, they still say how large the rounding is.
    some = view.exact_rows(np.unique(np.linspace(0, n - 1, 8).astype(np.int64)))
    terms = float(np.sqrt(n * np.mean(np.square(some))))
    margin = ROUNDING * (terms + float(np.abs(own["problem_sums"]).max()))
    is_near = np.abs(own["problem_sums"] - stored["problem_sums"]) <= margin
    if not is_near.all():
        k = int(np.argmin(is_near))
        raise ValueError(
            f"The path in {path} is of other rows, or of a kernel with other parameters: the "
            f"kernel values of instance {k} sum to {own['problem_sums'][k]:.6g} and not to "
            f"{stored['problem_sums'][k]:.6g}. Give the problem of the same data."
        )
    pair = own["problem_facts"], stored["problem_facts"]
    if pair[0].shape != pair[1].shape or not np.allclose(*pair, rtol=1e-9, atol=0.0):
        raise ValueError(
            f"The path in {path} is of other labels, targets or epsilon; give the problem of the "
            f"same data."
        )
