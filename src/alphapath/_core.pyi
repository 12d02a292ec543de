"""The compiled core of alphapath."""

from collections.abc import Sequence
import enum
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


def use_blas(cython_blas: object, cython_lapack: object) -> None:
    """Take the BLAS and LAPACK entry points from SciPy's exported capsules."""

def use_stop_question(is_wanted: object) -> None:
    """
    Take the function that says whether the thread that calls it is to end.
    """

def warn_of_leaks(is_on: bool) -> None:
    """
    Whether objects of this module that outlive Python are listed as it ends.
    """

def instruction_set() -> str:
    """The instruction set chosen for the hot loops."""

class Samples:
    """Rows of numbers, dense or CSR, as the kernels read them."""

    @overload
    def __init__(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], step: float = 0.0) -> None:
        """With a step, the whole numbers that are the rows divided by it."""

    @overload
    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, dense_limit: int) -> None: ...

    @property
    def n(self) -> int: ...

    @property
    def is_dense(self) -> bool: ...

    @property
    def is_integer(self) -> bool: ...

    @property
    def max_squared_norm(self) -> float: ...

def look_at_matrix(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple[bool, float, float, float]:
    """
    (is finite, lowest, highest, largest |x_ij - x_ji|) of a square matrix.
    """

def largest_squared_norm(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> float:
    """The largest |x|^2 of the rows; not finite where one is not."""

def take_rows(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """A copy of some rows, in this order."""

def hash_rows(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], multipliers: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.uint64]:
    """
    One number for each row: the sum of multipliers times mixed bits, modulo 2^64.
    """

def first_equal(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    For each row the number of the first row that equals it; None where no two are equal.
    """

def is_on_grid(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], step: float, tolerance: float) -> bool:
    """
    Whether no value is further than `tolerance` from a multiple of the step.
    """

class KernelRows:
    """Kernel rows as the solvers read them."""

class Gram(KernelRows):
    """A kernel matrix, whole or row by row."""

    @property
    def n(self) -> int: ...

    @property
    def precision(self) -> str: ...

    @property
    def is_full(self) -> bool: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def n_rows_computed(self) -> int: ...

    @property
    def n_hits(self) -> int: ...

    def diagonal(self) -> NDArray[numpy.float64]:
        """The stored diagonal; the true one is this plus twice the offset."""

    def offset(self) -> NDArray[numpy.float64]:
        """K_ij = stored_ij + offset_i + offset_j."""

    def rows(self, idx: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """K[idx, :], offsets included."""

    def block(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """K[rows][:, columns], offsets included."""

    def part(self, members: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Gram:
        """The rows and columns of some instances, in this order."""

    def multiply(self, idx: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], coef: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """K[:, idx] @ coef, summed in double."""

    def products_at(self, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """
        K[rows, :] @ beta from gradients K beta - r, for several beta. The rows of each end at `ends`; without ends each has all rows. Products closer to another than their rounding are summed again from the kernel.
        """

class KernelFunction:
    """A kernel's formula and its parameters."""

    def __init__(self, kind: str, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3) -> None: ...

class GramOptions:
    """
    capacity: rows that a row cache holds, 0 for the whole matrix. may_defer: the rows of a large one are made when asked for, where memory is slow to get.
    """

    def __init__(self, precision: str = 'float64', capacity: int = 0, n_threads: int = 1, may_defer: bool = False) -> None: ...

def gram_of_samples(samples: object, function: KernelFunction, options: GramOptions) -> Gram: ...

def matrix_of_samples(samples: Samples, function: KernelFunction, n_threads: int) -> NDArray[numpy.float64]: ...

def gram_of_products(products: Gram, function: KernelFunction, options: GramOptions) -> Gram: ...

def gram_of_array(array: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], options: GramOptions) -> Gram: ...

LARGEST_IN_FLOAT32: float = 1e+36

class BoxProblem:
    """One SVM dual on a kernel; keeps its arrays alive."""

    def __init__(self, gram: object, targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], epsilon: float = 0.0, ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, total: float = 0.0) -> None: ...

class SolveOptions:
    """Tolerance, limits and memory of one solve."""

    def __init__(self, tol: float = 0.001, max_iter: int = -1, time_limit: float = 0.0, free_set: bool = True, memory_limit: int = 0, gap_tol: float = 0.0) -> None: ...

class SolveResult:
    """What a solver returns: the point and its counts."""

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def gradient(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def status(self) -> int: ...

    @property
    def bias(self) -> float: ...

    @property
    def objective(self) -> float: ...

    @property
    def duality_gap(self) -> float: ...

    @property
    def kkt_violation(self) -> float: ...

    @property
    def hidden(self) -> float: ...

    @property
    def n_iter(self) -> int: ...

    @property
    def n_free_set_solves(self) -> int: ...

    @property
    def n_bound_hits(self) -> int: ...

    @property
    def n_refreshes(self) -> int: ...

    @property
    def solve_time(self) -> float: ...

def solve_smo(problem: BoxProblem, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, options: SolveOptions) -> SolveResult:
    """Second-order SMO under sum(beta) = total."""

def solve_coordinate(problem: BoxProblem, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, options: SolveOptions) -> SolveResult:
    """Greedy coordinate descent without the equality constraint."""

def slope_rounding(gram: object, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], has_equality: bool) -> float:
    """How far slopes may be off because kernel values are doubles."""

class LeaveOneOutResult:
    """One value for each instance left out."""

    @property
    def values(self) -> NDArray[numpy.float64]: ...

    @property
    def n_iter(self) -> list[int]: ...

    @property
    def statuses(self) -> list[int]: ...

    @property
    def solve_time(self) -> float: ...

def leave_one_out(problem: BoxProblem, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], instances: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], options: SolveOptions, only_signs: bool) -> LeaveOneOutResult:
    """Decision values of instances by the models trained without them."""

