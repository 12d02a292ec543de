"""The folds of one problem: the same optimum from every start, the same bits from every run."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.preprocessing import StandardScaler

from alphapath import SVC, SVR, OneClassSVM, Problem, certify
from alphapath.kernels import KernelStore, Rbf
from alphapath.problem.limits import Limits
from alphapath.search import solve_folds
from alphapath.search.cost import estimate_work
from alphapath.search.folds import plan as parents_module
from alphapath.search.folds import run as chain_module
from alphapath.search.folds.plan import COLD, FULL, make_plan, nearest_earlier
from alphapath.search.folds.run import FoldChain
from alphapath.seeds import SEEDS
from alphapath.solvers import smo
from alphapath.solvers.sequence.sequence import solve_sequence
from datasets import generated

SEEDINGS = ["auto", "none", *SEEDS]


def as_masks(cv: Any, n: int) -> list[NDArray[np.bool_]]:
    return [np.isin(np.arange(n), test) for _, test in cv.split(np.zeros(n))]


def left_out(masks: Any) -> Callable[[Sequence[int]], list[NDArray[np.intp]]]:
    return lambda folds: [np.flatnonzero(masks[fold]) for fold in folds]


def problem_of(estimator: Any = None) -> Problem:
    X, y = generated()
    problem = (estimator or SVC(gamma=0.1)).to_problem(X, y.astype(float))
    assert isinstance(problem, Problem)
    return problem


def values_of(run: Any, masks: list[NDArray[np.bool_]]) -> NDArray[np.float64]:
    pairs = zip(run.solutions, masks, strict=True)
    return np.concatenate([solution.decision_values[mask] for solution, mask in pairs])


@pytest.mark.parametrize("k", [2, 5, 10, 33])
@pytest.mark.parametrize("seeding", SEEDINGS)
def test_every_fold_is_certified(seeding: str, k: int) -> None:
    problem = problem_of()
    masks = as_masks(KFold(k, shuffle=True, random_state=0), problem.n)
    run = solve_folds(problem, masks, seeding=seeding)
    for solution, mask in zip(run.solutions, masks, strict=True):
        assert solution is not None
        assert (solution.beta[mask] == 0.0).all()
        found = certify(solution.problem, solution.beta, solution.bias)
        assert found.is_optimal(1e-3)
        assert found.kkt_violation == pytest.approx(solution.info.kkt_violation, abs=1e-6)
        assert found.objective == pytest.approx(solution.info.objective, rel=1e-8)


@st.composite
def fold_problems(draw: Any) -> tuple[Problem, list[NDArray[np.bool_]]]:
    """Few instances, some of them equal, any model, any folds: also all of one class held out."""
    n = draw(st.integers(4, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, 2))
    X[rng.integers(0, n, n // 3)] = X[0]
    weights = rng.uniform(0.1, 1.0, n) * draw(st.sampled_from([0.5, 10.0, 1e3]))
    view = KernelStore(X).view(Rbf(draw(st.sampled_from([0.05, 1.0, 50.0]))), tol=1e-8)
    signs = np.where(rng.random(n) < 0.6, 1.0, -1.0)
    kind = draw(st.sampled_from(["classification", "regression", "one_class"]))
    if kind == "classification":
        problem = Problem.classification(view, signs, weights)
    elif kind == "regression":
        problem = Problem.regression(view, signs + rng.normal(size=n), weights, 0.1)
    else:
        problem = Problem.one_class(view, weights, draw(st.sampled_from([0.2, 0.7])))
    k = draw(st.sampled_from([2, 3, n]))
    masks = as_masks(KFold(k, shuffle=True, random_state=draw(st.integers(0, 99))), n)
    if draw(st.booleans()) and not (signs == signs[0]).all():
        masks.insert(draw(st.integers(0, k)), signs == signs[0])
    return problem, masks


@settings(max_examples=60, deadline=None)
@given(fold_problems(), st.sampled_from(["auto", *SEEDS]))
def test_any_seed_any_folds(case: tuple[Problem, list[NDArray[np.bool_]]], seeding: str) -> None:
    problem, masks = case
    cold = solve_folds(problem, masks, seeding="none", tol=1e-8)
    found = solve_folds(problem, masks, seeding=seeding, tol=1e-8)
    for a, b in zip(found.solutions, cold.solutions, strict=True):
        assert a is not None
        assert b is not None
        assert a.info.objective == pytest.approx(b.info.objective, rel=1e-7, abs=1e-7)
        # K beta is unique; the bias is not where no instance is free.
        np.testing.assert_allclose(
            a.decision_values - a.bias, b.decision_values - b.bias, atol=2e-5 * (1 + abs(b.bias))
        )


@pytest.mark.parametrize("estimator", [SVC(gamma=0.1), SVR(gamma=0.1), OneClassSVM(gamma=0.1)])
@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("seeding", ["auto", "sir", "greedy"])
def test_workers_do_not_change_a_bit(estimator: Any, k: int, seeding: str) -> None:
    problem = problem_of(estimator)
    masks = as_masks(KFold(k), problem.n)
    runs = [solve_folds(problem, masks, seeding=seeding, n_jobs=n) for n in (1, 2, 3)]
    for run in runs[1:]:
        for a, b in zip(run.solutions, runs[0].solutions, strict=True):
            assert a is not None
            assert b is not None
            np.testing.assert_array_equal(a.beta, b.beta)
            np.testing.assert_array_equal(a.gradient, b.gradient)
            assert a.info.n_iter == b.info.n_iter


@pytest.mark.parametrize("seeding", ["none", "greedy"])
def test_a_pair_among_many_rows(seeding: str) -> None:
    """Rows are copied for the pair alone: the optimum, and the same bits for any workers."""
    problem = problem_of(SVC(gamma=0.1, C=10.0))
    is_in = np.arange(problem.n) % 3 == 0
    pair = problem.with_weights(np.where(is_in, problem.weights, 0.0))
    masks = as_masks(KFold(10), pair.n)
    one, two = (solve_folds(pair, masks, seeding=seeding, n_jobs=n) for n in (1, 2))
    for a, b, mask in zip(one.solutions, two.solutions, masks, strict=True):
        assert a is not None
        assert b is not None
        np.testing.assert_array_equal(a.beta, b.beta)
        np.testing.assert_array_equal(a.gradient, b.gradient)
        assert not a.beta[mask | ~is_in].any()
        assert certify(a.problem, a.beta, a.bias).is_optimal(1e-3)


def test_small_problems_do_not_stop_to_ask_whether_starts_pay() -> None:
    rows_of = left_out(as_masks(KFold(10), 5000))
    assert make_plan(range(10), rows_of, "auto", False, 5000).may_give_up
    assert not make_plan(range(10), rows_of, "auto", False, 200).may_give_up
    assert not make_plan(range(10), rows_of, "greedy", False, 5000).may_give_up


def test_plans() -> None:
    rows_of = left_out(as_masks(KFold(10), 50))
    ten, nine = range(10), range(9)
    assert make_plan(ten, rows_of, "auto", False, 50).parents == dict.fromkeys(ten, FULL)
    assert make_plan(nine, rows_of, "auto", True, 50).parents == dict.fromkeys(nine, FULL)
    chain = {h: h - 1 if h else COLD for h in nine}
    star = {h: 0 if h else COLD for h in nine}  # equally near, and none waits for another
    assert make_plan(nine, rows_of, "auto", False, 50).parents == star
    assert make_plan(nine, rows_of, "sir", False, 50).parents == chain
    assert make_plan(nine, rows_of, "top", False, 50).parents == dict.fromkeys(nine, FULL)
    assert make_plan(nine, rows_of, "none", True, 50).parents == dict.fromkeys(nine, COLD)
    with pytest.raises(ValueError, match="seeding is 'sire'; it must be 'auto', 'none' or one of"):
        make_plan(nine, rows_of, "sire", False, 50)


def test_folds_of_a_wave_wait_for_earlier_ones_alone() -> None:
    problem = problem_of()
    masks = as_masks(KFold(7), problem.n)

    def waves(seeding: str, size: int) -> list[list[int]]:
        plan = make_plan(range(7), left_out(masks), seeding, False, size)
        return FoldChain(problem.with_held_out, plan, Limits()).waves

    everybody = list(range(7))
    assert waves("none", 50) == [everybody]
    assert waves("top", 50) == [everybody]
    assert waves("sir", 50) == [[h] for h in everybody]
    assert waves("auto", 50) == [[0], everybody[1:]]
    assert waves("auto", 5000) == [[0], [1, 2], [3, 4, 5, 6]]  # then the seed is judged
    assert waves("decremental", 50) == [[0], everybody[1:]]


def test_overlapping_folds_begin_from_the_nearest() -> None:
    masks = as_masks(RepeatedKFold(n_splits=4, n_repeats=5, random_state=0), 40)
    latest = nearest_earlier(range(20), left_out(masks))
    first = nearest_earlier(range(20), left_out(masks), prefers_first=True)
    for h in range(1, 20):
        distances = [int(np.sum(masks[h] != masks[j])) for j in range(h)]
        assert distances[latest[h]] == distances[first[h]] == min(distances)
        assert all(d > min(distances) for d in distances[latest[h] + 1 :])
        assert all(d > min(distances) for d in distances[: first[h]])
    assert any(parent < h - 1 for h, parent in latest.items() if h)


def test_the_full_solution_is_used_and_returned() -> None:
    problem = problem_of()
    masks = as_masks(KFold(4), problem.n)
    full = smo.solve(problem)
    run = solve_folds(problem, masks, seeding="greedy", full=full)
    assert run.full is full
    assert {solution.info.seed for solution in run.solutions if solution} == {"greedy"}
    assert solve_folds(problem, masks, seeding="none").full is None
    assert solve_folds(problem, masks, seeding="none", wants_full=True).full is not None


def test_seeds_do_not_pay_on_tiny_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of()
    rows_of = left_out(as_masks(KFold(10), 50))
    assert not make_plan(range(10), rows_of, "auto", False, 50).may_give_up
    monkeypatch.setattr(parents_module, "FEW_INSTANCES", 0)
    run = solve_folds(problem, as_masks(KFold(10), problem.n), seeding="auto")
    assert [solution.info.seed for solution in run.solutions if solution][2:] == ["cold"] * 8


def test_useless_seeds_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two seeded folds cost more than a cold one, the others begin cold."""

    def count(solution: Any, has_sisters: bool = False) -> float:
        return 1e9 if solution.info.seed == "greedy" else 1.0

    monkeypatch.setattr(chain_module, "estimate_work", count)
    monkeypatch.setattr(parents_module, "FEW_INSTANCES", 0)
    problem = problem_of(SVC(gamma=0.1, C=100.0))
    for k in (6, 12):
        masks = as_masks(KFold(k), problem.n)
        run = solve_folds(problem, masks, seeding="auto")
        seeds = [solution.info.seed for solution in run.solutions if solution]
        assert seeds.count("greedy") == 2
        assert seeds[-1] == "cold"
        run = solve_folds(problem, masks, seeding="greedy")
        seeds = [solution.info.seed for solution in run.solutions if solution]
        assert seeds.count("greedy") == k  # asked for by name, it is used


