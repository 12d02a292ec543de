"""The solves of one chain of a search, and the scores of what they give."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_method_params

from ...estimators.common import one_vs_one
from ...estimators.common.base import BaseSVM
from ...estimators.common.one_vs_one import PairBetas, SparseBeta
from ...estimators.common.problems import Parts
from ...estimators.pipelines import with_head
from ...problem.box_problem import FloatArray, Problem
from ...problem.limits import Limits
from ...problem.steps import Known, Steps
from ...search.chain import NEIGHBOUR, ROOT, Chain, Step
from ...search.kernel_links import Edge, Neighbour, link_steps
from ...search.table import ChainResult
from ...search.time_shares import TimeShares
from ...solvers.sequence.class_pairs import PairsSolution, solve_class_pairs
from ...solvers.sequence.sequence import SequenceSolution, solve_sequence
from ..folds.dual import PairFit, complete_model, pair_values, reduce_solution
from ..folds.preprocessing import SearchData
from ..folds.protocol import Indices
from ..folds.training_sets import FoldSets
from ..scoring import (
    Judge,
    index_rows,
    take_rows,
)
from .candidates import Model
from .rows import SearchRows

#: So many pairs of so few instances are not begun from the kernel before: to state them takes
#: longer than to solve.
MANY_PAIRS = 15
SMALL_PAIR = 1000

#: Decision values of a fold that are held at once.
MOST_VALUES = 1 << 24


@dataclass(frozen=True)
class Setting:
    """What is the same for all chains of a search.

    Parameters
    ----------
    data : SearchData
    heads : sequence of Pipeline or None
        Preprocessings, not fitted.
    last : (str, estimator)
        Name and given estimator of the last step.
    models : sequence of Model
    judge : Judge
    shares : TimeShares
        Of the time limit of the whole search.
    """

    data: SearchData
    heads: Sequence[Pipeline | None]
    last: tuple[str, Any]
    models: Sequence[Model]
    judge: Judge
    shares: TimeShares


class ChainSolver:
    """The solves of one chain on one kernel, and their scores.

    `neighbour` has what the chain on the kernel before left, and takes what this one leaves;
    `end` is when it must end, of time.time().
    """

    def __init__(
        self,
        setting: Setting,
        chain: Chain,
        model: Model,
        rows: SearchRows,
        neighbour: Neighbour | None = None,
        end: float | None = None,
    ) -> None:
        self.setting, self.chain, self.model = setting, chain, model
        self.rows, self.neighbour, self.end = rows, neighbour, end
        #: Whether Ctrl-C cut the solves; those that are left then end at once.
        self.is_interrupted = False
        #: The numbers of the chain's folds on these rows.
        self.local = [0] if rows.head is not None else list(chain.folds)
        self.sets = rows.sets(model)
        self.position = {fold: h for h, fold in enumerate(chain.folds)}
        n_classes = self.sets.n_classes
        self.pairs = one_vs_one.class_pairs(n_classes) if n_classes > 2 else [None]
        self.view: Any = None
        #: For each fold of the chain what its pairs of classes gave.
        self.pieces: list[FoldPieces | FoldOfPairs] = [FoldPieces() for _ in chain.folds]

    def solve(self, view: Any, good: Sequence[int], result: ChainResult) -> None:
        """Every pair of classes, over all steps of the chain."""
        self.view = view
        parts = self.rows.parts(self.model)
        if self._go_together(parts, good):
            self._solve_together(parts, good, result)
            return
        chain_steps: Sequence[Step] = self.chain.steps
        if self.neighbour is not None:
            result.edges = [*self.neighbour.choose_edges(self.chain)]
            chain_steps = link_steps(self.chain, result.edges)
        present = {h: set(self.sets.codes[self.local[h]].tolist()) for h in good}
        for number, pair in enumerate(self.pairs):
            folds = [
                self.chain.folds[h] for h in good if pair is None or present[h].issuperset(pair)
            ]
            steps = keep_folds(chain_steps, folds)
            if not steps:
                continue
            problem = parts.problem(number, view)
            steps, known = self._begin_from_neighbour(number, steps, problem, result)
            weights = self._weights(folds, pair, parts.places[number])
            solved = solve_sequence(
                problem,
                weights,
                as_native_steps(steps, folds, self.chain.factors, len(known)),
                limits=self._limits(),
                known=known,
                total_time_limit=self._seconds_left(),
            )
            self._notice(solved.is_interrupted)
            if solved.n_solved:
                result.count(steps, solved, self.position)
            members = parts.places[number] if parts.is_divided else None
            values = self._values_of_steps(steps, solved) if members is None else {}
            for fold in folds:
                self._keep(self.position[fold], steps, solved, members, values)
            if self.neighbour is not None:
                self.neighbour.keep(number, steps, solved)
        if self.neighbour is not None:
            self.neighbour.observe([result.edges[h] for h in good], result.work[good, 0])

    def _go_together(self, parts: Parts, good: Sequence[int]) -> bool:
        """Whether all pairs of classes are best solved in one call, from nothing."""
        sets = [self.sets.training_set(self.local[h]) for h in good]
        stays_alone = len(self.pairs) >= MANY_PAIRS and parts.largest <= SMALL_PAIR
        return (
            parts.are_small
            and (self.neighbour is None or stays_alone)
            and not self.setting.judge.needs_models
            and all(own.codes.size == self.sets.n_classes for own in sets)
        )

    def _solve_together(self, parts: Parts, good: Sequence[int], result: ChainResult) -> None:
        folds = [self.chain.folds[h] for h in good]
        steps = keep_folds(self.chain.steps, folds)
        native = as_native_steps(steps, folds, self.chain.factors)
        weights = self._weights(folds, None, slice(None))
        solved = solve_class_pairs(
            self.view,
            parts.pairs,
            weights,
            native,
            limits=self._limits(),
            total_time_limit=self._seconds_left(),
        )
        self._notice(solved.is_interrupted)
        sizes = parts.pairs.sizes(weights)[:, native.rows]
        result.count_pairs(steps, solved, sizes, self.position)
        for h in good:
            first = next(k for k, step in enumerate(steps) if step.fold == self.chain.folds[h])
            self.pieces[h] = FoldOfPairs(solved, first, len(self.chain.factors))
        if self.neighbour is not None:
            result.edges = [Edge.COLD] * len(self.chain.folds)

    def _weights(self, folds: Sequence[int], pair: tuple[int, int] | None, own: Any) -> FloatArray:
        """The weights of folds, one a row, on the instances `own` of a pair of classes."""
        others = None if isinstance(own, np.ndarray) else pair
        numbers = [self.local[self.position[fold]] for fold in folds]
        return np.stack([self.rows.weights(self.sets, number, others)[own] for number in numbers])

    def _begin_from_neighbour(
        self, pair: int, steps: list[Step], problem: Problem, result: ChainResult
    ) -> tuple[list[Step], list[Known]]:
        """The solutions of the kernel before that steps begin from; cold where there is none."""
        known: list[Known] = []
        if self.neighbour is None:
            return steps, known
        steps = list(steps)
        for k, step in enumerate(steps):
            if step.parent != NEIGHBOUR:
                continue
            found = self.neighbour.move(pair, step.fold, problem)
            if found is None:
                steps[k] = step._replace(parent=ROOT, seed="cold")
                continue
            known.append(found[0])
            result.work[self.position[step.fold], 0] += found[1]
        return steps, known

    def _limits(self) -> Limits:
        svm = self.model.estimator
        return Limits(svm.tol, svm.max_iter, svm.time_limit)

    def _seconds_left(self) -> float | None:
        return None if self.end is None else max(self.end - time.time(), 1e-6)

    def _notice(self, is_interrupted: bool) -> None:
        """After Ctrl-C what is left of the chain is given no time."""
        if is_interrupted:
            self.is_interrupted, self.end = True, 0.0

    def score(
        self, gamma: float, kernel: Any, good: Sequence[int], result: ChainResult, begin: float
    ) -> None:
        """Enter the scores of every fold; `begin` is when the solves began."""
        middle = time.perf_counter()
        found: dict[int, Mapping[str, FloatArray]] = {}
        n_done = {h: self.pieces[h].n_solved for h in good}
        for h in good:
            number = self.local[h]
            base = self.rows.as_prepared(self.model, self.sets.training_set(number).model)
            base._gamma, base._kernel = gamma, kernel
            fold = FoldOfRows(
                self.setting.data, self.rows, self.sets, base, self.chain.folds[h], number
            )
            pieces = self.pieces[h]
            if n_done[h] == 0:
                continue
            judge = self.setting.judge
            scores = []
            for numbers in self._portions(h, n_done[h]):
                values = {part: self._values(h, numbers, part) for part in judge.parts}
                make_model = partial(self._fitted, pieces, base, number, numbers)
                scores.append(judge.score_fold(fold, values, make_model))
            found[h] = join_scores(scores)
        result.finish(n_done, found, (middle - begin, time.perf_counter() - middle))

    def _values_of_steps(
        self, steps: Sequence[Step], solved: SequenceSolution
    ) -> dict[str, dict[int, FloatArray]]:
        """Decision values by part and fold, of shape (n_C, n_rows), of all steps in one call."""
        folds = [step.fold for step in steps[: solved.n_solved]]
        values: dict[str, dict[int, FloatArray]] = {}
        for part in self.setting.judge.parts:
            rows = {fold: self._rows_of(self.position[fold], part) for fold in set(folds)}
            sizes = [rows[fold].size for fold in folds]
            together = np.concatenate([rows[fold] for fold in folds]) if folds else ()
            found = solved.values_of_parts(together, sizes, slice(0, len(folds)))
            values[part], start = {}, 0
            for fold, own in groupby(folds):
                shape = (len(list(own)), rows[fold].size)
                values[part][fold] = found[start : start + shape[0] * shape[1]].reshape(shape)
                start += shape[0] * shape[1]
        return values

    def _keep(
        self,
        h: int,
        steps: Sequence[Step],
        solved: SequenceSolution,
        members: Indices | None,
        known: Mapping[str, Mapping[int, FloatArray]],
    ) -> None:
        """Keep what the scores of a fold need of one pair's solves, and no more.

        The steps of a fold follow one another.
        """
        fold, number = self.chain.folds[h], self.local[h]
        first = next(k for k, step in enumerate(steps) if step.fold == fold)
        mine = slice(first, min(first + len(self.chain.factors), solved.n_solved))
        numbers = range(mine.start, mine.stop)
        judge, sign = self.setting.judge, self.sets.sign_of(number)
        values, betas = {}, []
        if members is None:
            for part in judge.parts:
                found = known[part].get(fold)
                if found is None:  # cut before its first step
                    found = np.empty((0, self._rows_of(h, part).size))
                values[part] = found if sign == 1.0 else sign * found
        else:
            for beta in solved.beta[mine]:
                used = np.flatnonzero(beta)
                betas.append((members[used], sign * beta[used]))
        fits = [
            reduce_solution(
                self.sets, number, solved[k], False, self.chain.factors[k - first], members
            )
            for k in (numbers if judge.needs_models else ())
        ]
        own = self.pieces[h]
        assert isinstance(own, FoldPieces)
        own.pieces.append(Piece(sign * solved.bias[mine], values, betas, fits))

    def _rows_of(self, h: int, part: str) -> Indices:
        train, test = self.rows.splits[self.local[h]]
        return test if part == "test" else train

    def _portions(self, h: int, n_done: int) -> list[range]:
        """The values of C by their numbers, so many at a time that their decision values fit."""
        n_rows = max(self._rows_of(h, part).size for part in self.setting.judge.parts)
        step = max(1, MOST_VALUES // (n_rows * len(self.pairs)))
        return [range(n_done)[first : first + step] for first in range(0, n_done, step)]

    def _values(self, h: int, numbers: range, part: str) -> FloatArray:
        """Decision values of a fold for some C, of shape (n_C, n_rows, n_pairs)."""
        pieces = self.pieces[h]
        known = pieces.values(part, numbers)
        if known is not None:
            return known
        present = self.sets.codes[self.local[h]]
        codes = np.searchsorted(present, self.rows.rows.targets)
        steps = [pieces.betas(k) for k in numbers]
        tol = self.model.estimator.tol
        rows = self._rows_of(h, part)
        values = pair_values(self.view, rows, steps, codes, present.size, tol)
        values += pieces.biases(numbers)[:, None, :]
        return values

    def _fitted(
        self,
        pieces: FoldPieces | FoldOfPairs,
        base: BaseSVM,
        number: int,
        numbers: range,
        place: int,
    ) -> Any:
        """The estimator of one of the C `numbers` as its fit would have left it, behind its
        preprocessing."""
        k = numbers[place]
        factor = self.chain.factors[k]
        assert isinstance(pieces, FoldPieces)
        fits = pieces.fits(k)
        model = self.rows.as_prepared(self.model, base)
        if hasattr(model, "C"):
            model.C = factor
        complete_model(self.sets, number, fits, model)
        if self.rows.head is None:
            return model
        return with_head(self.rows.head, (self.setting.last[0], model))


def join_scores(portions: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    """The scores of all C, by name."""
    return {name: np.concatenate([own[name] for own in portions]) for name in portions[0]}


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


def keep_folds(steps: Sequence[Step], folds: Sequence[int]) -> list[Step]:
    """The steps of these folds only; one whose parent is gone begins from nothing."""
    wanted = set(folds)
    if all(step.fold in wanted for step in steps):
        return list(steps)
    kept: list[Step] = []
    number = {ROOT: ROOT, NEIGHBOUR: NEIGHBOUR}
    for k, step in enumerate(steps):
        if step.fold not in wanted:
            continue
        number[k] = len(kept)
        parent = number.get(step.parent, ROOT)
        kept.append(Step(step.fold, step.factor, parent, step.seed if parent != ROOT else "cold"))
    return kept


def as_native_steps(
    steps: Sequence[Step], folds: Sequence[int], factors: Sequence[float], n_known: int = 0
) -> Steps:
    """The steps as the solver counts them: after `n_known` solutions, for the NEIGHBOUR's nodes."""
    row = {fold: i for i, fold in enumerate(folds)}
    fold, factor, parent, seeds = zip(*steps, strict=True)
    parents = np.array(parent)
    if n_known:
        is_next = parents == NEIGHBOUR
        parents = np.where(parents >= 0, parents + n_known, ROOT)
        parents[is_next] = np.arange(n_known)
    return Steps(
        np.array([row[f] for f in fold]), np.array([factors[j] for j in factor]), parents, seeds
    )


