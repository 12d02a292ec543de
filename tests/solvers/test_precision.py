"""Kernel values in float32 where betas are large: what they hide is found, and solved in double."""

from __future__ import annotations

import numpy as np
import pytest

from alphapath import Problem, Status, certify
from alphapath.kernels import KernelStore, Linear, Poly, Precomputed, Rbf
from alphapath.problem.limits import Limits
from alphapath.problem.limits import Limits as ChainLimits
from alphapath.problem.steps import Known, Steps
from alphapath.search.folds.leave_one_out import refit_without
from alphapath.solvers import smo
from alphapath.solvers.precision import in_double, slope_errors
from alphapath.solvers.sequence.along_c import solve_chain
from alphapath.solvers.sequence.leave_one_out import leave_out
from alphapath.solvers.sequence.sequence import solve_sequence

N = 300


def make_data(n=N, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def make_problem(C=1.0, precision="float32", kernel=None, memory_limit=None):
    X, y = make_data()
    view = KernelStore(X, memory_limit=memory_limit).view(kernel or Rbf(0.1), precision=precision)
    return Problem.classification(view, y, np.full(N, C))


def true_violation(solution):
    return certify(solution.problem, solution.beta, solution.bias).kkt_violation


class TestView:
    @pytest.mark.parametrize("kernel", [Rbf(0.3), Linear(), Poly(0.5, 3, 1.0)])
    def test_rounding_is_that_of_all_values(self, kernel):
        X, _ = make_data()
        view = KernelStore(X).view(kernel, precision="float32")
        error = view.rows(np.arange(N)) - kernel.evaluate(X, X)
        assert 0.5 < view.rounding / np.sqrt(np.mean(error**2)) < 2.0
        assert view.in_double().rounding == 0.0

    def test_a_given_matrix_is_rounded_too(self):
        X, _ = make_data()
        K = Rbf(0.3).evaluate(X, X)
        view = KernelStore(K).view(Precomputed(), precision="float32")
        error = view.rows(np.arange(N)) - K
        assert view.rounding == pytest.approx(np.sqrt(np.mean(error**2)), rel=0.3)

    def test_the_finer_view_lives_as_long(self):
        view = make_problem().kernel
        assert view.in_double() is view.in_double()
        assert view.in_double().gram.precision == "float64"

    def test_none_where_memory_does_not_hold_both(self):
        both = N * (-(-N // 16) * 16) * 12
        assert make_problem(memory_limit=both).kernel.in_double() is not None
        assert make_problem(memory_limit=both - 1).kernel.in_double() is None


class TestSolve:
    @pytest.mark.parametrize("C", [1.0, 1e3, 1e5, 1e7])
    def test_the_violation_is_the_true_one(self, C):
        problem = make_problem(C)
        solution = smo.solve(problem)
        assert solution.info.status is Status.SOLVED
        assert solution.problem is problem
        assert true_violation(solution) <= 1.5e-3
        exact = smo.solve(make_problem(C, "float64"), tol=1e-8)
        behind = solution.info.objective - exact.info.objective
        assert behind <= 1.5e-3 * np.abs(exact.beta).sum()

    def test_float32_alone_would_hide_it(self):
        # What the first pass alone gives: native SMO on the values as stored.
        from alphapath import _core
        from alphapath.solvers.native import run

        solution = run(_core.solve_smo, make_problem(1e7), None, Limits())
        assert solution.info.kkt_violation <= 1e-3
        assert true_violation(solution) > 10e-3
        errors = slope_errors(solution.problem.kernel, np.linalg.norm(solution.beta), 1e-3)
        assert true_violation(solution) < 3.0 * float(errors)

    def test_without_room_it_says_so(self):
        room = N * (-(-N // 16) * 16) * 4
        solution = smo.solve(make_problem(1e7, memory_limit=room + 10_000))
        assert solution.info.status is Status.STALLED
        assert solution.info.kkt_violation > 1e-3

    def test_a_start_is_taken(self):
        problem = make_problem(1e7)
        first = smo.solve(problem)
        again = smo.solve(problem, first.as_start())
        assert again.info.n_iter <= first.info.n_iter // 10


class TestSequence:
    C_VALUES = 10.0 ** np.arange(-1, 8, 2)

    def weights(self):
        weights = np.ones((3, N))
        for h in range(3):
            weights[h, h::3] = 0.0
        return weights

    def test_every_step_has_its_true_violation(self):
        problem = make_problem()
        found = solve_chain(problem, self.C_VALUES, weights=self.weights())
        exact = solve_chain(
            make_problem(precision="float64"), self.C_VALUES, weights=self.weights(), tol=1e-8
        )
        assert len(found) == len(exact) == 15
        for k in range(15):
            assert found[k].info.status is Status.SOLVED
            assert true_violation(found[k]) <= 1.5e-3
            np.testing.assert_array_equal(found[k].problem.weights, exact[k].problem.weights)
        behind = found.objective - exact.objective
        assert (behind <= 1.5e-3 * np.abs(exact.beta).sum(axis=1)).all()
        values, expected = found.decision_values, exact.decision_values
        assert ((values > 0.0) == (expected > 0.0))[np.abs(expected) > 2e-3].all()

    def test_steps_begin_from_what_is_known(self):
        problem = make_problem(1e7)
        full = smo.solve(problem)
        steps = Steps(np.arange(3), np.full(3, 1e7), np.zeros(3, dtype=np.int64), ["greedy"] * 3)
        found = solve_sequence(
            problem, self.weights(), steps, limits=Limits(), known=[Known.of(full)]
        )
        cold = Steps(np.arange(3), np.full(3, 1e7), np.full(3, -1), ["cold"] * 3)
        alone = solve_sequence(problem, self.weights(), cold, limits=Limits())
        assert found.seed == ("greedy",) * 3
        assert found.n_iter.sum() < alone.n_iter.sum()
        for k in range(3):
            assert true_violation(found[k]) <= 1.5e-3

    def test_a_small_step_after_a_large_one_goes_with_it(self):
        factors = np.array([1e7, 1.0])
        steps = Steps(np.zeros(2, dtype=np.int64), factors, np.array([-1, 0]), ["cold", "scale"])
        found = solve_sequence(make_problem(), self.weights(), steps, limits=Limits())
        assert [true_violation(found[k]) <= 1.5e-3 for k in range(2)] == [True, True]

    def test_without_room_steps_say_so(self):
        room = N * (-(-N // 16) * 16) * 4
        found = solve_chain(make_problem(memory_limit=room + 10_000), [1.0, 1e7])
        assert found.status == (Status.SOLVED, Status.STALLED)
        assert found.kkt_violation[1] > 1e-3

    def test_what_is_cut_is_missing(self):
        steps = Steps(np.arange(3), np.array([1e7, 1.0, 1.0]), np.full(3, -1), ["cold"] * 3)
        found = solve_sequence(
            make_problem(), self.weights(), steps, limits=Limits(), total_time_limit=1e-9
        )
        assert len(found) == 0
        assert not found.is_interrupted


class TestLeaveOneOut:
    def test_refits_are_in_double_too(self):
        full = smo.solve(make_problem(1e6))
        fine = smo.solve(make_problem(1e6, "float64"), tol=1e-6)
        some = np.flatnonzero(full.beta)[:10]
        found = leave_out(full, some)
        exact = refit_without(fine, some, "none", ChainLimits(tol=1e-6))
        np.testing.assert_allclose(found.values, exact.values, atol=3e-3)

    def test_small_problems_stay_where_they_are(self):
        problem = make_problem(1.0)
        solution = smo.solve(problem)
        assert in_double(problem) is not None
        assert float(slope_errors(problem.kernel, np.linalg.norm(solution.beta), 1e-3)) < 1e-3
