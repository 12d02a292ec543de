"""Run pieces of a benchmark in fresh processes, with threads and cores under control."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
CORE_VARIABLE = "ALPHAPATH_BENCHMARK_CORE"


class JobFailed(RuntimeError):
    """A benchmark process ended without a result."""


@dataclass(frozen=True)
class Runner:
    """Where jobs run: the interpreters, and the core that timed jobs are pinned to."""

    python: str = sys.executable
    peer_python: str | None = None
    core: int | None = None

    @staticmethod
    def default_core() -> int | None:
        """The last core this process may use; None where the system can not pin."""
        return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None

    def call(
        self, function: str, arguments: dict[str, Any], *, python: str | None = None, pin: bool
    ) -> Any:
        """Result of `module:function(**arguments)` in a fresh process with one thread.

        Pinning holds libraries to one core that do not listen to the thread variables (TBB).
        """
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
        if pin and self.core is not None:
            environment[CORE_VARIABLE] = str(self.core)
        with tempfile.TemporaryDirectory() as folder:
            job, result = Path(folder, "job.json"), Path(folder, "result.json")
            job.write_text(json.dumps({"function": function, "arguments": arguments}))
            done = subprocess.run(
                [python or self.python, "-m", "benchmarks.harness.worker", str(job), str(result)],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
            )
            if done.returncode != 0 or not result.exists():
                raise JobFailed(
                    f"{function} with {arguments} ended with {done.returncode}:\n"
                    f"{done.stderr[-4000:]}"
                )
            return json.loads(result.read_text())

    def interpreter_with(self, module: str) -> str | None:
        """The interpreter that can import `module`: ours first, then the one for peers."""
        for python in (self.python, self.peer_python):
            if python is None:
                continue
            done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, cwd=ROOT)
            if done.returncode == 0:
                return python
        return None


def touch_memory(gigabytes: float) -> None:
    """Job: write to that much memory and give it back to the system."""
    block = bytearray(1 << 26)
    pieces = [bytes(block) for _ in range(int(gigabytes * 1e9 / len(block)))]
    assert all(piece[-1] == 0 for piece in pieces)


def time_calls(
    call: Callable[[], Any], at_least: float = 0.5, at_most: int = 200
) -> dict[str, Any]:
    """Median seconds of a call; one call where it is long, repeated calls where it is short.

    The first of several calls is left out: it pays for page faults and lazy set-up.
    """
    start = perf_counter()
    value = call()
    first = perf_counter() - start
    if first >= at_least:
        return {"value": value, "seconds": first, "n_calls": 1}
    seconds: list[float] = []
    while sum(seconds) < at_least and len(seconds) < at_most:
        start = perf_counter()
        value = call()
        seconds.append(perf_counter() - start)
    return {"value": value, "seconds": median(seconds), "n_calls": len(seconds)}


def time_in_turns(
    calls: Sequence[Callable[[], Any]], at_least: float = 0.5, at_most: int = 200
) -> list[dict[str, Any]]:
    """As time_calls for each of the calls, round by round: what slows the machine for a while then
    slows all of them. A call drops out when it has had its time."""
    timed: list[dict[str, Any]] = []
    for call in calls:
        start = perf_counter()
        value = call()
        timed.append({"value": value, "first": perf_counter() - start, "all": []})
    waiting = [k for k in range(len(calls)) if timed[k]["first"] < at_least]
    while waiting:
        for k in waiting:
            start = perf_counter()
            calls[k]()
            timed[k]["all"].append(perf_counter() - start)
        waiting = [
            k for k in waiting if sum(timed[k]["all"]) < at_least and len(timed[k]["all"]) < at_most
        ]
    return [
        {
            "value": found["value"],
            "seconds": median(found["all"] or [found["first"]]),
            "n_calls": max(len(found["all"]), 1),
        }
        for found in timed
    ]


def peak_megabytes() -> float:
    """The largest resident size of this process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def resident_kilobytes() -> int:
    """The resident size of this process now, from the kernel's accounting."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024
