"""Mutated files of paths: the path that was saved, or a sentence."""

from __future__ import annotations

import functools
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .cases import CaseError, describe
from .data import Generator
from .formats import TIME_LIMIT, folder

__all__ = ["TIME_LIMIT", "run_case"]

N_POINTS = 9


@dataclass(frozen=True)
class Original:
    """A path over C or lambda, its file, and what it says at some points."""

    reader: Any
    problem: Any
    content: bytes
    points: Any
    values: Any


@functools.cache
def originals() -> tuple[Original, ...]:
    from alphapath import SVC, SVR, QuadraticLossSVC
    from alphapath.paths import LambdaPath, c_path
    from alphapath.paths.path import Path as OnePath

    rng = data.generator("path files", 0)
    X = rng.normal(size=(16, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=16) > 0.0, 1, -1)
    found = []
    models: tuple[Any, ...] = (SVC(gamma=0.5), SVR(gamma=0.5), QuadraticLossSVC(gamma=0.5))
    for kind, model in enumerate(models):
        targets = X[:, 0] if kind == 1 else y
        reader: Any = LambdaPath if kind == 2 else OnePath
        path: Any = (
            model.lambda_path(X, targets, lam_to=1e-3)
            if kind == 2
            else c_path(model, X, targets, 0.1, 10.0)
        )
        problem = model.to_problem(X, targets)
        with folder() as place:
            path.save(place / "own.npz")
            content = (place / "own.npz").read_bytes()
        low, high = sorted(path.range_) if kind == 2 else (path.start, path.end)
        points = np.exp(np.linspace(np.log(low), np.log(high), N_POINTS))[1:-1]
        found.append(Original(reader, problem, content, points, values_of(path, points)))
    return tuple(found)


def values_of(path: Any, points: Any) -> Any:
    return np.array([path.at(float(t)).beta for t in points])


# -- mutations


def read_arrays(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def write_arrays(arrays: dict[str, Any], is_packed: bool = True) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if is_packed else np.savez)(stream, **arrays)
    return stream.getvalue()


def change_bytes(content: bytes, rng: Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 8))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def cut(content: bytes, rng: Generator) -> bytes:
    return content[: int(rng.integers(len(content)))]


def add_bytes(content: bytes, rng: Generator) -> bytes:
    more = data.pick(rng, [b"\0" * 9, b"PK", rng.bytes(50), content])
    return content + more if rng.random() < 0.5 else more + content


def pack_again(content: bytes, rng: Generator) -> bytes:
    """The same arrays, in another order and without compression: the same path."""
    arrays = read_arrays(content)
    names = list(arrays)
    rng.shuffle(names)
    return write_arrays({name: arrays[name] for name in names}, rng.random() < 0.5)


def change_parts(content: bytes, rng: Generator) -> bytes:
    """Members of the archive: doubled, renamed, or with other bytes and the right CRC."""
    stream, kind = io.BytesIO(), int(rng.integers(4))
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        chosen = old.namelist()[int(rng.integers(len(old.namelist())))]
        for name in old.namelist():
            part, target = old.read(name), name
            if name == chosen and kind == 0:
                part = change_bytes(part, rng)
            if name == chosen and kind == 1:
                target = str(data.pick(rng, ["x.npy", "../x.npy", " ", name[:-4], "pickle.pkl"]))
            if name == chosen and kind == 2:
                big = data.pick(rng, [b"(9999999999,)", b"(-1,)", b"(2, 2)", b"'|O'", b"'<f4'"])
                head = data.pick(rng, [b"(16,)", b"(1,)", b"(4,)", b"'<f8'", b"'<i8'"])
                part = part.replace(head, big)
            new.writestr(target, part)
        if kind == 3:
            new.writestr("more.npy", b"\x93NUMPY")
    return stream.getvalue()


def change_array(arrays: dict[str, Any], rng: Generator) -> None:
    """Another shape, type or value of one array; none that could be that of a path."""
    name = list(arrays)[int(rng.integers(len(arrays)))]
    old, kind = arrays[name], int(rng.integers(7))
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = old.ravel()[: old.size // 2]
    elif kind == 2:
        arrays[name] = np.concatenate([old.ravel(), old.ravel()])
    elif kind == 3:
        arrays[name] = old.reshape(1, *old.shape)
    elif kind == 4:
        arrays[name] = old.astype(str)
    elif kind == 5 and old.dtype.kind in "if" and old.size:
        values = [2**31 - 1, -1, 127, 10**6] if old.dtype.kind == "i" else [np.nan, np.inf]
        changed = old.copy().astype(old.dtype if old.dtype.kind == "f" else np.int64)
        changed.flat[int(rng.integers(old.size))] = values[int(rng.integers(len(values)))]
        arrays[name] = changed
    else:
        arrays[name] = np.array([], dtype=old.dtype)


def change_arrays(content: bytes, rng: Generator) -> bytes:
    arrays = read_arrays(content)
    change_array(arrays, rng)
    return write_arrays(arrays)


def forge(content: bytes, rng: Generator) -> bytes:
    """A checksum that fits the changed arrays."""
    from alphapath.paths.stored_problem import checksum

    arrays = read_arrays(content)
    del arrays["checksum"]
    change_array(arrays, rng)
    arrays["checksum"] = np.array(checksum(arrays))
    return write_arrays(arrays)


MUTATIONS: list[Callable[[bytes, Generator], bytes]] = [
    change_bytes,
    cut,
    add_bytes,
    pack_again,
    change_parts,
    change_arrays,
    forge,
]


def prepare() -> None:
    originals()


def run_case(seed: int) -> str | None:
    rng = data.generator("path files", seed + 1)
    own = originals()[int(rng.integers(3))]
    mutate = data.pick(rng, MUTATIONS)
    content = mutate(own.content, rng)
    with folder() as place:
        (place / "own.npz").write_bytes(content)
        try:
            check(place / "own.npz", own, must_read=mutate is pack_again)
        except CaseError as error:
            return f"{mutate.__name__}: {error}"
    return None


def check(file: Path, own: Original, must_read: bool) -> None:
    try:
        path = own.reader.load(file, own.problem)
    except ValueError as error:
        text = str(error)
        if must_read or not text.endswith(".") or str(file) not in text or not text.isprintable():
            raise CaseError(describe(error)) from None
        return
    except Exception as error:
        raise CaseError(f"ended with {describe(error)}") from None
    try:
        found = values_of(path, own.points)
    except Exception as error:
        raise CaseError(f"loaded, but then {describe(error)}") from None
    if not np.allclose(found, own.values, rtol=1e-9, atol=1e-9):
        raise CaseError("loaded another path than was saved")