class FoldOfRows:
    """One fold of a set of rows, as scorers see it.

    Parameters
    ----------
    data : SearchData
    rows : SearchRows
    sets : FoldSets
    model : BaseSVM
        With the parameters of the cell and the classes of the fold; not fitted.
    fold : int
        Its number in the search.
    local : int
        Its number on these rows.
    """

    def __init__(
        self,
        data: SearchData,
        rows: SearchRows,
        sets: FoldSets,
        model: BaseSVM,
        fold: int,
        local: int,
    ) -> None:
        self.data, self.rows, self.model, self.fold, self.local = data, rows, model, fold, local
        self.is_classifier = model._targets == "labels"
        self.codes = sets.codes[local]

    def index(self, part: str) -> Any:
        train, test = self.rows.splits[self.local]
        return test if part == "test" else train

    def given_index(self, part: str) -> Any:
        train, test = self.data.splits[self.fold]
        return test if part == "test" else train

    def predict(self, values: FloatArray) -> FloatArray:
        """Numbers of classes among those of all data, or predicted values."""
        if self.is_classifier:
            return np.asarray(self.codes[self.model._codes_of(values)])
        return np.asarray(self.model._predictions_of(values))

    def targets(self, part: str) -> FloatArray:
        """What `predict` should give."""
        if self.model._targets == "ignored":
            return np.asarray(self.given_targets(part))
        return np.asarray(self.rows.rows.targets[self.index(part)])

    def rows_of(self, part: str) -> Any:
        """The rows that the SVM itself is given; only their identity counts."""
        return self.rows.rows.X[self.index(part)]

    def given_rows(self, part: str) -> Any:
        """The rows as the user gave them."""
        train = self.data.splits[self.fold][0]
        if self.rows.head is not None:
            return index_rows(self.data.X, self.given_index(part))
        return take_rows(self.model, self.data.X, self.given_index(part), train)

    def given_targets(self, part: str) -> Any:
        y = self.data.y
        return None if y is None else index_rows(y, self.given_index(part))

    def take_params(self, params: Mapping[str, Any], part: str) -> Mapping[str, Any]:
        if not params:
            return params
        taken: Mapping[str, Any] = _check_method_params(
            self.data.X, params=params, indices=self.given_index(part)
        )
        return taken
