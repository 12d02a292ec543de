"""LIBSVM's models and others, as scikit-learn estimators."""

from __future__ import annotations

from .linear_svc import LinearSVC
from .margin_monitor import MarginMonitor
from .one_class_maxminover import OneClassMaxMinOver
from .one_class_svm import OneClassSVM
from .quadratic_loss_svc import QuadraticLossSVC
from .rank_svm import RankSVM
from .smooth import SmoothSVC, SmoothSVR
from .svc import SVC
from .svr import SVR
from .transductive_svc import TransductiveSVC

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
