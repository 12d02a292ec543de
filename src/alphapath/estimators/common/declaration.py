"""What each public model says it is; all listings of models are derived from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

T = TypeVar("T", bound=type)


class LibsvmType(NamedTuple):
    """A model in LIBSVM: the number of its option -s and its name in model files."""

    number: int
    name: str


@dataclass(frozen=True)
class Declaration:
    """What a model is, and what it can do.

    Parameters
    ----------
    targets : {"labels", "numbers", "ignored", "relevance"}
        What y is.
    family : {"dual", "linear", "smooth", "ridge", "pairs", "transduction"}
        Which problems it makes; searches and folds go by it.
    weight : str or None
        The parameter that multiplies the losses, along which a search goes.
    peer : type or None
        scikit-learn's class with the same model, which conversions take and give.
    libsvm : LibsvmType or None
        The type under which LIBSVM's model files hold it.
    command : str or None
        Its name for the option -s of the commands.
    abilities : set of str
        "folds" (cross-validation and searches), "path" (the path along C), "updates" (rows that
        come and go), "gpu" (a parameter `device`), "file" (reads a LIBSVM model file).
    """

    targets: Literal["labels", "numbers", "ignored", "relevance"]
    family: Literal["dual", "linear", "smooth", "ridge", "pairs", "transduction"]
    weight: str | None = "C"
    peer: type | None = None
    libsvm: LibsvmType | None = None
    command: str | None = None
    abilities: frozenset[str] = frozenset()


#: Every public model, by the name of its class.
MODELS: dict[str, type[Any]] = {}


def declares(declaration: Declaration) -> Callable[[T], T]:
    """The decorator by which a class states what it is; subclasses inherit it."""

    def enter(model: T) -> T:
        if model.__name__ in MODELS:
            raise ValueError(f"There is a model called {model.__name__} already.")
        model._declaration = declaration  # type: ignore[attr-defined]
        model._targets = declaration.targets  # type: ignore[attr-defined]
        MODELS[model.__name__] = model
        return model

    return enter


def models_by_file_type() -> dict[str, type[Any]]:
    """The models that read LIBSVM's model files, by the type that the file names."""
    found = {
        model._declaration.libsvm.name: model
        for model in MODELS.values()
        if "file" in model._declaration.abilities
    }
    return dict(sorted(found.items()))


def models_by_command() -> dict[str, type[Any]]:
    """The models that commands offer, by the name of their option -s, in LIBSVM's order."""
    found = [model for model in MODELS.values() if model._declaration.command is not None]
    found.sort(key=lambda model: model._declaration.libsvm.number)
    return {model._declaration.command: model for model in found}
