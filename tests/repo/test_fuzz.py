"""The fuzzers of tests/fuzz: a few cases of each, and thousands where there is time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import registry, workers

N_FEW, N_MANY = 40, 3000


def run(name: str, seeds: range) -> list[str]:
    """One line for each failure, with the command that repeats it."""
    return [
        f"{result.outcome}: {result.message} (python -m tests.fuzz {name} --case {result.seed})"
        for result in workers.run_cases(name, seeds)
        if result.is_failure
    ]


@pytest.mark.parametrize("name", registry.fuzzer_names())
def test_a_few_cases(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    failures = run(name, range(N_FEW))
    assert not failures, "\n".join(failures)


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.fuzzer_names())
def test_many_cases(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    failures = run(name, range(10_000, 10_000 + N_MANY))
    assert not failures, "\n".join(failures)


PROBE = """
import os, time, warnings
from fuzz.cases import Skip

def run_case(seed):
    if seed == 1:
        return "a sentence"
    if seed == 2:
        raise Skip("nothing to test")
    if seed == 3:
        raise KeyError("unexpected")
    if seed == 4:
        os._exit(9)
    if seed == 5:
        time.sleep(1e6)
    if seed == 6:
        warnings.warn("not ours", RuntimeWarning)
    return None
"""


def test_every_end_of_a_case_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "probe_fuzzer.py").write_text(PROBE)
    monkeypatch.syspath_prepend(tmp_path)
    results = {
        result.seed: result
        for result in workers.run_cases("probe_fuzzer", range(8), n_workers=2, time_limit=2.0)
    }
    outcomes = [results[seed].outcome for seed in range(8)]
    ends = ["passed", "failed", "skipped", "failed", "crashed", "hung", "failed", "passed"]
    assert outcomes == ends
    assert results[1].message == "a sentence"
    assert results[3].message.startswith("KeyError: 'unexpected' [")
    assert "exit code 9" in results[4].message
    assert results[6].message.startswith("warned RuntimeWarning: not ours [")


def test_the_command_runs_and_repeats_cases() -> None:
    root = Path(__file__).resolve().parents[2]
    for options in (["--cases", "3"], ["--case", "2"], ["--list"]):
        command = [sys.executable, "-m", "tests.fuzz", "fits", *options]
        found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        assert "fits" in found.stdout
