"""Kernels, and the store that computes their matrices once for every problem on the same data."""

from __future__ import annotations

from .base import KERNELS, Kernel
from .callable import Callable
from .linear import Linear
from .pair_differences import PairView, pairs_within
from .policy import parse_memory_limit
from .poly import Poly
from .precomputed import Precomputed
from .rbf import Rbf
from .sigmoid import Sigmoid
from .store import KernelStore, KernelView

__all__ = [
    "KERNELS",
    "Callable",
    "Kernel",
    "KernelStore",
    "KernelView",
    "Linear",
    "PairView",
    "Poly",
    "Precomputed",
    "Rbf",
    "Sigmoid",
    "pairs_within",
    "parse_memory_limit",
]
