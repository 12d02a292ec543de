"""Problem and Start: a member of the family of box-constrained duals, and a starting point.

    minimise    1/2 beta' (K + D) beta - r' beta + epsilon |beta|_1       D = diag(ridge)
    subject to  lower <= beta <= upper          box = [lower_scale c, upper_scale c]
                sum(beta) = total_share sum(c)  (only where has_equality)

Legend: K kernel matrix, r targets, c weights (0 = held out), beta signed dual variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InfeasibleStart, InvalidProblem

FloatArray = NDArray[np.float64]


class KernelView(Protocol):
    """What the nouns ask of a kernel: its size, and rows recomputed from the raw data."""

    @property
    def n(self) -> int: ...

    def exact_rows(self, indices: Any, /) -> FloatArray: ...


def freeze(values: ArrayLike, name: str) -> FloatArray:
    """One-dimensional, contiguous, read-only float64; shares memory only with read-only arrays."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidProblem(
            f"{name} must be one-dimensional, but its shape is {array.shape}; pass one value "
            f"per instance."
        )
    if array.flags.writeable or not array.flags.c_contiguous:
        # A fresh array made by asarray (from a list, say) is copied once more: cheap and simple.
        array = array.copy()
        array.flags.writeable = False
    return array


def scale_box(scale: FloatArray, weights: FloatArray) -> FloatArray:
    """scale * weights with 0 * inf = 0: a side of the box that does not exist stays shut."""
    if np.isinf(weights).any():
        bound = np.multiply(scale, weights, out=np.zeros_like(scale), where=scale != 0.0)
    else:
        bound = scale * weights
    bound.flags.writeable = False
    return bound


