"""Metrics of many predictions at once: the numbers that scikit-learn's scorers give, without the
checks of each call, which take longer than a small fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.pipeline import Pipeline

from ..problem.box_problem import FloatArray

#: Of the truth, rows of predictions and weights: one number a row.
Metric = Callable[[Any, Any, FloatArray | None], FloatArray]


def find_metrics(scorer: Any, given: Any, score_params: Mapping[str, Any]) -> dict[str, Metric]:
    """Metrics by name; empty where one of the scorers is not such a metric."""
    if set(score_params) - {"sample_weight"}:
        return {}
    if not isinstance(scorer, _MultimetricScorer):
        metric = find_metric(scorer, given)
        return {} if metric is None else {"score": metric}
    if score_params:
        return {}
    found = {name: find_metric(part, given) for name, part in scorer._scorers.items()}
    return {name: m for name, m in found.items() if m} if all(found.values()) else {}


def find_metric(scorer: Any, given: Any) -> Metric | None:
    """The metric that a scorer stands for, where it is one of those known."""
    last = given.steps[-1][1] if isinstance(given, Pipeline) else given
    if isinstance(scorer, _PassthroughScorer):
        return own_metric(last)
    is_plain = isinstance(scorer, _BaseScorer) and not scorer._kwargs
    if not is_plain or getattr(scorer, "_response_method", None) != "predict":
        return None
    name = NAMES.get((scorer._score_func, scorer._sign), "")
    return metrics_of(last).get(name)


def metrics_of(model: Any) -> Mapping[str, Metric]:
    """By the names of scikit-learn's scorers: those that say of this model what the scorers say.

    Classes are compared by their numbers, so that of labels only the accuracy is among them.
    """
    if is_classifier(model):
        return {"accuracy": share_right}
    if is_regressor(model):
        return {"r2": explained_share, "neg_mean_squared_error": negative_squares}
    return {}


def own_metric(model: Any) -> Metric | None:
    """What the score of a model is, where it is scikit-learn's default."""
    score = getattr(type(model), "score", None)
    if score is ClassifierMixin.score:
        return share_right
    return explained_share if score is RegressorMixin.score else None


def share_right(truth: FloatArray, predicted: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The accuracy of each row of `predicted`."""
    is_right = np.asarray(predicted == truth)
    if weights is not None:
        return average(is_right, weights)
    return np.asarray(np.add.reduce(is_right, axis=1) / is_right.shape[1])


def average(values: Any, weights: FloatArray | None) -> FloatArray:
    """The mean of each row, by itself: equal rows give equal bits."""
    if weights is None:
        return np.asarray(np.mean(values, axis=1))
    return np.asarray((values * weights).sum(axis=1) / weights.sum())


def explained_share(
    truth: FloatArray, predicted: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """r2 of each row of `predicted`."""
    own = np.ones_like(truth) if weights is None else weights
    mean = float(np.average(truth, weights=own))
    total = float((own * (truth - mean) ** 2).sum())
    if truth.size < 2 or total == 0.0:
        return np.array([r2_score(truth, row, sample_weight=weights) for row in predicted])
    return np.asarray(1.0 - (own * (truth - predicted) ** 2).sum(axis=1) / total)


def negative_squares(
    truth: FloatArray, predicted: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """Minus the mean squared error of each row of `predicted`."""
    return -average((truth - predicted) ** 2, weights)


NAMES: dict[tuple[Any, int], str] = {
    (accuracy_score, 1): "accuracy",
    (r2_score, 1): "r2",
    (mean_squared_error, -1): "neg_mean_squared_error",
}


def breaks_rules(model: Any) -> bool:
    """Whether `predict` would raise."""
    breaks_ties = getattr(model, "break_ties", False)
    return bool(breaks_ties and model.decision_function_shape == "ovo")
