"""What a stored path keeps of its problem, so that it is not continued on other data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem import FloatArray

#: Kernel values may be in single precision, and come from another machine.
ROUNDING = 1e-6


def describe_problem(view: Any, facts: FloatArray) -> dict[str, NDArray[Any]]:
    """Arrays that tell a problem from others: sums over all kernel values, and `facts`.

    Only kernel values decide a path, not the form of the rows, so only they count. `facts` are the
    numbers besides that must be the same: targets, and what of the box does not follow the weights.
    """
    weights = 1.0 + np.modf(np.arange(1, view.n + 1) * 0.6180339887498949)[0]
    sums = np.asarray(view.multiply(np.arange(view.n), weights))
    return {"problem_facts": np.asarray(facts), "problem_sums": sums}


def check_problem(
    path: Any, stored: Mapping[str, NDArray[Any]], view: Any, facts: FloatArray
) -> None:
    """Refuse the path of other rows, labels or kernel parameters."""
    own = describe_problem(view, facts)
    for name in own:
        if name not in stored:
            raise ValueError(
                f"{path} does not say of which data its path is; it was written by an older "
                f"version or is no path. Follow the path again."
            )
    n = stored["problem_sums"].size
    if n != view.n:
        raise ValueError(
            f"The path in {path} is of {n} instances, and the problem has {view.n}; give the "
            f"problem of the same data."
        )
    # Where the terms of all sums cancel, they still say how large the rounding is.
    some = view.exact_rows(np.unique(np.linspace(0, n - 1, 8).astype(np.int64)))
    terms = float(np.sqrt(n * np.mean(np.square(some))))
    margin = ROUNDING * (terms + float(np.abs(own["problem_sums"]).max()))
    is_near = np.abs(own["problem_sums"] - stored["problem_sums"]) <= margin
    if not is_near.all():
        k = int(np.argmin(is_near))
        raise ValueError(
            f"The path in {path} is of other rows, or of a kernel with other parameters: the "
            f"kernel values of instance {k} sum to {own['problem_sums'][k]:.6g} and not to "
            f"{stored['problem_sums'][k]:.6g}. Give the problem of the same data."
        )
    pair = own["problem_facts"], stored["problem_facts"]
    if pair[0].shape != pair[1].shape or not np.allclose(*pair, rtol=1e-9, atol=0.0):
        raise ValueError(
            f"The path in {path} is of other labels, targets or epsilon; give the problem of the "
            f"same data."
        )