@dataclass(frozen=True, eq=False)
class Problem:
    """One SVM dual as a frozen value; its methods return new Problems that share the arrays.

    Parameters
    ----------
    kernel : KernelView
        The kernel on all n instances, including held-out ones.
    targets : array of shape (n,)
        The linear term r: the labels +-1, the regression targets, or 0 for one class.
    weights : array of shape (n,)
        c >= 0. An instance of weight 0 is held out; infinite weights are allowed if the sum is not
        constrained.
    lower_scale, upper_scale : array of shape (n,)
        The box is [lower_scale * c, upper_scale * c]; a scale of zero closes that side.
    epsilon : float
        Half-width of the insensitive tube (regression), 0 otherwise.
    has_equality : bool
        Whether sum(beta) is fixed, that is, whether the model has a free bias.
    total_share : float
        sum(beta) = total_share * sum(c): 0 for SVC and SVR, nu for the nu one-class model.
    ridge : float or array of shape (n,)
        Added to the diagonal of the kernel; one number for all instances, or one per instance.

    Attributes
    ----------
    n : int
        Number of instances, held-out ones included.
    lower, upper : array of shape (n,)
        Bounds of beta (read-only).
    box_size : float
        The sum of all weights, which |beta|_1 does not exceed (or not by much).
    total : float
        The value that sum(beta) must have where has_equality; 0 otherwise.
    has_ridge : bool
        Whether anything is added to the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from alphapath import Problem
    >>> from alphapath.kernels import KernelStore, Rbf
    >>> view = KernelStore(np.array([[0.0], [1.0], [2.0], [3.0]])).view(Rbf(gamma=0.5))
    >>> problem = Problem.classification(view, [-1.0, -1.0, 1.0, 1.0], weights=np.full(4, 10.0))
    >>> fold = problem.with_held_out(np.array([True, False, False, False]))
    >>> fold.upper
    array([ 0.,  0., 10., 10.])
    """

    kernel: KernelView
    targets: FloatArray
    weights: FloatArray
    lower_scale: FloatArray
    upper_scale: FloatArray
    epsilon: float = 0.0
    has_equality: bool = True
    total_share: float = 0.0
    ridge: float | FloatArray = 0.0
    n: int = field(init=False, repr=False)
    lower: FloatArray = field(init=False, repr=False)
    upper: FloatArray = field(init=False, repr=False)
    box_size: float = field(init=False, repr=False)
    total: float = field(init=False, repr=False)
    has_ridge: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = self.kernel.n
        for name in ("targets", "weights", "lower_scale", "upper_scale"):
            array = freeze(getattr(self, name), name)
            if array.shape[0] != n:
                raise InvalidProblem(
                    f"{name} has {array.shape[0]} values, but the kernel has {n} "
                    f"instances; there must be one value per instance."
                )
            object.__setattr__(self, name, array)
        for name in ("epsilon", "total_share"):
            object.__setattr__(self, name, float(getattr(self, name)))
        is_number = np.ndim(self.ridge) == 0
        ridge = float(self.ridge) if is_number else freeze(self.ridge, "ridge")
        object.__setattr__(self, "ridge", ridge)
        object.__setattr__(self, "n", n)
        check_values(self)
        has_ridge = ridge != 0.0 if isinstance(ridge, float) else bool(ridge.any())
        object.__setattr__(self, "has_ridge", has_ridge)
        self._set_box()

    def _set_box(self) -> None:
        """Set what depends on the weights, which were checked."""
        weights = self.weights
        size = float(weights.sum())
        self.__dict__.update(
            lower=scale_box(self.lower_scale, weights),
            upper=scale_box(self.upper_scale, weights),
            box_size=size,
            total=0.0 if self.total_share == 0.0 else self.total_share * size,
        )
        if self.has_equality:
            check_sum(self)

    @cached_property
    def holds_zero(self) -> bool:
        """Whether beta = 0 lies in the box for all weights."""
        return bool((self.lower_scale <= 0.0).all() and (self.upper_scale >= 0.0).all())

    @cached_property
    def ridges(self) -> FloatArray:
        """The ridge of every instance (read-only)."""
        if not isinstance(self.ridge, float):
            return self.ridge
        return freeze(np.full(self.n, self.ridge), "ridge")

    def with_ridge(self, ridge: float | FloatArray) -> Problem:
        """Return the same problem with another ridge."""
        return replace(self, ridge=ridge)

    def with_weights(self, weights: ArrayLike) -> Problem:
        """Return the same problem with other weights."""
        found = freeze(weights, "weights")
        if found.shape != self.weights.shape:
            return replace(self, weights=found)
        # Nothing else than the box depends on them: what was checked is kept.
        moved = self._copy()
        object.__setattr__(moved, "weights", found)
        check_weights(moved)
        moved._set_box()
        return moved

    def _copy(self) -> Problem:
        """The same values, what was computed from them included: folds ask for many."""
        moved: Problem = object.__new__(type(self))
        moved.__dict__.update(self.__dict__)
        return moved

    def with_held_out(self, mask: ArrayLike) -> Problem:
        """Return the same problem with weight 0 where `mask` is true; other weights stay."""
        held_out = np.asarray(mask)
        if held_out.dtype != np.bool_ or held_out.shape != (self.n,):
            raise InvalidProblem(
                f"The held-out mask has dtype {held_out.dtype} and shape {held_out.shape}; it "
                f"must be boolean with shape ({self.n},)."
            )
        return self.with_weights(np.where(held_out, 0.0, self.weights))

    def with_kernel(self, kernel: KernelView) -> Problem:
        """Return the same problem on another kernel over the same instances."""
        if kernel.n != self.n:
            return replace(self, kernel=kernel)
        # Nothing else depends on the kernel: what was checked and computed is kept.
        moved = self._copy()
        object.__setattr__(moved, "kernel", kernel)
        return moved

    def check_feasible(self, beta: ArrayLike, sum_atol: float | None = None) -> None:
        """Raise InfeasibleStart, naming the worst entry, unless `beta` is feasible.

        The box must hold exactly, since solvers compare beta with its bounds. The sum may deviate
        by `sum_atol`, by default the rounding error of a sum of this size.
        """
        check_inside(self, np.asarray(beta, dtype=np.float64), sum_atol)

    @classmethod
    def classification(cls, kernel: KernelView, y_signs: ArrayLike, weights: ArrayLike) -> Problem:
        """Create the dual of SVC: labels +-1, beta_i between 0 and y_i c_i, sum 0."""
        targets = freeze(y_signs, "y_signs")
        is_positive = targets == 1.0
        if not (is_positive | (targets == -1.0)).all():
            bad = ~(is_positive | (targets == -1.0))
            raise bad_entry("y_signs", targets, bad, "+1 or -1")
        return cls(
            kernel,
            targets,
            freeze(weights, "weights"),
            lower_scale=np.where(is_positive, 0.0, -1.0),
            upper_scale=np.where(is_positive, 1.0, 0.0),
        )

    @classmethod
    def regression(
        cls, kernel: KernelView, y: ArrayLike, weights: ArrayLike, epsilon: float
    ) -> Problem:
        """Create the dual of SVR: targets y, ``abs(beta_i) <= c_i``, sum 0."""
        targets = freeze(y, "y")
        ones = np.ones_like(targets)
        return cls(kernel, targets, freeze(weights, "weights"), -ones, ones, epsilon=epsilon)

    @classmethod
    def one_class(cls, kernel: KernelView, weights: ArrayLike, nu: float) -> Problem:
        """Create the dual of the nu one-class model: 0 <= beta_i <= c_i, sum(beta) = nu sum(c)."""
        if not 0.0 < nu <= 1.0:
            raise InvalidProblem(f"nu is {nu}; it must lie in (0, 1].")
        c = freeze(weights, "weights")
        zeros = np.zeros_like(c)
        return cls(kernel, zeros, c, zeros, np.ones_like(c), total_share=nu)

    @classmethod
    def squared_slack_one_class(cls, kernel: KernelView, weights: ArrayLike) -> Problem:
        """Create the one-class dual with squared slacks: beta >= 0, ridge 1 / c_i, targets 1.

        The squared slacks have the weights c_i / 2. An instance of weight 0 is held out.
        """
        c = freeze(weights, "weights")
        is_in = c > 0.0
        ridge = np.divide(1.0, c, out=np.zeros_like(c), where=is_in)
        return cls(
            kernel,
            np.ones_like(c),
            np.where(is_in, np.inf, 0.0),
            np.zeros_like(c),
            np.ones_like(c),
            has_equality=False,
            ridge=float(ridge[0]) if (ridge == ridge[0]).all() else ridge,
        )

    @classmethod
    def ranking(cls, pairs: KernelView, weights: ArrayLike) -> Problem:
        """Create the ranking dual over pairs: 0 <= beta <= c, targets 1, no sum constraint."""
        c = freeze(weights, "weights")
        ones = np.ones_like(c)
        return cls(pairs, ones, c, np.zeros_like(c), ones, has_equality=False)

    @classmethod
    def quadratic_loss(
        cls,
        kernel: KernelView,
        y_signs: ArrayLike,
        weights: ArrayLike,
        loss: tuple[float, float],
        lam: float,
    ) -> Problem:
        """Create the dual of the loss (rho, h) with lam / 2 |w|^2, no bias: see `alphapath.paths`.

        beta_i lies between 0 and y_i h c_i / lam, the ridge is lam / c_i and the targets rho y.
        An instance of weight 0 is held out.
        """
        rho, h = loss
        if not (0.0 < rho < np.inf and h > 0.0):
            raise InvalidProblem(
                f"The loss is (rho, h) = {loss}; both must be positive, rho finite."
            )
        if not 0.0 < lam < np.inf:
            raise InvalidProblem(f"lam is {lam}; it must be positive and finite.")
        shape = cls.classification(kernel, y_signs, weights)
        c = shape.weights
        is_in = c > 0.0
        ridge = np.divide(lam, c, out=np.zeros_like(c), where=is_in)
        return replace(
            shape,
            targets=rho * shape.targets,
            weights=np.multiply(h / lam, c, out=np.zeros_like(c), where=is_in),
            has_equality=False,
            ridge=float(ridge[0]) if (ridge == ridge[0]).all() else ridge,
        )


