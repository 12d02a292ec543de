"""Paths: the exact solution followed while instances come and go, and while weights move."""

from __future__ import annotations

from .incremental import Change, Decrement, Updater
from .path import Path
from .quadratic_path import LambdaPath, lambda_path
from .quadratic_validation import StepCurve
from .transduction import Transduction, transduce
from .validation import ValidationCurve
from .walker import PathStatus, Place, Walker, polish
from .weighting import importance_weights, residual_weights, time_weights
from .weights import c_path, weight_path

__all__ = [
    "Change",
    "Decrement",
    "LambdaPath",
    "Path",
    "PathStatus",
    "Place",
    "StepCurve",
    "Transduction",
    "Updater",
    "ValidationCurve",
    "Walker",
    "c_path",
    "importance_weights",
    "lambda_path",
    "polish",
    "residual_weights",
    "time_weights",
    "transduce",
    "weight_path",
]
