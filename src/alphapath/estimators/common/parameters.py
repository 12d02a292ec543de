"""Parameters of estimators: their names and checks, in less time than a small fit takes."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from ...kernels.base import kernel_options

#: Types of values that compare equal only where they mean the same, their type being the same.
PLAIN = frozenset({str, int, float, bool, type(None), np.float64, np.int64})

#: Sets of valid parameters that a class remembers.
MOST_REMEMBERED = 1024


class KernelOption(StrOptions):
    """A name of a registered kernel."""

    def __init__(self) -> None:
        super().__init__(set(kernel_options()))

    def is_satisfied_by(self, val: Any) -> bool:
        self.options = set(kernel_options())  # those registered since
        return bool(super().is_satisfied_by(val))


class RememberedParameters(BaseEstimator):
    """scikit-learn's checks of parameters, once for equal ones: they take as long as a fit."""

    #: Parameters that were found valid, in the order of their names, each with its type.
    _valid: ClassVar[set[tuple[Any, ...]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._valid = set()

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """As in scikit-learn, which looks at the signature every time."""
        return super()._get_param_names()

    def _validate_params(self) -> None:
        values = [getattr(self, name) for name in self._get_param_names()]
        types = [type(value) for value in values]
        if not PLAIN.issuperset(types):
            super()._validate_params()
            return
        key = (*values, *types)
        if key in self._valid:
            return
        super()._validate_params()
        if len(self._valid) >= MOST_REMEMBERED:
            self._valid.clear()
        self._valid.add(key)
