"""The outline of a search, kept in its journal: finished chains can be read without data or search.

It is JSON: the search in words, the parameters of every candidate, and the chains of the plan.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import JournalError
from ..chain import NEIGHBOUR, Chain, Step
from ..plan import Plan
from ..table import SearchTable, check_arrays
from .journal import Journal

#: More cells (candidates and folds) no search has: the tables of so many do not fit.
MOST_CELLS = 100_000_000

#: The fields of a chain and what JSON makes of them.
CHAIN_FIELDS: dict[str, type] = {
    "key": str,
    "label": str,
    "head": int,
    "kernel": int,
    "model": int,
    "folds": list,
    "factors": list,
    "cells": list,
    "steps": list,
    "after": str,
}

#: Parameters of a search that say nothing about its result.
UNTOLD = ("param_grid", "estimator", "error_score", "return_train_score", "verbose", "pre_dispatch")


@dataclass(frozen=True)
class JournaledSearch:
    """What a journal knows of a search that is running, was killed or is done.

    `cv_results_` has scikit-learn's columns, with nan and status "not_run" for what is not done.
    """

    description: dict[str, str]
    cv_results_: dict[str, Any]
    plan_: Plan


def describe_search(search: Any) -> dict[str, str]:
    """The parameters of a search in words."""
    own = {
        name: value
        for name, value in search.get_params(deep=False).items()
        if name not in UNTOLD and value is not None
    }
    words = {"class": type(search).__name__, "estimator": one_line(search.estimator)}
    return words | {name: one_line(value) for name, value in own.items()}


def one_line(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return re.sub(r"\s+", " ", str(value))


def write_outline(
    description: Mapping[str, str], params: Sequence[Mapping[str, Any]], n_folds: int, plan: Plan
) -> str:
    """The text for `Journal.bind`."""
    return json.dumps(
        {
            "description": dict(description),
            "params": [{name: plain_value(v) for name, v in one.items()} for one in params],
            "n_folds": n_folds,
            "plan": plan.name,
            "chains": [asdict(chain) for chain in plan.chains],
        }
    )


def plain_value(value: Any) -> Any:
    """A parameter in terms of JSON: what has none becomes its text."""
    if isinstance(value, np.generic):
        value = value.item()
    return (
        value if value is None or isinstance(value, bool | int | float | str) else one_line(value)
    )


def read_search(path: str | PathLike[str]) -> JournaledSearch:
    """What the journal at `path` holds now; another process may be writing it.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import SVMSearchCV
    >>> from alphapath.search.journal.outline import read_search
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     search = SVMSearchCV(SVC(), {"C": [1.0, 10.0]}, journal=f"{folder}/search.db")
    ...     search = search.fit(*load_iris(return_X_y=True))
    ...     read_search(f"{folder}/search.db").cv_results_["status"].tolist()
    ['solved', 'solved']
    """
    if not Path(path).exists():
        raise JournalError(f"There is no journal {path}.")
    with Journal(path, is_read_only=True) as journal:
        text = journal.outline
        if not text:
            raise JournalError(f"{path} is a journal, but the search that made it has not begun.")
        try:
            outline = read_outline(text)
        except (ValueError, OverflowError) as error:
            raise journal.damage(f"of its outline, {error}") from None
        table = SearchTable(len(outline.params), outline.n_folds)
        for chain in outline.plan.chains:
            arrays = journal.get(chain.key)
            if arrays is not None:
                check_arrays(chain, arrays)
                table.add(chain, arrays)
    results = {"params": outline.params, **score_columns(table), **table.columns()}
    plan = outline.plan.with_work(table.work, table.edges)
    return JournaledSearch(outline.description, results, plan)


@dataclass(frozen=True)
class Outline:
    """What `write_outline` was given."""

    description: dict[str, str]
    params: list[dict[str, Any]]
    n_folds: int
    plan: Plan


def read_outline(text: str) -> Outline:
    """The inverse of `write_outline`; a ValueError says what is wrong with the text."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the text is no JSON") from None
    words = {"description": dict, "params": list, "n_folds": int, "plan": str, "chains": list}
    check_fields(given, words, "the whole")
    if not all(isinstance(word, str) for word in given["description"].values()):
        raise ValueError("'description' must be text by text")
    for one in given["params"]:
        if not isinstance(one, dict) or any(isinstance(v, dict | list) for v in one.values()):
            raise ValueError("'params' must have plain values by name")
    chains = tuple(read_chain(one, len(given["params"])) for one in given["chains"])
    n_named = 1 + max((fold for chain in chains for fold in chain.folds), default=0)
    if given["n_folds"] < 1 or (chains and given["n_folds"] != n_named):
        raise ValueError(f"'n_folds' is {given['n_folds']}, where the chains have {n_named} folds")
    if given["n_folds"] * len(given["params"]) > MOST_CELLS:
        raise ValueError(f"'n_folds' is {given['n_folds']}, which is too many")
    keys = {chain.key for chain in chains}
    if len(keys) < len(chains) or any(chain.after not in {"", *keys} for chain in chains):
        raise ValueError("'chains' must have keys of their own, and come after one of them")
    plan = Plan(given["plan"], chains)
    return Outline(given["description"], given["params"], given["n_folds"], plan)


