"""LIBSVM's models as scikit-learn estimators."""

from __future__ import annotations

from .one_class import OneClassSVM
from .svc import SVC
from .svr import SVR

__all__ = ["SVC", "SVR", "OneClassSVM"]
