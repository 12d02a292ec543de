"""Searches killed at random moments: resumed they give the same bits, and little is done twice.

    python -m tests.fuzz.kills --kills 200

A search is serial, or has workers that are processes or threads; its chains stand alone or are
linked; it is a script or the command. A signal goes to the process, to its group as Ctrl-C in a
terminal does, or to one worker. The processes are forked from this one, which has imported what
they need and is otherwise idle.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.datasets import dump_svmlight_file, make_classification

from alphapath import SVC, cli
from alphapath.model_selection import SVMSearchCV, search_cv
from alphapath.model_selection.grid.work import SearchWork

N_WORKERS = 2
#: Seconds after which a search that was not killed counts as hung.
PATIENCE = 120.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
#: What the death of native code or of nanobind would print.
FORBIDDEN = ("terminate called", "nanobind", "Aborted", "Fatal", "not rethrown", "core dumped")


@dataclass(frozen=True)
class Kind:
    """One way to run a search."""

    backend: str
    is_linked: bool
    is_command: bool

    def __str__(self) -> str:
        words = (self.backend, "linked" if self.is_linked else "plain")
        return " ".join((*words, "command" if self.is_command else "script"))

    @property
    def n_workers(self) -> int:
        return 1 if self.backend == "serial" else N_WORKERS


KINDS = [
    Kind(backend, is_linked, is_command)
    for is_command in (False, True)
    for backend in ("serial", "threading", "loky")
    for is_linked in (False, True)
    if not (is_command and (is_linked or backend == "threading"))
]


class LoggedWork:
    """The work of a search, which writes down every chain that is begun."""

    def __init__(self, work: Any, log: str) -> None:
        self.work, self.log, self.n_threads = work, log, work.n_threads

    def __call__(self, chain: Any, neighbour: Any) -> Any:
        with open(self.log, "a") as file:
            file.write(f"{chain.key}\n")
        return self.work(chain, neighbour)


# -- what a killed process does


def run_search(kind: Kind, folder: Path, journal: Path | None) -> int:
    """In a forked process: the search, to its end; the results are in `folder`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = str(folder / "log")
    search_cv.SearchWork = lambda setting: LoggedWork(SearchWork(setting), log)
    if kind.is_command:
        os.chdir(folder)
        given = ["search", "data.svm", "--log2c=-3,7,2", "--log2g=-8,0,1", "--json", "results"]
        given += [] if journal is None else ["--journal", str(journal)]
        given += [] if kind.backend == "serial" else ["--n-jobs", str(N_WORKERS)]
        sys.argv[1:] = given
        cli.run_process()
    X, y = make_data()
    C = [100.0] if kind.is_linked else 2.0 ** np.arange(-3, 8, 2)
    grid = {"C": C, "gamma": 2.0 ** np.linspace(-8, 0, 24)}
    plan = "linked_kernels" if kind.is_linked else "along_c"
    search = SVMSearchCV(SVC(), grid, cv=4, plan=plan, refit=False, journal=journal)
    if kind.backend == "serial":
        search.fit(X, y)
    else:
        with joblib.parallel_config(kind.backend, n_jobs=N_WORKERS):
            search.fit(X, y)
    found = {key: np.asarray(value).tolist() for key, value in search.cv_results_.items()}
    (folder / "results").write_text(json.dumps({"cv_results": found}))
    return 0


def make_data() -> tuple[Any, Any]:
    data: tuple[Any, Any] = make_classification(
        700, 12, n_informative=5, flip_y=0.2, random_state=0
    )
    return data


# -- who kills it