def check_fields(given: Any, kinds: Mapping[str, type], name: str) -> None:
    """Refuse what does not have just these fields of these types."""
    if not isinstance(given, dict) or set(given) != set(kinds):
        raise ValueError(f"{name} must have the fields {', '.join(map(repr, kinds))}")
    for key, kind in kinds.items():
        if type(given[key]) is not kind:
            raise ValueError(f"{key!r} of {name} must be of type {kind.__name__}")


def read_chain(given: Any, n_cells: int) -> Chain:
    """The inverse of `asdict`: lists become tuples again."""
    check_fields(given, CHAIN_FIELDS, "a chain")
    if not given["folds"] or not are_numbers(given["folds"], MOST_CELLS):
        raise ValueError("'folds' of a chain must be numbers of folds")
    factors = given["factors"]
    if not factors or not all(type(C) in (int, float) and math.isfinite(C) for C in factors):
        raise ValueError("'factors' of a chain must be finite numbers")
    cells, steps = given["cells"], given["steps"]
    if len(cells) != len(factors) or not all(
        isinstance(some, list) and are_numbers(some, n_cells) for some in cells
    ):
        raise ValueError("'cells' of a chain must have the numbers of its candidates")
    for k, step in enumerate(steps):
        if not isinstance(step, list) or [type(v) for v in step] != [int, int, int, str]:
            raise ValueError("a step of a chain must have a fold, a factor, a parent and a seed")
        fold, factor, parent, _ = step
        if fold not in given["folds"] or not 0 <= factor < len(factors) or not -2 <= parent < k:
            raise ValueError("a step of a chain must follow its parent, on the chain's folds")
    own = {**given, "folds": tuple(given["folds"]), "factors": tuple(map(float, factors))}
    own["cells"] = tuple(map(tuple, cells))
    own["steps"] = tuple(Step(*step) for step in steps)
    chain = Chain(**own)
    if any(step.parent == NEIGHBOUR for step in chain.steps) and not chain.after:
        raise ValueError("a step of a chain begins from another kernel, but the chain from none")
    return chain


def are_numbers(values: Sequence[Any], n: int) -> bool:
    """Whether all of them are different integers from 0 to n - 1."""
    are_positions = all(type(value) is int and 0 <= value < n for value in values)
    return are_positions and len(set(values)) == len(values)


def score_columns(table: SearchTable) -> dict[str, Any]:
    """scikit-learn's columns of scores and times; a cell counts once all its folds are there."""
    names = [name for name in table.scores if name.startswith("test_")] or ["test_score"]
    missing = np.full(table.shape, np.nan)
    columns: dict[str, Any] = {}
    for name in names:
        values = table.scores.get(name, missing)
        for fold in range(table.shape[1]):
            columns[f"split{fold}_{name}"] = values[:, fold]
        columns[f"mean_{name}"], columns[f"std_{name}"] = values.mean(axis=1), values.std(axis=1)
    columns["mean_fit_time"] = table.fit_time.mean(axis=1)
    return columns
