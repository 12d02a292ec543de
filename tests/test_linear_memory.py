"""Sparse data stay sparse: fits in a process that has no room for a dense copy."""

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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_no_solver_makes_a_dense_copy() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "no room for a dense copy\n"
