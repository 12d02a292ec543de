"""The candidates of a search as models to solve: what differs in C only is one model.

A candidate is an estimator of this library (or scikit-learn's, converted), perhaps behind the
preprocessing of a Pipeline. Candidates with the same preprocessing share their transformed rows,
those with the same kernel its matrix, and those that differ in C only one chain of solves.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import _num_samples

from ...estimators.common.problems import is_on_gpu
from ...estimators.pipelines import has_preprocessing
from ...estimators.registry import as_searched, is_primal, weight_of
from ...kernels import KERNELS
from ...kernels.choice import parameters_of
from ...search.plan import Group
from ..folds.preprocessing import SearchData

#: Parameters of scikit-learn's estimators that mean nothing here.
DROPPED = frozenset({"shrinking", "cache_size", "verbose", "random_state"})

#: Parameters that do not make another model for a kernel that does not depend on them.
ALL_OF_KERNELS = frozenset({"kernel"}.union(*(kernel.parameters for kernel in KERNELS.values())))

_DEFAULTS: dict[Any, dict[str, Any]] = {}

#: So few rows are solved faster than a chain is begun: all folds are then one chain.
SMALL, MANY_FOLDS = 1500, 20


@dataclass
class Model:
    """All parameters but C: an estimator with C = 1, and the candidates by their C."""

    head: int
    kernel: int
    label: str
    estimator: Any
    #: The parameters of the estimator.
    params: dict[str, Any]
    #: The C of candidates that do not set it; 1 for models without a C.
    C: Any = 1.0
    #: The same for models that differ in a gamma that is a number, and in nothing else.
    family: Hashable = None
    cells: dict[float, list[int]] = field(default_factory=dict)
    #: What its kernel is to live on: "cpu", "cuda" or "auto".
    device: str = "cpu"
    #: Whether each fold has a kernel of its own even on shared rows.
    has_own_kernels: bool = False

    def is_on_gpu(self, n: int) -> bool:
        """Whether its kernel on n rows lives on a GPU."""
        return self.device != "cpu" and is_on_gpu(self.device, n)

    def as_group(self, number: int, folds: tuple[int, ...], **traits: Any) -> Group:
        factors = tuple(sorted(self.cells))
        cells = tuple(tuple(self.cells[factor]) for factor in factors)
        return Group(self.label, self.head, self.kernel, number, folds, factors, cells, **traits)


class Grid:
    """Candidates sorted into preprocessings (`heads`), kernels and `models`.

    Parameters
    ----------
    estimator : SVC, SVR or OneClassSVM, or a Pipeline that ends with one
        Or LinearSVC, of this library or of scikit-learn; or SmoothSVC or SmoothSVR, where c takes
        the part of C.
    candidates : sequence of dict
        Parameters to set, as in GridSearchCV.
    device : str or None
        In place of the estimator's own.
    """

    def __init__(
        self,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        device: str | None = None,
    ) -> None:
        self.estimator, self.device = estimator, device
        self.heads: list[Pipeline | None] = []
        self.models: list[Model] = []
        self.errors: dict[int, str] = {}
        #: Keeps what is known by its address alive.
        self.candidates = list(candidates)
        #: Name and estimator of the last step; "" without a pipeline.
        self.last: tuple[str, Any] = ("", estimator)
        if isinstance(estimator, Pipeline):
            self.last = estimator.steps[-1]
        self._last = self.last[0] or None
        #: The parameter that a chain goes along.
        self._weight = weight_of(self.last[1])
        #: Whether models are trained in the primal, where they share no kernel matrix.
        self.in_primal = is_primal(self.last[1])
        self._pipelines: dict[Hashable, tuple[int, Any]] = {}
        self._known: dict[Hashable, Model | str] = {}
        self._merged: dict[Hashable, Model] = {}
        self._kernels: dict[Hashable, int] = {}
        self._valid: set[Hashable] = set()
        for i, params in enumerate(self.candidates):
            self._add(i, params)

    def _add(self, i: int, params: Mapping[str, Any]) -> None:
        C_name = self._weight if self._last is None else f"{self._last}__{self._weight}"
        key = tuple((name, identify(params[name])) for name in sorted(params) if name != C_name)
        if key not in self._known:
            self._known[key] = self._make(
                {name: value for name, value in params.items() if name != C_name}
            )
        model = self._known[key]
        if isinstance(model, str):
            self.errors[i] = model
            return
        C = params.get(C_name, model.C)
        if C_name in params and not hasattr(model.estimator, self._weight):
            clone(self.estimator).set_params(**params)  # says which parameter there is not
        error = self._check_C(model.estimator, C)
        if error is not None:
            self.errors[i] = error
            return
        model.cells.setdefault(float(C), []).append(i)

    def _make(self, params: dict[str, Any]) -> Model | str:
        """The model of these parameters; the reason in words where they are refused."""
        own_params, head_params = self._split(params)
        head, base = self._find_pipeline(head_params)
        known = {name: getattr(base, name) for name in default_params(type(base))}
        unknown = set(own_params) - set(known) - DROPPED - {"probability"}
        if unknown:
            clone(self.estimator).set_params(**params)  # raises scikit-learn's own sentence
            raise ValueError(
                f"{', '.join(sorted(unknown))} of scikit-learn's {type(base).__name__} can not be "
                f"searched: it has no counterpart; leave it out of param_grid."
            )
        if own_params.get("probability", False) is True:
            raise ValueError(
                "probability=True has no counterpart; wrap the estimator in CalibratedClassifierCV."
            )
        known |= {name: value for name, value in own_params.items() if name in known}
        C = known.get(self._weight, 1.0)
        if self._weight in known:
            known[self._weight] = 1.0
        estimator = base.__new__(type(base))  # copy.copy asks scikit-learn for its version
        estimator.__dict__.update(base.__dict__, **known)
        error = self._check(estimator, known)
        return self._merge(head, estimator, known, C) if error is None else error

    def _split(self, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters of the SVM under its own names, and those of the rest of the pipeline."""
        if self._last is None:
            return params, {}
        prefix = f"{self._last}__"
        own = {k.removeprefix(prefix): v for k, v in params.items() if k.startswith(prefix)}
        return own, {k: v for k, v in params.items() if not k.startswith(prefix)}

    def _find_pipeline(self, params: dict[str, Any]) -> tuple[int, Any]:
        """The number of the preprocessing with these parameters, and the SVM behind it."""
        key = tuple((name, identify(params[name])) for name in sorted(params))
        if key not in self._pipelines:
            estimator = clone(self.estimator)
            if params:
                estimator.set_params(**clone(params, safe=False))
            head = None
            if isinstance(estimator, Pipeline):
                head = estimator[:-1] if has_preprocessing(estimator) else None
                estimator = estimator.steps[-1][1]
            if head is None and None in self.heads:
                number = self.heads.index(None)
            else:
                number = len(self.heads)
                self.heads.append(head)
            self._pipelines[key] = number, as_searched(estimator, self.device)
        return self._pipelines[key]

    def _merge(self, head: int, estimator: Any, params: dict[str, Any], C: Any) -> Model:
        """The model of this estimator; the same one for parameters that make no difference."""
        kernel = getattr(estimator, "kernel", "linear")
        used = parameters_of(kernel)
        kernel_key = (identify(kernel), *(identify(getattr(estimator, name)) for name in used))
        others = {
            name: value
            for name, value in params.items()
            if name not in ALL_OF_KERNELS and name != self._weight
        }
        rest = tuple((name, identify(value)) for name, value in others.items())
        key = (head, type(estimator), kernel_key, identify(C), rest)
        if key not in self._merged:
            number = self._kernels.setdefault((head, kernel_key), len(self._kernels))
            words = [kernel if isinstance(kernel, str) else getattr(kernel, "__name__", "callable")]
            words += [f"{name}={show(getattr(estimator, name))}" for name in used]
            defaults = default_params(type(estimator))
            words += [
                f"{name}={show(value)}"
                for name, value in others.items()
                if identify(value) != identify(defaults[name])
            ]
            family = None
            if "gamma" in used and isinstance(estimator.gamma, Real):
                family = (head, identify(kernel), *(identify(params[p]) for p in used[1:]), rest)
            model = Model(head, number, " ".join(words), estimator, params, C, family)
            model.device = getattr(estimator, "device", "cpu")
            model.has_own_kernels = "gamma" in used and is_scaled(estimator.gamma)
            self._merged[key] = model
            self.models.append(model)
        return self._merged[key]

    def _check(self, estimator: Any, params: dict[str, Any]) -> str | None:
        """Why parameters are refused, in words; None for valid ones.

        scikit-learn's check is slow: it is left out where only a plain gamma is new.
        """
        gamma = params.get("gamma")
        rest = tuple(identify(value) for name, value in params.items() if name != "gamma")
        key = (type(estimator), rest)
        is_plain = isinstance(gamma, float) and 0.0 < gamma < float("inf")
        if is_plain and key in self._valid:
            return None
        try:
            estimator._validate_params()
        except InvalidParameterError as error:
            return f"{type(error).__name__}: {error}"
        self._valid.add(key)
        return None

    def _check_C(self, estimator: Any, C: Any) -> str | None:
        """Why C is refused, in words; None for a valid one."""
        if isinstance(C, Real) and not isinstance(C, bool) and 0.0 < float(C) < float("inf"):
            return None
        wrong = copy.copy(estimator)
        setattr(wrong, self._weight, C)
        try:
            wrong._validate_params()
        except InvalidParameterError as error:
            return f"{type(error).__name__}: {error}"
        return f"{self._weight} is {C!r}; it must be a positive number."


