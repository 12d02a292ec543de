"""Problems, their solutions, and what an optimum must satisfy: the nouns of all other rooms."""

from __future__ import annotations

from .box_problem import FloatArray, KernelView, Problem, Start
from .certificate import Certificate, certify
from .margin_certificate import MarginCertificate, certify_margin
from .margin_problem import MarginProblem
from .margin_solution import MarginSolution
from .solution import Info, Solution, Status

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
