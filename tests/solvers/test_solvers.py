"""What all native solvers share: threads of LAPACK, interrupts, limits of memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from alphapath.errors import SolverMismatch
from alphapath.kernels import KernelStore, Rbf
from alphapath.problem import Problem, certify
from alphapath.solvers import smo
from alphapath.solvers.native import current_threads, single_threaded
from alphapath.solvers.sequence.leave_one_out import leave_out


def test_lapack_threads_are_held_and_restored():
    before = current_threads()
    seen = []

    def work() -> None:
        with single_threaded():
            seen.append(current_threads())

    with single_threaded():
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert current_threads() == 1
    assert seen == [1, 1, 1]
    assert current_threads() == before


def overlapping_problem(memory_limit: str | None = None) -> Problem:
    """Two classes that overlap, so that the free set is solved several times."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = np.where(X[:, 0] + rng.normal(size=500) > 0, 1.0, -1.0)
    view = KernelStore(X, memory_limit=memory_limit).view(Rbf(0.05))
    return Problem.classification(view, y, np.full(500, 1e4))


SOLVE_AND_PRINT = """
from test_solvers import overlapping_problem
from alphapath.solvers import smo
solution = smo.solve(overlapping_problem())
print(solution.info.n_free_set_solves, solution.beta.tobytes().hex())
"""


def test_bits_do_not_depend_on_the_threads_of_lapack():
    outputs = set()
    for n_threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SOLVE_AND_PRINT],
            env={"OPENBLAS_NUM_THREADS": n_threads, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert int(outputs.pop().split()[0]) > 0


def test_an_exception_of_another_signal_handler_passes_through():
    class Alarm(Exception):
        pass

    def ring(number: int, frame: object) -> None:
        raise Alarm

    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3))
    view = KernelStore(X).view(Rbf(0.01))
    problem = Problem.classification(view, np.sign(rng.normal(size=3000)), np.full(3000, 1e6))
    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(Alarm):
            smo.solve(problem, tol=1e-9, time_limit=60.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)


def test_a_ridge_is_refused_where_it_would_be_ignored():
    problem = replace(overlapping_problem(), ridge=0.5)
    with pytest.raises(SolverMismatch, match=r"smo solver .* ridge is 0\.5"):
        smo.solve(problem)
    full = smo.solve(overlapping_problem())
    with pytest.raises(SolverMismatch, match=r"decremental solver .* ridge is 0\.5"):
        leave_out(replace(full, problem=problem), np.flatnonzero(full.beta)[:1])


def test_a_solver_without_room_for_copies_ends_at_the_same_optimum():
    roomy, tight = overlapping_problem(), overlapping_problem("2.1MB")
    assert tight.kernel.gram.is_full
    assert tight.kernel.spare_bytes < 4 * 500 * 500 < roomy.kernel.spare_bytes
    solutions = [smo.solve(problem, tol=1e-6) for problem in (roomy, tight)]
    for solution in solutions:
        assert certify(solution.problem, solution.beta, solution.bias).is_optimal(2e-6)
    assert solutions[0].info.objective == pytest.approx(solutions[1].info.objective, rel=1e-8)
