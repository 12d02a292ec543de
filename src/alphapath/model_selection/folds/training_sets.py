"""The training sets of folds: rows are instances in their given order, a fold is weights on them.

What scikit-learn derives from the training rows is derived from those of each fold: the classes
and "balanced" class weights.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from ...estimators.common.base import BaseSVM
from ...estimators.common.merge_rows import MergedRows
from ...problem.box_problem import FloatArray
from .protocol import Indices, Split

#: Training sets that are kept.
MAX_SETS = 64

#: Training sets of so many values together are made at once.
BLOCK_VALUES = 1 << 16


@dataclass(frozen=True)
class TrainingSet:
    """The rows of one fold: how often each is drawn, the classes there are, the weights c."""

    model: BaseSVM  # unfitted, with the classes and class weights of these rows
    train: Indices
    times: FloatArray
    has_repeats: bool  # whether a row is drawn more than once
    scale: FloatArray
    weights: FloatArray
    codes: NDArray[np.intp]  # the classes present, by their number in all data

    @cached_property
    def position_of(self) -> Indices:
        """Where each row is among the training rows, none of which is drawn twice."""
        positions = np.zeros(self.weights.size, dtype=np.intp)
        positions[self.train] = np.arange(self.train.size)
        return positions


def find_classes(
    n_folds: int, find: Callable[[int], NDArray[np.intp]]
) -> tuple[dict[int, NDArray[np.intp]], dict[int, Exception]]:
    """The classes present in each fold, and why the other folds were refused."""
    codes: dict[int, NDArray[np.intp]] = {}
    errors: dict[int, Exception] = {}
    for h in range(n_folds):
        try:
            codes[h] = find(h)
        except ValueError as error:
            errors[h] = error
    return codes, errors


class FoldSets:
    """The training set of every fold, for one model.

    Parameters
    ----------
    model : BaseSVM
        Prepared on all rows: its classes are known.
    rows : MergedRows
        Every row an instance, in the given order.
    splits : sequence of (train, test)
        Row numbers; a training row may be drawn more than once.
    """

    def __init__(self, model: BaseSVM, rows: MergedRows, splits: Sequence[Split]) -> None:
        self.model, self.rows, self.splits = model, rows, splits
        self._sets: dict[int, TrainingSet] = {}
        self._scale: FloatArray | None = None
        self._has_zero_weights = not rows.weights.all()
        self._all_codes = rows.targets.astype(np.intp) if model._targets == "labels" else None
        sizes = [] if self._all_codes is None else np.bincount(self._all_codes).tolist()
        self._smallest_class = min(sizes, default=rows.weights.size)
        #: Whether training sets are known to be made one by one: see _select_plain.
        self._are_odd = self._has_zero_weights or getattr(model, "class_weight", None) is not None
        self.codes, self.errors = find_classes(len(splits), lambda h: self.training_set(h).codes)

    @property
    def n_rows(self) -> int:
        return int(self.rows.weights.size)

    def training_set(self, fold: int) -> TrainingSet:
        """The training set of a fold; refuses what fit would refuse."""
        found = self._sets.get(fold)
        if found is None:
            made = self._select_plain(fold)
            if fold not in made:
                made[fold] = self._select(fold)
            # Three values a row each: few folds stay, of many only those at work. (A cache around
            # a method would hold this object, and with it the kernel, until it is collected.)
            if len(self._sets) + len(made) > MAX_SETS:
                self._sets.clear()
            self._sets.update(made)
            found = made[fold]  # another thread may have cleared the others by now
        return found

    def X_of(self, fold: int) -> Any:
        """The rows that a fold is trained on, by their numbers among all."""
        return self.rows.X

    @property
    def n_classes(self) -> int:
        """2 where there are no classes: one problem."""
        return len(self.model.classes_) if self.model._targets == "labels" else 2

    def sign_of(self, fold: int) -> float:
        """-1 where two classes are left of more: then class 1 and not class 0 is positive."""
        return -1.0 if self.n_classes > 2 and self.codes[fold].size == 2 else 1.0

    def _select_plain(self, fold: int) -> dict[int, TrainingSet]:
        """Small training sets from this one on, side by side, where they are plain: no row twice
        or of weight 0, all classes there and weighted the same in every fold."""
        rows, n = self.rows, self.n_rows
        n_sets = min(MAX_SETS, BLOCK_VALUES // n, len(self.splits) - fold)
        trains = [train for train, _ in self.splits[fold : fold + n_sets]]
        # So few rows are held out that no class can be gone.
        is_plain = [train.size > n - self._smallest_class for train in trains]
        if n_sets < 2 or self._are_odd or not is_plain[0]:
            return {}
        times = np.zeros((n_sets, n))
        for own, train in zip(times, trains, strict=True):
            own[train] = 1.0
        n_drawn = times.sum(axis=1).tolist()
        if self._scale is None:
            self._scale = self.model._weight_scale(rows.targets, rows.weights)
        scale, codes = self._scale, np.arange(self.n_classes)
        weights = scale * (rows.weights * times)
        weights.flags.writeable = False  # problems share it
        made = {}
        for h, train in enumerate(trains):
            if n_drawn[h] != train.size:
                self._are_odd = True
            elif is_plain[h]:
                made[fold + h] = TrainingSet(
                    self.model, train, times[h], False, scale, weights[h], codes
                )
        return made

    def _select(self, fold: int) -> TrainingSet:
        rows, (train, _) = self.rows, self.splits[fold]
        counts = np.bincount(train, minlength=rows.weights.size)
        has_repeats = bool(counts.max() > 1)
        times = counts.astype(np.float64)
        drawn = rows.weights * times
        if not drawn.any():
            raise ValueError(f"All {train.size} training rows of this fold have sample_weight 0.")
        model, codes = self.model, np.arange(self.n_classes)
        targets = rows.targets
        if self._all_codes is not None:
            is_present = np.bincount(self._all_codes[train], minlength=codes.size) > 0
            lacks_rows = self._has_zero_weights and not drawn[train].all()
            if lacks_rows or not is_present.all():
                model = copy.copy(model)
                model._check_targets(self.model.classes_[targets[train].astype(int)], drawn[train])
                codes = np.flatnonzero(is_present)
                targets = np.searchsorted(codes, targets).clip(max=codes.size - 1).astype(float)
        if getattr(model, "class_weight", None) is None:
            scale = self._scale if model is self.model else None
            if scale is None:
                scale = model._weight_scale(targets, drawn)
            if model is self.model:  # the same in every fold that has all classes
                self._scale = scale
        else:
            model = copy.copy(model)
            scale = np.zeros_like(drawn)
            scale[train] = model._weight_scale(targets[train], rows.weights[train])
        weights = scale * drawn
        weights.flags.writeable = False  # problems share it
        return TrainingSet(model, train, times, has_repeats, scale, weights, codes)


def make_splits(splitter: Any, X: Any, y: Any, params: Mapping[str, Any]) -> list[Split]:
    """(train, test) as row numbers, whatever the splitter gives."""
    everybody = np.arange(_num_samples(X))
    # An empty list would be an array of floats.
    splits = [
        (everybody[np.asarray(train)] if len(train) else everybody[:0], everybody[np.asarray(test)])
        for train, test in splitter.split(X, y, **params)
    ]
    if not splits:
        raise ValueError(f"The splitter {splitter!r} gave no folds; at least one is needed.")
    for h, (train, _) in enumerate(splits):
        if train.size == 0:
            raise ValueError(f"Fold {h} has no training rows; every fold needs at least one.")
    return splits
