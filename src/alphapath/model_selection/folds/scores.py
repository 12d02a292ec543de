"""What is asked of a fold, and its scores from the decision values of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics._scorer import _BaseScorer, _PassthroughScorer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from ..scoring import Metric


@dataclass(frozen=True)
class Scoring:
    """What to compute and keep of each fold.

    `metric` says the same as `scorer`, where there is one, of predictions alone; `given` is the
    estimator that fitted ones are returned in the shape of, None where none is.
    """

    scorer: Any
    metric: Metric | None
    error_score: Any
    wants_train: bool
    given: Any
    #: Parameters of the scorer, by name: one value for each row where they are arrays.
    params: Mapping[str, Any] = field(default_factory=dict)

    def params_of(self, X: Any, rows: Any) -> Mapping[str, Any]:
        """Those of some rows."""
        if not self.params:
            return self.params
        taken: Mapping[str, Any] = _check_method_params(X, params=self.params, indices=rows)
        return taken

    @property
    def wants_estimator(self) -> bool:
        return self.given is not None

    @property
    def wants_metric_alone(self) -> bool:
        """Whether nothing but a metric on the held-out rows is computed and kept."""
        return self.metric is not None and not (self.wants_train or self.wants_estimator)

    @property
    def needs_fit(self) -> bool:
        """Whether fitted estimators are wanted, not only their values and predictions."""
        needs_model = self.metric is None and not asks_for_values(self.scorer)
        return self.wants_estimator or needs_model


def measure(metric: Metric, truth: Any, predicted: Any) -> float:
    """The metric of predictions."""
    return float(metric(truth, predicted[np.newaxis], None)[0])


def asks_for_values(scorer: Any) -> bool:
    """Whether decision values and predictions are all that a scorer asks an estimator for."""
    parts = getattr(scorer, "_scorers", {"score": scorer}).values()
    return all(isinstance(part, (_BaseScorer, _PassthroughScorer)) for part in parts)


def take_rows(model: Any, X: Any, rows: Any, train: Any) -> Any:
    """Rows of X as `model` would be given them; against the training rows where X is the kernel."""
    if isinstance(model, Pipeline):
        return _safe_split(model, X, None, rows, train)[0]
    if getattr(model, "kernel", "linear") == "precomputed":
        return np.asarray(X)[np.ix_(rows, train)]
    return index_rows(X, rows)


def index_rows(values: Any, rows: Any) -> Any:
    """Rows of any container; arrays are not asked which one they are."""
    return values[rows] if type(values) is np.ndarray else _safe_indexing(values, rows)


def as_number(score: Any, scorer: Any) -> Any:
    """The score as a Python number."""
    value = score.item() if hasattr(score, "item") and np.size(score) == 1 else score
    if not isinstance(value, (int, float, complex)):
        raise ValueError(
            f"scoring must return a number, got {score} ({type(score)}) instead. (scorer={scorer})"
        )
    return value


def aggregate(part: str, scores: Sequence[Any], error_score: Any) -> dict[str, Any]:
    """`<part>_score`, or `<part>_<name>` for each metric; nan for folds not done."""
    missing = np.nan if error_score == "raise" else error_score
    named = next((list(score) for score in scores if isinstance(score, dict)), None)
    if named is None:
        return {f"{part}_score": np.array([np.nan if s is None else s for s in scores])}

    def value(score: Any, name: str) -> Any:
        if isinstance(score, dict):
            return score.get(name, missing)
        return np.nan if score is None else score

    return {f"{part}_{name}": np.array([value(s, name) for s in scores]) for name in named}