def searched_kind(estimator: Any, candidates: Sequence[Mapping[str, Any]]) -> Any:
    """The estimator with the SVM that the candidates have as its last step, all of one kind."""
    if not isinstance(estimator, Pipeline):
        return estimator
    name, own = estimator.steps[-1]
    steps = [params.get(name, own) for params in candidates]
    kinds = {type(as_searched(step)).__name__ for step in steps}
    if len(kinds) > 1:
        raise ValueError(
            f"param_grid has candidates of {' and of '.join(sorted(kinds))} for the step {name!r}; "
            f"one search takes one kind of SVM. Run a search for each kind, with the same cv, and "
            f"compare their best_score_."
        )
    if steps[0] is own:
        return estimator
    return clone(estimator).set_params(**{name: clone(steps[0])})


def default_params(kind: type[Any]) -> dict[str, Any]:
    """The parameters of a kind of estimator with their defaults; found once, since that is slow."""
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = dict(kind().get_params(deep=False))
    return _DEFAULTS[kind]


def identify(value: Any) -> Hashable:
    """Equal for parameters that are surely the same: by value where simple, else by identity."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, (str, bool, int, type(None))):
        return type(value).__name__, value
    return "object", id(value)


def show(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def goes_by_fold(grid: Grid, data: SearchData) -> bool:
    """Whether all kernels of a fold are run before those of the next fold.

    That is for folds with preprocessing, whose rows and products are then made once, where there is
    no room to keep those of all folds. Else the folds of one kernel follow one another, so that
    cells are complete early; models trained in the primal keep nothing of a fold.
    """
    has_heads = any(head is not None for head in grid.heads)
    n = _num_samples(data.X)
    is_gpu = any(model.is_on_gpu(n) for model in grid.models)
    return has_heads and not grid.in_primal and (is_gpu or not data.kept_bytes)


def make_groups(grid: Grid, splits: Sequence[Any], by_fold: bool = False) -> list[Group]:
    """The cells of every model, so ordered that what is shared is needed in one stretch.

    `by_fold`: behind preprocessing, all kernels of a fold come before the next fold.
    """
    everything = tuple(range(len(splits)))
    n = sum(part.size for part in splits[0])
    is_small = n <= SMALL and len(splits) <= MANY_FOLDS
    groups = []
    for number, model in enumerate(grid.models):
        if not model.cells:
            continue
        is_gpu = model.is_on_gpu(n)
        traits: dict[str, Any] = {"is_small": is_small}
        if model.family is not None and not is_gpu:
            traits |= {"family": model.family, "gamma": model.estimator.gamma}
        if grid.heads[model.head] is None:
            traits["shares_kernel"] = not model.has_own_kernels
            traits["is_one_chain"] = is_small or is_gpu
            groups.append((model, model.as_group(number, everything, **traits)))
        else:
            groups += [(model, model.as_group(number, (fold,), **traits)) for fold in everything]

    def place(item: tuple[Model, Group]) -> tuple[int, ...]:
        model, group = item
        head, fold, kernel = model.head, group.folds[0], model.kernel
        if grid.in_primal:
            return head, group.model, fold
        return (head, fold, kernel) if by_fold else (head, kernel, fold)

    groups.sort(key=place)
    return [group for _, group in groups]


def is_scaled(gamma: Any) -> bool:
    """Whether gamma depends on the rows that are trained on."""
    return isinstance(gamma, str) and gamma == "scale"
