"""A smooth SVM on the training sets of many folds, from its model on all rows.

A fold is weights on one design matrix (and, with a kernel, columns dropped), so its model follows
from the full one by the instances whose states change; several folds go side by side. A fold whose
design is another one is fitted for itself: with gamma="scale", with a class missing, or with rows
that are drawn repeatedly and a kernel.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from ...estimators.smooth import BaseSmooth
from ...kernels.choice import uses_gamma
from ...kernels.equal_rows import EqualRows
from ...problem.box_problem import FloatArray
from ...problem.margin_problem import MarginProblem
from ...problem.solution import MarginSolution
from ...solvers.smooth import newton as smooth_newton
from ..scoring import take_rows
from .protocol import ColumnFit, Split, Visit, Wanted, read_columns
from .training_sets import find_classes

SEEDINGS = ("auto", "none")
#: Bytes that the Hessians of folds solved side by side may take together.
SIDE_BY_SIDE_BYTES = 1 << 28


def check_smooth_seeding(seeding: str) -> None:
    """Refuse the seeds of dual problems in one sentence."""
    if seeding not in SEEDINGS:
        raise ValueError(
            f"seeding is {seeding!r}; for a smooth SVM it must be 'auto' (from the model on all "
            f"rows) or 'none' (from zero)."
        )


def count_active(solution: MarginSolution) -> int:
    """Instances with a loss."""
    slopes = solution.problem.weights * solution.problem.slopes(solution.decision_values)
    return int(np.count_nonzero(slopes))


def sort_by_fold(n: int, splits: Sequence[Split]) -> NDArray[np.intp]:
    """Rows such that those that are first held out together are next to each other."""
    first = np.full(n, len(splits))
    for h in range(len(splits) - 1, -1, -1):
        is_out = np.ones(n, dtype=bool)
        is_out[splits[h][0]] = False
        first[is_out] = h
    return np.argsort(first, kind="stable")


class SmoothFolds:
    """The fits of every fold, and the fitted estimator of a fold from them.

    Parameters
    ----------
    estimator : BaseSmooth
    X, y, sample_weight
        As in its fit.
    splits : sequence of (train, test)
        Row numbers; a training row may be drawn more than once.
    """

    def __init__(
        self,
        estimator: BaseSmooth,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        splits: Sequence[Split],
    ) -> None:
        self.model: BaseSmooth = clone(estimator)
        self.model._validate_params()
        self.splits = splits
        order = None if self.model._is_linear else sort_by_fold(_num_samples(X), splits)
        self.rows = self.model._prepare(X, y, sample_weight, order)
        self._equal_rows = EqualRows(self.rows.X)
        self.own = splits  # in the order of `rows`
        if order is not None:
            place = np.argsort(order)
            self.own = [(place[train], place[test]) for train, test in splits]
        self.full: list[MarginSolution] = []
        self.models: dict[int, BaseSmooth] = {}
        self.codes, self.errors = find_classes(
            len(splits), lambda h: self._check_classes(self.own[h][0])
        )
        self.together = [h for h in self.codes if self._is_plain(h)]
        # On all rows, one a column, with the kernel matrix: for folds that are not fitted alone.
        self.problems = self.model._make_problems(self.rows) if self.together else []

    @property
    def n_rows(self) -> int:
        return int(self.rows.weights.size)

    @property
    def n_classes(self) -> int:
        """2 where there are no classes: one problem."""
        return len(self.model.classes_) if self.model._targets == "labels" else 2

    def set_c(self, c: float) -> None:
        """The same folds at another c."""
        self.model.c = c
        self.models = {}
        rows = self.rows
        weights = 0.5 * self.model._weight_scale(rows.targets, rows.weights) * rows.weights
        self.problems = [problem.with_weights(weights) for problem in self.problems]

    def _is_plain(self, fold: int) -> bool:
        """Whether a fold is other weights on the design of all rows, and no design of its own."""
        model, (train, _) = self.model, self.own[fold]
        if model._is_linear:
            return self.codes[fold].size == self.n_classes
        has_own_gamma = model.gamma == "scale" and uses_gamma(model.kernel)
        is_drawn_once = np.unique(train).size == train.size
        return self.codes[fold].size == self.n_classes and is_drawn_once and not has_own_gamma

    def _check_classes(self, train: NDArray[np.intp]) -> NDArray[np.intp]:
        if self.model._targets == "numbers":
            return np.arange(2)
        model = copy.copy(self.model)
        labels = self.model.classes_[self.rows.targets[train].astype(np.intp)]
        model._check_targets(labels, self.rows.weights[train])
        return np.asarray(np.searchsorted(self.model.classes_, model.classes_))

    def walk(self, factors: Sequence[float], wanted: Wanted) -> Iterator[Visit]:
        """Every fold at every c; a fold by itself begins from its model at the c before."""
        seeding = "keep" if wanted.is_alone else "auto"
        for k, c in enumerate(factors):
            if k > 0 and wanted.is_late:
                return
            self.set_c(c)
            for h, fits in self.solve(seeding if wanted.is_warm else "none", wanted.has_train):
                if h not in self.errors:
                    yield k, h, fits

    def solve(self, seeding: str, keep_train: bool) -> Iterator[tuple[int, list[ColumnFit]]]:
        """The fits of each fold, one a column; none for a fold that was refused.

        "auto" begins from the model on all rows, and that from the one of the c before. "keep", of
        a single fold, begins from its model at the c before.
        """
        model, together = self.model, self.together
        for h in sorted(set(range(len(self.own))).difference(together)):
            yield h, [] if h in self.errors else self._fit_alone(h, keep_train)
        if not together:
            return
        if seeding == "auto":
            starts: Sequence[MarginSolution | None] = self.full or [None] * len(self.problems)
            self.full = [
                smooth_newton.solve_side_by_side(
                    [problem], start, strategy=model.strategy, limits=model._limits
                )[0]
                for problem, start in zip(self.problems, starts, strict=True)
            ]
        step = self._count_side_by_side()
        for first in range(0, len(together), step):
            yield from self._fit_together(together[first : first + step], seeding, keep_train)

    def _count_side_by_side(self) -> int:
        """As many folds as have room for Hessians of the size of the full model's."""
        n_active = self.problems[0].n
        if self.full:
            n_active = max(count_active(solution) for solution in self.full)
        sizes = {"feature": self.problems[0].d + 1, "instance": n_active}
        size = sizes.get(self.model.strategy, min(sizes.values()))
        return int(np.clip(SIDE_BY_SIDE_BYTES // (16 * (size + 1) ** 2), 1, 16))

    def _fit_together(
        self, folds: Sequence[int], seeding: str, keep_train: bool
    ) -> Iterator[tuple[int, list[ColumnFit]]]:
        fits: dict[int, list[ColumnFit]] = {h: [] for h in folds}
        weights = {h: self._weights_of(h) for h in folds}
        starts, self.full = self.full, [] if seeding == "keep" else self.full
        for k, base in enumerate(self.problems):
            problems = [self._problem_of(base, h, weights[h]) for h in folds]
            start = starts[k] if starts else None
            found = smooth_newton.solve_side_by_side(
                problems, start, strategy=self.model.strategy, limits=self.model._limits
            )
            for h, solution in zip(folds, found, strict=True):
                seed = "full" if seeding == "auto" else seeding
                named = solution.with_seed(seed) if start is not None else solution
                fits[h].append(self._reduce(h, named, keep_train))
            if seeding == "keep":
                self.full += found
        yield from fits.items()

    def _weights_of(self, fold: int) -> FloatArray:
        """c_i / 2 of the fold; what a class weighs is found from its own training rows."""
        train, _ = self.own[fold]
        n = self.rows.weights.size
        times = np.bincount(train, minlength=n)
        model = copy.copy(self.model)
        scale = np.zeros(n)
        scale[train] = model._weight_scale(self.rows.targets[train], self.rows.weights[train])
        self.models[fold] = model
        return np.asarray(0.5 * scale * self.rows.weights * times)

    def _problem_of(self, base: MarginProblem, fold: int, weights: FloatArray) -> MarginProblem:
        problem = base.with_weights(weights)
        if self.model._is_linear:
            return problem
        is_out = np.ones(base.n, dtype=bool)
        is_out[self.own[fold][0]] = False
        return problem.with_held_out(is_out, is_out)

    def _reduce(self, fold: int, solution: MarginSolution, keep_train: bool) -> ColumnFit:
        train, test = self.own[fold]
        values, share = solution.decision_values, self._equal_rows.share
        return ColumnFit(
            solution.coef if self.model._is_linear else solution.coef[train],
            solution.bias,
            solution.info,
            share(values[test], test),
            share(values[train], train) if keep_train else None,
        )

    def _fit_alone(self, fold: int, keep_train: bool) -> list[ColumnFit]:
        train, test = self.own[fold]
        labels = self.rows.targets[train]
        if self.model._targets == "labels":
            labels = self.model.classes_[labels.astype(np.intp)]
        model: Any = clone(self.model)
        rows = self.rows.X
        model.fit(take_rows(model, rows, train, train), labels, self.rows.weights[train])
        self.models[fold] = model
        values = model._decision_values(take_rows(model, rows, test, train))
        inner = None
        if keep_train:
            inner = model._decision_values(take_rows(model, rows, train, train))
        coefs = model.coef_ if model._is_linear else model.kernel_coef_
        return read_columns(model, coefs, values, inner)

    def has_ties(self, fold: int, fits: Sequence[Any], rows: Any, values: FloatArray) -> bool:
        """Never: no row is exactly on the margin of a smooth loss."""
        return False

    def fitted(
        self, fold: int, fits: Sequence[ColumnFit], *, for_values: bool = False
    ) -> BaseSmooth:
        """The estimator as its fit on the training rows would have left it.

        `for_values`: it is only asked for decision values that are known, and for predictions.
        """
        model = self.models[fold]
        if hasattr(model, "intercept_"):
            return model
        train, _ = self.own[fold]
        if model.kernel == "precomputed":
            model.n_features_in_ = train.size
        scale = self.rows.column_scale
        own = train[:0] if for_values else train  # rows that nobody asks for are not copied
        model._take(fits, self.rows.X[own], None if scale is None else scale[train])
        model._warn()
        return model
