"""The progress bar: right at every moment, and silent unless there is a terminal."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import pytest
from rich.console import Console
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from alphapath import SVC
from alphapath.model_selection import SearchProgress

SHAPE = (2, 5, 3)  # kernels, folds, values of C


class Tree(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Reports a tree of tasks and keeps what the callback showed after each leaf."""

    def __init__(self, progress: SearchProgress, fails_at: int = -1) -> None:
        self.progress = progress
        self.fails_at = fails_at

    @with_callbacks
    def fit(self) -> Tree:
        n_kernels, n_folds, n_factors = SHAPE
        self.seen_: list[float] = []
        root = self._init_callback_context(max_subtasks=n_kernels)
        root.call_on_fit_task_begin(estimator=self)
        for _ in range(n_kernels):
            kernel = root.subcontext("kernel", max_subtasks=n_folds)
            kernel.call_on_fit_task_begin(estimator=self)
            for _ in range(n_folds):
                fold = kernel.subcontext("fold", max_subtasks=n_factors)
                fold.call_on_fit_task_begin(estimator=self)
                for j in range(n_factors):
                    if len(self.seen_) == self.fails_at:
                        raise KeyboardInterrupt
                    leaf = fold.subcontext(f"C={j}").call_on_fit_task_begin(estimator=self)
                    leaf.call_on_fit_task_end(estimator=self)
                    self.seen_.append(self.progress.fraction)
                fold.call_on_fit_task_end(estimator=self)
            kernel.call_on_fit_task_end(estimator=self)
        root.call_on_fit_task_end(estimator=self)
        return self


def make_terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100)


def test_every_task_is_its_share() -> None:
    progress = SearchProgress()
    tree = Tree(progress).set_callbacks(progress).fit()
    assert tree.seen_ == pytest.approx([(k + 1) / 30 for k in range(30)])
    assert progress.fraction == pytest.approx(1.0)


def test_a_terminal_sees_the_bar() -> None:
    console = make_terminal()
    progress = SearchProgress(console)
    Tree(progress).set_callbacks(progress).fit()
    shown: Any = console.file
    assert "kernel 2 of 2, fold 5 of 5" in shown.getvalue()
    assert "100%" in shown.getvalue()
    assert "left" in shown.getvalue()


def test_the_terminal_is_given_back_after_an_interrupt() -> None:
    console = make_terminal()
    progress = SearchProgress(console)
    with pytest.raises(KeyboardInterrupt):
        Tree(progress, fails_at=7).set_callbacks(progress).fit()
    assert progress._progress is None
    assert progress.fraction == pytest.approx(7 / 30)
    shown: Any = console.file
    assert shown.getvalue().rstrip().endswith("\x1b[2K") or "\x1b[?25h" in shown.getvalue()


def test_nothing_is_printed_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    assert not sys.stderr.isatty()
    search = GridSearchCV(SVC(), {"C": [1, 10]}, cv=3).set_callbacks(SearchProgress())
    search.fit(*load_iris(return_X_y=True))
    assert capfd.readouterr() == ("", "")


def test_it_follows_scikit_learns_own_search() -> None:
    progress = SearchProgress(make_terminal())
    search = GridSearchCV(SVC(), {"C": [1, 10]}, cv=3, refit=False, n_jobs=1)
    search.set_callbacks(progress).fit(*load_iris(return_X_y=True))
    assert progress.fraction == pytest.approx(1.0)
    assert pickle.loads(pickle.dumps(progress)).console is None
