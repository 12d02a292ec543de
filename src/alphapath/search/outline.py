"""The outline of a search, kept in its journal: finished chains can be read without data or search.

It is JSON: the search in words, the parameters of every candidate, and the chains of the plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import JournalError
from .journal import Journal
from .node import Chain, Step
from .plan import Plan
from .result import SearchTable

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
    >>> from alphapath.search.outline import read_search
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     search = SVMSearchCV(SVC(), {"C": [1.0, 10.0]}, journal=f"{folder}/search.db")
    ...     search = search.fit(*load_iris(return_X_y=True))
    ...     read_search(f"{folder}/search.db").cv_results_["status"].tolist()
    ['solved', 'solved']
    """
    if not Path(path).exists():
        raise JournalError(f"There is no journal {path}.")
    with Journal(path) as journal:
        text = journal.outline
        if not text:
            raise JournalError(f"{path} is a journal, but the search that made it has not begun.")
        given = json.loads(text)
        plan = Plan(given["plan"], tuple(read_chain(one) for one in given["chains"]))
        table = SearchTable(len(given["params"]), given["n_folds"])
        for chain in plan.chains:
            arrays = journal.get(chain.key)
            if arrays is not None:
                table.add(chain, arrays)
    results = {"params": given["params"], **score_columns(table), **table.columns()}
    return JournaledSearch(given["description"], results, plan.with_work(table.work, table.edges))


def read_chain(given: Mapping[str, Any]) -> Chain:
    """The inverse of `asdict`: lists become tuples again."""
    own = dict(given)
    own["folds"], own["factors"] = tuple(own["folds"]), tuple(own["factors"])
    own["cells"] = tuple(tuple(cells) for cells in own["cells"])
    own["steps"] = tuple(Step(*step) for step in own["steps"])
    return Chain(**own)


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
