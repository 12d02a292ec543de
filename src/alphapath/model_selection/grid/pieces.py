"""What the solves of one fold of a chain leave for its scores, for each C that was solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...estimators.common.one_vs_one import PairBetas, SparseBeta
from ...problem.box_problem import FloatArray
from ...solvers.sequence.class_pairs import PairsSolution
from ..folds.dual import PairFit


@dataclass(frozen=True)
class Piece:
    """One pair of classes (or the one problem that there is), C ascending.

    Parameters
    ----------
    biases : array of shape (n_solved,)
    values : dict of arrays of shape (n_solved, n_rows)
        Decision values by part ("test", "train"); empty where the pair was solved on its own rows.
    betas : sequence of (instances, beta)
        In place of them: the nonzero beta.
    fits : sequence of PairFit
        Only where fitted estimators are wanted.
    """

    biases: FloatArray
    values: dict[str, FloatArray]
    betas: Sequence[SparseBeta]
    fits: Sequence[PairFit]


@dataclass(frozen=True)
class FoldPieces:
    """The pairs of a fold, solved one by one."""

    pieces: list[Piece] = field(default_factory=list)

    @property
    def n_solved(self) -> int:
        """Values of C, the first ones, that all pairs were solved for."""
        return min(len(piece.biases) for piece in self.pieces)

    def values(self, part: str, numbers: range) -> FloatArray | None:
        """For the C of these numbers, of shape (n_C, n_rows, n_pairs); None where they are to be
        made of `betas`."""
        mine = slice(numbers.start, numbers.stop)
        known = [piece.values[part][mine] for piece in self.pieces if piece.values]
        return np.stack(known, axis=2) if known else None

    def betas(self, k: int) -> PairBetas:
        """Of all pairs, for the k-th C."""
        return PairBetas.join([piece.betas[k] for piece in self.pieces])

    def biases(self, numbers: range) -> FloatArray:
        """Of shape (n_C, n_pairs)."""
        mine = slice(numbers.start, numbers.stop)
        return np.stack([piece.biases[mine] for piece in self.pieces], axis=1)

    def fits(self, k: int) -> list[PairFit]:
        return [piece.fits[k] for piece in self.pieces]


@dataclass(frozen=True)
class FoldOfPairs:
    """The same of pairs that were solved together, the steps of `solved` from `first` on; they are
    not where fitted estimators are wanted."""

    solved: PairsSolution
    first: int
    n_factors: int

    @property
    def n_solved(self) -> int:
        return int(np.clip(self.solved.n_solved - self.first, 0, self.n_factors).min())

    def values(self, part: str, numbers: range) -> FloatArray | None:
        return None

    def betas(self, k: int) -> PairBetas:
        return PairBetas(*self.solved.support_of(self.first + k))

    def biases(self, numbers: range) -> FloatArray:
        return self.solved.columns["bias"][:, [self.first + k for k in numbers]].T
