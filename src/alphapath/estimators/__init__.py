"""LIBSVM's models and others as scikit-learn estimators."""

from __future__ import annotations

from .linear import LinearSVC
from .margin_monitor import MarginMonitor
from .maxminover import OneClassMaxMinOver
from .one_class import OneClassSVM
from .quadratic_loss import QuadraticLossSVC
from .rank import RankSVM
from .smooth import SmoothSVC, SmoothSVR
from .svc import SVC
from .svr import SVR
from .transductive import TransductiveSVC

__all__ = [
    "SVC",
    "SVR",
    "LinearSVC",
    "MarginMonitor",
    "OneClassMaxMinOver",
    "OneClassSVM",
    "QuadraticLossSVC",
    "RankSVM",
    "SmoothSVC",
    "SmoothSVR",
    "TransductiveSVC",
]
