"""Threads that are told to end: native solvers, kernels, and what a run makes of it."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

from alphapath import Problem, Status
from alphapath.interrupt import Stop, is_wanted
from alphapath.kernels import KernelStore, Rbf
from alphapath.solvers import smo


def hard_problem():
    """Minutes of work: noise at a huge C, solved to the last digits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 30))
    view = KernelStore(X).view(Rbf(1e-4), precision="float64")
    return Problem.classification(view, np.sign(rng.normal(size=1500)), np.full(1500, 1e9))


class TestStop:
    def test_it_is_wanted_inside_alone(self):
        outer, inner = Stop(), Stop()
        outer.set()
        assert not is_wanted()
        with inner:
            assert not is_wanted()
            with outer:
                assert is_wanted()
            assert not is_wanted()
        assert not is_wanted()

    def test_other_threads_do_not_hear_it(self):
        heard = []
        with Stop() as stop:
            stop.set()
            thread = threading.Thread(target=lambda: heard.append(is_wanted()))
            thread.start()
            thread.join()
        assert heard == [False]

    def test_run_gives_what_was_finished(self):
        stop = Stop()
        assert stop.run(int, "7") == 7
        with pytest.raises(KeyboardInterrupt):
            stop.run(interrupt)

        def stop_and_interrupt():
            stop.set()
            interrupt()

        assert stop.run(stop_and_interrupt) is None
        assert stop.run(int, "7") is None

    def test_another_process_has_its_own(self):
        stop = Stop()
        stop.set()
        assert not pickle.loads(pickle.dumps(stop)).is_set


def interrupt():
    raise KeyboardInterrupt


class TestNative:
    def test_a_solve_in_a_thread_ends(self):
        problem = hard_problem()
        stop = Stop()
        found = []

        def solve():
            with stop:
                found.append(smo.solve(problem, tol=1e-12, free_set=False))

        thread = threading.Thread(target=solve)
        thread.start()
        stop.set()
        thread.join()
        assert found[0].info.status is Status.INTERRUPTED

    def test_a_kernel_in_a_thread_ends(self):
        X = np.random.default_rng(0).normal(size=(4000, 2000))
        with Stop() as stop:
            stop.set()
            with pytest.raises(KeyboardInterrupt):
                KernelStore(X).view(Rbf(0.1), precision="float64")
