"""Paths: the exact solution followed while instances come and go, and while weights move."""

from __future__ import annotations

from .analytic_curve import AnalyticCurve
from .follow_lambda import lambda_path
from .incremental import Change, Decrement, Terms, Updater
from .ndcg import NdcgCurve, ndcg
from .path import Path
from .quadratic_path import LambdaPath
from .rank_path import RankPath
from .ranking import rank_c_path, rank_weight_path
from .transduction import Transduction, transduce
from .validation import ValidationCurve
from .walker import PathStatus, Place, Walker, polish
from .weighting import importance_weights, residual_weights, time_weights
from .weights import c_path, weight_path

__all__ = [
    "AnalyticCurve",
    "Change",
    "Decrement",
    "LambdaPath",
    "NdcgCurve",
    "Path",
    "PathStatus",
    "Place",
    "RankPath",
    "Terms",
    "Transduction",
    "Updater",
    "ValidationCurve",
    "Walker",
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
