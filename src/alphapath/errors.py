"""The exceptions of alphapath. Each is also the built-in error that callers expect."""

from __future__ import annotations


class AlphapathError(Exception):
    """Base of everything this library raises on purpose."""


class InvalidProblem(AlphapathError, ValueError):
    """A Problem that has no solution or no meaning (shapes, negative weights, infeasible sum)."""


class InfeasibleStart(AlphapathError, ValueError):
    """A start outside the box or off the sum constraint; seeds repair, solvers only check."""


class SolverMismatch(AlphapathError, ValueError):
    """A solver was handed a Problem of a family that it does not solve."""


class KernelError(AlphapathError, ValueError):
    """A kernel, its parameters or its matrix cannot be used."""


class JournalError(AlphapathError, ValueError):
    """A journal that is damaged, not a journal, or the journal of another search."""


class ModelFileError(AlphapathError, ValueError):
    """A LIBSVM model file that is truncated, malformed or inconsistent."""


class DeviceError(AlphapathError, RuntimeError):
    """A device that is not there, or that has no room for what was asked of it."""
