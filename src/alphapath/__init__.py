"""alphapath: exact and fast SVM model selection; every problem starts from the last solution."""

from __future__ import annotations

from .certificate import Certificate, certify
from .problem import Problem, Start
from .solution import Info, Solution, Status

__all__ = ["Certificate", "Info", "Problem", "Solution", "Start", "Status", "certify"]
