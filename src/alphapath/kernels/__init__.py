"""Kernels, and the store that computes their matrices once for every problem on the same data."""

from __future__ import annotations

from .base import Kernel
from .callable import Callable
from .linear import Linear
from .pair_differences import LinearRows, PairView, pairs_within
from .policy import Layout, choose_layout, parse_memory_limit
from .poly import Poly
from .precomputed import Precomputed
from .rbf import Rbf
from .sigmoid import Sigmoid
from .store import Counts, KernelStore, KernelView

#: One class a kernel, by the name scikit-learn gives it.
KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, Rbf, Poly, Sigmoid, Precomputed, Callable)
}

__all__ = [
    "KERNELS",
    "Callable",
    "Counts",
    "Kernel",
    "KernelStore",
    "KernelView",
    "Layout",
    "Linear",
    "LinearRows",
    "PairView",
    "Poly",
    "Precomputed",
    "Rbf",
    "Sigmoid",
    "choose_layout",
    "pairs_within",
    "parse_memory_limit",
]
