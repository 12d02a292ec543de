"""Where a model's kernel lives: the processor, or a GPU."""

from __future__ import annotations

from typing import Any

from ...gpu import DeviceStore, has_gpu
from ...kernels import KernelStore

DEVICES = ("cpu", "cuda", "auto")

#: "auto" stays on the processor for fewer rows.
SMALLEST = 10_000


def make_store(
    X: Any, memory_limit: Any, device: str, *, n_threads: int = 1, defers_rows: bool = False
) -> KernelStore | DeviceStore:
    """The store of X on the device that `device` names.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
    memory_limit : int, str or None
        Bytes for kernels on that device.
    device : {"cpu", "cuda", "auto"}
        "auto" takes the GPU for 10,000 rows or more where there is one.
    n_threads, defers_rows
        As in KernelStore.
    """
    if is_on_gpu(device, X.shape[0]):
        return DeviceStore(X, memory_limit=memory_limit)
    return KernelStore(X, memory_limit=memory_limit, n_threads=n_threads, defers_rows=defers_rows)


def is_on_gpu(device: str, n: int) -> bool:
    """Whether `device` means the GPU for n rows."""
    return device == "cuda" or (device == "auto" and n >= SMALLEST and has_gpu())
