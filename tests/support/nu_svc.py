"""NuSVC as an addition to the package: the dry run of "Add a model" in CONTRIBUTING.

The nu model is the C model at the C where sum |beta| = nu C n (Chang and Lin 2001), found by root
finding. A real one would follow the path along C and take several classes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq
from sklearn import svm

from alphapath import SVC
from alphapath.estimators.common.declaration import Declaration, LibsvmType

DECLARATION = Declaration(
    targets="labels",
    family="dual",
    weight=None,
    peer=svm.NuSVC,
    libsvm=LibsvmType(1, "nu_svc"),
    command="nu-svc",
    abilities=frozenset({"file"}),
)


class NuSVC(SVC):
    """nu-support vector classification of two classes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: SVC._parameter_constraints[name]
        for name in ("kernel", "degree", "gamma", "coef0", "tol", "max_iter", "class_weight")
    } | {"nu": [float], "memory_limit": [None, str], "time_limit": [None, float]}
    break_ties = False
    decision_function_shape = "ovr"
    device = "cpu"
    window = None

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        class_weight: Any = None,
        memory_limit: Any = None,
        time_limit: float | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.memory_limit = memory_limit
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVC:
        """Fit C models until one has this nu."""

        def excess(log_C: float) -> float:
            self.C = float(np.exp(log_C))
            super(NuSVC, self).fit(X, y, sample_weight)
            return float(np.abs(self.dual_coef_).sum() / (self.C * len(y)) - self.nu)

        excess(brentq(excess, np.log(1e-6), np.log(1e6), xtol=1e-10))
        return self

    def _refit_parameters(self) -> NuSVC:
        model = super()._refit_parameters()
        model.C = self.C
        return model
