"""Estimators of this library in place of scikit-learn's own, alone or at the end of a pipeline."""

from __future__ import annotations

from typing import Any

from sklearn import svm
from sklearn.base import clone

from .common.base import BaseSVM
from .common.problems import DEVICES
from .linear_svc import LinearSVC
from .one_class_svm import OneClassSVM
from .smooth import BaseSmooth
from .svc import SVC
from .svr import SVR

OWN: dict[Any, type[SVC] | type[SVR] | type[OneClassSVM]] = {
    svm.SVC: SVC,
    svm.SVR: SVR,
    svm.OneClassSVM: OneClassSVM,
}
#: Models trained in the primal, and the peer of one.
PRIMAL = (BaseSmooth, LinearSVC, svm.LinearSVC)


def on_device(estimator: Any, device: str | None) -> Any:
    """The estimator of this library on a device; None for the one it names itself."""
    if device is None:
        return estimator
    if device not in DEVICES:
        raise ValueError(f"device == {device!r}; it must be one of {', '.join(DEVICES)}, or None.")
    moved = clone(as_searched(estimator))
    if "device" not in moved.get_params():
        raise TypeError(f"{type(moved).__name__} has no device; leave out device={device!r}.")
    return moved.set_params(device=device)


def as_searched(estimator: Any, device: str | None = None) -> Any:
    """An estimator of this library, in the dual or in the primal, with the same parameters.

    On `device`, if given.
    """
    if device is not None:
        estimator = on_device(estimator, device)
    if isinstance(estimator, svm.LinearSVC):
        return LinearSVC.from_sklearn(clone(estimator))
    return estimator if isinstance(estimator, PRIMAL) else as_own(estimator)


def as_own(estimator: Any) -> BaseSVM:
    """An estimator of this library with the same parameters."""
    if isinstance(estimator, BaseSVM):
        return estimator
    for peer, own in OWN.items():
        if isinstance(estimator, peer):
            converted: BaseSVM = own.from_sklearn(clone(estimator))
            return converted
    raise TypeError(
        f"{type(estimator).__name__} can not be begun from another solution; supported are SVC, "
        f"SVR and OneClassSVM of alphapath and of sklearn.svm, SmoothSVC and SmoothSVR. "
        f"cross_validate and SVMSearchCV also take LinearSVC, and a Pipeline that ends with an "
        f"SVM. For "
        f"QuadraticLossSVC there is cross_validate_path, for OneClassMaxMinOver OneClassSearch; "
        f"for other estimators use sklearn.model_selection."
    )
