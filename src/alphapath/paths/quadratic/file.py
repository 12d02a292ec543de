"""Paths over lambda in files: plain arrays, never pickles."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...problem.box_problem import FloatArray, Problem
from ..stored_problem import (
    StoredArrays,
    check_problem,
    describe_problem,
    load_arrays,
    refuse,
    save_arrays,
)
from .model import QuadraticModel

#: What is kept as it is in the native path, by name.
ARRAYS = (
    "first_sides",
    "segment_first",
    "segment_last",
    "segment_events",
    "segment_sizes",
    "event_lambdas",
    "event_instances",
    "event_from",
    "event_to",
    "gap_firsts",
    "gap_lasts",
)
NUMBERS = (
    "status",
    "n_poles",
    "n_factorizations",
    "n_resets",
    "n_iterations",
    "n_equations",
    "largest_residual",
)


class StoredPath:
    """A path as read from a file, with the names of the native one.

    Parameters
    ----------
    stored : dict of arrays
        ARRAYS, `numbers`, and members, a, drift, poles and residues of all pieces in a row.
    """

    def __init__(self, stored: dict[str, NDArray[Any]]) -> None:
        self._stored = stored
        for name in ARRAYS:
            setattr(self, name, stored[name])
        *counts, self.largest_residual = stored["numbers"].tolist()
        for name, count in zip(NUMBERS[:-1], counts, strict=True):
            setattr(self, name, int(count))
        sizes, n_poles = stored["segment_sizes"], stored["segment_poles"]
        self._members = np.concatenate([[0], np.cumsum(sizes)])
        self._poles = np.concatenate([[0], np.cumsum(n_poles)])
        self._residues = np.concatenate([[0], np.cumsum(sizes * n_poles)])

    def segment(self, k: int) -> tuple[NDArray[Any], ...]:
        """(members, a, drift, poles, residues) of one piece."""
        own = slice(self._members[k], self._members[k + 1])
        members = self._stored["members"][own]
        poles = self._stored["poles"][self._poles[k] : self._poles[k + 1]]
        residues = self._stored["residues"][self._residues[k] : self._residues[k + 1]]
        return (
            members,
            self._stored["a"][own],
            self._stored["drift"][own],
            poles,
            residues.reshape(poles.size, members.size),
        )


def write_path(
    path: str | PathLike[str] | IO[bytes], model: QuadraticModel, classes: NDArray[Any], native: Any
) -> None:
    """Write a path and the data of its model, without the kernel."""
    pieces = [native.segment(k) for k in range(len(native.segment_first))]
    parts = [np.concatenate([np.ravel(piece[j]) for piece in pieces]) for j in range(5)]
    arrays: dict[str, Any] = {name: getattr(native, name) for name in ARRAYS}
    arrays |= dict(zip(("members", "a", "drift", "poles", "residues"), parts, strict=True))
    arrays["segment_poles"] = np.array([piece[3].size for piece in pieces], dtype=np.int64)
    arrays["numbers"] = np.array([float(getattr(native, name)) for name in NUMBERS])
    arrays |= {"classes": np.array(classes.tolist()), "y_signs": model.y_signs}
    arrays |= {"weights": model.weights, "loss": np.array(model.loss)}
    arrays |= describe_problem(model.view, model.y_signs)
    save_arrays(path, arrays)


def check_pieces(stored: StoredArrays, n: int) -> None:
    """Reject arrays that no walk over n instances can produce."""
    for name in ("y_signs", "weights"):
        stored.numbers(name, n)
    if not np.all(stored.require("loss", "f", 2) > 0.0):  # nan is not
        raise refuse(stored.path, "its loss has numbers that are not positive")
    if stored.require("classes", "iufbU", 2).dtype.kind == "f":
        stored.numbers("classes", 2)
    stored.numbers("numbers", len(NUMBERS))
    stored.integers("first_sides", n, 2)
    n_pieces = stored.numbers("segment_first", None).size
    if n_pieces == 0:
        raise refuse(stored.path, "it has no pieces")
    stored.numbers("segment_last", n_pieces)
    stored.numbers("gap_lasts", stored.numbers("gap_firsts", None).size)
    n_events = stored.numbers("event_lambdas", None).size
    stored.rising("segment_events", n_pieces, n_events)
    stored.integers("event_instances", n_events, n - 1)
    for name in ("event_from", "event_to"):
        stored.integers(name, n_events, 2)
    sizes = stored.integers("segment_sizes", n_pieces, n).astype(np.int64)
    n_poles = stored.integers("segment_poles", n_pieces, n).astype(np.int64)
    stored.integers("members", int(sizes.sum()), n - 1)
    for name in ("a", "drift"):
        stored.numbers(name, int(sizes.sum()))
    stored.numbers("poles", int(n_poles.sum()))
    stored.numbers("residues", int(sizes @ n_poles))


def read_path(
    path: str | PathLike[str] | IO[bytes], problem: Problem
) -> tuple[QuadraticModel, NDArray[Any], StoredPath]:
    """The model on the kernel of `problem`, the classes and the stored path."""
    stored = load_arrays(path)
    view: Any = problem.kernel
    check_problem(path, stored, view, np.sign(problem.targets))
    check_pieces(StoredArrays(path, stored), problem.n)
    y_signs: FloatArray = stored["y_signs"]
    rho, h = stored["loss"].tolist()
    return (
        QuadraticModel(view, y_signs, stored["weights"], (rho, h)),
        stored["classes"],
        StoredPath(stored),
    )
