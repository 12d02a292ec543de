"""The results of a search, cell by cell and fold by fold, filled in as chains finish."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import JournalError
from ..problem.box_problem import FloatArray
from ..problem.solution import Status
from ..solvers.native import SEED_NAMES
from ..solvers.sequence.class_pairs import PairsSolution
from ..solvers.sequence.sequence import SequenceSolution
from .chain import Arrays, Chain, Step
from .cost import count_work, work_of_steps
from .kernel_links import Edge

#: The status of a cell whose training set or parameters were refused, and of one not run.
REFUSED, NOT_RUN = -1, -2

#: The status in words of a candidate that was run on some folds only.
PARTIAL = "partial"

#: Statuses in words of candidates that lack folds: their mean score is nan.
UNFINISHED = frozenset({PARTIAL, "not_run"})

#: Most telling first: the status of a cell is the first that any of its folds has.
STATUS_ORDER = (
    NOT_RUN,
    REFUSED,
    Status.INTERRUPTED,
    Status.TIME_LIMIT,
    Status.ITERATION_LIMIT,
    Status.STALLED,
    Status.STATIONARY,
    Status.SOLVED,
)

#: The statuses in words, as tables show them.
STATUS_NAMES = {
    REFUSED: "refused",
    NOT_RUN: "not_run",
    **{int(status): status.name.lower() for status in Status},
}

#: Arrays of every chain besides its scores.
COUNTED = ("n_iter", "status", "seed", "duality_gap", "fit_time", "score_time")

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


def check_arrays(chain: Chain, arrays: Arrays) -> None:
    """Refuse what cannot be the arrays of the chain, in one sentence."""
    kinds = {"n_iter": "iu", "status": "iu", "seed": "U"}
    needed: dict[str, tuple[str, tuple[int, ...]]] = {
        name: (kinds.get(name, "f"), chain.shape) for name in (*COUNTED, "work")
    }
    needed["error"] = "U", chain.shape[:1]
    known = {name: (array.dtype.kind, array.shape) for name, array in arrays.items()}
    scores = {name: ("f", chain.shape) for name in known if name.startswith(("test_", "train_"))}
    edges = {"edges": ("U", chain.shape[:1])} if "edges" in known else {}
    for name, (kind, shape) in (needed | scores | edges).items():
        if name not in known:
            raise JournalError(f"The record of chain {chain.key!r} has no array {name!r}.")
        if known[name][0] not in kind or known[name][1] != shape:
            raise JournalError(
                f"The array {name!r} of chain {chain.key!r} has kind {known[name][0]!r} and shape "
                f"{known[name][1]}; it must have kind {kind!r} and shape {shape}."
            )
    choices: dict[str, set[Any]] = {"status": set(STATUS_NAMES)}
    if edges:
        choices["edges"] = {str(edge) for edge in Edge}
    for name, valid in choices.items():
        strange = set(arrays[name].ravel().tolist()) - valid
        if strange:
            raise JournalError(
                f"The array {name!r} of chain {chain.key!r} has {min(strange)!r}; known are "
                f"{', '.join(map(repr, sorted(map(str, valid))))}."
            )
    is_solved = bool(np.any(arrays["status"] > REFUSED))
    if is_solved and not any(name.startswith("test_") for name in scores):
        raise JournalError(f"The record of chain {chain.key!r} has no scores.")


class SearchTable:
    """(candidate, fold) arrays; valid at any time, with nan and NOT_RUN for what is not there.

    Scores are the arrays of a chain whose names begin with "test_" or "train_".
    """

    def __init__(self, n_candidates: int, n_folds: int) -> None:
        self.shape = (n_candidates, n_folds)
        self.scores: dict[str, FloatArray] = {}
        self.n_iter = np.zeros(self.shape, dtype=np.int64)
        self.status = np.full(self.shape, NOT_RUN)
        self.seed: NDArray[Any] = np.full(self.shape, "", dtype=object)
        self.duality_gap = np.full(self.shape, np.nan)
        self.fit_time = np.full(self.shape, np.nan)
        self.score_time = np.full(self.shape, np.nan)
        self.errors: dict[tuple[int, int], str] = {}
        self.work: dict[str, FloatArray] = {}
        #: The edges that were chosen while searching, by the keys of chains.
        self.edges: dict[str, list[str]] = {}

    def add(self, chain: Chain, arrays: Arrays) -> None:
        """Enter what a chain gave."""
        rows = np.array([row for cells in chain.cells for row in cells])
        factors = [j for j, cells in enumerate(chain.cells) for _ in cells]
        is_plain = len(factors) == len(chain.cells)  # one candidate a factor
        where = (rows[:, None], np.array(chain.folds))
        for name, values in arrays.items():
            if name in COUNTED:
                own = getattr(self, name)
            elif name.startswith(("test_", "train_")):
                if name not in self.scores:
                    self.scores[name] = np.full(self.shape, np.nan)
                own = self.scores[name]
            else:
                continue
            own[where] = (values if is_plain else values[:, factors]).T
        self.work[chain.key] = arrays["work"]
        if "edges" in arrays:
            self.edges[chain.key] = arrays["edges"].tolist()
        for fold, error in zip(chain.folds, arrays["error"], strict=True):
            if error:
                self.errors |= {(int(row), fold): str(error) for row in rows}

    def refuse(self, row: int, error: str) -> None:
        """Enter a candidate whose parameters were refused."""
        self.status[row] = REFUSED
        self.fit_time[row] = self.score_time[row] = 0.0
        self.errors |= {(row, fold): error for fold in range(self.shape[1])}

    @property
    def n_done(self) -> NDArray[np.int64]:
        """The number of folds that each candidate was run on."""
        return np.asarray((self.status != NOT_RUN).sum(axis=1))

    @property
    def is_done(self) -> NDArray[np.bool_]:
        """Whether a candidate was run on every fold."""
        return np.asarray(self.n_done == self.shape[1])

    @property
    def is_complete(self) -> bool:
        """Whether every candidate was run on every fold."""
        return bool(self.is_done.all())

    def cell_status(self) -> Sequence[str]:
        """One status per candidate, in words."""
        rank = {int(status): k for k, status in enumerate(STATUS_ORDER)}
        found = [min(set(row), key=rank.__getitem__) for row in self.status.tolist()]
        names = [STATUS_NAMES[status] for status in found]
        is_partial = ~self.is_done & (self.n_done > 0)
        return [PARTIAL if cut else name for cut, name in zip(is_partial, names, strict=True)]

    def partial_means(self) -> dict[str, FloatArray]:
        """The mean test scores over the folds that each candidate was run on; nan for none."""
        is_run, n_done = self.status != NOT_RUN, self.n_done
        means = {}
        for name, values in self.scores.items():
            if name.startswith("test_"):
                total = np.where(is_run, values, 0.0).sum(axis=1)
                blank = np.full(self.shape[0], np.nan)
                means[name] = np.divide(total, n_done, out=blank, where=n_done > 0)
        return means

    def columns(self) -> dict[str, NDArray[Any]]:
        """What a search reports of each candidate besides scores and times.

        A search that was cut also reports how many folds each candidate was run on, and the mean
        scores over those.
        """
        cut: dict[str, NDArray[Any]] = {}
        if not self.is_complete:
            cut["n_splits_done"] = self.n_done
            cut |= {f"partial_mean_{name}": mean for name, mean in self.partial_means().items()}
        return cut | {
            "n_iter": self.n_iter.sum(axis=1),
            "seed": np.array(
                ["+".join(sorted(set(row) - {""})) for row in self.seed.tolist()], dtype=object
            ),
            "duality_gap": self.duality_gap.max(axis=1),
            "status": np.array(self.cell_status(), dtype=object),
        }


def find_best_so_far(n_done: NDArray[np.int64], mean: FloatArray) -> int | None:
    """The best candidate of those that were run on the most folds; None where none has a score.

    Others were scored on fewer rows, so that their means do not compare.
    """
    is_known = ~np.isnan(mean)
    if not is_known.any():
        return None
    is_known &= n_done == n_done[is_known].max()
    return int(np.argmax(np.where(is_known, mean, -np.inf)))


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
        n, n_factors = solved.n_solved, self.shape[1]
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

    def finish(
        self,
        n_done: Mapping[int, int],
        scores: Mapping[int, Mapping[str, FloatArray]],
        seconds: tuple[float, float | None],
    ) -> None:
        """Enter the scores of folds, and share the time that belongs to no cell equally.

        Parameters
        ----------
        n_done : dict
            For each fold that was not refused how many factors, from the first, were solved.
        scores : dict
            By name, of those.
        seconds : (float, float or None)
            Of all solves and of all scores; None where each cell has its own for the latter.
        """
        rest = max(seconds[0] - float(self.fit_time.sum()), 0.0)
        self.fit_time += rest / self.fit_time.size
        if seconds[1] is not None:
            self.score_time[list(n_done)] = seconds[1] / (len(n_done) * self.shape[1])
        for h, found in scores.items():
            for name, values in found.items():
                if name not in self.scores:
                    self.scores[name] = np.full(self.shape, np.nan)
                self.scores[name][h, : len(values)] = values
        for h, n in n_done.items():
            if n < self.shape[1]:
                self._forget((h, slice(n, None)))

    def _forget(self, late: tuple[int, slice]) -> None:
        """Mark cells that the time did not suffice for."""
        self.rank[late] = RANK_OF[NOT_RUN]
        self.n_iter[late] = 0
        self.seeds[late] = 0
        for array in (self.duality_gap, self.fit_time, self.score_time):
            array[late] = np.nan

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
