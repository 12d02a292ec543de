"""Paths over lambda in files: plain arrays, never pickles."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..problem import FloatArray, Problem
from .quadratic_loss import QuadraticModel
from .stored_problem import check_problem, describe_problem, load_arrays, save_arrays

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
    """A path as it was read, with the names of the native one.

    Parameters
    ----------
    stored : dict of arrays
        ARRAYS, `numbers`, and members, a, drift, poles and residues of all pieces in a row.
    """

    def __init__(self, stored: dict[str, NDArray[Any]]) -> None:
        self._stored = stored
        for name in ARRAYS:
            # Files of older versions have no gaps.
            setattr(self, name, stored[name] if name in stored else np.zeros(0))
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
    """Write a path and what its model was made of, without the kernel."""
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


def read_path(
    path: str | PathLike[str] | IO[bytes], problem: Problem
) -> tuple[QuadraticModel, NDArray[Any], StoredPath]:
    """The model on the kernel of `problem`, the classes and the stored path."""
    stored = load_arrays(path)
    view: Any = problem.kernel
    check_problem(path, stored, view, np.sign(problem.targets))
    y_signs: FloatArray = stored["y_signs"]
    rho, h = stored["loss"].tolist()
    return (
        QuadraticModel(view, y_signs, stored["weights"], (rho, h)),
        stored["classes"],
        StoredPath(stored),
    )
