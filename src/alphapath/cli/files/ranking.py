"""Ranking files: `relevance qid:Q index:value ...`, one row per line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from ..failure import CommandError
from .data import DENSE_SHARE, data_name, looks_like_svmlight, stem
from .svmlight import read_queries, read_svmlight
from .text import Source, fault, open_text, words_of


@dataclass(frozen=True)
class RankData:
    """Rows, their relevance and their queries."""

    name: str
    X: Any
    y: Any
    qid: Any
    is_embedded: bool = False
    #: Where its file begins to count features.
    index_base: int | None = None

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.X, "tocsr")

    @property
    def n_queries(self) -> int:
        return len(np.unique(self.qid))


def read_ranking(path: Source | None, index_base: int | None = None) -> RankData:
    """Read `path`, or load an embedded set where it is None.

    `index_base` is where another file, to which this one belongs, begins to count features.
    """
    if path is None:
        return embedded_ranking()
    if not looks_like_svmlight(path):
        raise CommandError(
            f"{path} is not a LIBSVM file; ranking reads lines such as '2 qid:7 1:0.5 3:1'."
        )
    X, y, index_base = read_svmlight(path, index_base)
    require_queries(path)
    qid = read_queries(path)
    if X.nnz >= DENSE_SHARE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return RankData(stem(path), X, y, qid, index_base=index_base)


def require_queries(path: Source) -> None:
    """Refuse the first row without a query id."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            words = words_of(line.partition("#")[0])
            if words and not any(word.startswith("qid:") for word in words[1:2]):
                raise fault(
                    path, number, "the row has no query; ranking needs 'qid:Q' after the relevance"
                )


def embedded_ranking() -> RankData:
    """The diabetes set: patients of one age group are a query, the course of the disease in three
    levels is the relevance."""
    X, y = load_diabetes(return_X_y=True)
    age = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0.0, 1.0, 13)[1:-1]))
    return RankData(
        data_name(None, "ranking"), X, np.digitize(y, [110.0, 200.0]), age, is_embedded=True
    )
