"""Problems, their solutions and the optimality conditions: the values used by all other rooms."""

from __future__ import annotations

from .box_problem import FloatArray, KernelView, Problem, Start
from .certificate import Certificate, MarginCertificate, certify, certify_margin
from .margin_problem import MarginProblem
from .solution import Info, MarginSolution, Solution, Status

__all__ = [
    "Certificate",
    "FloatArray",
    "Info",
    "KernelView",
    "MarginCertificate",
    "MarginProblem",
    "MarginSolution",
    "Problem",
    "Solution",
    "Start",
    "Status",
    "certify",
    "certify_margin",
]