@dataclass(frozen=True, eq=False)
class Start:
    """A feasible beta to start from; if `gradient` is None, the solver computes it.

    Parameters
    ----------
    beta : array of shape (n,)
    gradient : array of shape (n,) or None
        (K + D) beta - r on all n instances.
    """

    beta: FloatArray
    gradient: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", freeze(self.beta, "beta"))
        if self.gradient is None:
            return
        gradient = freeze(self.gradient, "gradient")
        if gradient.shape != self.beta.shape:
            raise InfeasibleStart(
                f"The gradient has {gradient.shape[0]} values and beta {self.beta.shape[0]}; "
                f"they must be equally long."
            )
        object.__setattr__(self, "gradient", gradient)

    def is_feasible(self, problem: Problem, sum_atol: float | None = None) -> bool:
        """Whether a solver of `problem` would accept this start."""
        try:
            problem.check_feasible(self.beta, sum_atol)
        except InfeasibleStart:
            return False
        return True


def check_values(problem: Problem) -> None:
    """Reject values that no problem can have."""
    targets = problem.targets
    if problem.n == 0:
        raise InvalidProblem("The problem has 0 instances; at least one is needed.")
    if not np.isfinite(targets).all():
        raise bad_entry("targets", targets, ~np.isfinite(targets), "finite")
    check_weights(problem)
    is_box = problem.lower_scale <= problem.upper_scale
    if not is_box.all():
        raise bad_entry("lower_scale", problem.lower_scale, ~is_box, "at most upper_scale")
    if not (0.0 <= problem.epsilon < np.inf):
        raise InvalidProblem(f"epsilon is {problem.epsilon}; it must be finite and at least 0.")
    check_ridge(problem)