class MaxMinOverResult:
    """A solution, its counters and its gaps."""

    @property
    def solution(self) -> SolveResult: ...

    @property
    def counters(self) -> NDArray[numpy.float64]: ...

    @property
    def gap(self) -> float: ...

    @property
    def trace(self) -> NDArray[numpy.float64]: ...

def solve_maxminover(problem: BoxProblem, counters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, options: SolveOptions, recompute_every: int = 1000, check_every: int = 0) -> MaxMinOverResult:
    """
    OneClassMaxMinOver: one class with squared slacks, by steps of +2 and -1.
    """

class ChainNode:
    """How one solve_counters of a chain went."""

    @property
    def status(self) -> int: ...

    @property
    def n_iter(self) -> int: ...

    @property
    def n_refreshes(self) -> int: ...

    @property
    def gap(self) -> float: ...

    @property
    def seconds(self) -> float: ...

class RidgeChainResult:
    """Solutions for several ridges in turn."""

    @property
    def nodes(self) -> list[ChainNode]: ...

    @property
    def beta(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @property
    def gradient(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

def solve_ridge_chain(problem: BoxProblem, factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, options: SolveOptions) -> RidgeChainResult:
    """Coordinate descent for several ridges in turn, each from the last."""

class MarginRows:
    """The rows of X, dense or CSR, read in place."""

    @overload
    @staticmethod
    def dense(X: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> MarginRows: ...

    @overload
    @staticmethod
    def dense(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> MarginRows: ...

    @property
    def norms(self) -> NDArray[numpy.float64]: ...

    def dots(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], list: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> NDArray[numpy.float64]:
        """x_i'w of all rows, or of those listed."""

    def gram(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], has_bias: bool = False) -> NDArray[numpy.float64]:
        """
        Lower triangle of sum_i weights_i x_i x_i', a feature of ones appended for a bias.
        """

    @overload
    @staticmethod
    def csr(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> MarginRows: ...

    @overload
    @staticmethod
    def csr(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> MarginRows: ...

    @overload
    @staticmethod
    def csr(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> MarginRows: ...

    @overload
    @staticmethod
    def csr(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> MarginRows: ...

class MarginLoss:
    """Flat from high on, parabola, line up to low."""

    @staticmethod
    def hinge() -> MarginLoss: ...

    @staticmethod
    def huber(h: float) -> MarginLoss: ...

    @staticmethod
    def squared_hinge() -> MarginLoss: ...

class MarginTask:
    """Rows, labels, weights and loss."""

    def __init__(self, rows: object, labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)], loss: MarginLoss) -> None: ...

class PegasosOptions:
    """Regularisation, sampling and length of a run."""

    def __init__(self) -> None: ...

    @property
    def lam(self) -> float: ...

    @lam.setter
    def lam(self, arg: float, /) -> None: ...

    @property
    def has_bias(self) -> bool: ...

    @has_bias.setter
    def has_bias(self, arg: bool, /) -> None: ...

    @property
    def n_sampled(self) -> int: ...

    @n_sampled.setter
    def n_sampled(self, arg: int, /) -> None: ...

    @property
    def n_steps(self) -> int: ...

    @n_steps.setter
    def n_steps(self, arg: int, /) -> None: ...

    @property
    def uses_bounds(self) -> bool: ...

    @uses_bounds.setter
    def uses_bounds(self, arg: bool, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

class PegasosResult:
    """Where a run of Pegasos ended."""

    @property
    def theta(self) -> NDArray[numpy.float64]: ...

    @property
    def n_steps(self) -> int: ...

    @property
    def n_examined(self) -> int: ...

    @property
    def n_pruned(self) -> int: ...

    @property
    def status(self) -> int: ...

def run_pegasos(task: MarginTask, options: PegasosOptions, time_limit: float = 0.0) -> PegasosResult:
    """Stochastic subgradient descent on the hinge loss."""

class MarginSums:
    """Exact losses and gradients along a moving theta."""

    def __init__(self, task: object, method: str = 'lazy', n_threads: int = 1) -> None: ...

    def evaluate(self, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[float, NDArray[numpy.float64]]:
        """The value and the gradient at theta = (w, b)."""

    @property
    def n_evaluations(self) -> int: ...

    @property
    def n_examined(self) -> int: ...

    @property
    def n_pruned(self) -> int: ...

    @property
    def n_sorts(self) -> int: ...

class DescentOptions:
    """Regularisation, step and limits of a descent."""

    def __init__(self) -> None: ...

    @property
    def lam(self) -> float: ...

    @lam.setter
    def lam(self, arg: float, /) -> None: ...

    @property
    def bias_lam(self) -> float: ...

    @bias_lam.setter
    def bias_lam(self, arg: float, /) -> None: ...

    @property
    def has_bias(self) -> bool: ...

    @has_bias.setter
    def has_bias(self, arg: bool, /) -> None: ...

    @property
    def step(self) -> float: ...

    @step.setter
    def step(self, arg: float, /) -> None: ...

    @property
    def tol(self) -> float: ...

    @tol.setter
    def tol(self, arg: float, /) -> None: ...

    @property
    def gap_tol(self) -> float: ...

    @gap_tol.setter
    def gap_tol(self, arg: float, /) -> None: ...

    @property
    def halves_step(self) -> bool: ...

    @halves_step.setter
    def halves_step(self, arg: bool, /) -> None: ...

    @property
    def max_iter(self) -> int: ...

    @max_iter.setter
    def max_iter(self, arg: int, /) -> None: ...

class DescentResult:
    """Where a descent ended."""

    @property
    def theta(self) -> NDArray[numpy.float64]: ...

    @property
    def objective(self) -> float: ...

    @property
    def step(self) -> float: ...

    @property
    def n_iter(self) -> int: ...

    @property
    def status(self) -> int: ...

def descend(sums: MarginSums, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], options: DescentOptions, time_limit: float = 0.0) -> DescentResult:
    """Gradient descent with a step halved when the objective rose."""

class NewtonOptions:
    """Bias, tolerance and limits of a Newton path."""

    def __init__(self) -> None: ...

    @property
    def has_bias(self) -> bool: ...

    @has_bias.setter
    def has_bias(self, arg: bool, /) -> None: ...

    @property
    def bias_penalty(self) -> float: ...

    @bias_penalty.setter
    def bias_penalty(self, arg: float, /) -> None: ...

    @property
    def keeps_gram(self) -> bool: ...

    @keeps_gram.setter
    def keeps_gram(self, arg: bool, /) -> None: ...

    @property
    def are_signs_enough(self) -> bool: ...

    @are_signs_enough.setter
    def are_signs_enough(self, arg: bool, /) -> None: ...

    @property
    def tol(self) -> float: ...

    @tol.setter
    def tol(self, arg: float, /) -> None: ...

    @property
    def gradient_tol(self) -> float: ...

    @gradient_tol.setter
    def gradient_tol(self, arg: float, /) -> None: ...

    @property
    def bias_tol(self) -> float: ...

    @bias_tol.setter
    def bias_tol(self, arg: float, /) -> None: ...

    @property
    def max_iter(self) -> int: ...

    @max_iter.setter
    def max_iter(self, arg: int, /) -> None: ...

class NewtonResult:
    """How one solve of a Newton path went."""

    @property
    def objective(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def n_iter(self) -> int: ...

    @property
    def n_products(self) -> int: ...

    @property
    def n_factors(self) -> int: ...

    @property
    def status(self) -> int: ...

class NewtonPath:
    """Newton's method along a sequence of C."""

    def __init__(self, task: object, options: NewtonOptions, gram: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def solve(self, C: float, time_limit: float = 0.0) -> NewtonResult: ...

    def set_loss(self, loss: MarginLoss) -> None: ...

    def move_to(self, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def theta(self) -> NDArray[numpy.float64]: ...

    @property
    def n_examined(self) -> int: ...

    @property
    def n_pruned(self) -> int: ...

    @property
    def n_crossings(self) -> int: ...

class JointPaths:
    """Newton paths of up to eight folds side by side."""

    def __init__(self, tasks: Sequence[object], options: NewtonOptions, grams: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]]) -> None: ...

    def solve(self, C: float, time_limit: float = 0.0) -> list[NewtonResult]: ...

    @property
    def held_out_values(self) -> NDArray[numpy.float64]:
        """w'x + b of each row under the fold that holds it out."""

    def theta(self, fold: int) -> NDArray[numpy.float64]: ...

class DualSums:
    """What the duality gap of margin losses needs, by class."""

    @property
    def losses(self) -> float: ...

    @property
    def alpha(self) -> NDArray[numpy.float64]: ...

    @property
    def squares(self) -> NDArray[numpy.float64]: ...

    @property
    def moments(self) -> NDArray[numpy.float64]: ...

def sum_dual(task: MarginTask, smooth: MarginLoss, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], wants_values: bool = False) -> tuple[DualSums, NDArray[numpy.float64]]:
    """
    At theta = (w, b): the losses of the task and, of the dual point that the slopes of the smooth loss give, for each class (-1, +1) the sums of alpha, of alpha^2 / s and of alpha y (x, 1); and the decision values where they are wanted.
    """

class DualOptions:
    """Tolerance, limits and order of a dual descent."""

    def __init__(self) -> None: ...

    @property
    def tol(self) -> float: ...

    @tol.setter
    def tol(self, arg: float, /) -> None: ...

    @property
    def has_bias(self) -> bool: ...

    @has_bias.setter
    def has_bias(self, arg: bool, /) -> None: ...

    @property
    def max_iter(self) -> int: ...

    @max_iter.setter
    def max_iter(self, arg: int, /) -> None: ...

    @property
    def max_examined(self) -> int: ...

    @max_examined.setter
    def max_examined(self, arg: int, /) -> None: ...

    @property
    def uses_bounds(self) -> bool: ...

    @uses_bounds.setter
    def uses_bounds(self, arg: bool, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

class DualResult:
    """Where a dual descent ended."""

    @property
    def alpha(self) -> NDArray[numpy.float64]: ...

    @property
    def theta(self) -> NDArray[numpy.float64]: ...

    @property
    def objective(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def violation(self) -> float: ...

    @property
    def n_iter(self) -> int: ...

    @property
    def n_inner(self) -> int: ...

    @property
    def n_examined(self) -> int: ...

    @property
    def n_pruned(self) -> int: ...

    @property
    def n_references(self) -> int: ...

    @property
    def status(self) -> int: ...

def descend_dual(task: MarginTask, start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, options: DualOptions, time_limit: float = 0.0) -> DualResult:
    """Coordinate descent on the dual of the hinge loss."""

class NearInstances:
    """
    Instances by how far theta must move before their state changes; the rows of `facts` are reach, value, target, state, weight and change.
    """

    def __init__(self, facts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], answers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], width: float, is_two_sided: bool, is_everybody: bool) -> None: ...

class RemovalResult:
    """One value for each instance left out."""

    @property
    def values(self) -> NDArray[numpy.float64]: ...

    @property
    def reach(self) -> NDArray[numpy.float64]: ...

    @property
    def n_solves(self) -> list[int]: ...

    @property
    def n_changes(self) -> list[int]: ...

    @property
    def statuses(self) -> list[int]: ...

def remove_each(near: NearInstances, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], facts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], answers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], feature_facts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, feature_answers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None) -> RemovalResult:
    """
    Decision values of instances by the smooth SVMs without them; the rows of `facts` are value, goal, weight and change, those of `feature_facts` coefficient, change and own.
    """

def multiply_few(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """vectors @ X[which].T without a copy of the rows."""

def combine_few(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, coefs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """coefs @ X[which] without a copy of the rows."""

class Seed(enum.IntEnum):
    """How a step of a sequence starts."""

    cold = 0

    keep = 1

    lift = 2

    scale = 3

    climb = 4

    greedy = 5

class Family:
    """Problems on one kernel that differ in their weights."""

    def __init__(self, gram: object, targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], epsilon: float, total_share: float, scope: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class SequenceWorkspace:
    """What calls of solve_sequence on one kernel hand on; one at a time."""

    def __init__(self, gram: object) -> None: ...

def solve_sequence(family: Family, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], known_beta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], known_gradient: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], options: SolveOptions, total_time_limit: float = 0.0, workspace: SequenceWorkspace | None = None, n_threads: int = 1) -> dict[str, object]:
    """
    Solve steps in order, each from an earlier one; a dictionary of arrays.
    """

def near_size(n_free: int, n: int) -> int:
    """How many of n instances a fold begins with; 0 for all."""

def solve_class_pairs(gram: Gram, members: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], signs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], parents: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], seeds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], options: SolveOptions, total_time_limit: float, n_threads: int) -> dict[str, object]:
    """
    The same steps for every pair of classes, on its own instances; a dictionary of arrays.
    """

