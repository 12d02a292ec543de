"""MarginProblem: one linear model trained in the primal, as a value.

    minimise  1/2 |theta|^2 + sum_i c_i loss(f_i, y_i),      f = X w + b

theta is w, or [b; w] where the offset is penalised; a free offset costs nothing, and without one
b = 0. With the margin m = y f and the residual e = y - f:

    hinge                        (1 - m)_+
    huber, half-width h          0 from m = 1 + h on, 1 - m up to m = 1 - h, between them
                                 (1 + h - m)^2 / (4 h)
    squared_hinge                (1 - m)_+^2
    squared_epsilon_insensitive  (|e| - h)_+^2

Legend: X instances, y targets (the signs +-1 in classification), c weights (0 = held out), h width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidProblem
from .box_problem import FloatArray, freeze

#: Losses of a margin, whose targets are signs.
MARGIN_LOSSES = ("hinge", "huber", "squared_hinge")
LOSSES = (*MARGIN_LOSSES, "squared_epsilon_insensitive")
#: Whether the offset b is part of theta, free of charge, or absent.
OFFSETS = ("penalised", "free", "none")


def is_compact(values: ArrayLike) -> bool:
    """Whether this is one number for all instances, by `np.broadcast_to`, or frozen signs."""
    if not isinstance(values, np.ndarray) or values.flags.writeable:
        return False
    is_broadcast = values.dtype == np.float64 and values.strides == (0,)
    return is_broadcast or (values.dtype == np.int8 and values.strides == (1,))


def scale_weights(weights: FloatArray, factor: float) -> FloatArray:
    """factor * weights, read-only; one number for all instances stays one."""
    if weights.strides == (0,):
        return np.broadcast_to(np.float64(factor * weights[0]), weights.shape)
    scaled: FloatArray = factor * weights
    scaled.flags.writeable = False
    return scaled


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """A linear model with a margin loss, as a frozen value whose methods share the arrays.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Instances, float64 or float32. The array is shared, not copied, and must not be changed.
    targets : array of shape (n,)
        +-1, or numbers for the epsilon-insensitive loss. Signs passed as int8 remain int8.
    weights : array of shape (n,)
        c >= 0, finite. An instance of weight 0 is held out. `np.broadcast_to(c, n)` is kept as one
        number for all instances.
    loss : str
        One of LOSSES.
    width : float
        Half-width h: of the quadratic part of "huber" (> 0), of the tube of
        "squared_epsilon_insensitive" (>= 0); 0 for the others.
    offset : "penalised", "free" or "none"
    dropped : boolean array of shape (d,) or None
        Features whose w is fixed at 0: with a kernel matrix as X, those of held-out instances.

    Examples
    --------
    >>> problem = MarginProblem(np.eye(2), [1.0, -1.0], [1.0, 1.0])
    >>> problem.with_held_out([True, False]).weights.tolist()
    [0.0, 1.0]
    """

    X: Any
    targets: NDArray[Any]
    weights: FloatArray
    loss: str = "squared_hinge"
    width: float = 0.0
    offset: str = "penalised"
    dropped: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if not (hasattr(self.X, "indptr") or isinstance(self.X, np.ndarray)) or self.X.ndim != 2:
            raise InvalidProblem(
                f"X is a {type(self.X).__name__}; it must be a two-dimensional array or a CSR "
                f"matrix."
            )
        if self.X.dtype not in (np.float64, np.float32):
            raise InvalidProblem(f"X has dtype {self.X.dtype}; it must be float64 or float32.")
        for name in ("targets", "weights"):
            given = getattr(self, name)
            array = given if is_compact(given) else freeze(given, name)
            if array.shape[0] != self.n:
                raise InvalidProblem(
                    f"{name} has {array.shape[0]} values, but X has {self.n} rows; there must be "
                    f"one value per row."
                )
            object.__setattr__(self, name, array)
        object.__setattr__(self, "width", float(self.width))
        self._check_choices()
        self._check_values()

    def _check_choices(self) -> None:
        for name, valid in (("loss", LOSSES), ("offset", OFFSETS)):
            if getattr(self, name) not in valid:
                raise InvalidProblem(
                    f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(valid)}."
                )
        has_width = self.loss in ("huber", "squared_epsilon_insensitive")
        is_valid = 0.0 <= self.width < np.inf and (has_width or self.width == 0.0)
        if not is_valid or (self.loss == "huber" and self.width == 0.0):
            wanted = "0" if not has_width else "finite and positive"
            raise InvalidProblem(f"width is {self.width}; for the {self.loss} loss it is {wanted}.")

    def _check_values(self) -> None:
        if self.n == 0:
            raise InvalidProblem("The problem has 0 instances; at least one is needed.")
        is_valid = np.isfinite(self.weights) & (self.weights >= 0.0)
        if not is_valid.all():
            i = int(np.argmin(is_valid))
            raise InvalidProblem(
                f"weights[{i}] is {self.weights[i]}; every weight must be zero (held out) or "
                f"positive and finite."
            )
        is_sign = np.abs(self.targets) == 1.0
        is_valid = is_sign if self.loss in MARGIN_LOSSES else np.isfinite(self.targets)
        if not is_valid.all():
            i = int(np.argmin(is_valid))
            wanted = "+1 or -1" if self.loss in MARGIN_LOSSES else "finite"
            raise InvalidProblem(f"targets[{i}] is {self.targets[i]}; it must be {wanted}.")
        if self.dropped is not None:
            dropped = np.asarray(self.dropped)
            if dropped.dtype != np.bool_ or dropped.shape != (self.d,):
                raise InvalidProblem(
                    f"dropped has dtype {dropped.dtype} and shape {dropped.shape}; it must be "
                    f"boolean with shape ({self.d},)."
                )
            if dropped.flags.writeable:
                dropped = dropped.copy()
                dropped.flags.writeable = False
            object.__setattr__(self, "dropped", dropped)

    @property
    def n(self) -> int:
        """Number of instances, including held-out ones."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of features, not counting the offset."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether X is a CSR matrix."""
        return hasattr(self.X, "indptr")

    def with_weights(self, weights: ArrayLike) -> MarginProblem:
        """Return the same problem with other weights."""
        return replace(self, weights=np.asarray(weights, dtype=np.float64))

    def with_held_out(
        self, mask: ArrayLike, dropped: NDArray[np.bool_] | None = None
    ) -> MarginProblem:
        """Return the problem with weight 0 where `mask` is true, without the `dropped` features.

        Features that are already dropped remain dropped.
        """
        held_out = np.asarray(mask)
        if held_out.dtype != np.bool_ or held_out.shape != (self.n,):
            raise InvalidProblem(
                f"The held-out mask has dtype {held_out.dtype} and shape {held_out.shape}; it "
                f"must be boolean with shape ({self.n},)."
            )
        if dropped is None or self.dropped is None:
            dropped = self.dropped if dropped is None else dropped
        else:
            dropped = self.dropped | dropped
        return replace(self, weights=np.where(held_out, 0.0, self.weights), dropped=dropped)

    def decision_values(self, coef: FloatArray, bias: float) -> FloatArray:
        """X w + b on all instances, including held-out ones."""
        return np.asarray(self.X @ coef, dtype=np.float64) + bias

    def losses(self, values: FloatArray) -> FloatArray:
        """The unweighted losses loss(f_i, y_i) at the decision values."""
        y, h = self.targets, self.width
        if self.loss == "squared_epsilon_insensitive":
            return np.square(np.maximum(np.abs(y - values) - h, 0.0))
        short = 1.0 - y * values
        if self.loss == "hinge":
            return np.maximum(short, 0.0)
        if self.loss == "squared_hinge":
            return np.square(np.maximum(short, 0.0))
        curved = np.square(np.maximum(short + h, 0.0)) / (4.0 * h)
        return np.where(short > h, short, curved)

    def slopes(self, values: FloatArray) -> FloatArray:
        """The unweighted slopes d loss / d f_i; 0 at the kink of the hinge."""
        y, h = self.targets, self.width
        if self.loss == "squared_epsilon_insensitive":
            e = y - values
            return -2.0 * np.sign(e) * np.maximum(np.abs(e) - h, 0.0)
        if self.loss == "hinge":
            return np.where(y * values < 1.0, -y, 0.0)
        # In place: there may be many instances.
        slope: FloatArray = y * values
        np.subtract(1.0 + h, slope, out=slope)
        if self.loss == "squared_hinge":
            slope *= 2.0
            np.maximum(slope, 0.0, out=slope)
        else:
            slope /= 2.0 * h
            np.clip(slope, 0.0, 1.0, out=slope)
        slope *= y
        return np.negative(slope, out=slope)
