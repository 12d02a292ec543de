"""Estimators of this library in place of scikit-learn's own, alone or at the end of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .common.base import BaseSVM
from .common.declaration import MODELS, Declaration
from .common.problems import DEVICES


def declaration_of(estimator: Any) -> Declaration | None:
    """What an estimator, of this library or scikit-learn's, is; None for others."""
    model: Any = type(estimator) if is_own(estimator) else model_of_peer(estimator)
    return None if model is None else model._declaration


def is_own(estimator: Any) -> bool:
    """Whether an estimator is of a model of this library."""
    return hasattr(type(estimator), "_declaration")


def model_of_peer(estimator: Any) -> type[Any] | None:
    """The model of this library that an estimator of scikit-learn stands for."""
    peers = {model._declaration.peer: model for model in MODELS.values()}
    return next((peers[kind] for kind in type(estimator).__mro__ if kind in peers), None)


def is_peer(estimator: Any) -> bool:
    """Whether an estimator is of a class of scikit-learn with a model here, and of no subclass."""
    return any(type(estimator) is model._declaration.peer for model in MODELS.values())


def is_primal(estimator: Any) -> bool:
    """Whether an estimator is trained in the primal: its folds share no kernel matrix."""
    found = declaration_of(estimator)
    return found is not None and found.family in ("linear", "smooth")


def weight_of(estimator: Any) -> str:
    """The parameter that a chain of a search goes along."""
    found = declaration_of(estimator)
    return "C" if found is None or found.weight is None else found.weight


def on_device(estimator: Any, device: str | None) -> Any:
    """The estimator of this library on a device; None for the one it names itself."""
    if device is None:
        return estimator
    if device not in DEVICES:
        raise ValueError(f"device == {device!r}; it must be one of {', '.join(DEVICES)}, or None.")
    moved = clone(as_searched(estimator))
    if "gpu" not in moved._declaration.abilities:
        raise TypeError(f"{type(moved).__name__} has no device; leave out device={device!r}.")
    return moved.set_params(device=device)


def as_searched(estimator: Any, device: str | None = None) -> Any:
    """An estimator of this library, in the dual or in the primal, with the same parameters.

    On `device`, if given.
    """
    if device is not None:
        estimator = on_device(estimator, device)
    return convert(estimator) if is_primal(estimator) else as_own(estimator)


def as_own(estimator: Any) -> BaseSVM:
    """An estimator of this library with the same parameters, whose problems are dual ones."""
    found = declaration_of(estimator)
    if found is not None and found.family == "dual" and "folds" in found.abilities:
        own: BaseSVM = convert(estimator)
        return own
    raise TypeError(
        f"{type(estimator).__name__} can not be begun from another solution; supported are "
        f"{names_of('dual')} of alphapath and of sklearn.svm, {names_of('smooth')}. "
        f"cross_validate and SVMSearchCV also take {names_of('linear')}, and a Pipeline that ends "
        f"with an SVM. For "
        f"QuadraticLossSVC there is cross_validate_path, for OneClassMaxMinOver OneClassSearch; "
        f"for other estimators use sklearn.model_selection."
    )


def convert(estimator: Any) -> Any:
    """An estimator of a declared model as one of this library."""
    if is_own(estimator):
        return estimator
    model: Any = model_of_peer(estimator)
    return model.from_sklearn(clone(estimator))


def names_of(family: str) -> str:
    """The models of a family with folds, in words: classifiers first."""
    order = ("labels", "numbers", "ignored", "relevance")
    found = [model for model in MODELS.values() if model._declaration.family == family]
    found = [model for model in found if "folds" in model._declaration.abilities]
    found.sort(key=lambda model: order.index(model._declaration.targets))
    names = [model.__name__ for model in found]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