def test_work_is_counted() -> None:
    problem = problem_of(SVC(gamma=0.1, C=100.0))
    cold = smo.solve(problem)
    again = smo.solve(problem, cold.as_start())
    assert estimate_work(again) < 0.1 * estimate_work(cold)
    assert estimate_work(smo.solve(problem)) == estimate_work(cold)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_exception_keeps_the_folds_done(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of()
    masks = as_masks(KFold(6), problem.n)
    monkeypatch.setattr(parents_module, "FEW_INSTANCES", 0)
    n_calls, n_done = 1, 3  # the folds until the seeds are judged are one call

    def limited(*args: Any, **options: Any) -> Any:
        nonlocal n_calls
        n_calls -= 1
        if n_calls < 0:
            raise RuntimeError("no more")
        return solve_sequence(*args, **options)

    monkeypatch.setattr(chain_module, "solve_sequence", limited)
    with pytest.raises(RuntimeError, match="no more") as caught:
        solve_folds(problem, masks, n_jobs=n_jobs)
    partial: Any = caught.value.partial  # type: ignore[attr-defined]
    is_done = [solution is not None for solution in partial.solutions]
    assert is_done == [True] * n_done + [False] * (6 - n_done)


def hard_problem() -> tuple[Problem, list[NDArray[np.bool_]]]:
    """Seconds a fold, but for the first."""
    X, y = make_classification(
        3000, 20, n_informative=10, n_clusters_per_class=6, flip_y=0.3, random_state=2
    )
    X = StandardScaler().fit_transform(X)
    problem = SVC(C=1e7, gamma=0.001, tol=1e-9).to_problem(X, y)
    assert isinstance(problem, Problem)
    return problem, [np.arange(problem.n) >= 20, *as_masks(KFold(5), problem.n)]


def test_the_time_limit_holds_for_all_folds() -> None:
    problem, masks = hard_problem()
    with pytest.raises(TimeoutError, match="time limit") as caught:
        solve_folds(problem, masks, tol=1e-9, time_limit=1.0, seeding="none")
    partial: Any = caught.value.partial  # type: ignore[attr-defined]
    assert partial.solutions[0] is not None
    assert partial.solutions[-1] is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_folds_done(n_jobs: int) -> None:
    problem, masks = hard_problem()
    n_threads = threading.active_count()
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            solve_folds(problem, masks, tol=1e-9, time_limit=60.0, seeding="none", n_jobs=n_jobs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    partial: Any = caught.value.partial  # type: ignore[attr-defined]
    assert partial.solutions[0] is not None
    assert partial.solutions[-1] is None
    end = time.monotonic() + 10.0
    while threading.active_count() > n_threads and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() == n_threads  # no worker goes on
