"""Progress of a search through scikit-learn's callbacks: a task tree kernel -> fold -> C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ...search.chain import Chain
from ...search.plan import Plan
from ...search.progress import SearchProgress


class Progress:
    """Tells the callbacks of an estimator what a search is at; does nothing where there are none.

    The root task has the children "search" and, with a refit, "refit-with-best-params". "search"
    has a child for each kernel (behind each preprocessing), that a child "fold" for each
    chain and fold, that a leaf "C" for each value of C.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.estimator = estimator
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._given = {"X": X, "y": y, "metadata": metadata}
        self.root = begin_root(estimator)
        self.root.call_on_fit_task_begin(estimator=estimator, **self._given)
        self.is_silent = not self.root._callbacks
        self._search: Any = None
        self._kernels: dict[Any, Any] = {}
        self._folds: dict[Any, Any] = {}
        self._n_left: dict[Any, int] = {}

    def begin(self, plan: Plan) -> None:
        """The tasks of a plan are known."""
        for chain in plan.chains:
            key = (chain.head, chain.kernel)
            self._n_left[key] = self._n_left.get(key, 0) + len(chain.folds)
        self._search = self.root.subcontext(
            task_name="search", max_subtasks=len(self._n_left), sequential_subtasks=False
        )
        self._search.call_on_fit_task_begin(estimator=self.estimator)

    def on_begin(self, chain: Chain) -> None:
        """A chain begins (or is already done, where another worker solved it)."""
        if self.is_silent:
            return
        key = (chain.head, chain.kernel)
        if key not in self._kernels:
            self._kernels[key] = self._search.subcontext(
                task_name=chain.label, task_id=len(self._kernels), max_subtasks=self._n_left[key]
            )
            self._kernels[key].call_on_fit_task_begin(estimator=self.estimator)
        for fold in chain.folds:
            context = self._kernels[key].subcontext(
                task_name="fold", max_subtasks=len(chain.factors)
            )
            self._folds[chain.key, fold] = context
            context.call_on_fit_task_begin(estimator=self.estimator)

    def on_end(self, chain: Chain) -> None:
        """A chain is done."""
        if self.is_silent:
            return
        key = (chain.head, chain.kernel)
        for fold in chain.folds:
            context = self._folds.pop((chain.key, fold))
            for _ in chain.factors:
                leaf = context.subcontext(task_name="C")
                leaf.call_on_fit_task_begin(estimator=self.estimator)
                leaf.call_on_fit_task_end(estimator=self.estimator)
            context.call_on_fit_task_end(estimator=self.estimator)
        self._n_left[key] -= len(chain.folds)
        if self._n_left[key] == 0:
            self._kernels[key].call_on_fit_task_end(estimator=self.estimator)

    def end_search(self) -> None:
        """All chains are done."""
        self._search.call_on_fit_task_end(estimator=self.estimator)

    @contextmanager
    def refit(self) -> Iterator[Callable[[Any], AbstractContextManager[None]]]:
        """The refit; gives what hands the callbacks on to the estimator that is fitted."""
        context = self.root.subcontext(task_name="refit-with-best-params")

        @contextmanager
        def propagate(estimator: Any) -> Iterator[None]:
            with context.propagate_callback_context(estimator):
                context.call_on_fit_task_begin(estimator=self.estimator, **self._given)
                yield

        yield propagate
        context.call_on_fit_task_end(estimator=self.estimator, **self._given)

    def end(self) -> None:
        """Everything is done."""
        self.root.call_on_fit_task_end(estimator=self.estimator, **self._given)


def begin_root(estimator: Any) -> Any:
    """The root task; with `verbose`, a progress bar is one more callback for this fit."""
    given = estimator.__dict__.get("_skl_callbacks")
    if estimator.verbose:
        estimator._skl_callbacks = [*(given or []), SearchProgress()]
    try:
        return estimator._init_callback_context(max_subtasks=1 + (estimator.refit is not False))
    finally:
        if given is not None:
            estimator._skl_callbacks = given
        else:
            estimator.__dict__.pop("_skl_callbacks", None)
