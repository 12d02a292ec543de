"""All problems on one kernel at once, on a GPU. CuPy is imported only when a device is used."""

from __future__ import annotations

from .cuda import has_gpu
from .store import DeviceStore, DeviceView

__all__ = ["DeviceStore", "DeviceView", "has_gpu"]
