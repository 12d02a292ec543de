"""python -m tests.fuzz [NAME ...]: run fuzzers; exit code 1 where a case fails."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator

from . import cases, registry, workers

#: Failures whose sentences are printed; the others are counted.
MOST_PRINTED = 20


def main() -> int:
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # read when numpy is imported
        os.environ.setdefault(variable, "1")
    names = registry.fuzzer_names()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", nargs="*", choices=[*names, []], help="fuzzers; all if none")
    parser.add_argument("--cases", type=int, default=500, help="cases of each (default 500)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--seconds", type=float, help="stop a fuzzer after so much time")
    parser.add_argument("--case", type=int, help="run the case of this seed alone, in this process")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--limit", type=float, help="seconds a case (default: the fuzzer's)")
    parser.add_argument("--list", action="store_true", help="say what fuzzers there are")
    options = parser.parse_args()
    chosen = options.name or names
    if options.list:
        for name in chosen:
            print(f"{name:<20} {registry.load(name).title}")
        return 0
    if options.case is not None:
        return max(run_one(name, options.case) for name in chosen)
    return max(run_many(name, options) for name in chosen)


def run_one(name: str, seed: int) -> int:
    outcome, message = cases.run(registry.load(name).run_case, seed)
    print(f"{name} {seed}: {outcome}{f': {message}' if message else ''}")
    return int(outcome == "failed")


def run_many(name: str, options: argparse.Namespace) -> int:
    begin = time.monotonic()
    seeds: Iterator[int] = iter(range(options.seed, options.seed + options.cases))
    if options.seconds is not None:
        end = begin + options.seconds
        seeds = itertools.takewhile(lambda _: time.monotonic() < end, seeds)
    counts: Counter[str] = Counter()
    seconds, slowest, n_failures = 0.0, 0.0, 0
    done = workers.run_cases(name, seeds, n_workers=options.jobs, time_limit=options.limit)
    for result in done:
        counts[result.outcome] += 1
        seconds += result.seconds
        slowest = max(slowest, result.seconds)
        if result.is_failure:
            n_failures += 1
            if n_failures <= MOST_PRINTED:
                print(f"{name} {result.seed}: {result.outcome}: {result.message}")
                print(f"    python -m tests.fuzz {name} --case {result.seed}", flush=True)
    if n_failures > MOST_PRINTED:
        print(f"... and {n_failures - MOST_PRINTED} more failures")
    total = sum(counts.values())
    told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    rate = total / seconds if seconds else 0.0
    cost = f"{seconds:.1f} CPU s, {rate:.0f} a second, one case at most {slowest:.1f} s"
    print(f"{name}: {total} cases: {told}; {cost}", flush=True)
    return int(n_failures > 0)


if __name__ == "__main__":
    sys.exit(main())
