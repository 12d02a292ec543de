"""lambda_path: from rows and labels to the exact path over lambda."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...kernels import Kernel, KernelStore, Linear, Rbf
from ...kernels.samples import as_rows
from ...solvers.native import single_threaded
from .model import QuadraticModel, not_convex
from .path import LambdaPath, PathEnd


def lambda_path(
    X: Any,
    y: ArrayLike,
    *,
    rho: float = 1.0,
    h: float = np.inf,
    kernel: Kernel | str = "rbf",
    sample_weight: ArrayLike | None = None,
    lam_from: float | None = None,
    lam_to: float | None = 1e-5,
    memory_limit: int | str | None = None,
    max_events: int | None = None,
    time_limit: float | None = None,
) -> LambdaPath:
    """Compute the exact path of a quadratic-loss SVM over lambda.

    A limit or Ctrl-C ends the path early: the part followed so far is returned, and `info_.status`
    gives the reason.

    Parameters
    ----------
    X : array or CSR of shape (n, n_features)
        Training rows; the kernel matrix for the kernel Precomputed.
    y : array of shape (n,)
        Labels of two classes.
    rho, h : float
        The loss: (1, inf) is the squared hinge, (1, 2) the modified Huber loss, (1 + e, 2 e) the
        Huber loss.
    kernel : Kernel or {"rbf", "linear"}
        A kernel of `alphapath.kernels`; "rbf" uses gamma = 1 / n_features.
    sample_weight : array of shape (n,) or None
        Positive weights of the losses.
    lam_from, lam_to : float or None
        The two ends, in either order. None stands for a lambda so large that no set changes beyond
        it.
    memory_limit : int or str or None
        As for the estimators.
    max_events : int or None
        Maximum number of set changes. None stands for 60 per row plus 20,000, which is reached only
        by a path that rounding leads in circles.
    time_limit : float or None
        Time limit in seconds.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> path = lambda_path(X, y, rho=1.0, h=2.0)
    >>> curve = path.validate(X, y)
    >>> bool(curve(curve.best_t) == curve.best_value)
    True
    """
    X = as_rows(X)
    labels = np.asarray(y)
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"y has {classes.size} classes; a path over lambda needs two.")
    signs = np.where(labels == classes[1], 1.0, -1.0)
    weights = np.ones(len(signs)) if sample_weight is None else np.asarray(sample_weight, float)
    if isinstance(kernel, str):
        named = {"rbf": Rbf(1.0 / X.shape[1]), "linear": Linear()}
        if kernel not in named:
            raise ValueError(
                f"kernel is {kernel!r}; it must be 'rbf', 'linear' or a kernel of "
                f"alphapath.kernels."
            )
        kernel = named[kernel]
    view = KernelStore(X, memory_limit=memory_limit).view(kernel, precision="float64")
    model = QuadraticModel(view, signs, weights, (rho, h))
    return follow(model, classes, (lam_from, lam_to), PathLimits(max_events, time_limit))


@dataclass(frozen=True)
class PathLimits:
    """When to stop before the end; None stands for the default."""

    max_events: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_events", self.max_events), ("time_limit", self.time_limit)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}; it must be positive, or None.")

    def as_options(self, first: float, last: float, n: int) -> _core.QuadraticPathOptions:
        """The native options of a path from `first` to `last` on n rows."""
        return _core.QuadraticPathOptions(
            first,
            last,
            max_events=60 * n + 20_000 if self.max_events is None else self.max_events,
            time_limit=self.time_limit or 0.0,
        )


def follow(
    model: QuadraticModel,
    classes: NDArray[Any],
    ends: tuple[float | None, float | None] = (None, 1e-5),
    limits: PathLimits | None = None,
) -> LambdaPath:
    """The path of a model between the two ends."""
    lam_from, lam_to = ends
    if lam_from is None and lam_to is None:
        raise ValueError("lam_from and lam_to are both None; one end must be a number.")
    # Where nothing changes at all the large end has to lie above the other one nevertheless.
    large = max(model.start_lambda, 2.0 * float(lam_from or lam_to or 0.0))
    first = large if lam_from is None else float(lam_from)
    last = large if lam_to is None else float(lam_to)
    for lam in (first, last):
        if not 0.0 < lam < np.inf:
            raise ValueError(f"A path cannot begin or end at lambda = {lam}; it must be positive.")
    if first == last:
        raise ValueError(f"The path from lambda = {first} to itself has no length.")
    options = (limits or PathLimits()).as_options(first, last, model.view.n)
    with single_threaded():
        native = _core.follow_quadratic_path(model.native, None, options)
    if native.status == PathEnd.NOT_CONVEX:
        raise not_convex(native.lambda_end)
    return LambdaPath(model, classes, native)
