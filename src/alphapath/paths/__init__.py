"""Exact solution paths, as instances are added or removed and as weights change."""

from __future__ import annotations

from .incremental import Change
from .path import Path
from .quadratic.analytic_curve import AnalyticCurve
from .quadratic.follow import lambda_path
from .quadratic.path import LambdaPath
from .ranking.follow import rank_c_path, rank_weight_path
from .ranking.ndcg import NdcgCurve, ndcg
from .ranking.path import RankPath
from .sample_weights import importance_weights, residual_weights, time_weights
from .transduction import Transduction, transduce
from .validation_curve import ValidationCurve
from .walker import PathStatus, Place, polish
from .weights import c_path, weight_path

__all__ = [
    "AnalyticCurve",
    "Change",
    "LambdaPath",
    "NdcgCurve",
    "Path",
    "PathStatus",
    "Place",
    "RankPath",
    "Transduction",
    "ValidationCurve",
    "c_path",
    "importance_weights",
    "lambda_path",
    "ndcg",
    "polish",
    "rank_c_path",
    "rank_weight_path",
    "residual_weights",
    "time_weights",
    "transduce",
    "weight_path",
]
