"""Paths: the exact solution followed while instances come and go, and while weights move."""

from __future__ import annotations

from .incremental import Change, Updater
from .quadratic_path import LambdaPath, lambda_path
from .quadratic_validation import StepCurve
from .walker import PathStatus, Place, Walker, polish

__all__ = [
    "Change",
    "LambdaPath",
    "PathStatus",
    "Place",
    "StepCurve",
    "Updater",
    "Walker",
    "lambda_path",
    "polish",
]
