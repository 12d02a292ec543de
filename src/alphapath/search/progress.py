"""A progress bar with the time left, for scikit-learn's callback API."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Path = tuple[int, ...]

#: The two parts of a search in scikit-learn's tree of tasks.
SHARES = {"search": 0.98, "refit-with-best-params": 0.02}


class SearchProgress:
    """One bar for a whole search, on the standard error stream of a terminal; silent elsewhere.

    It follows the tree of tasks that a search reports (kernel, fold, C): every task is an equal
    share of the one above it. `SVMSearchCV(verbose=1)` uses it; any estimator with
    `set_callbacks` takes it.

    Parameters
    ----------
    console : rich Console, default=None
        Where to draw; None is the standard error stream.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from alphapath import SVC
    >>> from alphapath.model_selection import SearchProgress
    >>> search = GridSearchCV(SVC(), {"C": [1, 10]}).set_callbacks(SearchProgress())
    >>> search = search.fit(*load_iris(return_X_y=True))  # draws only on a terminal
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console
        self._progress: Progress | None = None
        self._task = TaskID(0)
        self._done: dict[Path, float] = {}
        self.fraction = 0.0

    # -- scikit-learn's hooks

    def setup(self, estimator: Any, context: Any) -> None:
        self._done = {}
        self.fraction = 0.0
        console = self.console or Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            return
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task(context.estimator_name, total=1.0)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        if self._progress is not None and context.parent is not None and context.max_subtasks != 0:
            self._progress.update(self._task, description=describe(context))

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Complete the task, and move all above it by its share."""
        path = tuple(task.task_id for task in lineage(context))
        gain = 1.0 - self._done.get(path, 0.0)
        for task in reversed(lineage(context)):
            self._done[path] = self._done.get(path, 0.0) + gain
            path = path[:-1]
            gain *= share_of(task)
        self.fraction = self._done[(context_root(context).task_id,)]
        if self._progress is not None:
            self._progress.update(self._task, completed=self.fraction)

    def teardown(self, estimator: Any, context: Any) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    # -- a callback may travel to another process, a terminal can not

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "console": None, "_progress": None}


def share_of(task: Any) -> float:
    """How much of the task above it one task is: equal parts, but next to nothing for a refit."""
    if task.parent is None:
        return 1.0
    n_siblings = task.parent.max_subtasks or 1
    if task.parent.parent is None and n_siblings == 2 and task.task_name in SHARES:
        return SHARES[task.task_name]
    return 1.0 / n_siblings


def lineage(context: Any) -> list[Any]:
    """The tasks from the root to this one."""
    tasks = [context]
    while tasks[-1].parent is not None:
        tasks.append(tasks[-1].parent)
    return tasks[::-1]


def context_root(context: Any) -> Any:
    return lineage(context)[0]


def describe(context: Any) -> str:
    """The tasks in words, such as "kernel 2 of 10, fold 3 of 5"."""
    words = []
    for task in lineage(context)[1:]:
        if task.max_subtasks != 0 and task.task_name not in SHARES:
            of = f" of {task.parent.max_subtasks}" if task.parent.max_subtasks else ""
            number = task.task_id + 1 if isinstance(task.task_id, int) else task.task_id
            words.append(f"{task.task_name} {number}{of}")
    return ", ".join(words) or context.task_name
