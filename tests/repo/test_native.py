"""The C++ tests, built with the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "runtime error:")


def run(command: list[str], **settings: str) -> str:
    """Run a command and return what it printed; fail with that text when it does not succeed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    if done.returncode != 0:
        text = done.stdout[-8000:]
        pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{text}", pytrace=False)
    return done.stdout


@pytest.fixture(scope="module")
def test_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed")
    if not (os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")):
        pytest.skip("no C++ compiler is installed")
    build = tmp_path_factory.mktemp("native")
    options = ["TESTS=ON", "SANITIZE=ON", "PYTHON=OFF"]
    # pip puts ninja beside the interpreter, which need not be on the search path.
    ninja = shutil.which("ninja") or shutil.which("ninja", path=sysconfig.get_path("scripts"))
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    run(
        [cmake, "-S", ".", "-B", str(build), *generator]
        + [f"-DALPHAPATH_{option}" for option in options]
    )
    run([cmake, "--build", str(build), "-j2", "--target", "alphapath_tests"])
    return build / "alphapath_tests"


def test_the_native_tests_pass_under_sanitizers(test_program: Path) -> None:
    printed = run(
        [str(test_program)],
        ASAN_OPTIONS="detect_leaks=1:abort_on_error=0",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
    )
    reports = [line for line in printed.splitlines() if any(w in line for w in SANITIZER_WORDS)]
    assert not reports, "\n".join(reports)


def test_a_sanitizer_report_would_fail(tmp_path: Path) -> None:
    """The flags of the build catch what they are there for."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler is installed")
    source = tmp_path / "bad.cpp"
    source.write_text(
        "#include <vector>\n"
        "int main(int n, char**) { std::vector<int> v(4); return v.data()[n + 3]; }\n"
    )
    program = tmp_path / "bad"
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    run([compiler, "-std=c++20", *flags, str(source), "-o", str(program)])
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr
