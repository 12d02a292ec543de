"""Estimators of this library in place of scikit-learn's own."""

from __future__ import annotations

from typing import Any

from sklearn import svm
from sklearn.base import clone

from .base import BaseSVM
from .one_class import OneClassSVM
from .svc import SVC
from .svr import SVR

OWN: dict[Any, type[BaseSVM]] = {svm.SVC: SVC, svm.SVR: SVR, svm.OneClassSVM: OneClassSVM}


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
        f"SVR and OneClassSVM of alphapath and of sklearn.svm (for SVMSearchCV also as the last "
        f"step of a Pipeline). For other estimators use sklearn.model_selection."
    )