class TransductionResult:
    """Labels, the solution, and the work."""

    @property
    def signs(self) -> NDArray[numpy.float64]: ...

    @property
    def beta(self) -> NDArray[numpy.float64]: ...

    @property
    def status(self) -> int: ...

    @property
    def n_switches(self) -> int: ...

    @property
    def n_doublings(self) -> int: ...

    @property
    def n_solves(self) -> int: ...

    @property
    def n_rounds(self) -> int: ...

    @property
    def n_descents(self) -> int: ...

    @property
    def n_iter(self) -> int: ...

def transduce(gram: object, targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], limit: float, first_weight: float, n_positive: int, options: SolveOptions) -> TransductionResult:
    """Joachims' transductive SVM; targets of the unlabelled are 0."""

class GrowingGram(KernelRows):
    """A kernel matrix that grows."""

    def __init__(self, n_slots: int) -> None: ...

    @property
    def n(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def begin(self, n_slots: int, samples: Samples, function: KernelFunction) -> None:
        """The first rows, in the first slots."""

    def reserve(self, n_slots: int) -> None: ...

    @property
    def n_rows_computed(self) -> int: ...

    def offset(self) -> NDArray[numpy.float64]:
        """K_ij = stored_ij + offset_i + offset_j."""

    def block(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
        """K[rows][:, columns], offsets included."""

    def fill(self, slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], others: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Stored K(slots, others), one row a slot, and its mirror image."""

    def fill_rbf(self, gamma: float, slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], at_origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], others: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], others_at_origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """The same from squared distances, which are overwritten."""

class PathCounts:
    """Work done along a path."""

    @property
    def n_events(self) -> int: ...

    @property
    def n_steps(self) -> int: ...

    @property
    def n_exchanges(self) -> int: ...

    @property
    def n_jumps(self) -> int: ...

    @property
    def n_ramps(self) -> int: ...

    @property
    def n_refreshes(self) -> int: ...

    @property
    def n_updates(self) -> int: ...

    @property
    def n_parts(self) -> int: ...

    @property
    def n_dropped(self) -> int: ...

class PathWalker:
    """Follows the exact solution while the problem moves."""

    def __init__(self, gram: object, epsilon: float = 0.0, has_equality: bool = True, is_centred: bool = False) -> None: ...

    def define(self, instances: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper_scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Describe instances; they become absent."""

    def start(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """Begin at a feasible beta."""

    def copy(self) -> PathWalker:
        """Another walker at the same place, on the same kernel."""

    def grow(self) -> None:
        """The kernel has more slots."""

    def aim(self, c0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dc: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: float) -> None:
        """Weights c0 + tau dc from tau = start."""

    def drive(self, adds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], removes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Instances that come and go until tau = 1."""

    def can_drive(self, adds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], removes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
        """Whether betas of both signs are possible before and after."""

    def quality(self) -> tuple[float, float, float, float, float]:
        """
        (bias, objective, duality gap, KKT violation, rounding of slopes) of the present point.
        """

    def walk(self, to: float, max_events: int, time_limit: float = 0.0) -> int:
        """Follow the path; the status is a PathStatus."""

    def walk_past(self, stops: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], events_alone: int, max_events: int) -> int:
        """
        Follow the path to the last stop, or to the first after so many events.
        """

    def refresh(self) -> float:
        """Recompute the residuals; returns the KKT violation."""

    def record(self, is_on: bool, keeps_pieces: bool = True) -> None:
        """Walk exactly from now on, and keep the pieces or scores alone."""

    def pause(self, is_on: bool) -> None:
        """
        Walk to the solution at one place of the path, of which no piece is kept.
        """

    def score(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_error: bool) -> None:
        """Sum the error of these rows along what is recorded."""

    def take_curve(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """The score so far, as sum_scores gives it."""

    def take_pieces(self) -> dict[str, Any]:
        """The pieces kept so far."""

    @property
    def tau(self) -> float: ...

    @property
    def bias(self) -> float: ...

    @property
    def n_margin(self) -> int: ...

    @property
    def past_rounding(self) -> float: ...

    @property
    def rounding_floor(self) -> float: ...

    @property
    def imbalance(self) -> float: ...

    @property
    def target_scale(self) -> float: ...

    @property
    def counts(self) -> PathCounts: ...

    def beta(self) -> NDArray[numpy.float64]: ...

    def residuals(self) -> NDArray[numpy.float64]: ...

    def places(self) -> NDArray[numpy.int8]: ...

def sum_scores(starts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], residual: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rate: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_error: bool) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """
    0-1 or squared error along a path: where it changes, and from there its value, and of squares the slope and the curvature.
    """

class QuadraticProblem:
    """A quadratic-loss SVM without bias, labels and weights folded in."""

    def __init__(self, kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def n(self) -> int: ...

class QuadraticSolution:
    """The solution at one lambda."""

    @property
    def a(self) -> NDArray[numpy.float64]: ...

    @property
    def q(self) -> NDArray[numpy.float64]: ...

    @property
    def violation(self) -> float: ...

    @property
    def n_iter(self) -> int: ...

    @property
    def is_solved(self) -> bool: ...

    @property
    def is_interrupted(self) -> bool: ...

    @property
    def is_convex(self) -> bool: ...

class QuadraticPathOptions:
    """From where to where, and how."""

    def __init__(self, lambda_start: float, lambda_end: float, uses_eigen: bool = False, has_cutoff: bool = True, keeps_segments: bool = True, max_events: int = -1, time_limit: float = 0.0) -> None: ...

class QuadraticPath:
    """Events and pieces of a path over lambda."""

    @property
    def event_lambdas(self) -> NDArray[numpy.float64]: ...

    @property
    def event_instances(self) -> NDArray[numpy.int32]: ...

    @property
    def event_from(self) -> NDArray[numpy.int8]: ...

    @property
    def event_to(self) -> NDArray[numpy.int8]: ...

    @property
    def segment_first(self) -> NDArray[numpy.float64]: ...

    @property
    def segment_last(self) -> NDArray[numpy.float64]: ...

    @property
    def segment_events(self) -> NDArray[numpy.int64]: ...

    @property
    def segment_sizes(self) -> NDArray[numpy.int64]: ...

    @property
    def first_sides(self) -> NDArray[numpy.int8]: ...

    @property
    def last_a(self) -> NDArray[numpy.float64]: ...

    @property
    def gap_firsts(self) -> NDArray[numpy.float64]: ...

    @property
    def gap_lasts(self) -> NDArray[numpy.float64]: ...

    def segment(self, k: int) -> tuple[Annotated[NDArray[numpy.int32], dict(writable=False)], Annotated[NDArray[numpy.float64], dict(writable=False)], Annotated[NDArray[numpy.float64], dict(writable=False)], Annotated[NDArray[numpy.float64], dict(writable=False)], Annotated[NDArray[numpy.float64], dict(writable=False)]]:
        """(members, a, drift, poles, residues) of one piece."""

    @property
    def status(self) -> int: ...

    @property
    def lambda_end(self) -> float: ...

    @property
    def n_equations(self) -> int: ...

    @property
    def n_iterations(self) -> int: ...

    @property
    def n_poles(self) -> int: ...

    @property
    def n_factorizations(self) -> int: ...

    @property
    def n_resets(self) -> int: ...

    @property
    def largest_residual(self) -> float: ...

def solve_quadratic(problem: QuadraticProblem, lam: float, guess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tol: float = 1e-09, max_iter: int = 200) -> QuadraticSolution:
    """Active-set Newton at one lambda."""

def follow_quadratic_path(problem: QuadraticProblem, guess: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, options: QuadraticPathOptions) -> QuadraticPath:
    """The exact path from one lambda to another."""

def find_crossings(s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], e: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], poles: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], end: float) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]:
    """All zeros of s + x (e + sum_k W_k / (poles_k - x)), row by row."""

class RankPairs:
    """Pairs of a ranking model on the rows they are made of."""

    def __init__(self, instances: object, better: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], worse: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_row: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def n(self) -> int: ...

class PairLimits:
    """When coordinate descent over pairs stops."""

    def __init__(self, tol: float = 0.001, max_passes: int = -1) -> None: ...

    @property
    def tol(self) -> float: ...

    @property
    def max_passes(self) -> int: ...

class PairResult:
    """What coordinate descent over pairs found."""

    @property
    def status(self) -> int: ...

    def beta(self) -> NDArray[numpy.float64]: ...

    @property
    def n_passes(self) -> int: ...

    @property
    def n_steps(self) -> int: ...

def descend_pairs(pairs: RankPairs, upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: PairLimits, time_limit: float = 0.0) -> PairResult:
    """Coordinate descent over pairs, a query at a time."""

def solve_pairs_by_newton(pairs: RankPairs, upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: PairLimits, time_limit: float = 0.0) -> PairResult:
    """Newton's method on w with a hinge rounded by tol."""

class PairWalker:
    """Follows the exact ranking model while the weights of pairs move."""

    def __init__(self, pairs: object) -> None: ...

    def start(self, beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """Begin at a feasible beta."""

    def aim(self, c0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], dc: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: float) -> None:
        """Weights c0 + tau dc from tau = start."""

    def walk(self, to: float, max_events: int, time_limit: float = 0.0) -> int:
        """Follow the path; the status is a PathStatus."""

    def refresh(self) -> float:
        """Recompute the scores; returns the KKT violation."""

    def record(self, is_on: bool) -> None:
        """Keep the pieces from now on."""

    def take_pieces(self) -> dict[str, Any]:
        """The pieces kept so far."""

    @property
    def tau(self) -> float: ...

    @property
    def n_margin(self) -> int: ...

    @property
    def rounding_floor(self) -> float: ...

    @property
    def counts(self) -> PathCounts: ...

    def beta(self) -> NDArray[numpy.float64]: ...

    def places(self) -> NDArray[numpy.int8]: ...

TIE_SHARE: float = 1e-09

SHORTEST_STRETCH: float = 1e-11

class NdcgWalk:
    """NDCG along scores that are affine between times."""

    def __init__(self, gains: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_row: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> None: ...

    def run(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.float64]]:
        """(times, queries, values) of every change; another call goes on."""
