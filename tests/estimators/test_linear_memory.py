"""What a fit needs beside its data: no dense copy of sparse rows, and few numbers a row."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import resource, sys
import numpy as np
import scipy.sparse as sp
from alphapath import LinearSVC

rng = np.random.default_rng(0)
n, d, per_row = 20_000, 50_000, 5
columns = np.sort(rng.integers(0, d // per_row, (n, per_row)) + d // per_row * np.arange(per_row))
values = rng.normal(size=n * per_row).astype(np.float32)
X = sp.csr_array((values, columns.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
y = np.where(X @ rng.normal(size=d) > 0.0, 1, -1)
LinearSVC().fit(X[:10], [0, 1] * 5)
with open("/proc/self/status") as status:
    (line,) = (line for line in status if line.startswith("VmSize:"))
room = 1024 * int(line.split()[1]) + 10**9  # a dense copy takes 4 GB
resource.setrlimit(resource.RLIMIT_AS, (room, room))
for loss, solver in (
    ("squared_hinge", "newton"), ("hinge", "dual"), ("huber", "gradient"), ("hinge", "pegasos")
):
    model = LinearSVC(loss, C=0.1, solver=solver, tol=1e-2, max_iter=100, random_state=0)
    assert model.fit(X, y).coef_.shape == (1, d)
try:
    X.toarray()
except MemoryError:
    print("no room for a dense copy")
"""

#: Short rows, where a number a row weighs most: 12 values of 54, as in covtype. Every fit is in a
#: process of its own, forked where the data lie ready, whose peak begins at what it has then. Small
#: pages only, so that no array is rounded up to the next two megabytes.
MEASURING_CHILD = """
import ctypes, os
import numpy as np
import scipy.sparse as sp
from alphapath import LinearSVC

libc = ctypes.CDLL(None)
assert libc.prctl(41, 1, 0, 0, 0) == 0  # PR_SET_THP_DISABLE

def status_bytes(name):
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(name + ":"))
    return 1024 * int(line.split()[1])

rng = np.random.default_rng(0)
n, d, per_row = 400_000, 54, 12
columns = np.empty((n, per_row), dtype=np.int32)
columns[:, :10] = np.arange(10)  # ten numbers and two categories
columns[:, 10], columns[:, 11] = rng.integers(10, 14, n), rng.integers(14, d, n)
values = np.ones((n, per_row), dtype=np.float32)
values[:, :10] = rng.random((n, 10), dtype=np.float32)
starts = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
X = sp.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(n, d))
y = np.where(X @ rng.normal(size=d) + 2.0 * rng.normal(size=n) > 0.0, 1, -1)
size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
models = {
    "squared_hinge": LinearSVC(),
    "hinge, newton": LinearSVC("hinge", solver="newton", tol=1e-2),
    "hinge, auto": LinearSVC("hinge", tol=1e-2),
    "hinge, dual": LinearSVC("hinge", solver="dual", max_iter=5),
    "huber, gradient": LinearSVC("huber", lam=1e-6, solver="gradient", max_iter=100),
    "hinge, pegasos": LinearSVC("hinge", solver="pegasos", random_state=0),
}
for name, model in models.items():
    child = os.fork()
    if child == 0:
        for warm in (LinearSVC(), model):
            warm.fit(X[:100], y[:100])  # what is loaded once
        libc.malloc_trim(0)  # so that nothing hides in memory that was freed
        before = status_bytes("VmRSS")
        model.fit(X, y)
        print(f"{name}:{(status_bytes('VmHWM') - before) / size}", flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_a_fit_needs_half_the_size_of_sparse_data() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURING_CHILD], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = (line.split(":") for line in done.stdout.splitlines())
    needed = {name: float(share) for name, share in lines}
    assert len(needed) == 6
    assert {name: share for name, share in needed.items() if not 0.05 < share < 0.5} == {}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_no_solver_makes_a_dense_copy() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "no room for a dense copy\n"
