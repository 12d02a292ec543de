"""All problems on one kernel at once, on a GPU. CuPy is asked for only when a device is used."""

from __future__ import annotations

from .store import DEVICES, DeviceStore, DeviceView, has_gpu, is_on_gpu, make_store

__all__ = ["DEVICES", "DeviceStore", "DeviceView", "has_gpu", "is_on_gpu", "make_store"]
