"""The nouns: moves are pure, boxes are right, bad values are named."""

from __future__ import annotations

import numpy as np
import pytest

from alphapath import Info, Problem, Solution, Start, Status
from alphapath.errors import InfeasibleStart, InvalidProblem, SolverMismatch
from alphapath.solvers import SOLVERS
from oracles import MatrixView


@pytest.fixture
def view():
    X = np.random.default_rng(0).normal(size=(6, 3))
    return MatrixView(X @ X.T)


Y = np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
C = np.array([1.0, 2.0, 3.0, 0.0, 0.5, 1.0])


def test_classification_box(view):
    problem = Problem.classification(view, Y, C)
    assert problem.lower.tolist() == [0, 0, -3, 0, 0, -1]
    assert problem.upper.tolist() == [1, 2, 0, 0, 0.5, 0]
    assert problem.total == 0.0
    assert problem.n == 6


def test_regression_and_one_class_boxes(view):
    problem = Problem.regression(view, Y, C, epsilon=0.1)
    assert np.array_equal(problem.lower, -C)
    assert np.array_equal(problem.upper, C)
    one = Problem.one_class(view, C, nu=0.4)
    assert one.lower.tolist() == [0.0] * 6
    assert np.array_equal(one.upper, C)
    assert one.total == pytest.approx(0.4 * C.sum())


def test_zero_scale_shuts_the_box_even_for_infinite_weights(view):
    problem = Problem.classification(view, Y, np.full(6, np.inf))
    assert problem.lower.tolist() == [0, 0, -np.inf, -np.inf, 0, -np.inf]
    assert problem.upper.tolist() == [np.inf, np.inf, 0, 0, np.inf, 0]


def test_moves_are_pure_and_share(view):
    problem = Problem.classification(view, Y, C)
    mask = np.array([True, False, False, False, False, False])
    fold = problem.with_held_out(mask)
    assert fold.upper[0] == 0.0
    assert problem.upper[0] == 1.0
    assert fold.targets is problem.targets
    assert fold.upper_scale is problem.upper_scale
    double = problem.with_weights(2.0 * C)
    assert np.array_equal(double.upper, 2.0 * problem.upper)
    other = problem.with_kernel(MatrixView(np.eye(6)))
    assert other.weights is problem.weights
    assert other.kernel is not problem.kernel


def test_held_out_one_class_keeps_its_share(view):
    problem = Problem.one_class(view, np.ones(6), nu=0.5)
    fold = problem.with_held_out(np.arange(6) < 2)
    assert fold.total == pytest.approx(0.5 * 4)


def test_arrays_are_frozen_and_the_callers_are_not(view):
    weights = C.copy()
    problem = Problem.classification(view, Y, weights)
    weights[0] = 99.0
    assert problem.weights[0] == 1.0
    for array in (problem.targets, problem.weights, problem.lower, problem.upper):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        problem.epsilon = 1.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"targets": np.ones(5)}, "targets has 5 values, but the kernel has 6"),
        ({"targets": np.ones((6, 1))}, r"targets must be one-dimensional.*\(6, 1\)"),
        ({"targets": np.array([0, 0, np.nan, 0, 0, 0.0])}, r"targets\[2\] is nan"),
        ({"weights": -np.ones(6)}, r"weights\[0\] is -1.0"),
        ({"weights": np.array([0, np.nan, 0, 0, 0, 0])}, r"weights\[1\] is nan"),
        ({"weights": np.zeros(6)}, "All weights are zero"),
        ({"lower_scale": np.full(6, 2.0)}, r"lower_scale\[0\] is 2.0.*at most upper_scale"),
        ({"epsilon": -0.5}, "epsilon is -0.5"),
        ({"ridge": np.inf}, "ridge is inf"),
        ({"total_share": 2.0}, "No beta in the box has sum"),
        ({"total_share": np.nan}, "both must be finite"),
    ],
)
def test_bad_values_are_named(view, change, sentence):
    fields = {
        "kernel": view,
        "targets": np.zeros(6),
        "weights": np.ones(6),
        "lower_scale": np.zeros(6),
        "upper_scale": np.ones(6),
    }
    with pytest.raises(InvalidProblem, match=sentence):
        Problem(**{**fields, **change})


def test_bad_constructors(view):
    with pytest.raises(InvalidProblem, match=r"y_signs\[2\] is 0.0"):
        Problem.classification(view, [1, -1, 0, 1, 1, 1], np.ones(6))
    for nu in (0.0, -1.0, 1.5, np.nan):
        with pytest.raises(InvalidProblem, match=f"nu is {nu}"):
            Problem.one_class(view, np.ones(6), nu)
    with pytest.raises(InvalidProblem, match="mask has dtype int64"):
        Problem.one_class(view, np.ones(6), 0.5).with_held_out(np.zeros(6, dtype=np.int64))


def test_feasibility_is_checked_exactly(view):
    problem = Problem.classification(view, Y, C)
    assert Start(np.zeros(6)).is_feasible(problem)
    assert Start([0.5, 0, -0.5, 0, 0, 0]).is_feasible(problem)
    assert not Start([0.5, 0, -0.4, 0, 0, 0]).is_feasible(problem)
    with pytest.raises(InfeasibleStart, match=r"beta\[0\] is 1.5; it must lie in \[0.0, 1.0\]"):
        problem.check_feasible([1.5, 0, -1.5, 0, 0, 0])
    with pytest.raises(InfeasibleStart, match="sums to"):
        problem.check_feasible([0.5, 0, 0, 0, 0, 0])
    with pytest.raises(InfeasibleStart, match="shape"):
        problem.check_feasible([0.5])
    with pytest.raises(InfeasibleStart, match=r"beta\[3\] is nan"):
        problem.check_feasible([0, 0, 0, np.nan, 0, 0])
    with pytest.raises(InfeasibleStart, match="equally long"):
        Start(np.zeros(6), np.zeros(5))


def test_decision_values_and_start(view):
    problem = Problem.regression(view, Y, np.ones(6), epsilon=0.1)
    beta = np.array([0.5, -0.5, 0, 0, 0, 0])
    gradient = view.K @ beta - Y
    info = Info(Status.SOLVED, 0.0, 0.0, 0.0, 0)
    solution = Solution(problem, beta, gradient, 0.25, info)
    assert np.allclose(solution.decision_values, view.K @ beta + 0.25)
    start = solution.as_start()
    assert start.beta is solution.beta
    assert start.gradient is solution.gradient
    assert solution.with_seed("scale", 0.5).info.seed == "scale"


def test_a_solver_refuses_the_other_family(view):
    free = Problem(view, Y, C, np.zeros(6), np.ones(6), has_equality=False)
    with pytest.raises(SolverMismatch, match="use the coordinate solver"):
        SOLVERS["smo"](free)
    with pytest.raises(SolverMismatch, match="use the smo solver"):
        SOLVERS["coordinate"](Problem.classification(view, Y, C))
