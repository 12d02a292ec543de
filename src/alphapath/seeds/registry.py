"""What the package knows about each seed; all listings of seeds are derived from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .. import _core
from ..problem.box_problem import Problem, Start
from ..problem.solution import Solution

MakeStart = Callable[[Solution, Problem], Start | None]


@dataclass(frozen=True)
class Seed:
    """A way to start a solve from the solution of a related problem.

    Parameters
    ----------
    name : str
    words : str
        What the solve starts from, as a report says it.
    starts_from : {"full", "fold", "C", "nothing"}
        The solution that it is made for: on all data, of another fold, for another C.
    python : callable or None
        seed(parent, problem) -> Start or None.
    native : _core.Seed or None
        The same within one native call.
    leads_along_C : bool
        Whether its native form starts from the same rows at another C; the other native seeds lead
        from one fold to another.
    """

    name: str
    words: str
    starts_from: Literal["full", "fold", "C", "nothing"]
    python: MakeStart | None = None
    native: _core.Seed | None = None
    leads_along_C: bool = False

    @property
    def is_native_for_folds(self) -> bool:
        """Whether native code goes from fold to fold by it."""
        return self.native is not None and not self.leads_along_C


#: Every seed, by name.
REGISTRY: dict[str, Seed] = {}
#: The Python form of those that have one.
SEEDS: dict[str, MakeStart] = {}


def register(seed: Seed) -> None:
    """Enter a seed; a name can be taken only once."""
    if seed.name in REGISTRY:
        raise ValueError(f"There is a seed called {seed.name!r} already.")
    REGISTRY[seed.name] = seed
    if seed.python is not None:
        SEEDS[seed.name] = seed.python


def unregister(name: str) -> None:
    """Take a seed out again."""
    del REGISTRY[name]
    SEEDS.pop(name, None)


def native_fold_seeds() -> list[str]:
    """Seeds by which native code goes from one fold to another."""
    return [
        name
        for name, seed in REGISTRY.items()
        if seed.is_native_for_folds and seed.starts_from != "nothing"
    ]


def chain_seeds() -> list[str]:
    """Seeds by which native code goes from one C to the next."""
    return [name for name, seed in REGISTRY.items() if seed.leads_along_C]
