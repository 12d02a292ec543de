"""alphapath: exact and fast SVM model selection; solves are warm-started from one another."""

from __future__ import annotations

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
from .paths.ranking.ndcg import ndcg
from .problem.box_problem import Problem, Start
from .problem.certificate import Certificate, certify
from .problem.solution import Info, Solution, Status
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