class Child:
    """A search in a process of its own, and what it wrote to its standard error stream."""

    def __init__(self, kind: Kind, folder: Path, journal: Path | None) -> None:
        self.errors = folder / "errors"
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            file = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            # Not os._exit: how the interpreter ends is what is looked at.
            sys.exit(run_search(kind, folder, journal))
        self.code: int | None = None

    def poll(self) -> bool:
        """Whether it has ended."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self.poll():
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def workers(self) -> list[int]:
        """Those processes of its group that solve chains."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                is_worker = b"popen_loky" in (place / "cmdline").read_bytes()
                if is_worker and os.getpgid(int(place.name)) == self.pid:
                    found.append(int(place.name))
            except OSError:
                continue
        return found

    def end_group(self) -> None:
        """As a supervisor would: nothing of it goes on."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


class Killer:
    """Kills searches of one kind, and checks what is left."""

    def __init__(self, kind: Kind, folder: Path, rng: np.random.Generator) -> None:
        self.kind, self.folder, self.rng = kind, folder, rng
        dump_svmlight_file(*make_data(), str(folder / "data.svm"), zero_based=False)
        begin = time.monotonic()
        self.complete(None)
        self.seconds = time.monotonic() - begin
        self.expected = self.results()
        self.n_chains = len(self.begun())
        self.n_kills = self.n_again = 0
        self.faults: list[str] = []
        self.ends: Counter[str] = Counter()

    def begun(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().split() if log.exists() else []

    def results(self) -> dict[str, Any]:
        found = json.loads((self.folder / "results").read_text())["cv_results"]
        return {key: value for key, value in found.items() if "_time" not in key}

    def complete(self, journal: Path | None) -> None:
        (self.folder / "results").unlink(missing_ok=True)
        child = Child(self.kind, self.folder, journal)
        is_over = child.wait(PATIENCE)
        child.end_group()
        if not is_over or child.code != 0:
            raise SystemExit(f"{self.kind}: {child.code}: {child.errors.read_text()}")

    def kill_and_resume(self, n_kills: int) -> None:
        """One search, killed so often, and the end of it."""
        journal = self.folder / "search.db"
        for file in (*self.folder.glob("search.db*"), self.folder / "log"):
            file.unlink(missing_ok=True)
        n_lost = sum(self.kill(journal) for _ in range(n_kills))
        self.complete(journal)
        found = self.results()
        if found != self.expected:
            what = first_difference(found, self.expected)
            self.faults.append(f"the results have other bits: {what}")
        n_again = len(self.begun()) - self.n_chains
        self.n_again += n_again
        if len(set(self.begun())) != self.n_chains or n_again > n_lost:
            self.faults.append(f"{n_again} chains solved again after the loss of {n_lost} workers")

    def kill(self, journal: Path) -> int:
        """One run and a signal to it; returns how many workers that may have cost their chain."""
        child = Child(self.kind, self.folder, journal)
        number = SIGNALS[int(self.rng.integers(len(SIGNALS)))]
        is_over = child.wait(float(self.rng.uniform(0.0, 1.0)) * self.seconds)
        whom = str(self.rng.choice(["process", "group", "worker"]))
        workers = child.workers()
        if whom == "worker" and not workers:
            whom = "process"
        self.n_kills += 1
        if not is_over:
            self.send(child, number, whom, workers)
        if not child.wait(PATIENCE):
            self.faults.append(f"hung after {number.name} to its {whom}")
        child.end_group()
        self.ends[f"{number.name} {child.code}"] += 1
        text = child.errors.read_text()
        expected = {0} if whom == "worker" or is_over else {0, -number}
        if self.kind.is_command:  # -number before it has begun, and as the interpreter ends
            expected.add(128 + number)
        is_clean = not any(word in text for word in FORBIDDEN)
        is_clean &= "Traceback" not in text or not self.kind.is_command
        if child.code not in expected or not is_clean:
            self.faults.append(f"{number.name} to its {whom}: exit code {child.code}: {text}")
        return 1 if whom == "worker" else self.kind.n_workers

    def send(self, child: Child, number: signal.Signals, whom: str, workers: list[int]) -> None:
        places: dict[str, Callable[[], None]] = {
            "process": lambda: os.kill(child.pid, number),
            "group": lambda: os.killpg(child.pid, number),
            "worker": lambda: os.kill(int(self.rng.choice(workers)), signal.SIGKILL),
        }
        try:
            places[whom]()
        except ProcessLookupError:
            return


def first_difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    for name in sorted({*found, *expected}):
        one, other = found.get(name), expected.get(name)
        if one is None or other is None or len(one) != len(other):
            return f"{name} is {one!r:.80}, where it was {other!r:.80}"
        for k, pair in enumerate(zip(one, other, strict=True)):
            if pair[0] != pair[1]:
                return f"{name}[{k}] is {pair[0]!r:.80}, where it was {pair[1]!r:.80}"
    return "none"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="signals in all (default 200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="only kinds whose name has these words")
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if options.kind in str(kind)]
    each = -(-options.kills // len(kinds))
    n_faults = n_kills = n_again = 0
    for number, kind in enumerate(kinds):
        # Without `with`: a forked process unwinds the stack too, and must not remove it.
        folder = tempfile.mkdtemp()
        killer = Killer(kind, Path(folder), np.random.default_rng([options.seed, number]))
        while killer.n_kills < each:
            killer.kill_and_resume(min(int(killer.rng.integers(1, 5)), each - killer.n_kills))
        shutil.rmtree(folder)
        ends = ", ".join(f"{count} {end}" for end, count in sorted(killer.ends.items()))
        print(
            f"{kind}: {killer.n_kills} kills of {killer.n_chains} chains ({ends}), "
            f"{killer.n_again} chains solved again, {len(killer.faults)} faults",
            flush=True,
        )
        for fault in killer.faults:
            print(f"    {fault}", flush=True)
        n_kills, n_again = n_kills + killer.n_kills, n_again + killer.n_again
        n_faults += len(killer.faults)
    print(f"{n_kills} kills, {n_again} chains solved again, {n_faults} faults")
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
