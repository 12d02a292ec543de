"""The C++ tests and Python in many threads, built with sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "alphapath"
SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")
SETTINGS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1",
    "OPENBLAS_NUM_THREADS": "1",
}


def run(command: list[str], **settings: str) -> str:
    """Run a command and return what it printed; fail with that text when it does not succeed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    if done.returncode != 0:
        text = done.stdout[-8000:]
        pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{text}", pytrace=False)
    return done.stdout


def find_compiler() -> str:
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler is installed")
    return compiler


def build(folder: Path, sanitizer: str, *targets: str) -> None:
    """Build targets of the native code in a folder."""
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("cmake is not installed")
    find_compiler()
    # pip puts ninja beside the interpreter, which need not be on the search path.
    ninja = shutil.which("ninja") or shutil.which("ninja", path=sysconfig.get_path("scripts"))
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    has_python = "ON" if "_core" in targets else "OFF"
    options = {"TESTS": "ON", "SANITIZE": sanitizer, "PYTHON": has_python}
    definitions = [f"-DALPHAPATH_{name}={value}" for name, value in options.items()]
    python = f"-DPython_EXECUTABLE={sys.executable}"
    run([cmake, "-S", ".", "-B", str(folder), python, *generator, *definitions])
    run([cmake, "--build", str(folder), "-j2", "--target", *targets])


def check_no_report(printed: str) -> None:
    reports = [line for line in printed.splitlines() if any(w in line for w in SANITIZER_WORDS)]
    assert not reports, "\n".join(reports)


def test_the_native_tests_reach_no_foreign_memory(tmp_path: Path) -> None:
    build(tmp_path, "address", "alphapath_tests")
    check_no_report(run([str(tmp_path / "alphapath_tests")], **SETTINGS))


@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizer is preloaded as on Linux")
def test_no_races(tmp_path: Path) -> None:
    """The native tests, and the package used by many threads, under the thread sanitizer."""
    name = "libtsan.so"
    library = run([find_compiler(), f"-print-file-name={name}"]).strip()
    if library == name:
        pytest.skip(f"{name} is not installed")
    folder, package = tmp_path / "build", tmp_path / "site" / "alphapath"
    build(folder, "thread", "alphapath_tests", "_core")
    check_no_report(run([str(folder / "alphapath_tests")], **SETTINGS))
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for module in folder.glob("_core.*"):
        shutil.copy(module, package)
    script = ROOT / "tests" / "support" / "thread_stress.py"
    found = {"PYTHONPATH": str(package.parent), "LD_PRELOAD": library}
    printed = run([sys.executable, str(script)], **SETTINGS, **found)
    check_no_report(printed)
    assert printed.count("same bits: ") == 5


OUTSIDE = """
#include <vector>
int main(int n, char**) { std::vector<int> v(4); return v.data()[n + 3]; }
"""
RACE = """
#include <thread>
int n = 0;
int main() { std::thread t([] { ++n; }); ++n; t.join(); return 0; }
"""


@pytest.mark.parametrize(
    ("program", "sanitizer", "report"),
    [
        (OUTSIDE, "address,undefined", "AddressSanitizer"),
        (RACE, "thread", "ThreadSanitizer: data race"),
    ],
    ids=["address", "thread"],
)
def test_a_sanitizer_report_would_fail(
    tmp_path: Path, program: str, sanitizer: str, report: str
) -> None:
    """The flags of the build catch what they are there for."""
    source = tmp_path / "bad.cpp"
    source.write_text(program)
    flags = [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    run([find_compiler(), "-std=c++20", *flags, str(source), "-o", str(tmp_path / "bad")])
    environment = os.environ | SETTINGS
    done = subprocess.run([str(tmp_path / "bad")], env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert report in done.stderr
