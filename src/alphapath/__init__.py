"""alphapath: exact and fast SVM model selection; every problem starts from the last solution."""

from __future__ import annotations

from .certificate import Certificate, certify
from .estimators import (
    SVC,
    SVR,
    LinearSVC,
    MarginMonitor,
    OneClassMaxMinOver,
    OneClassSVM,
    QuadraticLossSVC,
    RankSVM,
    SmoothSVC,
    SmoothSVR,
    TransductiveSVC,
)
from .paths.ndcg import ndcg
from .problem import Problem, Start
from .solution import Info, Solution, Status
from .version import __version__

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "Info",
    "LinearSVC",
    "MarginMonitor",
    "OneClassMaxMinOver",
    "OneClassSVM",
    "Problem",
    "QuadraticLossSVC",
    "RankSVM",
    "SmoothSVC",
    "SmoothSVR",
    "Solution",
    "Start",
    "Status",
    "TransductiveSVC",
    "__version__",
    "certify",
    "ndcg",
]