def check_weights(problem: Problem) -> None:
    weights = problem.weights
    if not np.minimum.reduce(weights) >= 0.0:  # a nan is not
        raise bad_entry("weights", weights, ~(weights >= 0.0), "zero (held out) or positive")
    if not np.maximum.reduce(weights) > 0.0:
        raise InvalidProblem(
            "All weights are zero, so every instance is held out; at least one weight must "
            "be positive."
        )


def check_ridge(problem: Problem) -> None:
    ridge = problem.ridge
    if isinstance(ridge, float):
        if not (0.0 <= ridge < np.inf):
            raise InvalidProblem(f"ridge is {ridge}; it must be finite and at least 0.")
        return
    if ridge.shape != (problem.n,):
        raise InvalidProblem(
            f"ridge has {ridge.size} values, but the kernel has {problem.n} instances; pass one "
            f"number, or one value per instance."
        )
    bad = ~((ridge >= 0.0) & (ridge < np.inf))
    if bad.any():
        raise bad_entry("ridge", ridge, bad, "finite and at least 0")


def check_sum(problem: Problem) -> None:
    """Reject a sum that no beta in the box attains."""
    total = problem.total
    if not np.isfinite(total):
        raise InvalidProblem(
            f"The sum constraint asks for sum(beta) = {total}: total_share is "
            f"{problem.total_share} and the weights sum to {problem.box_size}; both must be "
            f"finite."
        )
    if total == 0.0 and problem.holds_zero:
        return
    low, high = float(problem.lower.sum()), float(problem.upper.sum())
    slack = 1e-12 * max(abs(total), 1e-300)
    if not (low - slack <= total <= high + slack):
        raise InvalidProblem(
            f"No beta in the box has sum {total} (total_share {problem.total_share} times the "
            f"sum of the weights); the box allows sums from {low} to {high}."
        )


def check_inside(problem: Problem, beta: FloatArray, sum_atol: float | None) -> None:
    """Reject a beta outside its box or with a wrong sum, naming the worst entry."""
    if beta.shape != (problem.n,):
        raise InfeasibleStart(
            f"beta has shape {beta.shape}; the problem needs shape ({problem.n},)."
        )
    lower, upper = problem.lower, problem.upper
    inside = (lower <= beta) & (beta <= upper)
    if not inside.all():
        i = int(np.argmin(inside))
        raise InfeasibleStart(f"beta[{i}] is {beta[i]}; it must lie in [{lower[i]}, {upper[i]}].")
    if not problem.has_equality:
        return
    if sum_atol is None:
        sum_atol = 1e-9 * max(1.0, float(np.abs(beta).sum()))
    total = float(beta.sum())
    if abs(total - problem.total) > sum_atol:
        raise InfeasibleStart(
            f"beta sums to {total}; the problem needs {problem.total} to within {sum_atol}."
        )


def bad_entry(name: str, values: FloatArray, bad: NDArray[np.bool_], valid: str) -> InvalidProblem:
    i = int(np.argmax(bad))
    return InvalidProblem(f"{name}[{i}] is {values[i]}; every value must be {valid}.")
