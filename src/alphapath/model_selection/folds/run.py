"""How the folds of cross_validate are solved, by the kind of their model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol

from ...problem.limits import Limits
from ...problem.solution import Info
from ...search.folds.run import solve_chains
from .dual import FoldModels
from .linear import LinearFolds
from .smooth import SmoothFolds
from .table import FoldTable


class Run(Protocol):
    """The solves of all folds."""

    folds: Any  # as fold_table.Folds

    def fill(self, table: FoldTable, n_jobs: int | None) -> None:
        """Solve every fold and enter it; those that are done are there after an exception."""

    def full_infos(self) -> list[Info]:
        """How the solves on all data went."""


class FoldRun(ABC):
    """A Run that enters one fold after the other."""

    folds: Any

    def fill(self, table: FoldTable, n_jobs: int | None) -> None:
        for h, fits in self.solve(n_jobs):
            table.add(h, fits)

    @abstractmethod
    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, Any]]:
        """Each fold with the fits of its problems; none for a fold that was refused."""

    @abstractmethod
    def full_infos(self) -> list[Info]: ...


class DualRun(FoldRun):
    """The folds of a model that is solved in the dual: chains on shared kernels."""

    def __init__(self, folds: FoldModels, seeding: str, keep_train: bool) -> None:
        self.folds, self.keep_train = folds, keep_train
        model = folds.model
        if seeding == "auto" and folds.is_on_device:
            seeding = "none"  # all folds are solved at the same time
        limits = Limits(model.tol, model.max_iter, model.time_limit)
        self.chains = folds.make_chains(seeding, limits)

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, list[Any]]]:
        def reduce(p: int, h: int, solution: Any) -> Any:
            return self.folds.reduce(p, h, solution, keep_train=self.keep_train)

        n_workers = self.folds.limit_workers(n_jobs)
        for h, fits in solve_chains(self.chains, len(self.folds.splits), reduce, n_workers):
            yield h, list(self.folds.with_values(h, list(fits.values()), self.keep_train))

    def full_infos(self) -> list[Info]:
        infos = [chain.full_info for chain in self.chains]
        return [info for info in infos if info is not None]


class SmoothRun(FoldRun):
    """The folds of a smooth SVM: updates of one Hessian, on one thread."""

    def __init__(self, folds: SmoothFolds, seeding: str, keep_train: bool) -> None:
        self.folds: SmoothFolds = folds
        self.seeding, self.keep_train = seeding, keep_train

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, list[Any]]]:
        return self.folds.solve(self.seeding, self.keep_train)

    def full_infos(self) -> list[Info]:
        return [solution.info for solution in self.folds.full]


class LinearRun(FoldRun):
    """The folds of a LinearSVC: one reading of the data, on one thread."""

    def __init__(self, folds: LinearFolds, keep_train: bool) -> None:
        self.folds: LinearFolds = folds
        self.keep_train = keep_train

    def solve(self, n_jobs: int | None) -> Iterator[tuple[int, list[Any]]]:
        return self.folds.solve(self.keep_train)

    def full_infos(self) -> list[Info]:
        return []
