"""A process ends as its main thread does, whatever its other threads are in the middle of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import alphapath

PRELUDE = """
import os, signal, sys, threading, time, warnings
import joblib
import numpy as np
from alphapath import SVC, LinearSVC, _core
from alphapath.model_selection import SVMSearchCV

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 20))
y = np.sign(rng.normal(size=1500))
"""

#: A daemon thread for each kind of native call; Python code that they call back is one of them.
DAEMONS = """
begun = []

def forever(work):
    begun.append(work)
    while True:
        work()

works = [
    lambda: SVC(C=100.0, gamma=0.05).fit(X, y),
    lambda: SVC(C=0.1, gamma=0.05).fit(X[:60], y[:60]).predict(X),
    lambda: LinearSVC(C=10.0).fit(X, y),
    lambda: SVC(kernel=lambda a, b: a @ b.T).fit(X[:200], y[:200]),
    lambda: SVMSearchCV(SVC(), {"C": [1.0, 10.0]}).fit(X[:300], y[:300]),
]
sys.setswitchinterval(1e-4)
for work in works:
    threading.Thread(target=forever, args=(work,), daemon=True).start()
while len(begun) < len(works):
    time.sleep(0.01)
time.sleep(0.5)
"""

#: Ctrl-C reaches the main thread; those of the backend are inside native code.
INTERRUPTED = """
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
with joblib.parallel_config("threading", n_jobs=3):
    try:
        SVMSearchCV(SVC(C=100.0), {"gamma": np.logspace(-3, 1, 200)}).fit(X, y)
    except KeyboardInterrupt:
        sys.exit(3)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(alphapath.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=120, env=env
    )


@pytest.mark.parametrize("code", [DAEMONS, INTERRUPTED + "sys.exit(4)"], ids=["daemons", "Ctrl-C"])
def test_threads_in_native_code_end_with_the_process(code: str) -> None:
    done = run(code)
    assert done.stderr == ""
    assert done.returncode == (0 if code is DAEMONS else 3)


def test_an_ordinary_process_leaves_no_objects_behind() -> None:
    done = run("_core.warn_of_leaks(True)\nSVC().fit(X[:100], y[:100]).predict(X)\nprint('done')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
