"""Between a search and scikit-learn's shapes: estimators, groups of cells, lists of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from ...estimators.common.problems import is_on_gpu
from ...estimators.registry import PRIMAL
from ...search.plan import Group
from ...search.table import SearchTable
from .candidates import Grid, Model
from .rows import SearchData, has_own_kernels

#: So few rows are solved faster than a chain is begun: all folds are then one chain.
SMALL, MANY_FOLDS = 1500, 20


def goes_by_fold(grid: Grid, data: SearchData) -> bool:
    """Whether all kernels of a fold are run before those of the next fold.

    That is for folds with preprocessing, whose rows and products are then made once, where there is
    no room to keep those of all folds. Else the folds of one kernel follow one another, so that
    cells are complete early; models trained in the primal keep nothing of a fold.
    """
    has_heads = any(head is not None for head in grid.heads)
    n = _num_samples(data.X)
    is_gpu = any(is_on_gpu(getattr(model.estimator, "_device", "cpu"), n) for model in grid.models)
    is_primal = any(isinstance(model.estimator, PRIMAL) for model in grid.models)
    return has_heads and not is_primal and (is_gpu or not data.kept_bytes)


def make_groups(grid: Grid, splits: Sequence[Any], by_fold: bool = False) -> list[Group]:
    """The cells of every model, so ordered that what is shared is needed in one stretch.

    `by_fold`: behind preprocessing, all kernels of a fold come before the next fold.
    """
    everything = tuple(range(len(splits)))
    n = sum(part.size for part in splits[0])
    is_small = n <= SMALL and len(splits) <= MANY_FOLDS
    groups = []
    for number, model in enumerate(grid.models):
        if not model.cells:
            continue
        is_gpu = is_on_gpu(getattr(model.estimator, "device", "cpu"), n)
        traits: dict[str, Any] = {"is_small": is_small}
        if model.family is not None and not is_gpu:
            traits |= {"family": model.family, "gamma": model.estimator.gamma}
        if grid.heads[model.head] is None:
            traits["shares_kernel"] = not has_own_kernels(model.estimator)
            traits["is_one_chain"] = is_small or is_gpu
            groups.append((model, model.as_group(number, everything, **traits)))
        else:
            groups += [(model, model.as_group(number, (fold,), **traits)) for fold in everything]

    def place(item: tuple[Model, Group]) -> tuple[int, ...]:
        model, group = item
        head, fold, kernel = model.head, group.folds[0], model.kernel
        if isinstance(model.estimator, PRIMAL):  # models share no kernel matrix
            return head, group.model, fold
        return (head, fold, kernel) if by_fold else (head, kernel, fold)

    groups.sort(key=place)
    return [group for _, group in groups]


def as_out(
    table: SearchTable, names: Sequence[str], is_multi: bool, error_score: Any, wants_train: bool
) -> list[dict[str, Any]]:
    """The table as the list of cells that scikit-learn's formatting takes."""
    missing = np.nan if error_score == "raise" else error_score
    is_refused = np.zeros(table.shape, dtype=bool)
    for row, fold in table.errors:
        is_refused[row, fold] = True

    def fill(part: str) -> list[Any]:
        columns = []
        for name in names:
            values = table.scores.get(f"{part}_{name}")
            values = np.full(table.shape, np.nan) if values is None else values
            columns.append(np.where(is_refused, missing, values).ravel().tolist())
        if not is_multi:
            return columns[0]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    parts = {"test_scores": fill("test")}
    if wants_train:
        parts["train_scores"] = fill("train")
    parts["fit_time"] = table.fit_time.ravel().tolist()
    parts["score_time"] = table.score_time.ravel().tolist()
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
