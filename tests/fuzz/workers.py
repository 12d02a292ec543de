"""Cases in worker processes: a hang or a crash costs its own case, and names its seed."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from . import cases, registry
from .cases import Result

#: What a worker may take to import the fuzzer beforehand.
START_LIMIT = 300.0


def serve(pipe: Connection, name: str) -> None:
    """The life of a worker: seeds in, (outcome, message, processor seconds) out."""
    fuzzer = registry.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fuzzer.prepare()
    pipe.send("ready")
    while True:
        seed = pipe.recv()
        if seed is None:
            return
        begin = time.process_time()
        outcome, message = cases.run(fuzzer.run_case, seed)
        pipe.send((outcome, message, time.process_time() - begin))


@dataclass
class Worker:
    """A process, the seed that it works on, and when that must be done."""

    process: Any
    pipe: Connection
    deadline: float
    seed: int | None = None

    @classmethod
    def start(cls, name: str) -> Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, name), daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours, time.monotonic() + START_LIMIT)

    def give(self, seed: int, time_limit: float) -> None:
        self.seed, self.deadline = seed, time.monotonic() + time_limit
        self.pipe.send(seed)

    def stop(self) -> int | None:
        """End the process, and give its exit code."""
        self.pipe.close()
        self.process.join(0.5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        code: int | None = self.process.exitcode
        return code


def run_cases(
    name: str, seeds: Iterable[int], *, n_workers: int = 1, time_limit: float | None = None
) -> Iterator[Result]:
    """Results in the order in which the cases end; a worker that hangs or dies is replaced.

    Without `time_limit` cases have that of the fuzzer.
    """
    if time_limit is None:
        time_limit = registry.load(name).time_limit
    left = iter(seeds)
    workers = [Worker.start(name) for _ in range(n_workers)]
    try:
        while workers:
            patience = min(worker.deadline for worker in workers) - time.monotonic()
            ready = wait([worker.pipe for worker in workers], timeout=max(0.0, patience))
            for worker in list(workers):
                # A new worker's start may have taken the time in which this one answered.
                has_answer = worker.pipe in ready or worker.pipe.poll()
                if not has_answer and worker.deadline > time.monotonic():
                    continue
                result, is_alive = _take_answer(worker, time_limit, has_answer)
                if result is not None:
                    yield result
                seed = next(left, None)
                if not is_alive:
                    workers.remove(worker)
                    if seed is not None:
                        worker = Worker.start(name)
                        workers.append(worker)
                        worker.pipe.recv()
                if seed is not None:
                    worker.give(seed, time_limit)
                elif is_alive:
                    worker.pipe.send(None)
                    workers.remove(worker)
                    worker.stop()
    finally:
        for worker in workers:
            worker.process.kill()
            worker.stop()


def _take_answer(worker: Worker, time_limit: float, has_answer: bool) -> tuple[Result | None, bool]:
    """What became of the worker's case, and whether the worker lives on."""
    seed = worker.seed
    if not has_answer:
        worker.process.kill()
        worker.stop()
        if seed is None:
            raise RuntimeError(f"A worker did not start within {START_LIMIT:g} seconds.")
        return Result(seed, "hung", f"took more than {time_limit:g} seconds", time_limit), False
    try:
        answer = worker.pipe.recv()
    except EOFError:
        code = worker.stop()
        if seed is None:
            text = f"A worker ended with exit code {code} before its first case."
            raise RuntimeError(text) from None
        return Result(seed, "crashed", f"the process ended with exit code {code}"), False
    if seed is None:
        return None, True
    outcome, message, seconds = answer
    return Result(seed, outcome, message, seconds), True
