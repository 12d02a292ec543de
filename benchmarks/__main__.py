"""Command line of the benchmarks; ends with 1 where a benchmark's own check fails."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.harness.measure import ROOT, Runner
from benchmarks.harness.registry import BENCHMARKS, Options
from benchmarks.harness.report import run_context


def parse(arguments: list[str]) -> argparse.Namespace:
    lines = "\n".join(f"  {name:12} {entry.summary}" for name, entry in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="alphapath and its peers side by side, one thread unless said.",
        epilog=f"benchmarks:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=list(BENCHMARKS), metavar="NAME")
    parser.add_argument("--data", type=Path, help="folder with the LIBSVM data sets (*.svm.gz)")
    parser.add_argument("--repeats", type=int, default=3, help="interleaved repeats of timed runs")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--quick", action="store_true", help="small cases only")
    parser.add_argument("--only", help="only cases whose name contains this")
    parser.add_argument("--peers", default="all", help="comma-separated peers, or all, or none")
    parser.add_argument("--peer-python", help="interpreter for peers that this one can not import")
    parser.add_argument("--skip-slow-peers", action="store_true", help="no peer runs of minutes")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once where untimed")
    parser.add_argument("--core", type=int, default=Runner.default_core(), help="for timed runs")
    options = parser.parse_args(arguments)
    if options.data is None and BENCHMARKS[options.name].needs_data:
        parser.error(f"{options.name} reads data files: pass their folder by --data DIR.")
    if options.repeats < 1 or options.jobs < 1:
        parser.error("--repeats and --jobs must be at least 1.")
    return options


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    context = run_context(arguments)
    options = Options(
        data=str(given.data.resolve()) if given.data else "",
        repeats=given.repeats,
        out=given.out.resolve(),
        is_quick=given.quick,
        only=given.only,
        peers=given.peers,
        skip_slow_peers=given.skip_slow_peers,
        n_jobs=given.jobs,
        runner=Runner(peer_python=given.peer_python, core=given.core),
    )
    if options.runner.interpreter_with("alphapath._core") != options.runner.python:
        raise SystemExit("alphapath can not be imported by this interpreter: pip install . first.")
    report = BENCHMARKS[given.name].run(options)
    table = report.write(options.out, context)
    print(table.read_text())
    print(f"Written to {table} and {table.with_suffix('.json')}.")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
