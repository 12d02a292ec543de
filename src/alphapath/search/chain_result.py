"""The arrays that are left of a chain: counts, times and scores of each of its nodes."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem.box_problem import FloatArray
from ..problem.steps import SEED_NAMES
from ..solvers.sequence.class_pairs import PairsSolution
from ..solvers.sequence.sequence import SequenceSolution
from .chain import Chain, Step
from .cost import count_work, work_of_steps
from .table import NOT_RUN, REFUSED, STATUS_ORDER

#: Position of a status in STATUS_ORDER.
RANK_OF = {int(code): rank for rank, code in enumerate(STATUS_ORDER)}

#: Position in STATUS_ORDER of the statuses of a solve, by their numbers.
RANKS = np.array([RANK_OF[code] for code in range(max(RANK_OF) + 1)])


STATUS_CODES = np.array([int(code) for code in STATUS_ORDER])

#: Names of the seeds in every set of them, as bits, joined by "+"; "" for none.
SEED_SETS = np.array(
    [
        "+".join(name for bit, name in enumerate(SEED_NAMES) if bits >> bit & 1)
        for bits in range(1 << len(SEED_NAMES))
    ]
)


class ChainResult:
    """The arrays of a chain, of shape (n_folds, n_factors); complete at any time."""

    def __init__(self, chain: Chain) -> None:
        shape = chain.shape
        self.shape = shape
        self.n_iter = np.zeros(shape, dtype=np.int64)
        self.rank = np.full(shape, len(STATUS_ORDER) - 1)
        self.seeds = np.zeros(shape, dtype=np.int64)
        self.duality_gap = np.zeros(shape)
        self.fit_time = np.zeros(shape)
        self.score_time = np.zeros(shape)
        self.work = np.zeros(shape)
        self.scores: dict[str, FloatArray] = {}
        self.error = [""] * shape[0]
        #: What the first solve of each fold began from, where that was chosen while searching.
        self.edges: list[str] = []

    def count(
        self, steps: Sequence[Step], solved: SequenceSolution, position: Mapping[int, int]
    ) -> None:
        """Add the counts of one pair's solves."""
        n, n_factors = len(solved), self.shape[1]
        cells = [position[step.fold] * n_factors + step.factor for step in steps[:n]]
        # Most chains are complete and in order: then no cell needs to be looked up.
        is_whole = cells == list(range(self.n_iter.size))
        where: Any = slice(None) if is_whole else np.array(cells, dtype=np.intp)
        ranks, seeds = self.rank.reshape(-1), self.seeds.reshape(-1)
        ranks[where] = np.minimum(ranks[where], RANKS[solved.columns["status"].astype(np.intp)])
        seeds[where] |= 1 << solved.columns["seed"].astype(np.int64)
        self.n_iter.reshape(-1)[where] += solved.n_iter
        self.duality_gap.reshape(-1)[where] += solved.duality_gap
        self.fit_time.reshape(-1)[where] += solved.seed_time + solved.solve_time
        self.work.reshape(-1)[where] += count_work(solved)

    def count_pairs(
        self,
        steps: Sequence[Step],
        solved: PairsSolution,
        sizes: FloatArray,
        position: Mapping[int, int],
    ) -> None:
        """Add the counts of the solves of all pairs of classes, on `sizes` instances each."""
        is_solved = np.arange(solved.n_steps) < solved.n_solved[:, None]
        columns = {name: np.where(is_solved, v, 0.0) for name, v in solved.columns.items()}
        ranks = np.where(is_solved, RANKS[columns["status"].astype(np.intp)], len(RANKS))
        seeds = np.where(is_solved, 1 << columns["seed"].astype(np.int64), 0)
        sums = {name: values.sum(axis=0) for name, values in columns.items()}
        work = work_of_steps(columns, sizes).sum(axis=0)
        n_factors = self.shape[1]
        where = np.array([position[step.fold] * n_factors + step.factor for step in steps])
        flat = self.rank.reshape(-1)
        flat[where] = np.minimum(flat[where], ranks.min(axis=0))
        self.seeds.reshape(-1)[where] |= np.bitwise_or.reduce(seeds, axis=0)
        self.n_iter.reshape(-1)[where] += sums["n_iter"].astype(np.int64)
        self.duality_gap.reshape(-1)[where] += sums["duality_gap"]
        self.fit_time.reshape(-1)[where] += sums["seed_time"] + sums["solve_time"]
        self.work.reshape(-1)[where] += work

    def share_time(self, seconds: float) -> None:
        """Give every cell an equal share of what belongs to none."""
        rest = max(seconds - float(self.fit_time.sum()), 0.0)
        self.fit_time += rest / self.fit_time.size

    def forget(self, h: int, n_done: int) -> None:
        """Mark the factors of a fold that the time did not suffice for."""
        if n_done == self.shape[1]:
            return
        late = (h, slice(n_done, None))
        self.rank[late] = RANK_OF[NOT_RUN]
        self.n_iter[late] = 0
        self.seeds[late] = 0
        for array in (self.duality_gap, self.fit_time, self.score_time):
            array[late] = np.nan

    def enter_scores(self, h: int, scores: Mapping[str, FloatArray]) -> None:
        for name, values in scores.items():
            if name not in self.scores:
                self.scores[name] = np.full(self.shape, np.nan)
            self.scores[name][h, : len(values)] = values

    def refuse(self, folds: Iterable[int], error: BaseException) -> None:
        """Mark folds whose training set was refused."""
        text = "".join(traceback.format_exception(error))
        for h in folds:
            self.error[h] = text
            self.rank[h] = RANK_OF[REFUSED]
            self.duality_gap[h] = np.nan

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a table takes."""
        return {
            "n_iter": self.n_iter,
            "status": STATUS_CODES[self.rank],
            "seed": SEED_SETS[self.seeds],
            "duality_gap": self.duality_gap,
            "fit_time": self.fit_time,
            "score_time": self.score_time,
            "work": self.work,
            "error": np.array(self.error),
            **({"edges": np.array(self.edges)} if self.edges else {}),
            **self.scores,
        }
