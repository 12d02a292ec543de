"""The batched solver of the gpu room: by its NumPy reference, and on a GPU where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from alphapath import Problem, Status, certify
from alphapath.errors import DeviceError, KernelError
from alphapath.gpu import batch, free_set, has_gpu, state, store
from alphapath.gpu.free_set import most_members, solve_free_set
from alphapath.gpu.matrix import DeviceMatrix, DeviceRows
from alphapath.interrupt import Stop
from alphapath.kernels import KernelStore, Linear, Poly, Precomputed, Rbf, Sigmoid
from alphapath.problem.limits import Limits
from alphapath.solvers import smo
from alphapath.solvers.sequence.along_c import solve_chain
from gpu_cases import make_data, make_problem, make_store

C_VALUES = 2.0 ** np.arange(-5, 12, 4)
KERNELS = [Rbf(0.3), Linear(), Poly(0.5, 2, 1.0), Sigmoid(0.01, 0.1)]
DEVICES = [
    "numpy",
    pytest.param("cuda", marks=pytest.mark.skipif(not has_gpu(), reason="no GPU that CuPy finds")),
]


class TestMatrix:
    @pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
    @pytest.mark.parametrize("device", DEVICES)
    def test_values_are_the_kernels(self, kernel, device):
        X, _ = make_data()
        view = make_store(X + 5.0, device).view(kernel)
        K = kernel.evaluate(X + 5.0, X + 5.0)
        matrix = view.matrix
        offset = state.to_host(matrix.offset)
        stored = state.to_host(matrix.full) + offset[:, None] + offset
        np.testing.assert_allclose(stored, K, rtol=0.0, atol=1e-6 * np.abs(K).max())
        diagonal = state.to_host(matrix.diagonal) + 2.0 * offset
        np.testing.assert_allclose(diagonal, np.diag(K), rtol=0.0, atol=1e-6 * np.abs(K).max())
        coef = np.linspace(-1.0, 1.0, 20)
        exact = K[:, :20] @ coef
        np.testing.assert_allclose(
            view.multiply(np.arange(20), coef), exact, rtol=0.0, atol=1e-10 * np.abs(K).max()
        )

    def test_kept_distances_serve_every_gamma(self):
        X, _ = make_data()
        kept = make_store(X, "numpy")
        kept.keep_products()
        for gamma in (1e-4, 0.1, 10.0):
            view = kept.view(Rbf(gamma))
            assert kept._rows.keeps_distances
            np.testing.assert_allclose(
                1.0 + view.matrix.full, Rbf(gamma).evaluate(X, X), rtol=0.0, atol=1e-6
            )

    def test_a_given_matrix_is_refused(self):
        with pytest.raises(KernelError, match="'precomputed' cannot be computed on a device"):
            make_store(np.eye(5), "numpy").view(Precomputed())

    def test_too_little_memory_is_said(self):
        X, _ = make_data()
        with pytest.raises(DeviceError, match=r"memory_limit is 1000 bytes; the rows alone need"):
            make_store(X, "numpy", memory_limit=1000).view(Rbf(1.0))


@pytest.mark.usefixtures("small_sets")
class TestBatch:
    @pytest.mark.parametrize("kind", ["classification", "regression", "one class"])
    @pytest.mark.parametrize("device", DEVICES)
    def test_a_batch_has_the_answers_of_the_native_solver(self, kind, device):
        X, y = make_data()
        weights = np.ones((3, len(y)))
        weights[1, ::3] = 0.0
        weights[2, 1::3] = 0.5
        view = make_store(X, device).view(Rbf(0.3))
        found = solve_chain(make_problem(kind, view, X, y), C_VALUES, weights=weights)
        native = make_problem(kind, KernelStore(X).view(Rbf(0.3)), X, y)
        exact = solve_chain(native, C_VALUES, weights=weights, tol=1e-6)
        assert set(found.status) == {Status.SOLVED}
        behind = found.objective - exact.objective
        assert (behind <= found.duality_gap).all()
        np.testing.assert_allclose(found.objective, exact.objective, rtol=2e-4)
        for k in range(len(found)):
            certificate = certify(found[k].problem, found[k].beta, found[k].bias)
            assert certificate.kkt_violation <= 1e-3 * (1.0 + 1e-6)
            assert certificate.box_violation == 0.0
            assert certificate.sum_violation <= 1e-9 * max(1.0, np.abs(found[k].beta).sum())
            assert certificate.duality_gap == pytest.approx(found.duality_gap[k], abs=1e-6)
        near = np.abs(exact.decision_values) < 2e-3
        same = (found.decision_values > 0.0) == (exact.decision_values > 0.0)
        assert (same | near).all()

    def test_late_problems_go_on_from_smaller_c_and_by_exact_steps(self):
        X, y = make_data(300)
        view = make_store(X, "numpy").view(Rbf(0.1))
        problem = make_problem("classification", view, X, y)
        found = solve_chain(problem, 2.0 ** np.arange(3, 16, 3))
        assert set(found.status) == {Status.SOLVED}
        assert found.n_free_set_solves.sum() > 0
        assert {"scale", "keep"} & set(found.seed)
        native = make_problem("classification", KernelStore(X).view(Rbf(0.1)), X, y)
        exact = solve_chain(native, 2.0 ** np.arange(3, 16, 3), tol=1e-6)
        np.testing.assert_allclose(found.objective, exact.objective, rtol=1e-5)

    def test_rows_on_demand_give_the_same(self):
        X, y = make_data()
        problem = make_problem("classification", make_store(X, "numpy").view(Rbf(0.3)), X, y)
        whole = solve_chain(problem, C_VALUES[:3])
        rows = DeviceRows(np, X)
        lean = make_store(X, "numpy")
        view = lean.view(Rbf(0.3))
        view.matrix = DeviceMatrix(rows, Rbf(0.3), is_full=False)
        view.matrix.row_capacity = 64
        parts = solve_chain(make_problem("classification", view, X, y), C_VALUES[:3])
        np.testing.assert_array_equal(whole.beta, parts.beta)
        assert view.matrix.n_rows_computed > 0

    @pytest.mark.parametrize("device", DEVICES)
    def test_an_exact_step_lowers_the_objective_and_stays_in_the_box(self, device):
        X, y = make_data(200)
        store = make_store(X, device)
        view = store.view(Rbf(0.3))
        problem = make_problem("classification", view, X, y)
        family = state.Family(
            problem.targets, problem.lower_scale, problem.upper_scale, np.ones((1, 200)), 0.0, 0.0
        )
        plan = batch.Plan(np.zeros(1, dtype=np.int64), np.array([100.0]), np.array([-1]))
        solver = batch.BatchSolver(view, family, plan, Limits())
        solver._set_gradients(np.zeros(1, dtype=np.int32))
        solver._rounds(np.zeros(1, dtype=np.int32))
        before = solver._measure()
        assert solve_free_set(solver.engine, view.matrix, 0)
        after = solver._measure()
        assert after["objective"][0] < before["objective"][0]
        beta = after["beta"][0]
        assert (beta >= 100.0 * problem.lower_scale).all()
        assert (beta <= 100.0 * problem.upper_scale).all()
        assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
        # The gradient that the step left is that of its point.
        kept = state.to_host(solver.state.gradient[0, :200]) - after["gradient"][0]
        assert np.ptp(kept) <= 1e-4 * np.abs(beta).sum() * 1e-2

    @pytest.mark.parametrize("device", DEVICES)
    def test_a_walk_ends_at_the_minimum_over_what_it_left_free(self, device):
        rng = np.random.default_rng(3)
        half = rng.normal(size=(60, 60))
        A = half @ half.T / 60.0 + 0.1 * np.eye(60)
        slopes, beta = rng.normal(size=60), rng.uniform(-0.4, 0.4, size=60)
        lower, upper = np.full(60, -0.5), np.full(60, 0.5)
        store = make_store(np.zeros((1, 1)), device)
        family = state.Family(*np.ones((3, 1)), np.ones((1, 1)), 0.0, 0.0)
        engine = store.engine_type(
            state.BatchState(store.xp, family, np.zeros(1, dtype=np.int64), np.ones(1))
        )
        given = (store.xp.asarray(x) for x in (np.linalg.inv(A), slopes, beta, lower, upper))
        moved = state.to_host(engine.walk(*given))
        is_free = (moved > lower) & (moved < upper)
        assert 10 < is_free.sum() < 50
        assert moved.sum() == pytest.approx(beta.sum(), abs=1e-12)
        gradient = A @ (moved - beta) + slopes
        assert np.ptp(gradient[is_free]) < 1e-12
        assert (moved >= lower).all()
        assert (moved <= upper).all()

    @pytest.mark.parametrize("device", DEVICES)
    def test_slow_progress_is_not_taken_for_rounding(self, device, monkeypatch):
        # The largest violation rests for many looks while the objective falls in each of them.
        for module in (state, store):
            monkeypatch.setattr(module, "SIZE", 8 if device == "numpy" else 32)
        monkeypatch.setattr(batch, "PATIENCE", 2)
        X, y = make_data(300)
        view = make_store(X, device).view(Rbf(0.1))
        view.matrix = DeviceMatrix(DeviceRows(view.matrix.xp, X), Rbf(0.1), is_full=False)
        view.matrix.row_capacity = 64
        problem = make_problem("classification", view, X, y)
        solution = solve_chain(problem, np.array([100.0]))[0]
        assert solution.info.status is Status.SOLVED
        assert certify(solution.problem, solution.beta, solution.bias).kkt_violation <= 1e-3

    def test_limits_say_so(self):
        X, y = make_data()
        problem = make_problem("classification", make_store(X, "numpy").view(Rbf(0.3)), X, y)
        problem = problem.with_weights(np.full(len(y), 1e4))
        assert smo.solve(problem, max_iter=10).info.status is Status.ITERATION_LIMIT
        assert smo.solve(problem, time_limit=1e-9).info.status is Status.TIME_LIMIT

    def test_what_the_check_in_double_refused_is_not_called_solved(self, monkeypatch):
        X, y = make_data()
        descend, measure = batch.BatchSolver._descend, batch.measure_rows

        def late(self, active):
            descend(self, active)
            self.is_out_of_time = True

        def off(*given):
            found = measure(*given)
            return found | {"kkt_violation": found["kkt_violation"] + 1.0}

        monkeypatch.setattr(batch.BatchSolver, "_descend", late)
        monkeypatch.setattr(batch, "measure_rows", off)
        problem = make_problem("classification", make_store(X, "numpy").view(Rbf(0.3)), X, y)
        assert set(solve_chain(problem, C_VALUES).status) == {Status.TIME_LIMIT}

    @pytest.mark.parametrize("device", DEVICES)
    def test_where_all_are_bounded_rounding_does_not_set_the_bias(self, device):
        rng = np.random.default_rng(0)
        for _ in range(12):
            n = int(rng.integers(60, 200))
            X = rng.normal(size=(n, 3))
            y = np.where(X[:, 0] + rng.normal(size=n) > 0.5, 1.0, -1.0)
            balanced = np.where(y > 0.0, 1.0 / np.sum(y > 0.0), 1.0 / np.sum(y < 0.0)) * n / 2.0
            problem = Problem.classification(make_store(X, device).view(Rbf(0.005)), y, balanced)
            solution = solve_chain(problem, np.array([0.02]))[0]
            values = solution.decision_values
            # The middle of what the bounded ones leave.
            assert values[y > 0.0].max() + values[y < 0.0].min() == pytest.approx(0.0, abs=1e-6)
            assert certify(solution.problem, solution.beta, solution.bias).kkt_violation <= 1e-3

    def test_a_start_is_taken(self):
        X, y = make_data()
        problem = make_problem("classification", make_store(X, "numpy").view(Rbf(0.3)), X, y)
        first = smo.solve(problem)
        again = smo.solve(problem, first.as_start())
        assert again.info.n_iter == 0
        np.testing.assert_array_equal(first.beta, again.beta)

    def test_ctrl_c_keeps_what_is_solved(self, monkeypatch):
        X, y = make_data()
        problem = make_problem("classification", make_store(X, "numpy").view(Rbf(0.3)), X, y)
        look = batch.BatchSolver._look

        def interrupt(self, active):
            look(self, active)
            if self.is_done.any():
                raise KeyboardInterrupt

        monkeypatch.setattr(batch.BatchSolver, "_look", interrupt)
        found = solve_chain(problem, C_VALUES)
        assert found.is_interrupted
        assert 0 < len(found) < len(C_VALUES)

    def test_a_stop_ends_what_is_solved(self):
        X, y = make_data()
        view = make_store(X, "numpy").view(Rbf(0.3))
        with Stop() as stop:
            stop.set()
            found = solve_chain(make_problem("classification", view, X, y), C_VALUES)
        assert found.is_interrupted
        assert len(found) == 0


class TestMemory:
    def test_what_is_worked_on_at_a_time_fits_the_limit(self):
        X, _ = make_data(150)
        lean = make_store(X, "numpy", memory_limit="2GB")
        lean.keep_products()
        assert lean.layout().keeps_distances
        size = lean.job_bytes(10)
        assert 4 * 150**2 + 10 * state.problem_bytes(150) < size <= lean.room_for_jobs()
        assert lean.job_bytes(10**9) <= lean.room_for_jobs()

    def test_rows_on_demand_take_all_there_is(self):
        n = 10_000
        lean = make_store(np.zeros((n, 1)), "numpy", memory_limit="500MB")
        assert not lean.layout().is_full
        assert lean.job_bytes(1) == lean.room_for_jobs()

    def test_a_free_set_is_bounded_by_the_limit(self):
        assert most_members(10**12) == free_set.MAX_MEMBERS
        m = most_members(10**9)
        assert 8 * free_set.N_MATRICES * m**2 <= free_set.FREE_SET_SHARE * 10**9
