"""Write src/alphapath/_core.pyi, the type stub of the compiled module, by nanobind's stubgen.

    python tools/make_stubs.py

Run it with an interpreter that has alphapath and nanobind installed, after every change of the
bindings; tests/repo/test_stubs.py fails until the committed stub has its names and arguments.
"""

from pathlib import Path

STUB = Path(__file__).resolve().parent.parent / "src" / "alphapath" / "_core.pyi"


def generated_stub() -> str:
    """The stub text for the compiled module that this interpreter imports."""
    from nanobind.stubgen import StubGen

    from alphapath import _core

    generator = StubGen(_core)
    generator.put(_core)
    return str(generator.get())


if __name__ == "__main__":
    STUB.write_text(generated_stub())
    print(f"Wrote {STUB}.")
