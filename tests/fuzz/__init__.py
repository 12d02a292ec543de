"""Fuzzers: random degenerate problems, and mutated files, against references of their own.

Every module here with a function ``run_case(seed) -> str | None`` is a fuzzer, named after its
module. It makes one problem from the seed, asks the library, and returns None or a sentence that
says what is wrong. Where there is a ``prepare()`` it is called once before the cases; a
``TIME_LIMIT`` is that of a case in seconds. `Skip` (of `cases`) says that the seed made no case.
By hand:

    python -m tests.fuzz fits --cases 2000
    python -m tests.fuzz fits --case 1234
"""
