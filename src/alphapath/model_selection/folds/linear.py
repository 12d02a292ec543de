"""A LinearSVC on the training sets of many folds, along C.

One reading of the data serves all folds, classes and C. A fold is weights on the rows; each C
begins from the solution, the segments and the moments of the last. Folds that hold out different
rows go side by side, and their second moments are those of all rows less those held out. A fold
whose problem is another one is fitted for itself: with a class missing, or by another solver.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ...estimators.common.inputs import encode_labels
from ...estimators.common.problems import Budget, overall_status, warn_unsolved
from ...estimators.linear_svc import LinearSVC
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem
from ...problem.solution import Info, Status
from ...solvers.native import single_threaded
from ...solvers.primal.newton import (
    MAX_TOGETHER,
    JointPaths,
    NewtonPath,
    can_go_together,
    keeps_gram,
)
from ...solvers.primal.rows import read_rows
from .near_ties import EXACT, share_of_ties
from .protocol import ColumnFit, Split, Visit, Wanted, read_columns
from .training_sets import find_classes


def check_linear_seeding(seeding: str) -> None:
    """Refuse the seeds of dual problems in one sentence."""
    if seeding not in ("auto", "none"):
        raise ValueError(
            f"seeding is {seeding!r}; for a LinearSVC it must be 'auto' (from the next smaller C) "
            f"or 'none' (from zero)."
        )


class LinearFolds:
    """The fits of every fold at every C, and the fitted estimator of a fold from them.

    Parameters
    ----------
    estimator : LinearSVC
        Its C is used by `solve` alone.
    X, y, sample_weight
        As in its fit.
    splits : sequence of (train, test)
        Row numbers; a training row may be drawn more than once.
    """

    def __init__(
        self,
        estimator: LinearSVC,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        splits: Sequence[Split],
    ) -> None:
        self.model: LinearSVC = clone(estimator)
        self.model._validate_params()
        self._own_C, self.model.C = self.model.C, 1.0
        self.X, self.class_codes, self.sample = self.model._prepare(X, y, sample_weight)
        self.splits = splits
        self.rows = read_rows(self.X)
        self.codes, self.errors = find_classes(
            len(splits), lambda h: self._find_classes(splits[h][0])
        )
        self.models: dict[int, LinearSVC] = {}
        self.problems = self.model._problems_on(self.X, self.class_codes, self.sample)
        self._whole: FloatArray | None = None
        #: That of the last visit.
        self.C = 1.0

    @property
    def n_rows(self) -> int:
        return int(self.sample.size)

    @property
    def n_classes(self) -> int:
        return len(self.model.classes_)

    def _find_classes(self, train: NDArray[np.intp]) -> NDArray[np.intp]:
        """The classes of a fold; refused as a fit on its rows would refuse them."""
        codes, sample = self.class_codes[train], self.sample[train]
        if (np.bincount(codes, weights=sample, minlength=self.n_classes) > 0.0).all():
            return np.arange(self.n_classes)
        classes, _ = encode_labels(self.model.classes_[codes], sample)
        return np.asarray(np.searchsorted(self.model.classes_, classes))

    # -- which folds go together

    def groups(self) -> list[list[int]]:
        """The folds that are solved, those side by side in one group."""
        if not (self._is_newton and can_go_together(self.problems[0]) and self._shares_weights):
            return [[h] for h in self.codes]
        found: list[list[int]] = []
        taken = np.zeros(self.sample.size, dtype=np.bool_)
        for h in self.codes:
            held_out, is_plain = self._held_out(h)
            fits_in = len(found) > 0 and 0 < len(found[-1]) < MAX_TOGETHER
            if is_plain and fits_in and not (held_out & taken).any():
                found[-1].append(h)
                taken |= held_out
            elif is_plain:
                found.append([h])
                taken = held_out
            else:
                found = [*found, [h], []]  # nobody goes with it
        return [group for group in found if group]

    @property
    def _is_newton(self) -> bool:
        return self.model.solver in ("auto", "newton")

    @property
    def _shares_weights(self) -> bool:
        """Whether a row has the same positive weight in all folds that train on it."""
        model = self.model
        is_fixed = not isinstance(model.class_weight, str) and model.lam is None
        return is_fixed and float(self.sample.min()) > 0.0

    def _held_out(self, fold: int) -> tuple[NDArray[np.bool_], bool]:
        """The rows not trained on, and whether the fold could go side by side with others."""
        train, test = self.splits[fold]
        held_out = np.ones(self.sample.size, dtype=np.bool_)
        held_out[train] = False
        has_classes = self.codes[fold].size == self.n_classes
        is_plain = np.count_nonzero(~held_out) == train.size and bool(held_out[test].all())
        return held_out, has_classes and is_plain

    def weights_of(self, fold: int) -> FloatArray:
        """The weights c of a fold; what a class weighs is found from its own training rows."""
        train, _ = self.splits[fold]
        model = copy.copy(self.model)
        own = model._weigh(self.class_codes[train], self.sample[train])
        weights = np.zeros(self.sample.size)
        weights[train] = own
        weights *= np.bincount(train, minlength=weights.size)
        weights.flags.writeable = False  # so that the problem shares it
        self.models[fold] = model
        return weights

    # -- along C

    def solve(self, keep_train: bool) -> Iterator[tuple[int, list[ColumnFit]]]:
        """The fits of each fold at the C of the estimator; none for a fold that was refused."""
        yield from ((h, []) for h in self.errors)
        for _, h, fits in self.walk([self._own_C], Wanted(has_train=keep_train)):
            if not self._is_alone(h):
                self._warn(fits)
            yield h, fits

    def _is_alone(self, fold: int) -> bool:
        """Whether a fold is fitted for itself."""
        return not self._is_newton or self.codes[fold].size < self.n_classes

    def _warn(self, fits: Sequence[ColumnFit]) -> None:
        """Say what a fit says that was stopped."""
        model, infos = self.model, [fit.info for fit in fits]
        budget = Budget(model.tol, model.max_iter, model.time_limit)
        worst = max(info.kkt_violation for info in infos)
        warn_unsolved(overall_status(infos), budget, worst)

    def walk(self, factors: Sequence[float], wanted: Wanted) -> Iterator[Visit]:
        """Every fold at every C, ascending within a fold."""
        groups = self.groups()
        for number, group in enumerate(groups):
            part = wanted
            if wanted.deadline is not None:  # an equal share of the time that is left
                share = (wanted.deadline - time.time()) / (len(groups) - number)
                part = replace(wanted, deadline=time.time() + share)
            yield from self.walk_group(group, factors, part)

    def walk_group(
        self, group: Sequence[int], factors: Sequence[float], wanted: Wanted
    ) -> Iterator[Visit]:
        """The folds of one group of `groups()`."""
        if self._is_alone(group[0]):
            yield from self._fit_alone(group[0], factors, wanted)
            return
        weights = [self.weights_of(h) for h in group]
        grams = self._grams(group, weights)
        columns: list[list[list[ColumnFit]]] = []
        begin, n_done, n_columns = time.time(), len(factors), len(self.problems)
        for j, problem in enumerate(self.problems):
            problems = [problem.with_weights(w) for w in weights]
            part = wanted
            if wanted.deadline is not None:  # an equal share of the time for each column
                share = (wanted.deadline - begin) * (j + 1) / n_columns
                part = replace(wanted, deadline=begin + share)
            steps = self._steps(group, problems, grams, factors[:n_done], part)
            if n_columns == 1:
                for k, fits in enumerate(steps):
                    self.C = factors[k]
                    yield from ((k, h, [fit]) for h, fit in zip(group, fits, strict=True))
                return
            columns.append(list(steps))
            n_done = len(columns[-1])
        for k in range(n_done):
            self.C = factors[k]
            for f, h in enumerate(group):
                yield k, h, [column[k][f] for column in columns]

    def _steps(
        self,
        group: Sequence[int],
        problems: list[MarginProblem],
        grams: list[FloatArray],
        factors: Sequence[float],
        wanted: Wanted,
    ) -> Iterator[list[ColumnFit]]:
        """One column at each C: a fit for each fold of the group."""
        walker: Any = None
        for k, factor in enumerate(factors):
            if k > 0 and wanted.is_late:
                return
            if walker is None or not wanted.is_warm:
                kind = Together if len(group) > 1 else Alone
                walker = kind(self, group, problems, grams, wanted)
            seed = "keep" if k > 0 and wanted.is_warm else "cold"
            with single_threaded():
                fits = walker.step(1.0 if self.model.lam is not None else factor, seed)
            yield fits

    def _grams(self, group: Sequence[int], weights: list[FloatArray]) -> list[FloatArray]:
        """Second moments of the folds of a group: those of all rows less those held out."""
        first = self.problems[0]
        # From theta = 0 the squared hinge needs the moments of all rows: take them once.
        if len(group) == 1 or not keeps_gram(first) or first.loss != "squared_hinge":
            return []
        has_bias = first.offset != "none"
        # One fold at a time: all weights in one array would be as large as short rows are.
        whole, n_folds = weights[0], np.zeros(self.sample.size, dtype=np.uint8)
        for w in weights:
            whole = np.maximum(whole, w)
            n_folds += w > 0.0
        blocks = [self.rows.gram(np.where(w > 0.0, 0.0, whole), has_bias) for w in weights]
        if self._whole is None:
            is_partition = (n_folds == len(group) - 1).all()
            total = np.sum(blocks, axis=0) if is_partition else self.rows.gram(whole, has_bias)
            self._whole = np.asarray(total)
        return [self._whole - block for block in blocks]

    def values(self, coef: FloatArray, bias: float, rows: Any) -> FloatArray:
        """The decision values of some rows."""
        return np.asarray(self.rows.dots(coef, np.asarray(rows, dtype=np.int32)) + bias)

    # -- fitted estimators

    def _fit_alone(self, fold: int, factors: Sequence[float], wanted: Wanted) -> Iterator[Visit]:
        """A fit on the rows of the fold for each C."""
        train, test = self.splits[fold]
        X, labels = self.X[train], self.model.classes_[self.class_codes[train]]
        for k, factor in enumerate(factors):
            if k > 0 and wanted.is_late:
                return
            model: LinearSVC = clone(self.model).set_params(C=factor)
            model.fit(X, labels, self.sample[train])
            self.models[fold] = model
            values = model._decision_values(self.X[test])
            inner = model._decision_values(X) if wanted.has_train else None
            self.C = factor
            yield k, fold, read_columns(model, model.coef_, values, inner)

    def has_ties(
        self, fold: int, fits: Sequence[Any], rows: NDArray[np.intp], values: FloatArray
    ) -> bool:
        """Whether rounding of these decision values says which of some rows is ahead."""
        if len(fits) != 1:
            return False
        size = float(self.rows.norms[rows].max(initial=0.0) * np.linalg.norm(fits[0].coef))
        off = EXACT * (size + float(np.abs(values).max(initial=0.0)))
        return share_of_ties(self.X, rows, values[:, 0], off) > 0.0

    def fitted(self, fold: int, fits: Sequence[Any], *, for_values: bool = False) -> LinearSVC:
        """The estimator as its fit on the training rows would have left it."""
        model = copy.copy(self.models[fold])
        model.C = self.C
        model._take(fits)
        return model


class Together:
    """One column of several folds, side by side."""

    def __init__(
        self,
        folds: LinearFolds,
        group: Sequence[int],
        problems: list[MarginProblem],
        grams: list[FloatArray],
        wanted: Wanted,
    ) -> None:
        self.folds, self.group, self.wanted = folds, group, wanted
        self.paths = JointPaths(
            problems,
            folds.model._limits,
            rows=folds.rows,
            grams=grams,
            signs_only=wanted.is_sign_enough and len(folds.problems) == 1,
        )

    def step(self, C: float, seed: str) -> list[ColumnFit]:
        begin = time.perf_counter()
        results, held_out = self.paths.step(C)
        seconds = (time.perf_counter() - begin) / len(self.group)
        fits = []
        for f, (h, result) in enumerate(zip(self.group, results, strict=True)):
            coef, bias = np.empty(0), 0.0
            if self.wanted.has_coef or self.wanted.has_train:
                coef, bias = self.paths.solution(f)
            info = Info(
                status=Status(result.status),
                objective=result.objective,
                duality_gap=result.gap,
                kkt_violation=float(np.sqrt(2.0 * result.gap)),
                n_iter=result.n_iter,
                solve_time=seconds,
                seed=seed,
            )
            train, test = self.folds.splits[h]
            inner = self.folds.values(coef, bias, train) if self.wanted.has_train else None
            fits.append(ColumnFit(coef, bias, info, held_out.take(test), inner))
        return fits


class Alone:
    """One column of one fold."""

    def __init__(
        self,
        folds: LinearFolds,
        group: Sequence[int],
        problems: list[MarginProblem],
        grams: list[FloatArray],
        wanted: Wanted,
    ) -> None:
        self.folds, self.fold, self.wanted = folds, group[0], wanted
        self.path = NewtonPath(problems[0], folds.model._limits, rows=folds.rows)

    def step(self, C: float, seed: str) -> list[ColumnFit]:
        info, coef, bias = self.path.step(C)
        if info.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        train, test = self.folds.splits[self.fold]
        inner = self.folds.values(coef, bias, train) if self.wanted.has_train else None
        values = self.folds.values(coef, bias, test)
        return [ColumnFit(coef, bias, replace(info, seed=seed), values, inner)]
